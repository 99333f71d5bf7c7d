import re
from typing import Annotated

import pytest
from fastapi import FastAPI, Query
from pydantic import BaseModel

from mailroom_sandbox.api_docs.page import build_example, render_page


class Mail(BaseModel):
    """A mail with <b>markup</b>."""

    model_config = {"json_schema_extra": {"examples": [{"subject": "Invoice <1>"}]}}

    subject: str


class Folder(BaseModel):
    name: str
    mails: list[Mail]
    parent: "Folder | None" = None


@pytest.fixture
def page() -> str:
    app = FastAPI(title="Mail")

    @app.post("/mails", summary="Send a mail", tags=["Mails"])
    def send_mail(body: Mail, limit: Annotated[int, Query(description="How many.")] = 50) -> Folder:
        raise NotImplementedError

    return render_page(app.openapi(), url="http://here:1")


def test_page_shows_each_call_with_parameters_and_examples(page: str) -> None:
    assert "<h2>Mails</h2>" in page
    assert "<b>POST</b><code>/mails</code><span>Send a mail</span>" in page
    assert "<td><code>limit</code></td><td>query</td><td>integer</td><td>50</td><td>How many.</td>" in page
    assert "curl -X POST -H &#39;Authorization: Bearer KEY&#39; &#39;http://here:1/mails&#39;" in page


def test_page_fetches_nothing_and_runs_nothing(page: str) -> None:
    assert not re.search(r"<script|<link|<img|src=|@import|url\(|https?://(?!here)", page)


def test_page_escapes_what_it_shows(page: str) -> None:
    assert "Invoice &lt;1&gt;" in page
    assert "<1>" not in page


def test_example_of_a_schema_that_holds_itself_ends() -> None:
    app = FastAPI()

    @app.get("/folder")
    def show_folder() -> Folder:
        raise NotImplementedError

    description = app.openapi()
    example = build_example(description, {"$ref": "#/components/schemas/Folder"})
    assert example["mails"] == [{"subject": "Invoice <1>"}]
