"""schemactl keeps the schemas of data under control from a terminal and in CI."""

__version__ = "0.1.0"
