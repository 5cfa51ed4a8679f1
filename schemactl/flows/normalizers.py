"""Tells at once where a schema file names a naming convention or a normaliser that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from schemactl.errors import InputError
from schemactl.flows.schemas import Opened
from schemactl.formats.dlt import Document
from schemactl.normalization.choose import normalizer_of
from schemactl.schema.naming import load_naming
from schemactl.schema.settings import NormalizerConfig


def check_normalizers(opened: Opened) -> None:
    """Refuse a schema that names what data cannot be taken by.

    Raises:
        InputError: there is no such naming convention or normaliser; with its place in the file that holds.
    """
    schema = opened.schema
    if schema is None:
        return
    is_imported = opened.import_adopted is not None or opened.export_document is None
    holds = opened.import_document if is_imported else opened.export_document
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("names", lambda: load_naming(NormalizerConfig.of(schema.normalizers).naming)),
        ("json", lambda: normalizer_of(schema)),
    )
    for section, check in checks:
        with _placed(holds, "normalizers", section):
            check()


@contextmanager
def _placed(document: Document | None, *keys: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        if document is not None and error.at is None:
            error.at = document.locate(*keys)
        raise
