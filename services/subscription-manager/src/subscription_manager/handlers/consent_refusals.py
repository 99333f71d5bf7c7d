"""Why a person cannot connect a mailbox: the sentences of the page, and what the operator is told."""

from mailroom_common.errors import MailroomError
from mailroom_common.logs import get_logger
from mailroom_common.providers.types import Account
from subscription_manager.domain.connection import Connection, PendingReason

log = get_logger()

PROVIDER_AWAY = "The provider could not be reached, or refused us. Ask for a new link and try again in a moment."

OUTCOME_UNKNOWN = (
    "Something went wrong on our side while your answer was worked on. Ask whoever sent you the link whether the "
    "mailbox is connected by now, and for a new link if it is not."
)


class ConsentRefused(MailroomError):
    """Why the user cannot go on, in a sentence for the page. Holds no ticket, code or token.

    `reason` and `error` are kept with the doc source for the operator, where the person got as far as the provider.
    """

    def __init__(self, sentence: str, *, reason: PendingReason | None = None, error: str | None = None) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.error = error


class GrantUnneeded(ConsentRefused):
    """The doc source is deleted, or cannot be connected as it is: nobody else will give back what the user granted."""


def refuse_unverified(connection: Connection, account: Account) -> GrantUnneeded:
    # An address that anybody's administrator can enter is no proof; nothing is stored and the user was told.
    log.warning("consent_refused_address_unverified", doc_source_id=connection.id)
    return GrantUnneeded(
        f"{connection.address} is entered as an address of the account that you signed in with, but the provider "
        f"proves only {' and '.join(account.verified_addresses) or 'no address'} to be yours. "
        "Whoever sent you the link has to make one that names your organisation's tenant, or that address.",
        reason=PendingReason.ADDRESS_UNVERIFIED,
        error=f"the provider does not prove that {connection.address} belongs to the account that signed in: name its "
        "tenant (provider_tenant), or the name that the account signs in with",
    )


def refuse_changed() -> GrantUnneeded:
    return GrantUnneeded(
        "What is asked for was changed while you were at the provider. Ask for a new link.",
        reason=PendingReason.CONSENT_REJECTED,
        error="address, folders or start_at were changed during the consent",
    )


def refuse_deleted(newest: Connection | None) -> ConsentRefused:
    sentence = "This connection does not exist any more."
    # One whose end is yet to come needs a grant for it, and its end gives the grant back.
    is_end_to_come = newest is not None and newest.provider_ended_at is None
    return ConsentRefused(sentence) if is_end_to_come else GrantUnneeded(sentence)
