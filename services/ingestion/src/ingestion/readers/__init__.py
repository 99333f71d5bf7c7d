"""Readers: from the bytes of a file to a transcript, in the parser process only, since the bytes are untrusted input.

`document` has the entry point and chooses by content type: `pdf_text` reads the text layer of a PDF by its
`page_letters` and `page_lines`, and `page_pictures` says where those are not what a page shows; `einvoice` reads the
XML that a PDF carries, `image` the pages of a picture. docs/reading.md says how to add a reader.
"""
