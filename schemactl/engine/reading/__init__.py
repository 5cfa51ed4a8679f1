"""What modules of ``engine.input_formats`` share, and those of third parties may use: how Spark reads texts and rows.

``places`` returns where a record is, ``texts`` reads lines and whole files in any encoding, ``rows`` makes documents
of rows of texts, ``typed`` batches of columns that state their types.
"""
