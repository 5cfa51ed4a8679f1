"""How data becomes tables: evidence and a schema become a plan of rows, cells and keys, which the engine runs."""
