"""Arc's typing: an Arc schema file defines the types of columns of texts (docs/arc.md).

Flows read the files by ``typing_file``, engines match columns of a source by ``source_columns``, the kernel converts
columns by ``text_columns.TextTyper``; ``fields`` has the types that all of them share. ``formats.arc`` makes schemas of
the files. The other modules read HOCON, and dates, numbers and regular expressions as Java does.
"""
