from ingestion.readers.page_budget import PageBudget


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def read_pages(cpu_s: float, costs: list[float]) -> list[int]:
    clock = Clock()
    read = []
    for page in PageBudget(cpu_s, clock).spend_on(range(len(costs))):
        clock.now += costs[page]
        read.append(page)
    return read


def test_pages_are_read_while_there_is_time_for_one_as_long_as_the_longest() -> None:
    assert read_pages(100.0, [10.0] * 9) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert read_pages(100.0, [30.0, 5.0, 5.0, 5.0, 5.0]) == [0, 1, 2, 3, 4]
    assert read_pages(100.0, [45.0, 5.0]) == [0]


def test_the_first_page_is_read_whatever_it_costs() -> None:
    assert read_pages(1.0, [9.0, 9.0]) == [0]


def test_a_page_of_several_has_a_part_of_the_time() -> None:
    clock = Clock()
    budget = PageBudget(100.0, clock)
    next(budget.spend_on([0, 1]))
    clock.now += 31.0
    assert not budget.is_page_spent()
    clock.now += 1.0
    assert budget.is_page_spent()
