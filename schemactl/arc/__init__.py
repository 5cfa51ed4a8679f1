"""Arc's typing: columns of texts become typed ones as Arc's schema files state it (docs/arc.md).

The kernel calls ``text_columns.Typist``, engines match a source's columns by ``source_columns``, flows read files by
``schema_file``; ``fields`` has the types that all of them share. The other modules read HOCON and Java's patterns of
dates, numbers and texts.
"""
