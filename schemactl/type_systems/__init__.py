"""Foreign type systems: the types and DDL words of SQL dialects, Arrow and Pydantic for columns of a schema."""
