"""Which faults a run plays, and in which order: decided by its seed alone. No I/O here."""

import random
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    KILL_POD = "kill pod"
    RESTART_KUBELET = "restart kubelet"
    UPGRADE = "upgrade"
    ROLL_BACK = "roll back"
    SCALE_WORKERS = "scale workers"
    KILL_BROKER = "kill broker"


@dataclass(frozen=True, slots=True)
class Fault:
    """`target` is a component of the chart for a killed pod, the number of the broker for a killed broker."""

    kind: FaultKind
    target: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.target}".strip()


def order_faults(seed: int, components: tuple[str, ...], brokers: int) -> list[Fault]:
    """Every fault once, the roll back somewhere after the upgrade that it takes back."""
    chance = random.Random(seed)
    faults = [Fault(FaultKind.KILL_POD, component) for component in components]
    faults += [Fault(kind) for kind in (FaultKind.RESTART_KUBELET, FaultKind.UPGRADE, FaultKind.SCALE_WORKERS)]
    faults.append(Fault(FaultKind.KILL_BROKER, str(chance.randrange(brokers))))
    chance.shuffle(faults)
    earliest = faults.index(Fault(FaultKind.UPGRADE)) + 1
    faults.insert(chance.randint(earliest, len(faults)), Fault(FaultKind.ROLL_BACK))
    return faults
