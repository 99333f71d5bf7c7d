from ingestion.readers.page_budget import PageBudget, measure_shares


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def read_pages(costs: list[float]) -> list[int]:
    """In hundredths of all the time that there is."""
    clock = Clock()
    clock.now = 0.0
    read = []
    for page in PageBudget(lambda: clock.now / 100).spend_on(range(len(costs))):
        clock.now += costs[page]
        read.append(page)
    return read


def count_time_of_a_page(pages: int) -> int:
    clock = Clock()
    clock.now = 0.0
    budget = PageBudget(lambda: clock.now / 100)
    next(budget.spend_on(range(pages)))
    while not budget.is_page_spent():
        clock.now += 0.25
    return round(clock.now)


def test_pages_are_read_while_there_is_time_for_one_as_long_as_the_longest() -> None:
    assert read_pages([10.0] * 9) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert read_pages([30.0, 5.0, 5.0, 5.0, 5.0]) == [0, 1, 2, 3, 4]
    assert read_pages([45.0, 5.0]) == [0]


def test_the_first_page_is_read_whatever_it_costs() -> None:
    assert read_pages([900.0, 900.0]) == [0]


def test_a_page_of_several_has_a_part_of_the_time_and_a_single_one_has_all_of_it() -> None:
    assert [count_time_of_a_page(pages) for pages in (5, 2, 1)] == [32, 40, 80]


def test_time_is_spent_by_waiting_for_the_processor_as_well_as_by_using_it() -> None:
    used, passed = Clock(), Clock()
    measure_spent = measure_shares(20.0, 60.0, used, passed)
    used.now += 5.0
    passed.now += 5.0
    assert measure_spent() == 0.25
    passed.now += 25.0
    assert measure_spent() == 0.5
