import httpx
import pytest

from mailroom_sandbox.site.reverse_proxy.api_pages_server import build_pages


async def test_everything_but_the_pages_is_not_found() -> None:
    pages = build_pages(["mails=http://mails:8080"])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(pages), base_url="http://site") as client:
        assert (await client.get("/documents")).status_code == 404
        assert (await client.post("/docs")).status_code == 404


@pytest.mark.parametrize("arguments", [[], ["mails"], ["mails=mails:8080"]])
def test_service_without_an_address_is_refused_with_an_example(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="subscription_manager=http://"):
        build_pages(arguments)
