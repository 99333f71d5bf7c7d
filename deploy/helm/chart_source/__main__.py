"""`make chart`: writes the chart's generated files anew."""

from chart_source import CHART
from chart_source.generated import render_generated_files

for path, text in render_generated_files().items():
    (CHART / path).parent.mkdir(parents=True, exist_ok=True)
    (CHART / path).write_text(text)
    print(f"{path}: {len(text.splitlines())} lines")
