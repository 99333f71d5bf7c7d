from pathlib import Path

import pytest

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.demo.mails import find_mails


def test_mails_are_found_below_the_folder_one_of_each_content(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "b.eml").write_bytes(b"one")
    (tmp_path / "deep" / "er" / "a.eml").write_bytes(b"two")
    (tmp_path / "deep" / "copy.eml").write_bytes(b"one")
    (tmp_path / "notes.txt").write_bytes(b"three")
    assert [mail.name for mail in find_mails(tmp_path)] == ["b.eml", "deep/er/a.eml"]


def test_what_only_has_the_name_of_a_mail_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"one")
    (tmp_path / "folder.eml").mkdir()
    (tmp_path / "dangling.eml").symlink_to(tmp_path / "nowhere")
    assert [mail.name for mail in find_mails(tmp_path)] == ["a.eml"]


def test_folder_without_mails_is_said(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match=r"no \.eml file"):
        find_mails(tmp_path)
    with pytest.raises(Fatal, match="no folder of that name"):
        find_mails(tmp_path / "none")
