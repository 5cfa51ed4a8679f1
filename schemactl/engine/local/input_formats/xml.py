"""XML: the elements below the root are records; values are read as strings, and detectors decide their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemactl.engine.input import Input
from schemactl.engine.local.xml_batches import LocalXml, XmlTask
from schemactl.engine.local.xml_records import Shape, ShapeParser
from schemactl.engine.parts import uncompressed_size, whole_file
from schemactl.kernel.files import FilePart, Form


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalXml]:
    """Yield the records of the files, grouped by element name."""
    shapes: dict[tuple[str, str], Shape] = {}
    groups: dict[tuple[str, str], list[tuple[FilePart, int]]] = {}
    for file in inputs:
        tag = ShapeParser(file, shapes).record_tag()
        file_part = whole_file(file, Form.ELEMENTS)
        groups.setdefault((file.encoding, tag), []).append((file_part, uncompressed_size(file)))
    for (encoding, tag), parts in groups.items():
        columns = shapes[encoding, tag].columns()
        yield LocalXml(tuple(XmlTask(file_part, columns, tag, size) for file_part, size in parts))
