"""Extraction of trades: contract notes and activity statements, of whichever bank.

`note` has the entry point. `sections` part a document into its trades, `trade` reads one of them and `row_trades` those
of a table: `candidates` are what stands behind `labels`, and `settlement` holds them together by the arithmetic of a
trade (quantity × price ± costs = amount). `numbers` reads numbers whose decimal mark only the document tells.
`no_trade`, `before_trade` and `later_papers` know papers that hold none.
"""
