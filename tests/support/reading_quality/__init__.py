"""How well documents are read: samples with known values, what the worker's readers make of them, and the difference.

`samples` finds the samples, `page_drawing` draws those that are texts, `judging` compares one reading with its truth,
`report` adds up and writes, `__main__` is `make eval`.
"""
