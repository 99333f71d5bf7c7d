import pytest

from mailroom_sandbox.testkit.contracts import ContractBroken, check_gmail_body, check_graph_body, require_members

FOLDER = {
    "id": "f",
    "displayName": "Inbox",
    "parentFolderId": "r",
    "childFolderCount": 0,
    "unreadItemCount": 0,
    "totalItemCount": 0,
    "isHidden": False,
}


def test_body_that_keeps_the_contract_passes() -> None:
    check_gmail_body("ListLabelsResponse", {"labels": [{"id": "INBOX", "name": "INBOX", "type": "system"}]})
    check_graph_body("mailFolder", FOLDER)


@pytest.mark.parametrize("change", [{"displayName": 7}, {"colour": "red"}])
def test_wrong_type_and_unknown_member_break_it(change: dict[str, object]) -> None:
    with pytest.raises(ContractBroken):
        check_graph_body("mailFolder", {**FOLDER, **change})


def test_missing_member_breaks_it() -> None:
    with pytest.raises(ContractBroken, match="displayName"):
        check_graph_body("mailFolder", {name: value for name, value in FOLDER.items() if name != "displayName"})
    with pytest.raises(ContractBroken):
        require_members({}, ("id",))
