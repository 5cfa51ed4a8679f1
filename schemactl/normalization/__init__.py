"""Plan how data becomes tables: of evidence and a schema a plan of rows, cells and keys, which the engine runs."""
