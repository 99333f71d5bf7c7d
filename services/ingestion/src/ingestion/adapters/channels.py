"""Postgres channels: a NOTIFY says "look", never what there is to see."""

WORK = "ingestion_work"  # a document may be claimable
UNNUMBERED = "ingestion_unnumbered"  # a document event has no number yet
NUMBERED = "ingestion_numbered"  # a document event has one: streams may look
