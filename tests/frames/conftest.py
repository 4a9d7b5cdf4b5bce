"""An S3 server of our own."""

from __future__ import annotations

import logging
import os
from uuid import uuid4

import pytest


@pytest.fixture(scope="session")
def s3_server():
    """The address of a server that answers as S3 does, on this machine."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The address of a new, empty bucket, which `s3fs` and deltalake reach by the environment."""
    import s3fs

    said = {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    for name in [name for name in os.environ if name.startswith("AWS_")]:  # whoever runs this may have an account
        monkeypatch.delenv(name)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{uuid4().hex}"
    s3fs.S3FileSystem().mkdir(bucket)
    return f"s3://{bucket}"
