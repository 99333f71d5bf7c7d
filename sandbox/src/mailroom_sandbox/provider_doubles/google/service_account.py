"""The service account that may act for the domain's users: its key file, as Google hands them out."""

import orjson

from mailroom_sandbox.provider_doubles.google.oauth import SERVICE_ACCOUNT
from mailroom_sandbox.provider_doubles.provider_state import ProviderState

FILE_NAME = "google-service-account.json"


def write_service_account_file(state: ProviderState) -> None:
    settings = state.settings
    content = {
        "type": "service_account",
        "project_id": "mailroom-sandbox",
        "private_key_id": state.service_account_key.kid,
        "private_key": state.service_account_key.private_pem(),
        "client_email": SERVICE_ACCOUNT,
        "client_id": "100000000000000000001",
        "token_uri": f"https://{settings.host}:{settings.google_port}/token",
    }
    file = settings.state / FILE_NAME
    file.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    file.chmod(0o600)
