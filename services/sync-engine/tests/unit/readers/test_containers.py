"""Containers within containers: what is found in them, by which path, and where it ends."""

import io
from collections.abc import Mapping
from typing import Any

import pytest
from container_files import (
    ENVELOPED,
    PDF,
    lock_zip,
    make_cms,
    make_compound_file,
    make_file,
    make_forward,
    make_mail,
    make_msg,
    make_part,
    make_tnef,
    make_zip,
)

from sync_engine.domain.contained_part import MAX_FILES
from sync_engine.domain.content import ContainerKind
from sync_engine.readers import containers
from sync_engine.readers.contained import ContainerProblem, UnreadableContainer
from sync_engine.readers.containers import MAX_DEPTH, read_container

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


class Found:
    """What was read of a container, and how it ended."""

    def __init__(
        self, kind: ContainerKind, content: bytes, position: str | None = None, max_bytes: int = 1024 * 1024
    ) -> None:
        self.contents: list[tuple[Mapping[str, Any], bytes]] = []
        self.problem: ContainerProblem | None = None
        try:
            arguments = {"kind": kind, "filename": None, "position": position, "max_bytes": max_bytes}
            for description, chunks in read_container(io.BytesIO(content), arguments):
                assert isinstance(description, Mapping)
                self.contents.append((description, b"".join(chunks)))
        except UnreadableContainer as error:
            self.problem = error.problem

    @property
    def kinds(self) -> dict[str, str]:
        """What is stored of it."""
        return {item["path"]: item["kind"] for item, _ in self.contents if item.get("kind")}

    @property
    def reasons(self) -> dict[str, str]:
        return {item["path"]: item["skip_reason"] for item, _ in self.contents if item["skip_reason"]}


def nest_mails(depth: int) -> bytes:
    mail = make_mail(make_file(PDF, "a.pdf"))
    for _ in range(depth - 1):
        mail = make_mail(make_forward(mail))
    return mail


def test_every_kind_is_opened_within_every_other() -> None:
    archive = make_zip({"w.dat": make_tnef({"a.pdf": PDF}), "m.msg": make_msg({"b.pdf": PDF})})
    mail = make_mail(make_file(make_cms(make_mail(make_file(archive, "a.zip"))), "smime.p7m"))
    found = Found(ContainerKind.MESSAGE, mail)
    assert found.kinds == {"1/1/0/0": "pdf", "1/1/1/0": "pdf"}
    assert [item["via"] for item, _ in found.contents] == [
        ["message", "smime", "zip", "tnef"],
        ["message", "smime", "zip", "msg"],
    ]


def test_a_mail_has_its_files_judged_as_if_it_had_come_by_itself() -> None:
    html = make_part(b"<img src='cid:logo'>", "Content-Type: text/html")
    logo = make_part(PNG, "Content-Type: image/png; name=logo.png", "Content-ID: <logo>")
    mail = make_mail(html, logo, make_file(b"text", "notes.txt"), make_file(b"", "nothing"), make_file(PNG, "scan.png"))
    found = Found(ContainerKind.MESSAGE, mail)
    assert found.reasons == {"2": "referenced_by_body", "3": "not_a_document", "4": "empty"}
    assert found.kinds == {"5": "png"}


@pytest.mark.parametrize("depth", [1, 2, 4, MAX_DEPTH])
def test_mails_are_opened_to_their_depth(depth: int) -> None:
    found = Found(ContainerKind.MESSAGE, nest_mails(depth))
    assert found.kinds == {"/".join(["1"] * depth): "pdf"}
    assert found.contents[0][0]["via"] == ["message"] * depth
    assert found.problem is None


def test_a_mail_that_lies_deeper_is_stored_itself() -> None:
    found = Found(ContainerKind.MESSAGE, nest_mails(MAX_DEPTH + 1))
    assert found.kinds == {"/".join(["1"] * MAX_DEPTH): "message"}
    assert b"%PDF" in found.contents[0][1]


def test_depth_is_counted_over_all_kinds() -> None:
    content = PDF
    for _ in range(MAX_DEPTH + 1):
        content = make_zip({"a": content})
    assert list(Found(ContainerKind.ZIP, content).kinds.values()) == ["zip"]


def test_a_locked_or_broken_container_within_is_stored_itself_beside_the_others() -> None:
    mail = make_mail(
        make_file(lock_zip(make_zip({"a.pdf": PDF})), "locked.zip"),
        make_file(make_cms(PDF, ENVELOPED), "smime.p7m"),
        make_file(make_tnef({"a.pdf": PDF, "b.pdf": PDF})[:-150], "winmail.dat"),
        make_file(PDF, "a.pdf"),
    )
    found = Found(ContainerKind.MESSAGE, mail)
    assert found.kinds == {"1": "zip", "2": "smime", "3/0": "pdf", "3": "tnef", "4": "pdf"}
    assert found.problem is None


def test_one_locked_entry_keeps_no_other_from_being_read() -> None:
    archive = bytearray(make_zip({"a.pdf": PDF, "b.pdf": PDF}))
    archive[6] |= 1
    archive[archive.index(b"PK\x01\x02") + 8] |= 1
    found = Found(ContainerKind.ZIP, bytes(archive))
    assert (found.kinds, found.problem) == ({"1": "pdf"}, ContainerProblem.ENCRYPTED)


def test_what_is_no_container_after_all_has_its_reason() -> None:
    mail = make_mail(make_file(make_cms(None), "odd.bin"))
    assert Found(ContainerKind.MESSAGE, mail).reasons == {"1": "signature"}
    assert Found(ContainerKind.SMIME, make_cms(None)).reasons == {"": "signature"}


def test_a_file_that_is_too_large_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "MAX_PART_BYTES", 1000)
    archive = make_zip({"a.pdf": PDF + bytes(range(256)) * 4, "b.pdf": PDF})
    found = Found(ContainerKind.ZIP, archive)
    assert (found.reasons, found.kinds) == ({"0": "too_large"}, {"1": "pdf"})


def test_files_are_counted_over_all_that_is_nested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "MAX_FILES", 5)
    inner = make_zip({str(number): PDF for number in range(3)})
    found = Found(ContainerKind.ZIP, make_zip({"a.zip": inner, "b.zip": inner, "c.pdf": PDF}))
    assert found.problem is ContainerProblem.LIMIT
    assert list(found.kinds) == ["0/0", "0/1", "0/2"]


def test_bytes_are_counted_over_all_that_is_nested() -> None:
    inner = make_zip({str(number): PDF for number in range(3)})
    archive = make_zip({"a.zip": inner, "b.zip": inner})
    found = Found(ContainerKind.ZIP, archive, max_bytes=len(inner) + 3 * len(PDF))
    assert list(found.kinds) == ["0/0", "0/1", "0/2"]
    assert found.problem is ContainerProblem.LIMIT
    assert "0/0" in found.kinds
    assert not any(path.startswith("1/") for path in found.kinds)


def test_a_mail_of_more_files_than_are_taken_is_a_limit() -> None:
    mail = make_mail(*[make_file(b"text", f"{number}.bin") for number in range(MAX_FILES + 1)])
    found = Found(ContainerKind.MESSAGE, mail)
    assert found.problem is ContainerProblem.LIMIT
    assert len(found.reasons) == MAX_FILES


def test_a_name_that_is_a_path_stays_a_name() -> None:
    found = Found(ContainerKind.ZIP, make_zip({"../../etc/passwd.pdf": PDF}))
    assert found.kinds == {"0": "pdf"}


def test_an_attached_mail_is_found_by_its_place_in_the_source_of_the_whole_mail() -> None:
    inner = make_mail(make_file(PDF, "a.pdf"))
    whole = make_mail(make_file(PDF, "beside.pdf"), make_forward(inner))
    found = Found(ContainerKind.MESSAGE, whole, position="2")
    assert (found.kinds, found.contents[0][0]["via"]) == ({"1": "pdf"}, ["message"])
    assert Found(ContainerKind.MESSAGE, whole, position="7").problem is ContainerProblem.BROKEN


def test_of_two_files_with_one_path_the_first_is_given_and_the_container_is_broken() -> None:
    files = {
        f"__attach_version1.0_#0000000{digit}": {
            "__properties_version1.0": b"p",
            "__substg1.0_3707001F": f"{digit}.pdf".encode("utf-16-le"),
            "__substg1.0_37010102": PDF,
        }
        for digit in ("A", "a")
    }
    mail = make_compound_file({"__properties_version1.0": b"p", **files})
    found = Found(ContainerKind.MSG, mail)
    assert (found.kinds, found.problem) == ({"10": "pdf"}, ContainerProblem.BROKEN)
