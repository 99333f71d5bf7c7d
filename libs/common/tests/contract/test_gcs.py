"""What only Google Cloud Storage does, as its emulator or a small server of the test plays it."""

import pytest
from blob_bytes import BUCKET, read_blob, split_bytes
from google.api_core.exceptions import from_http_status
from google.auth.exceptions import DefaultCredentialsError

from mailroom_common.blobs import BlobNotFound, gcs, open_blob_store
from mailroom_common.errors import Rejected, SettingsError, Unavailable
from mailroom_common.settings import BlobSettings


async def test_google_gets_metadata_and_content_type_of_small_blobs_and_large(google: str) -> None:
    async with open_blob_store(BlobSettings(blob_url=f"gs://{BUCKET}/kept")) as store:
        assert isinstance(store, gcs.GCSBlobStore)
        for size_bytes in (1, 2 * gcs.PART_BYTES + 1):
            content = split_bytes(bytes(size_bytes), 300_001)
            await store.write_blob("a", content, content_type="x/y", metadata={"source": "gmail_push"})
            blob = store._find_blob("a")
            blob.reload()
            assert (blob.size, blob.content_type, blob.metadata) == (size_bytes, "x/y", {"source": "gmail_push"})


async def test_a_missing_bucket_of_google_is_unavailable_and_no_missing_blob(google: str) -> None:
    async with open_blob_store(BlobSettings(blob_url="gs://no-such-bucket")) as store:
        with pytest.raises(Unavailable):
            await store.write_blob("a", split_bytes(b"x", 1), content_type="x/y")


async def test_google_that_does_not_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    monkeypatch.setattr(gcs, "_RETRY", None)
    async with open_blob_store(BlobSettings(blob_url="gs://none")) as store:
        with pytest.raises(Unavailable):
            await store.has_blob("a")


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (404, "No such object: bucket/a", BlobNotFound),
        (404, "The specified bucket does not exist.", Unavailable),
        (400, "Metadata part is too large.", Rejected),
        (413, "", Rejected),
        (401, "", Unavailable),
        (403, "", Unavailable),
        (429, "", Unavailable),
        (503, "", Unavailable),
    ],
)
async def test_google_is_asked_again_only_where_the_same_request_may_pass(
    google: str, monkeypatch: pytest.MonkeyPatch, status: int, message: str, kind: type[Exception]
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise from_http_status(status, message)  # type: ignore[no-untyped-call]  # google-api-core has no types

    async with open_blob_store(BlobSettings(blob_url=f"gs://{BUCKET}")) as store:
        monkeypatch.setattr("google.cloud.storage.fileio.BlobReader.read", refuses)
        with pytest.raises(kind) as raised:
            await read_blob(store, "a")
    assert raised.type is kind


async def test_google_without_tls_is_for_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://store.example:9000")
    with pytest.raises(SettingsError, match="STORAGE_EMULATOR_HOST"):
        async with open_blob_store(BlobSettings(blob_url="gs://bucket")):
            pass
    async with open_blob_store(BlobSettings(blob_url="gs://bucket", insecure=True)):
        pass


async def test_google_without_credentials_says_which_variable_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def finds_none(**_: object) -> None:
        raise DefaultCredentialsError("none")  # type: ignore[no-untyped-call]  # google-auth has no types

    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setattr(gcs, "find_default_credentials", finds_none)
    with pytest.raises(SettingsError, match="GOOGLE_APPLICATION_CREDENTIALS"):
        async with open_blob_store(BlobSettings(blob_url="gs://bucket")):
            pass
