"""Coercion by kind of value, as Spark expressions; ``engine.coercion`` chooses among them.

Modules have tables of functions, by the type of the column. Each gives a value in a plain type (``stored.store``), null
where ``schema.coercion.coerce`` refuses. What SQL is not sure of, Python is asked for (``by_python``).
"""
