"""What an answer of the provider changes in a row that may have changed meanwhile."""

from dataclasses import replace
from datetime import timedelta

from connection_samples import ID, NOW, make_connection, make_provider_subscription, make_subscription
from subscription_setup import SubscriptionSetup, make_setup_due_for_renewal

from subscription_manager.domain import transitions
from subscription_manager.domain.connection import ConnectionState, SubscriptionStatus


async def test_subscription_that_expires_within_a_day_is_renewed_with_its_hash() -> None:
    soon = make_subscription(created_or_renewed_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    setup = SubscriptionSetup(
        transitions.add_client_state(
            make_connection(subscription=soon), "old", expires_at=NOW + timedelta(hours=20), now=NOW
        )
    )
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(soon)
    after = await setup.advance_subscription()
    assert setup.provider.calls == ["renew sub-old"]
    assert after.subscription is not None
    assert after.subscription.expires_at == NOW + timedelta(minutes=10_000)
    assert after.subscription.renewal_count == 1
    assert [known.valid_until for known in after.client_states] == [after.subscription.expires_at + timedelta(days=1)]
    assert after.next_check_at is not None
    assert after.next_check_at < after.subscription.expires_at - timedelta(hours=23)


async def test_removal_that_is_reported_during_a_renewal_wins() -> None:
    soon = make_subscription(created_or_renewed_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    setup = SubscriptionSetup(make_connection(subscription=soon))
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(soon)

    async def remove_subscription() -> None:
        setup.connections.rows[ID] = transitions.mark_subscription_removed(setup.connections.rows[ID], NOW)

    setup.provider.during["renew"] = remove_subscription
    after = await setup.advance_subscription()
    assert after.subscription is not None
    assert after.subscription.status is SubscriptionStatus.REMOVED
    assert after.next_check_at == NOW


async def test_delete_during_a_renewal_is_acted_on_when_the_renewal_ends() -> None:
    setup = make_setup_due_for_renewal()
    setup.provider.during["renew"] = setup.delete_row
    after = await setup.advance_subscription()
    assert (after.state, after.next_check_at) == (ConnectionState.DELETING, NOW)
    assert setup.connections.sync_requests == []
    ended = await setup.advance_subscription()
    assert (ended.provider_ended_at, setup.provider.subscriptions) == (NOW, {})
    assert setup.grants.forgotten == [ID]


async def test_pause_and_resume_during_a_renewal_change_nothing_of_it() -> None:
    setup = make_setup_due_for_renewal()
    setup.provider.during["renew"] = lambda: setup.change_row(transitions.pause_connection)
    after = await setup.advance_subscription()
    assert after.subscription is not None
    assert (after.state, after.subscription.renewal_count) == (ConnectionState.PAUSED, 1)
    assert after.next_check_at is not None
    assert after.next_check_at > NOW


async def test_subscription_whose_hash_is_not_published_any_more_is_discarded() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.during["create"] = lambda: setup.change_row(lambda row: replace(row, client_states=()))
    after = await setup.advance_subscription()
    assert after.subscription is None
    assert setup.provider.subscriptions == {}


async def test_renewal_of_one_that_was_replaced_meanwhile_is_not_recorded() -> None:
    setup = make_setup_due_for_renewal()
    newer = make_subscription(subscription_id="sub-newer")
    setup.provider.during["renew"] = lambda: setup.change_row(lambda row: replace(row, subscription=newer))
    assert (await setup.advance_subscription()).subscription == newer
