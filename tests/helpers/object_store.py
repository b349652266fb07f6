"""An S3 server on loopback, for tests that need a real one."""

import contextlib
import socket
import subprocess
import sys
import time

import pytest

PATIENCE = 60


@contextlib.contextmanager
def s3_server():
    """Run an S3 server; give the environment of a command that uses it."""
    s3fs = pytest.importorskip("s3fs", reason="the extra s3 is not installed")
    # A file system is kept for the whole process, with the server that it first spoke to.
    s3fs.S3FileSystem.clear_instance_cache()
    pytest.importorskip("moto.server", reason="moto[server] is not installed")
    port = _free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + PATIENCE
            while not _answers(port):
                assert server.poll() is None
                assert time.monotonic() < end
                time.sleep(0.05)
            yield {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
                "AWS_ACCESS_KEY_ID": "testing",
                "AWS_SECRET_ACCESS_KEY": "testing",
                "AWS_DEFAULT_REGION": "us-east-1",
                "NO_PROXY": "127.0.0.1",
            }
        finally:
            server.terminate()


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _answers(port):
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0
