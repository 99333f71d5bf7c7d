"""Reading a document by the templates that were learned from the tenant's reviews."""

from dataclasses import dataclass

from ingestion.domain.layout_template import is_same_layout
from ingestion.domain.routing import Extraction
from ingestion.domain.transcript import Transcript
from ingestion.ports.readers import DocumentReaders
from ingestion.ports.templates import Templates


@dataclass(frozen=True, slots=True)
class TenantTemplates:
    """The templates of one tenant: there is no way from here to another's."""

    store: Templates
    tenant_id: str


async def read_by_templates(
    readers: DocumentReaders, transcript: Transcript, known: TenantTemplates | None
) -> Extraction | None:
    """What the general rules and a template make of it; None where no template is for it.

    Raises:
        Unavailable: the templates cannot be read.
        ParserLimitReached, ParserCrashed: as `Transcriber`.
    """
    if known is None or readers.templates is None or transcript.e_invoice is not None:
        return None
    if not await known.store.has_templates(known.tenant_id):
        return None
    features = await readers.templates.measure_layout(transcript)
    if not features:
        return None
    similar = [
        stored
        for stored in await known.store.find_templates(known.tenant_id, features)
        if is_same_layout(stored.template.features, features)
    ]
    if not similar:
        return None
    extraction = await readers.extractor.extract_fields(transcript)
    return await readers.templates.read_by_templates(transcript, extraction, similar)
