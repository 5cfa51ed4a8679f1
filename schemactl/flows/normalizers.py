"""Checks that the naming convention and the normalizer of a schema file exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from schemactl.errors import InputError
from schemactl.flows.schemas import Opened
from schemactl.formats.dlt import Document
from schemactl.normalization.normalizers import normalizer_of
from schemactl.schema.naming import convention_name, load_naming
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.types import Schema

ALLOWS_RENAMES: Final = "allow_identifier_change_on_table_with_data"
"""In the ``normalizers`` section: whether tables with data may be renamed."""


def check_normalizers(opened: Opened) -> None:
    """Raise an error if a schema names a convention or normalizer that data cannot use."""
    schema = opened.schema
    if schema is None:
        return
    is_imported = opened.import_adopted is not None or opened.export_document is None
    holds = opened.import_document if is_imported else opened.export_document
    if holds is not None:
        check_conventions(holds)
        with _placed(holds, "normalizers", "names"):
            _check_naming_kept(opened, schema)


def check_conventions(document: Document) -> None:
    """Refuse a schema file that names a naming convention or a normalizer that is not known."""
    schema = document.schema
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("names", lambda: load_naming(NormalizerConfig.of(schema.normalizers).naming)),
        ("json", lambda: normalizer_of(schema)),
    )
    for section, check in checks:
        with _placed(document, "normalizers", section):
            check()


def _check_naming_kept(opened: Opened, schema: Schema) -> None:
    """One of the two files has the previous convention.

    dlt refuses it if its configuration names another convention (docs/dlt.md §1.5), and does not check whether a file
    was edited. One of the two files says the convention that there was before.
    """
    stored, imported = opened.export_document, opened.import_document
    if stored is None or imported is None or schema.normalizers.get(ALLOWS_RENAMES):
        return
    filled = [f"`{name}`" for name, table in stored.schema.tables.items() if table.normalizer_hint("seen-data")]
    other = stored if opened.import_adopted is not None else imported
    before, convention = (convention_name(NormalizerConfig.of(of.normalizers).naming) for of in (other.schema, schema))
    if convention != before and filled:
        message = f"the naming convention was changed from `{before}` to `{convention}`, but tables contain data: "
        hint = f"restore the convention, or rename with `schemactl edit {schema.name} --naming {convention}`"
        raise InputError(f"{message}{', '.join(filled)}", hint=hint)


@contextmanager
def _placed(document: Document, *keys: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        if error.at is None:
            error.at = document.locate(*keys)
        raise
