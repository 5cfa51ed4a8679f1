"""The model: schemas, tables, columns, names, hashes, settings, contracts; no Spark, no files, no terminal in it."""
