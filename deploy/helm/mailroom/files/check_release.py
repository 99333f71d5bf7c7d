"""What `helm test` runs: every process is ready, Graph's handshake is answered, and a push is judged.

The push is a synthetic notification with a client state that no doc source has. A gateway that has read the directory
up to Kafka's end refuses it with 401; one that cannot ask Kafka says 503. Nothing is written, and one security event is
logged.
"""

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE_S = 60
NOBODY = "00000000-0000-4000-8000-000000000000"


def send(url: str, body: object = None) -> tuple[int, str]:
    data = None if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    request = urllib.request.Request(url, data=data, method=method, headers={"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
    except OSError as error:
        return 0, str(error)


def expect(what: str, url: str, status: int, text: str | None = None, body: object = None) -> bool:
    """Whether the answer comes within the patience that a starting site deserves."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        got = send(url, body)
        if got[0] == status and text in (None, got[1]):
            print(f"ok      {what}")
            return True
        if time.monotonic() > deadline:
            print(f"FAILED  {what}: expected {status}, got {got[0]}: {got[1][:300]}")
            return False
        time.sleep(1)


def check_webhooks(url: str) -> list[bool]:
    token = "Validation: handshake of the release test"
    quoted = urllib.parse.quote(token)
    item = {
        "subscriptionId": NOBODY,
        "clientState": f"{NOBODY}:nobody-has-this",
        "changeType": "created",
        "resource": f"Users/{NOBODY}/Messages/synthetic",
        "resourceData": {"id": "synthetic"},
    }
    return [
        expect("handshake", f"{url}/webhooks/outlook?validationToken={quoted}", 200, token, body={}),
        expect("synthetic notification", f"{url}/webhooks/outlook", 401, body={"value": [item]}),
    ]


def main(arguments: list[str]) -> int:
    """Each argument is `name=url`; `webhooks` is where the providers call."""
    results: list[bool] = []
    for name, url in (argument.split("=", 1) for argument in arguments):
        results += check_webhooks(url) if name == "webhooks" else [expect(f"{name} ready", f"{url}/readyz", 200)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
