"""Graph's error bodies. The texts are the service's own; a client must never branch on them."""

import uuid
from collections.abc import Callable
from datetime import datetime

from mailroom_sandbox.provider_doubles.wire import Refused, Reply


def error_reply(status: int, code: str, message: str, now: datetime, **headers: str) -> Reply:
    request_id = str(uuid.uuid4())
    inner = {"date": now.strftime("%Y-%m-%dT%H:%M:%S"), "request-id": request_id, "client-request-id": request_id}
    return Reply(status, {"error": {"code": code, "message": message, "innerError": inner}}, headers)


class GraphErrors:
    """Makes the refusals of Graph; it knows the time because the bodies carry it."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now

    def refuse_call(self, status: int, code: str, message: str, **headers: str) -> Refused:
        return Refused(self.build_reply(status, code, message, **headers))

    def build_reply(self, status: int, code: str, message: str, **headers: str) -> Reply:
        return error_reply(status, code, message, self._now(), **headers)

    def item_not_found(self) -> Refused:
        return self.refuse_call(404, "ErrorItemNotFound", "The specified object was not found in the store.")

    def access_denied(self) -> Refused:
        return self.refuse_call(403, "ErrorAccessDenied", "Access is denied. Check credentials and try again.")

    def no_subscription(self) -> Refused:
        return self.refuse_call(404, "ResourceNotFound", "The object was not found.")

    def bad_uri(self, message: str) -> Refused:
        return self.refuse_call(400, "RequestBroker--ParseUri", message)

    def bad_request(self, message: str) -> Refused:
        return self.refuse_call(400, "BadRequest", message)

    def too_many(self) -> Reply:
        return self.build_reply(429, "ApplicationThrottled", "Application is over its MailboxConcurrency limit.")

    def unavailable(self, status: int) -> Reply:
        if status == 504:
            # Gateways answer for the service with a page of their own.
            return Reply(504, b"<html><body><h2>504 Gateway Time-out</h2></body></html>", media_type="text/html")
        code = {429: "TooManyRequests", 500: "ErrorInternalServerError", 502: "UnknownError"}.get(status)
        return self.build_reply(status, code or "serviceNotAvailable", "Please retry again later.")
