"""Read texts and rows with Spark, for the modules of ``engine.input_formats`` and for third-party formats.

``places`` returns the positions of records, ``texts`` reads lines and whole files in any encoding, ``rows`` creates
documents from rows of strings, ``columnar`` creates batches of columns with declared types.
"""
