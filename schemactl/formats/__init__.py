"""Formats of schemas: text <-> Schema, one module per format, found by its file name.

To add a format, add a module with ``ENDINGS`` and ``write`` as in ``Format``; one that can be read too has ``read`` and
``recognises`` as in ``ReadableFormat``. ``ONE_TABLE = True`` marks a format whose files hold one table each,
``IS_BINARY = True`` one whose files are bytes: its functions take and return ``bytes`` in place of ``str``,
``STATES_NAMES = False`` one whose files do not say which naming convention a schema has: its ``read`` takes one
(``UnnamedFormat``), ``SHOWS_READERS = True`` one whose files can name the readers of columns (``ReaderFormat``).
The losses of a format that can be read are found by reading it back; other formats have ``losses`` (``LossyFormat``).
Helpers of one format are in modules whose names start with ``_``.
Third parties use the entry-point group ``schemactl.format``.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard, cast

from schemactl.errors import InputError
from schemactl.formats._losses import Loss as Loss
from schemactl.formats._losses import losses_between
from schemactl.formats._readers import ReadersByColumn
from schemactl.registry import Registry, optional_attribute
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.types import Schema


class Document(Protocol):
    """A file that was read: its schema, and other information that the format keeps."""

    @property
    def schema(self) -> Schema: ...

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Facts of the text that the schema lacks."""
        ...


class Format(Protocol):
    """A module that writes schemas."""

    @property
    def ENDINGS(self) -> tuple[str, ...]:
        """How names of its files end, lower case, the usual ending first."""
        ...

    def write(self, schema: Schema, path: str | None = None) -> str | bytes:
        """Return the text of a file that holds the schema; the ending of ``path`` may choose between forms."""
        ...


class ReadableFormat(Format, Protocol):
    """A module that reads schemas as well."""

    def read(self, text: Any, path: str) -> Document:
        """Return the schema in ``text``; ``path`` names it in messages.

        Raises:
            InputError: the text is not in this format (with the location), a schema cannot express it, two of its names
                become one name, or the format needs a package that is not installed.
        """
        ...

    def recognises(self, text: Any) -> bool:
        """Return whether ``text`` looks like this format; called if several formats have a file's ending."""
        ...


class UnnamedFormat(Format, Protocol):
    """A module whose files do not contain the naming convention of a schema."""

    def read(self, text: Any, path: str, naming: Naming | None = None) -> Document:
        """Return the schema in ``text`` as ``ReadableFormat`` does, named by a convention: that of new schemas."""
        ...


class DialectFormat(Format, Protocol):
    """A module whose files have dialects."""

    def in_dialect(self, name: str | None, *, has_references: bool = False) -> ReadableFormat:
        """Return the format in a dialect; None for its usual one."""
        ...


class VersionedFormat(Format, Protocol):
    """A module whose files may hold several versions of a table."""

    def in_versions(self, choice: str) -> ReadableFormat:
        """Return the format with ``latest`` or ``all`` versions as tables."""
        ...


class ReaderFormat(Format, Protocol):
    """A module that can write the readers of columns."""

    def write(self, schema: Schema, path: str | None = None, readers: ReadersByColumn | None = None) -> str | bytes:
        """Return the text of a file as ``Format.write`` does, with the readers of each column if they are known."""
        ...


class LossyFormat(Format, Protocol):
    """A module that reports its own losses."""

    def losses(self, schema: Schema) -> tuple[Loss, ...]:
        """Return the parts of a schema that its text lacks."""
        ...


def is_readable(module: Format) -> TypeGuard[ReadableFormat]:
    """Return whether a format can be read; some formats can only be written."""
    return optional_attribute(module, "read") is not None


def holds_one_table(module: Format) -> bool:
    """Return whether files of a format hold one table each."""
    return bool(optional_attribute(module, "ONE_TABLE", False))


def in_dialect(module: Format, name: str, dialect: str | None, *, has_references: bool = False) -> Format:
    """Return a format in a dialect; None for its usual one."""
    if dialect is None and not has_references:
        return module
    if optional_attribute(module, "in_dialect") is None:
        option = "--foreign-keys" if dialect is None else "--dialect"
        hint = "`sql` has some" if dialect is None else "`sql` and `dbt` have some"
        raise InputError(f"the format `{name}` has no dialects (`{option}`)", hint=hint)
    return cast(DialectFormat, module).in_dialect(dialect, has_references=has_references)


def in_versions(module: Format, name: str, choice: str | None) -> Format:
    """Return a format with ``latest`` or ``all`` versions as tables; None for its usual choice."""
    if choice is None:
        return module
    if optional_attribute(module, "in_versions") is None:
        raise InputError(f"the format `{name}` has no versions of tables (`--versions`)", hint="`dbt` has some")
    return cast(VersionedFormat, module).in_versions(choice)


def shows_readers(module: Format) -> TypeGuard[ReaderFormat]:
    """Return whether a format can write the readers of columns (``SHOWS_READERS = True``)."""
    return bool(optional_attribute(module, "SHOWS_READERS", False))


def is_binary(module: Format) -> bool:
    """Return whether files of a format are bytes."""
    return bool(optional_attribute(module, "IS_BINARY", False))


def find_losses(module: Format, schema: Schema, text: str | bytes, path: str) -> tuple[Loss, ...]:
    """Return the parts of a schema that ``text``, as the format wrote it, lacks; ``path`` names its file."""
    if optional_attribute(module, "losses") is not None:
        return cast(LossyFormat, module).losses(schema)
    if not optional_attribute(module, "STATES_NAMES", True):
        # Names that import normalizes are not losses of the text.
        return losses_between(schema, cast(UnnamedFormat, module).read(text, path, naming_of(schema)).schema)
    return losses_between(schema, module.read(text, path).schema) if is_readable(module) else ()


FORMATS: Registry[Format] = Registry("format", "schemactl.formats")
"""All formats by name."""
