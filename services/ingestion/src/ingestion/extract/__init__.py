"""Extraction: from a transcript to the fields of an invoice, by rules that need no network.

`rule_based` has the entry points; `layout_rules` finds fields by their `labels`, `totals`, `invoice_lines` and
`supplier` what needs more than one place of the page, `values` reads amounts, dates and numbers, and `page_comparison`
holds the page of an e-invoice against its XML.
"""
