"""The API's pages alone, for a site whose reverse proxy cannot merge descriptions: `/`, `/docs` and `/openapi.json`.

`python -m mailroom_sandbox.site.reverse_proxy.api_pages_server SERVICE=URL…`, behind a proxy that names the caller's
scheme in `X-Forwarded-Proto`.
"""

import sys

import uvicorn
from starlette.responses import PlainTextResponse

from mailroom_sandbox.site.reverse_proxy.api_pages import APIPages

_PORT = 8080


def build_pages(arguments: list[str]) -> APIPages:
    """Raises SystemExit for an argument that is no SERVICE=URL."""
    services = dict(argument.partition("=")[::2] for argument in arguments)
    if not services or not all(url.startswith("http") for url in services.values()):
        raise SystemExit("give the services with an API: subscription_manager=http://subscription-manager:8080 …")
    return APIPages(services, PlainTextResponse("not found", 404))


def main() -> None:
    uvicorn.run(
        build_pages(sys.argv[1:]),
        host="0.0.0.0",  # noqa: S104  # the container's network is the boundary
        port=_PORT,
        lifespan="off",
        access_log=False,
        server_header=False,
        forwarded_allow_ips="*",
    )


if __name__ == "__main__":
    main()
