"""Read and write files: whole, unchanged meanwhile, below a root, compressed or not."""
