"""Between Starlette's requests and our calls."""

from urllib.parse import parse_qs, parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from mailroom_sandbox.provider_doubles.wire import Call, Reply


async def call_of(request: Request) -> Call:
    return Call(
        method=request.method,
        path=request.scope["path"],
        query={name: tuple(values) for name, values in parse_qs(request.url.query, keep_blank_values=True).items()},
        headers={name.lower(): value for name, value in request.headers.items()},
        body=await request.body(),
        base_url=f"{request.url.scheme}://{request.headers['host']}",
    )


def response_of(reply: Reply, json_type: str) -> Response:
    response = Response(reply.content(), status_code=reply.status, headers=dict(reply.headers))
    content_type = reply.content_type(json_type)
    if content_type:
        response.headers["content-type"] = content_type
    return response


async def form_of(request: Request) -> list[tuple[str, str]]:
    """The fields of an urlencoded form, in order; a name may come twice."""
    return parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
