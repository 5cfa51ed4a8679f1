"""Spark as an engine: sessions, readers of input formats, and the kernel on its workers; imports pyspark."""
