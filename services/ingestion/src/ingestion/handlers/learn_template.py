"""One decided document from its lesson to a template: fetch → transcribe → learn, in the parser process."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from ingestion.domain.layout_template import LayoutTemplate, Lesson, TemplateId, is_same_layout
from ingestion.ports.blobs import DocumentBlobs, FetchedFile
from ingestion.ports.readers import DocumentReaders
from ingestion.ports.templates import Lessons, Templates
from mailroom_common.blobs import BlobNotFound
from mailroom_common.errors import Retryable
from mailroom_common.events import Profile
from mailroom_common.logs import get_logger
from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile

log = get_logger()


class TemplateLearner:
    def __init__(
        self,
        lessons: Lessons,
        templates: Templates,
        blobs: DocumentBlobs,
        open_readers: Callable[[Profile], AbstractAsyncContextManager[DocumentReaders]],
    ) -> None:
        self._lessons = lessons
        self._templates = templates
        self._blobs = blobs
        self._open_readers = open_readers

    async def learn_next(self) -> bool:
        """Claim a lesson and learn from it. False when there was none to claim.

        Raises:
            Unavailable: the lesson is claimed again later, however long the blob store is away.
        """
        lesson = await self._lessons.claim_lesson()
        if lesson is None:
            return False
        learned: LayoutTemplate | None = None
        former: TemplateId | None = None
        try:
            async with self._blobs.fetch_blob(lesson.blob_key) as file:
                # Before it is read: never another content than the one that was decided on.
                if file.sha256 == lesson.content_sha256:
                    learned, former = await self._learn(lesson, file)
        except (BlobNotFound, UnreadableFile, ParserLimitReached, ParserCrashed) as error:
            # The document keeps its decision; nothing is learned from it.
            log.warning("nothing_learned", document_id=lesson.document_id, reason=type(error).__name__)
        except (Retryable, asyncio.CancelledError):
            await self._lessons.release_lesson(lesson)
            raise
        await self._lessons.finish_lesson(lesson, learned, former=former)
        log.info("lesson_finished", document_id=lesson.document_id, is_learned=learned is not None)
        return True

    async def _learn(self, lesson: Lesson, file: FetchedFile) -> tuple[LayoutTemplate | None, TemplateId | None]:
        """The template, and the one that it is to replace."""
        async with self._open_readers(Profile.INVOICE) as readers:
            transcript = await readers.transcriber.transcribe_file(file.path)
            if readers.templates is None or not (features := await readers.templates.measure_layout(transcript)):
                return None, None
            for known in await self._templates.find_templates(lesson.tenant_id, features):
                if is_same_layout(known.template.features, features):
                    learned = await readers.templates.learn_template(transcript, lesson, known.template)
                    if learned is not None and _have_same_supplier(known.template, learned):
                        return learned, known.template_id
            return await readers.templates.learn_template(transcript, lesson, None), None


def _have_same_supplier(one: LayoutTemplate, other: LayoutTemplate) -> bool:
    return (one.vat_id, one.supplier_name) == (other.vat_id, other.supplier_name) or (
        one.vat_id is not None and one.vat_id == other.vat_id
    )
