"""Extraction: from a transcript to the fields of an invoice, by rules that need no network.

`rule_based` has the entry points, and `layout_rules` the way through a page. `titles` tell what a paper is, `parties`
whose it is and who is paid, `amounts` what it comes to, `days` when it is due, and `trades` is of notes. `labels` are
the words of eleven languages, `values` reads amounts, dates and numbers, and `page_comparison` holds the page of an
e-invoice against its XML.
"""
