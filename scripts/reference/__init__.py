"""Tables of the documents that are generated from the code: one module per table.

Each module has a function `table() -> str` that returns Markdown. A page holds a table between
`<!-- table NAME: make reference -->` and `<!-- end of table -->`; `pages.TABLES` gives the names.
"""
