"""Spark as an engine: sessions, readers of input formats, and the kernel on its workers.

Only ``options`` and the packages' names are imported without pyspark.
"""
