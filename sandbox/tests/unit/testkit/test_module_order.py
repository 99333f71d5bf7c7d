from itertools import pairwise
from pathlib import PurePath

from mailroom_sandbox.testkit.module_order import order_modules

SITES = [PurePath(f"tests/e2e/test_{number}.py") for number in range(3)]
WAITING = [PurePath(f"services/x/tests/integration/test_{number}.py") for number in range(10)]
COMPUTING = [PurePath(f"services/x/tests/unit/test_{number}.py") for number in range(40)]


def test_a_site_comes_first_and_what_is_short_comes_last() -> None:
    order = order_modules([*COMPUTING, *WAITING, *SITES])
    assert order[0] == SITES[0]
    assert set(order[-6:]) <= set(COMPUTING)


def test_each_kind_is_spread_evenly_in_the_order_given() -> None:
    order = order_modules([*COMPUTING, *WAITING, *SITES])
    for kind in (SITES, WAITING, COMPUTING):
        assert [path for path in order if path in kind] == kind
        places = [order.index(path) for path in kind]
        gaps = [later - former for former, later in pairwise(places)]
        assert max(gaps) - min(gaps) <= 2


def test_no_module_is_left_out() -> None:
    assert order_modules([]) == []
    assert sorted(order_modules([*WAITING, *SITES])) == sorted([*WAITING, *SITES])
