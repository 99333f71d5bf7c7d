"""The seed decides the order of the faults, and nothing is left out."""

from mailroom_cluster.fault_order import Fault, FaultKind, order_faults

COMPONENTS = ("gateway", "worker")


def test_every_fault_is_played_once_whatever_the_seed() -> None:
    for seed in range(50):
        faults = order_faults(seed, COMPONENTS, 3)
        assert len(faults) == len(set(faults)) == 7
        assert {fault.kind for fault in faults} == set(FaultKind)
        assert {fault.target for fault in faults if fault.kind is FaultKind.KILL_POD} == set(COMPONENTS)


def test_a_roll_back_comes_after_the_upgrade() -> None:
    for seed in range(50):
        faults = order_faults(seed, COMPONENTS, 3)
        assert faults.index(Fault(FaultKind.UPGRADE)) < faults.index(Fault(FaultKind.ROLL_BACK))


def test_one_seed_gives_one_order_and_another_seed_another() -> None:
    assert order_faults(1, COMPONENTS, 3) == order_faults(1, COMPONENTS, 3)
    assert len({tuple(order_faults(seed, COMPONENTS, 3)) for seed in range(20)}) > 10


def test_any_broker_may_be_killed() -> None:
    killed = {
        f.target for seed in range(50) for f in order_faults(seed, COMPONENTS, 3) if f.kind is FaultKind.KILL_BROKER
    }
    assert killed == {"0", "1", "2"}
