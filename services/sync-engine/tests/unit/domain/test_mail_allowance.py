from sync_engine.domain.mail_allowance import FREE_BYTES, MAX_CONTAINER_OUTPUT_BYTES, MAX_RATIO, MailAllowance

MiB = 1024 * 1024


def test_a_container_may_hold_so_many_times_its_size_and_what_is_free() -> None:
    assert MailAllowance().limit_container(1000) == 1000 * MAX_RATIO + FREE_BYTES
    assert MailAllowance().limit_container(50 * MiB) == MAX_CONTAINER_OUTPUT_BYTES


def test_bytes_beyond_the_ratio_are_free_once_in_a_mail() -> None:
    allowance = MailAllowance()
    allowance.count_unpacked(1000, 1000 * MAX_RATIO)
    assert allowance.free_bytes == FREE_BYTES
    allowance.count_unpacked(1000, 1000 * MAX_RATIO + FREE_BYTES - 1)
    assert allowance.limit_container(1000) == 1000 * MAX_RATIO + 1
    # Many small archives together, as one of their size.
    taken = sum(_take_all(MailAllowance(), size) for size in [1000])
    many = MailAllowance()
    assert sum(_take_all(many, 1000) for _ in range(100)) == taken + 99 * 1000 * MAX_RATIO


def test_a_mail_has_a_bound_whatever_its_containers_are() -> None:
    allowance = MailAllowance()
    allowance.count_stored(499 * MiB)
    assert allowance.limit_container(50 * MiB) == MiB
    assert not allowance.is_spent
    allowance.count_stored(MiB)
    assert allowance.is_spent


def _take_all(allowance: MailAllowance, size_bytes: int) -> int:
    unpacked = allowance.limit_container(size_bytes)
    allowance.count_unpacked(size_bytes, unpacked)
    allowance.count_stored(unpacked)
    return unpacked
