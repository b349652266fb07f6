"""``python -m compactctl``."""

from compactctl.cli import main

if __name__ == "__main__":
    main()
