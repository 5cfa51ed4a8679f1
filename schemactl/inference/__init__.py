"""From evidence to schemas: value classes, dlt's row-by-row rules and its type detectors. Reads no files."""
