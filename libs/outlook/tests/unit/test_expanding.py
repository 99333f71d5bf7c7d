from dataclasses import replace

import pytest

from mailroom_common.errors import ItemGone, ProviderUnavailable, Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.types import Mailbox
from mailroom_outlook.expanding import PartExpansion


class Reader:
    """Answers whether it was asked for the parts; `errors` are raised instead."""

    def __init__(self, **errors: Exception) -> None:
        self.errors = errors
        self.asked: list[bool] = []

    async def __call__(self, expands: bool) -> bool:
        self.asked.append(expands)
        if error := self.errors.get("expanded" if expands else "plain"):
            raise error
        return expands


async def test_refusal_falls_back_for_that_mailbox_and_is_tried_again_after_an_hour(outlook: Mailbox) -> None:
    now = 1000.0
    expansion = PartExpansion(lambda: now)
    refusing, other = Reader(expanded=Rejected("400")), Reader()
    for _ in range(2):
        assert await expansion.read_expanded(outlook, refusing) is False
    assert refusing.asked == [True, False, False]
    assert await expansion.read_expanded(replace(outlook, provider_user_id="another"), other)
    now += 3601
    assert await expansion.read_expanded(outlook, other)


async def test_call_that_is_refused_without_the_parts_too_says_nothing_of_them(outlook: Mailbox) -> None:
    expansion = PartExpansion()
    with pytest.raises(Rejected):
        await expansion.read_expanded(outlook, Reader(expanded=Rejected("400"), plain=Rejected("400")))
    assert await expansion.read_expanded(outlook, Reader())


@pytest.mark.parametrize("error", [ItemGone("404"), ProviderUnavailable("503")])
async def test_other_errors_are_not_asked_for_twice(outlook: Mailbox, error: Exception) -> None:
    reader = Reader(expanded=error)
    with pytest.raises(type(error)):
        await PartExpansion().read_expanded(outlook, reader)
    assert reader.asked == [True]


async def test_observed_mailbox_is_never_asked_for_parts(outlook: Mailbox) -> None:
    reader = Reader()
    await PartExpansion().read_expanded(replace(outlook, profile=Profile.OBSERVATION), reader)
    assert reader.asked == [False]
