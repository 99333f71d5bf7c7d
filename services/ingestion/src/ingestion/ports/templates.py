"""Templates that were learned from earlier documents of a layout."""

from collections.abc import Sequence
from typing import Protocol

from ingestion.domain.layout_template import LayoutTemplate, Lesson, StoredTemplate, TemplateId
from ingestion.domain.routing import Extraction
from ingestion.domain.transcript import Transcript


class TemplateReader(Protocol):
    """Templates in the parser process: all of it is untrusted text."""

    async def measure_layout(self, transcript: Transcript) -> Sequence[int]:
        """The features of its layout; none where no template is for it."""
        ...

    async def read_by_templates(
        self, transcript: Transcript, extraction: Extraction, templates: Sequence[StoredTemplate]
    ) -> Extraction | None:
        """What the first template that fits makes of the general rules' reading; None where none fits."""
        ...

    async def learn_template(
        self, transcript: Transcript, lesson: Lesson, former: LayoutTemplate | None
    ) -> LayoutTemplate | None:
        """None where the document teaches nothing."""
        ...


class Templates(Protocol):
    """The templates of a tenant."""

    async def has_templates(self, tenant_id: str) -> bool: ...

    async def find_templates(self, tenant_id: str, features: Sequence[int]) -> Sequence[StoredTemplate]:
        """A few of similar layouts, the most similar first."""
        ...


class Lessons(Protocol):
    """Decided documents that a template is to be learned from."""

    async def claim_lesson(self) -> Lesson | None:
        """Claimed again after a while unless it is finished."""
        ...

    async def release_lesson(self, lesson: Lesson) -> None:
        """It is claimed again soon, and no attempt is counted: what it needs is away, or the process stops."""
        ...

    async def finish_lesson(
        self, lesson: Lesson, learned: LayoutTemplate | None, *, former: TemplateId | None = None
    ) -> None:
        """Store what it taught, in the place of `former`. A newer decision about the document is another lesson."""
        ...
