"""The model: schemas, tables, columns, names, hashes, settings, contracts. Plain values; no Spark, no files, no terminal."""
