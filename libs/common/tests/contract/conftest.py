"""The stores that one suite for all of them runs against; the servers of two start once in a process."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import aioboto3
import pytest
from blob_bytes import BUCKET
from gcp_storage_emulator.server import create_server
from moto.server import ThreadedMotoServer

from mailroom_common.blobs import BlobStore, open_blob_store
from mailroom_common.settings import BlobSettings
from mailroom_sandbox.testkit.pytest_plugin import runs_in_containers


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    if runs_in_containers():
        from mailroom_sandbox.testkit.container_stack import s3_container

        with s3_container() as endpoint:
            yield endpoint
        return
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def session() -> aioboto3.Session:
    """One for all tests, as for all of a process: reading what botocore knows of S3 takes it half a second of CPU."""
    return aioboto3.Session()


@pytest.fixture
def aws(s3_server: str, session: aioboto3.Session, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(aioboto3, "Session", lambda: session)
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "mailroom-test",
        "AWS_SECRET_ACCESS_KEY": "mailroom-test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket=BUCKET)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture
def google(gcs_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_server)
    return gcs_server


@pytest.fixture(params=["folder", "s3", "gcs"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BlobStore]:
    url = (tmp_path / "blobs").as_uri()
    if request.param == "s3":
        request.getfixturevalue("aws")
        url = f"s3://{BUCKET}/some/prefix"
        async with aioboto3.Session().client("s3") as client:
            with suppress(client.exceptions.BucketAlreadyOwnedByYou):  # by the test before; AWS says nothing to that
                await client.create_bucket(Bucket=BUCKET)
    if request.param == "gcs":
        request.getfixturevalue("google")
        url = f"gs://{BUCKET}/{tmp_path.name}"
    async with open_blob_store(BlobSettings(blob_url=url)) as store:
        yield store
