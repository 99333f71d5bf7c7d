"""What is generated is current."""

import pytest
from chart_source import CHART
from chart_source.generated import render_generated_files

FILES = render_generated_files()


@pytest.mark.parametrize("path", FILES)
def test_a_generated_file_is_current(path: str) -> None:
    assert (CHART / path).read_text() == FILES[path], "run `make chart` and commit what it writes"
