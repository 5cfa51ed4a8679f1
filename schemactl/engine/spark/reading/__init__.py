"""Read texts and rows with Spark, for the modules of ``engine.input_formats`` and those of third parties.

``places`` returns where a record is, ``texts`` reads lines and whole files in any encoding, ``rows`` makes documents
of rows of texts, ``columnar`` batches of columns that state their types.
"""
