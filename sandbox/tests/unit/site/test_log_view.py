import json
from pathlib import Path

from mailroom_sandbox.site.log_view import LogFilter, follow_logs, format_line


def line(**fields: object) -> str:
    written = {
        "event": "push_stored",
        "level": "info",
        "timestamp": "2026-11-28T12:00:01.234567Z",
        "process": "gateway",
    }
    return json.dumps({**written, **fields})


EVERYTHING = LogFilter()


def show(text: str, log_filter: LogFilter = EVERYTHING) -> str | None:
    shown = format_line("webhook_gateway", text, log_filter, width=15)
    return None if shown is None else shown.plain


def test_line_is_in_columns_with_its_facts_behind() -> None:
    assert (
        show(line(doc_source_id="d1", reason="two words", count=2))
        == '12:00:01.234 info     webhook_gateway push_stored  doc_source_id=d1 reason="two words" count=2'
    )


def test_line_that_is_no_json_is_shown_as_it_is() -> None:
    assert show("FATAL: out of memory") == f"{'':22}webhook_gateway FATAL: out of memory"


def test_traceback_stands_below_its_line() -> None:
    shown = show(line(level="error", exception="Traceback\n  boom"))
    assert shown is not None
    assert shown.splitlines() == ["12:00:01.234 error    webhook_gateway push_stored", "Traceback", "  boom"]


def test_lines_below_the_level_are_hidden() -> None:
    assert show(line(), LogFilter("warning")) is None
    assert show(line(level="error"), LogFilter("warning")) is not None
    assert show("plain", LogFilter("warning")) is None


def test_last_lines_of_each_file_then_what_is_added(tmp_path: Path) -> None:
    log = tmp_path / "webhook_gateway.log"
    log.write_text("".join(f"{line(number=number)}\n" for number in range(5)) + '{"event": "half')
    (tmp_path / "kafka.log").write_text("started\n")
    looks = follow_logs(tmp_path, LogFilter(name="webhook_gateway"), last_lines=2, follow=True)
    assert [next(looks).plain[-8:] for _ in range(2)] == ["number=3", "number=4"]
    with log.open("a") as file:
        file.write('_written"}\n')
    assert "half_written" in next(looks).plain


def test_file_that_a_restart_began_anew_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"{line(number=1)}\n{line(number=2)}\n")
    looks = follow_logs(tmp_path, LogFilter(), last_lines=1, follow=True)
    assert next(looks).plain.endswith("number=2")
    log.write_text(f"{line(number=3)}\n")
    assert next(looks).plain.endswith("number=3")
