from types import SimpleNamespace

from cli_site import build_source
from newer_build import write_new_symbol

from mailroom_cli.dead_letters import DeadLetter
from mailroom_common.kafka.codec import Codec
from mailroom_common.topics import DOC_SOURCES


def test_a_letter_at_which_its_consumer_would_stop_has_a_decoding_problem_and_a_corrupt_one_has_none() -> None:
    newer_record = write_new_symbol(build_source("active"), "doc-sources", "profile", "payslip")
    codec = Codec()
    letter = DeadLetter(DOC_SOURCES, SimpleNamespace(value=newer_record.value), None)
    assert "is not in the schemas topic yet" in (letter.find_decoding_problem(codec) or "")
    codec.learn_schema(newer_record.fingerprint, newer_record.schema)
    assert "a newer build wrote a symbol of Profile" in (letter.find_decoding_problem(codec) or "")
    corrupt = DeadLetter(DOC_SOURCES, SimpleNamespace(value=b"garbage"), None)
    assert corrupt.find_decoding_problem(codec) is None
