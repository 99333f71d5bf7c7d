"""Gmail's error bodies, in the classic shape with the newer `status` beside it."""

from mailroom_sandbox.provider_doubles.wire import Refused, Reply

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def error_reply(code: int, reason: str, message: str, *, status: str | None = None, domain: str = "global") -> Reply:
    error: dict[str, object] = {
        "code": code,
        "message": message,
        "errors": [{"message": message, "domain": domain, "reason": reason}],
    }
    if state := status or _STATUS.get(code):
        error["status"] = state
    return Reply(code, {"error": error})


def refuse_call(code: int, reason: str, message: str, *, status: str | None = None) -> Refused:
    return Refused(error_reply(code, reason, message, status=status))


def not_found() -> Refused:
    """The same body for a missing message and for a history that is too old."""
    return refuse_call(404, "notFound", "Requested entity was not found.")


def bad_request(message: str, reason: str = "invalidArgument") -> Refused:
    return refuse_call(400, reason, message)


def unauthenticated() -> Refused:
    reply = error_reply(401, "authError", "Invalid Credentials")
    return Refused(reply.with_headers(WWW_Authenticate='Bearer realm="https://accounts.google.com/"'))


def access_denied() -> Refused:
    return refuse_call(403, "forbidden", "The caller does not have permission")


def insufficient_scope() -> Refused:
    message = "Request had insufficient authentication scopes."
    body: dict[str, object] = {
        "error": {
            "code": 403,
            "message": message,
            "errors": [{"message": "Insufficient Permission", "domain": "global", "reason": "insufficientPermissions"}],
            "status": "PERMISSION_DENIED",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
                    "domain": "googleapis.com",
                    "metadata": {"service": "gmail.googleapis.com"},
                }
            ],
        }
    }
    return Refused(Reply(403, body))


def too_many() -> Reply:
    return error_reply(429, "rateLimitExceeded", "Too many concurrent requests for user", domain="usageLimits")


def over_quota(shape: str) -> Reply:
    """`shape` is the status and the reason, as in `429_rateLimitExceeded`."""
    status, _, reason = shape.partition("_")
    metric = "'Daily quota'" if reason == "dailyLimitExceeded" else "'Quota units per minute per user'"
    message = f"Quota exceeded for quota metric {metric} of service 'gmail.googleapis.com'."
    return error_reply(int(status), reason, message, status="RESOURCE_EXHAUSTED", domain="usageLimits")


def watch_refused(status: int) -> Reply:
    if status == 503:
        return unavailable(503)
    text = "Error sending test message to Cloud PubSub: User not authorized to perform this action."
    return error_reply(403, "forbidden", text)


def unavailable(status: int) -> Reply:
    if status == 504:
        return Reply(504, b"<html><title>Error 504 (Server Error)!!1</title></html>", media_type="text/html")
    if status == 429:
        return error_reply(429, "rateLimitExceeded", "Quota exceeded.", domain="usageLimits")
    return error_reply(status, "backendError", "The service is currently unavailable.")
