from webhook_gateway.domain.pushes import GraphItem


def test_the_client_state_is_not_in_the_text_of_an_item() -> None:
    item = GraphItem("ds-1:secret", "sub-1", lifecycle_event="missed")

    assert "secret" not in repr(item)
    assert "sub-1" in repr(item)


def test_the_claimed_doc_source_is_the_part_before_the_colon() -> None:
    assert GraphItem("ds-1:secret:x", None).claimed_doc_source_id == "ds-1"
    assert GraphItem(None, None).claimed_doc_source_id is None
