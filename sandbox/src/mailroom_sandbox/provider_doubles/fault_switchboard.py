"""The switches of faults that are on: which fault strikes which mailbox, and how often still."""

import random
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from mailroom_sandbox.provider_doubles.faults import FAULTS, Fault, Notifications
from mailroom_sandbox.provider_doubles.store import Store

EVERY_MAILBOX = "*"

F = TypeVar("F", bound=Fault)


class Faults:
    """The switches that are on, by mailbox address or for every mailbox; kept over a restart."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._chance = random.Random(7)  # noqa: S311 - a fault's dice; the same in each run

    def switch_on(self, fault: Fault, mailbox: str = EVERY_MAILBOX) -> None:
        self._store.execute_sql(
            "insert or replace into fault values (?, ?, ?)", fault.name, mailbox.lower(), fault.model_dump_json()
        )

    def switch_off(self, name: str | None = None, mailbox: str | None = None) -> int:
        return self._store.execute_sql(
            "delete from fault where name = coalesce(?, name) and mailbox = coalesce(?, mailbox)",
            name,
            mailbox.lower() if mailbox else None,
        )

    def list_active(self) -> list[tuple[str, Fault]]:
        return [
            (row["mailbox"], FAULTS[row["name"]].model_validate_json(row["body"]))
            for row in self._store.select_rows("select * from fault order by name, mailbox")
        ]

    def find_active(self, kind: type[F], mailbox: str | None) -> F | None:
        """It holds until it is cleared."""
        found = self._find_switch(kind, mailbox)
        return found[1] if found else None

    def use_fault_once(
        self, kind: type[F], mailbox: str | None, concerns: Callable[[F], bool] = lambda _: True
    ) -> F | None:
        """One more of its `times` is used up, if it strikes."""
        found = self._find_switch(kind, mailbox)
        if found is None or not concerns(found[1]):
            return None
        where, fault = found
        if self._chance.random() >= fault.chance_of_strike():
            return None
        match fault.times:
            case None:
                pass
            case 1:
                self.switch_off(fault.name, where)
            case times:
                self.switch_on(fault.model_copy(update={"times": times - 1}), where)
        return fault

    def plan_posts(self, mailbox: str | None, now: datetime) -> list[float]:
        """After how many seconds each post of one change is due: at once, where no fault says otherwise."""
        fault = self.use_fault_once(Notifications, mailbox)
        return fault.plan_posts(now.timestamp(), self._chance.random()) if fault else [0.0]

    def _find_switch(self, kind: type[F], mailbox: str | None) -> tuple[str, F] | None:
        """A mailbox's own switch goes before the one for every mailbox."""
        row = self._store.select_row(
            "select * from fault where name = ? and mailbox in (?, ?) order by mailbox = ? limit 1",
            kind.name,
            (mailbox or EVERY_MAILBOX).lower(),
            EVERY_MAILBOX,
            EVERY_MAILBOX,
        )
        return (row["mailbox"], kind.model_validate_json(row["body"])) if row else None
