"""From evidence to schemas: value classes, and dlt's rules for one row after the other. Reads no files."""
