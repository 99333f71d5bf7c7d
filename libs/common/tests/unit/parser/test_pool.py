import asyncio
import errno
import os
import platform
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mailroom_common.errors import Unavailable
from mailroom_common.parser import ParserCrashed, ParserLimitReached, ParserLimits, UnreadableFile
from mailroom_common.parser.pool import ParserPool

HERE = Path(__file__).parent
TIGHT = ParserLimits(memory_bytes=256 * 1024 * 1024, cpu_s=1, wall_s=60, output_bytes=64 * 1024)
HASTY = ParserLimits(wall_s=0.3)


@pytest.fixture
async def pool() -> AsyncIterator[ParserPool]:
    async with ParserPool(preload=["hostile_readers"], search_path=[HERE], limits=TIGHT) as opened:
        yield opened


def as_it_is(answer: Any) -> Any:
    return answer


async def call(pool: ParserPool, reader: str, source: Path | bytes = b"", **arguments: str) -> Any:
    return await pool.run_reader(f"hostile_readers:{reader}", source, as_it_is, arguments=arguments)


def list_children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def wait_for_end(pid: int) -> None:
    async with asyncio.timeout(20):
        while is_running(pid):  # noqa: ASYNC110  # its parent may not be ours to wait for
            await asyncio.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_file_is_given_by_value_or_by_path(pool: ParserPool, tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.write_bytes(b"12345")

    by_value = await call(pool, "count_bytes", b"123", told="so")
    by_path = await call(pool, "count_bytes", file)

    assert (by_value["size"], by_value["arguments"]) == (3, {"told": "so"})
    assert by_path["size"] == 5
    assert os.getpid() not in (by_value["pid"], by_path["pid"])


async def test_each_document_has_a_process_of_its_own_for_all_its_readers(pool: ParserPool) -> None:
    seen = []
    for content in (b"of one tenant", b"of another"):
        async with pool.open_document() as document:
            first: Any = await document.run_reader("hostile_readers:count_bytes", content, as_it_is)
            left = [
                await document.run_reader("hostile_readers:leave_content_behind", content, as_it_is) for _ in range(2)
            ]
            second: Any = await document.run_reader("hostile_readers:count_bytes", content, as_it_is)
        assert first["pid"] == second["pid"]
        assert left == [[], [content.decode()]]
        seen.append(first)
    assert seen[0]["pid"] != seen[1]["pid"]
    assert seen[0]["server"] == seen[1]["server"]


async def test_an_answer_that_nobody_asked_for_ends_the_process_and_reaches_no_other_document(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        await document.run_reader("hostile_readers:answer_twice", b"", as_it_is)
        with pytest.raises(ParserCrashed, match="it wrote before it was asked"):
            await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
        assert document._process.server.is_retired
        with pytest.raises(ParserCrashed, match="ended by an earlier reader"):
            await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
    assert (await call(pool, "count_bytes", b"next"))["size"] == 4


async def test_a_readers_refusal_keeps_its_reason_and_its_process(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        before: Any = await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
        with pytest.raises(UnreadableFile) as refused:
            await document.run_reader("hostile_readers:refuse_file", b"", as_it_is)
        after: Any = await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
    assert refused.value.reason == "encrypted"
    assert before["pid"] == after["pid"]


async def test_an_error_that_quotes_the_file_is_reported_by_its_class_alone(pool: ParserPool) -> None:
    with pytest.raises(ParserCrashed) as crashed:
        await call(pool, "raise_error_quoting_file", b"canary")
    assert "ValueError" in str(crashed.value)
    assert "canary" not in str(crashed.value)


@pytest.mark.parametrize(
    ("reader", "limit"),
    [
        ("allocate_without_end", "memory"),
        ("loop_without_end", "cpu"),
        ("recurse_without_end", "depth"),
        ("return_large_answer", "output"),
    ],
)
async def test_a_file_that_wants_too_much_meets_a_limit_and_the_next_is_read(
    pool: ParserPool, reader: str, limit: str
) -> None:
    with pytest.raises(ParserLimitReached) as reached:
        await call(pool, reader)
    assert reached.value.limit == limit
    assert (await call(pool, "count_bytes", b"next"))["size"] == 4


async def test_a_file_that_takes_too_long_is_given_up_by_the_clock(pool: ParserPool) -> None:
    with pytest.raises(ParserLimitReached) as reached:
        await pool.run_reader("hostile_readers:sleep_for_an_hour", b"", as_it_is, limits=HASTY)
    assert reached.value.limit == "time"
    assert (await call(pool, "count_bytes", b"next"))["size"] == 4


@pytest.mark.parametrize("reader", ["cause_segfault", "exit_process"])
async def test_a_crash_costs_one_attempt_and_no_worker(pool: ParserPool, reader: str) -> None:
    with pytest.raises(ParserCrashed) as crashed:
        await call(pool, reader)
    assert not crashed.value.killed
    assert (await call(pool, "count_bytes", b"next"))["size"] == 4


async def test_what_a_reader_prints_does_not_reach_the_service(pool: ParserPool) -> None:
    assert await call(pool, "print_to_stdout") == "quiet"


async def test_a_frame_that_claims_gigabytes_is_not_waited_for(pool: ParserPool) -> None:
    with pytest.raises(ParserLimitReached) as reached:
        await call(pool, "forge_length_prefix")
    assert reached.value.limit == "output"
    assert (await call(pool, "count_bytes", b"next"))["size"] == 4


async def test_no_network_no_programs_no_signals_and_no_files_changed(pool: ParserPool, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"untouched, all of it")

    outcomes = await call(pool, "try_forbidden_calls", victim=str(victim))

    assert "allowed" not in outcomes.values(), outcomes
    assert victim.read_bytes() == b"untouched, all of it"


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
async def test_no_document_but_the_one_that_was_given_can_be_read(pool: ParserPool, tmp_path: Path) -> None:
    if not (await pool.check_confinement())["landlock"]:
        pytest.skip("this kernel has no Landlock")
    other = tmp_path / "another tenant's"
    other.write_bytes(b"not yours")
    assert await call(pool, "open_document", path=str(other)) == {
        "python": "PermissionError",
        "native": "PermissionError",
    }


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has a second set of numbers")
async def test_a_call_by_an_x32_number_ends_the_process(pool: ParserPool) -> None:
    with pytest.raises(ParserCrashed, match=f"signal {int(signal.SIGSYS)}"):
        await call(pool, "call_by_x32_number")


async def test_no_token_is_within_reach_in_the_environment(pool: ParserPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_TOKEN_KEYS", "canary")
    async with ParserPool(preload=["hostile_readers"], search_path=[HERE]) as later:
        seen = await call(later, "read_environments", service=str(os.getpid()))
    assert "canary" not in str(seen["own"])
    assert not [name for name in seen["own"] if name.startswith(("MAILROOM", "AWS", "PYTHON", "HTTP"))]
    assert seen["session"]
    assert seen["services"] == seen["parents"] == "PermissionError"


async def test_the_fork_server_is_replaced_after_its_number_of_processes() -> None:
    async with ParserPool(preload=["hostile_readers"], search_path=[HERE], processes_per_server=2) as pool:
        servers = [(await call(pool, "count_bytes"))["server"] for _ in range(5)]
    assert servers[0] == servers[1] != servers[2] == servers[3] != servers[4]


async def test_after_a_crash_nothing_is_at_the_addresses_that_it_may_have_found_out(pool: ParserPool) -> None:
    before = (await call(pool, "count_bytes"))["server"]
    with pytest.raises(ParserCrashed):
        await call(pool, "raise_error_quoting_file", b"an error of Python's, and no crash")
    assert (await call(pool, "count_bytes"))["server"] == before
    with pytest.raises(ParserCrashed):
        await call(pool, "cause_segfault")
    assert (await call(pool, "count_bytes"))["server"] != before


@pytest.mark.parametrize(("reader", "limits"), [("loop_without_end", TIGHT), ("sleep_for_an_hour", HASTY)])
async def test_a_limit_on_time_that_a_file_met_costs_its_server(
    pool: ParserPool, reader: str, limits: ParserLimits
) -> None:
    """A process that was taken over may choose this end, and the next file would find everything at its place."""
    before = (await call(pool, "count_bytes"))["server"]
    with pytest.raises(ParserLimitReached):
        await pool.run_reader(f"hostile_readers:{reader}", b"", as_it_is, limits=limits)
    assert (await call(pool, "count_bytes"))["server"] != before


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"{", id="no JSON"),
        pytest.param(b'{"value":NaN}', id="no number"),
        pytest.param(b'{"value":"\\ud800"}', id="no character"),
        pytest.param(b'{"content":1}', id="no answer"),
        pytest.param(b'{"value":"text"}', id="another shape"),
        pytest.param(b'{"unreadable":"for_no_reason_of_ours"}', id="no reason of ours"),
        pytest.param(b"{" + b" " * TIGHT.output_bytes + b"}", id="too long"),
    ],
)
async def test_an_answer_of_another_form_costs_its_document_and_its_server_and_no_neighbour(answer: bytes) -> None:
    options: Any = {"preload": ["hostile_readers"], "search_path": [HERE], "limits": TIGHT}
    async with ParserPool(size=2, unreadable_reasons=["encrypted"], **options) as pool:
        async with pool.open_document() as neighbour:
            before = await neighbour.run_reader("hostile_readers:count_bytes", b"", dict)
            with pytest.raises((ParserCrashed, ParserLimitReached)):
                await pool.run_reader("hostile_readers:forge_answer", answer, dict)
            assert await neighbour.run_reader("hostile_readers:count_bytes", b"", dict) == before
        assert (await call(pool, "count_bytes"))["server"] != before["server"]


async def test_an_answer_behind_the_last_one_costs_its_server(pool: ParserPool) -> None:
    before = (await call(pool, "count_bytes"))["server"]
    await call(pool, "answer_twice")
    assert (await call(pool, "count_bytes"))["server"] != before


async def test_as_many_jobs_run_at_once_as_there_are_places() -> None:
    async with ParserPool(size=2, preload=["hostile_readers"], search_path=[HERE]) as pool:
        pids = {answer["pid"] for answer in await asyncio.gather(*(call(pool, "count_bytes") for _ in range(2)))}
    assert len(pids) == 2


async def test_a_tenant_with_many_files_keeps_no_other_waiting_for_all_of_them(pool: ParserPool) -> None:
    served = []

    async def read_file(tenant_id: str) -> None:
        async with pool.open_document(tenant_id) as document:
            await document.run_reader("hostile_readers:count_bytes", b"", dict)
            served.append(tenant_id)

    await asyncio.gather(*(read_file(tenant_id) for tenant_id in [*["flood"] * 6, "calm"]))
    assert served[:2] == ["flood", "calm"]


async def test_a_process_killed_from_outside_says_nothing_about_the_file(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        answer: Any = await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
        job = asyncio.create_task(document.run_reader("hostile_readers:sleep_for_an_hour", b"", as_it_is))
        await asyncio.sleep(0.2)  # the job is in the process, which gives no sign of that
        os.kill(answer["pid"], signal.SIGKILL)
        with pytest.raises(ParserCrashed) as crashed:
            await job
    assert crashed.value.killed
    # The kernel kills at the hard limit on processor time too, which a process that was taken over may wait for.
    assert (await call(pool, "count_bytes"))["server"] != answer["server"]


async def test_a_fork_server_killed_from_outside_says_nothing_about_the_file_and_is_replaced(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        answer: Any = await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
        os.kill(answer["server"], signal.SIGKILL)
        with pytest.raises(ParserCrashed) as crashed:
            await document.run_reader("hostile_readers:sleep_for_an_hour", b"", as_it_is)
    assert crashed.value.killed
    assert (await call(pool, "count_bytes"))["server"] != answer["server"]


async def test_a_process_killed_before_it_had_a_document_is_replaced(pool: ParserPool) -> None:
    used = await call(pool, "count_bytes")
    starting = pool._processes.get_nowait()
    assert starting is not None
    await starting
    pool._processes.put_nowait(starting)
    (waiting,) = set(list_children(used["server"])) - {used["pid"]}
    os.kill(waiting, signal.SIGKILL)
    await wait_for_end(waiting)
    after = await call(pool, "count_bytes", b"next")
    assert (after["size"], after["server"]) == (4, used["server"])
    assert after["pid"] != waiting


async def test_a_cancelled_job_leaves_no_process_busy(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        answer: Any = await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
        job = asyncio.create_task(document.run_reader("hostile_readers:sleep_for_an_hour", b"", as_it_is))
        await asyncio.sleep(0.1)  # as above
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
    await wait_for_end(answer["pid"])


async def test_a_pool_that_closes_leaves_no_process_behind() -> None:
    async with ParserPool(size=2, preload=["hostile_readers"], search_path=[HERE]) as pool:
        answer = await call(pool, "count_bytes")
        while len(waiting := list_children(answer["server"])) < 2:  # noqa: ASYNC110  # they are being forked
            await asyncio.sleep(0.01)
    for pid in [answer["server"], *waiting]:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_service_that_is_killed_leaves_no_process_behind() -> None:
    service = await asyncio.create_subprocess_exec(
        sys.executable, HERE / "killed_service.py", stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert service.stdout is not None
    started = [int(pid) for pid in (await asyncio.wait_for(service.stdout.readline(), 60)).split()]
    service.kill()
    await service.wait()
    for pid in started:
        await wait_for_end(pid)


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE])
async def test_a_machine_that_starts_no_process_is_asked_again_later(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def starts_nothing(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as short:
        short.setattr(asyncio, "create_subprocess_exec", starts_nothing)
        pool = ParserPool(preload=["hostile_readers"], search_path=[HERE])
        async with pool:
            with pytest.raises(Unavailable):
                await call(pool, "count_bytes")
            short.undo()
            assert (await call(pool, "count_bytes", b"next"))["size"] == 4


async def test_a_file_that_cannot_be_opened_was_not_looked_at(pool: ParserPool, tmp_path: Path) -> None:
    async with pool.open_document() as document:
        before: Any = await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
        with pytest.raises(Unavailable):
            await document.run_reader("hostile_readers:count_bytes", tmp_path / "none", as_it_is)
        assert await document.run_reader("hostile_readers:count_bytes", b"", as_it_is) == before


async def test_a_process_that_cannot_start_is_not_the_files_trouble_and_names_the_setting() -> None:
    limits = ParserLimits(memory_bytes=128 * 1024 * 1024)
    async with ParserPool(preload=["no_such_module_anywhere"], limits=limits) as pool:
        with pytest.raises(Unavailable, match=r"did not start: MAILROOM_PARSER_MEMORY_BYTES \(134217728\)"):
            await pool.run_reader("no_such_module_anywhere:read", b"", as_it_is)


async def test_a_process_that_is_killed_as_it_starts_says_nothing_about_its_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = asyncio.create_subprocess_exec

    async def start_and_kill(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*arguments, **options)
        process.kill()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_and_kill)
    async with ParserPool(preload=["hostile_readers"], search_path=[HERE]) as pool:
        with pytest.raises(Unavailable, match="was killed as it started"):
            await pool.run_reader("hostile_readers:count_bytes", b"", as_it_is)


async def test_hard_limits_hold_for_the_life_of_the_process_and_cannot_be_raised(pool: ParserPool) -> None:
    hard = await call(pool, "try_to_raise_hard_limits")
    assert (hard["AS"], hard["FSIZE"], hard["CORE"]) == (TIGHT.memory_bytes, 0, 0)
    assert hard["NOFILE"] == TIGHT.open_files
    assert 0 < hard["CPU"] < 1000
    # Those of one call can only be lower.
    await pool.run_reader("hostile_readers:count_bytes", b"", as_it_is, limits=ParserLimits())
    with pytest.raises(ParserLimitReached):
        await pool.run_reader("hostile_readers:allocate_without_end", b"", as_it_is, limits=ParserLimits())


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only the superuser has capabilities to lose")
async def test_readers_are_imported_without_capabilities(pool: ParserPool) -> None:
    status = str(await pool.run_reader("hostile_readers:show_capabilities_of_preload", b"", as_it_is))
    assert "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n" in status


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
async def test_limit_on_memory_that_the_readers_do_not_fit_in_is_named_and_no_file_is_blamed() -> None:
    too_small = ParserLimits(memory_bytes=8 * 1024 * 1024)
    async with ParserPool(preload=["hostile_readers"], search_path=[HERE], limits=too_small) as pool:
        with pytest.raises(Unavailable, match=r"MAILROOM_PARSER_MEMORY_BYTES \(8388608\) may be too small"):
            await pool.run_reader("hostile_readers:count_bytes", b"mail", as_it_is)


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
async def test_a_parser_process_cannot_be_dumped(pool: ParserPool) -> None:
    assert await call(pool, "show_whether_dumpable") is False


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
async def test_a_reader_that_starts_a_thread_as_it_is_imported_is_a_mistake_of_ours() -> None:
    # What that thread holds when a process is forked would be held there for ever.
    async with ParserPool(preload=["with_thread"], search_path=[HERE / "readers_without_layers"]) as pool:
        with pytest.raises(RuntimeError, match="with_thread starts threads"):
            await pool.check_confinement()
