"""Words that several events and every service share."""

from enum import StrEnum


class Provider(StrEnum):
    OUTLOOK = "outlook"
    GMAIL = "gmail"


class Access(StrEnum):
    DELEGATED = "delegated"  # a user consented in a browser
    APPLICATION = "application"  # an administrator let the application in; no user, no refresh token


class Profile(StrEnum):
    INVOICE = "invoice"
    CONTRACT_NOTE = "contract_note"
    OBSERVATION = "observation"
