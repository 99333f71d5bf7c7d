"""Extraction of trades: contract notes and activity statements, of whichever bank.

`note` has the entry point; `blocks` parts a document into its trades, `trade` reads one of them: what stands behind its
`labels`, held together by the arithmetic of `solver` (quantity × price ± costs = amount). `numbers` reads numbers whose
decimal mark only the document tells.
"""
