"""Readers of input formats with Spark, one module each, named as users name the format (``engine.input_formats``).

A format whose lines are JSON once they are rewritten takes ``reading.texts.read_lines``, a format that Spark reads as
rows of texts ``reading.rows.rows_as_documents``, a format with types ``reading.columnar.columnar_batch``; ``ndjson``,
``xml`` and ``orc`` are examples of each.
"""
