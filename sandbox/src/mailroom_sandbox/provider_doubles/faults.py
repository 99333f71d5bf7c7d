"""Every fault that the providers can play, in one place.

A fault is a class here: its fields are the switch's parameters, its docstring is the help. Whoever plays it asks
`faults.active(ThatFault, mailbox)` (it holds until cleared) or `faults.strike(ThatFault, mailbox)` (one more of its
`times` is used up). To add one, write the class, list it in `FAULTS`, and ask for it where it bites.
"""

import random
from typing import ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from mailroom_sandbox.provider_doubles.store import Store

EVERY_MAILBOX = "*"


class Fault(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    name: ClassVar[str]

    times: int | None = Field(default=None, ge=1, description="Strikes so often, then ends by itself.")


class Notifications(Fault):
    """Notifications of changes are lost (`off`), sent several times (`duplicated`) or late (`delayed`)."""

    name: ClassVar[str] = "notifications"
    mode: Literal["off", "duplicated", "delayed"] = "off"
    copies: int = Field(default=2, ge=2, le=50, description="With `duplicated`: how many posts for one change.")
    delay_s: float = Field(default=5.0, ge=0, description="With `delayed`: each waits so long.")

    def due_in_s(self) -> list[float]:
        match self.mode:
            case "off":
                return []
            case "duplicated":
                return [0.0] * self.copies
            case "delayed":
                return [self.delay_s]


class DeltaLag(Fault):
    """Delta queries (not lists) and Gmail's history show a change only after so many seconds."""

    name: ClassVar[str] = "delta_lag"
    lag_s: float = Field(default=5.0, ge=0)


class CursorRefusedFault(Fault):
    """Graph answers 410 and Gmail 404 to a stored position (`start`), or to the page token of a round (`middle`)."""

    name: ClassVar[str] = "cursor_refused"
    where: Literal["start", "middle"] = "start"
    times: int | None = Field(default=1, ge=1, description="Refuses so often; null refuses until cleared.")


class UnavailableFault(Fault):
    """Calls fail with a status of the provider's choice; `retry_after` is sent as it is, also decimal, or left out."""

    name: ClassVar[str] = "unavailable"
    status: Literal[429, 500, 502, 503, 504] = 503
    retry_after: str | None = "1.5"
    share: float = Field(default=1.0, gt=0, le=1, description="MimePart of the calls that fail, at random.")


FAULTS: dict[str, type[Fault]] = {
    fault.name: fault for fault in (Notifications, DeltaLag, CursorRefusedFault, UnavailableFault)
}

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
        found = self._find_switch(kind, mailbox)
        return found[1] if found else None

    def use_fault_once(self, kind: type[F], mailbox: str | None) -> F | None:
        found = self._find_switch(kind, mailbox)
        if found is None:
            return None
        where, fault = found
        if isinstance(fault, UnavailableFault) and self._chance.random() >= fault.share:
            return None
        match fault.times:
            case None:
                pass
            case 1:
                self.switch_off(fault.name, where)
            case times:
                self.switch_on(fault.model_copy(update={"times": times - 1}), where)
        return fault

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
