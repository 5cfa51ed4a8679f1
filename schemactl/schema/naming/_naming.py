"""Applies a convention to names and to paths of names (docs/dlt.md §4.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from schemactl.errors import InputError
from schemactl.schema.naming._convention import Convention
from schemactl.schema.naming._shortening import shorten

CACHED_NAMES = 65_536
"""Names remembered of each kind; bounded, because keys of data may be as many as its rows."""


class Naming:
    """A naming convention at work for one longest identifier. Not to be changed once made.

    Where dlt raises ``ValueError`` (a blank name, half of a surrogate pair) or ``AssertionError`` (no room
    for a tag), this raises ``InputError``.

    Args:
        convention: the rules.
        max_length: longest identifier in characters; None for the convention's own, 0 for none, as in dlt.

    Raises:
        InputError: if ``max_length`` is beyond the convention's own limit.
    """

    def __init__(self, convention: Convention, max_length: int | None = None) -> None:
        self.max_length = _limit(convention, max_length)
        self.path_separator = convention.path_separator
        self.is_case_sensitive = convention.is_case_sensitive
        self._convention = convention
        # dlt caches these two as well: the same few keys come with every document
        self._identifier: Callable[[str], str] = lru_cache(CACHED_NAMES)(self._make_identifier)
        self._path: Callable[[str], str] = lru_cache(CACHED_NAMES)(self._make_path_identifier)

    def normalize_identifier(self, identifier: str) -> str:
        """Return the identifier of a column for any name.

        May be empty under ``sql_cs_v1`` and ``sql_ci_v1``, as in dlt: ``__`` has nothing that they keep.

        Raises:
            InputError: if the name is blank or cannot be shortened.
        """
        return self._identifier(identifier)

    def normalize_table_identifier(self, identifier: str) -> str:
        """Return the identifier of a table, schema or dataset for any name.

        Raises:
            InputError: if the name is blank or cannot be shortened.
        """
        return self._convention.adapt_table(self.normalize_identifier(identifier))

    def normalize_path(self, path: str) -> str:
        """Return the identifier of a column for a path: parts normalized, the whole shortened; may be empty.

        Raises:
            InputError: if a name cannot be shortened.
        """
        return self._path(path)

    def normalize_tables_path(self, path: str) -> str:
        """Return the identifier of a table for a path, made as in ``normalize_path``.

        Raises:
            InputError: if a name cannot be shortened.
        """
        parts = [self.normalize_table_identifier(part) for part in self.break_path(path)]
        return shorten(self.make_path(*parts), path, self.max_length)

    def break_path(self, path: str) -> tuple[str, ...]:
        """Return the parts of a path, without blank ones."""
        return tuple(part for part in path.split(self.path_separator) if part.strip())

    def make_path(self, *identifiers: str) -> str:
        """Join identifiers, blank ones left out; neither normalized nor shortened."""
        return self.path_separator.join(part for part in identifiers if part.strip())

    def shorten_fragments(self, *identifiers: str) -> str:
        """Join identifiers and shorten the whole; no identifiers give ``""`` (None in dlt).

        The tag is of the joined identifiers, not of the names in the data: as in dlt, the same path may thus
        be shortened to another identifier than by ``normalize_path``.

        Raises:
            InputError: if the whole cannot be shortened.
        """
        joined = self.make_path(*identifiers)
        return shorten(joined, joined, self.max_length)

    def _make_identifier(self, identifier: str) -> str:
        stripped = identifier.strip()
        if not stripped:
            raise InputError("a name is blank", hint="give it at least one character that is not a space")
        return shorten(self._convention.clean(stripped), stripped, self.max_length)

    def _make_path_identifier(self, path: str) -> str:
        parts = [self.normalize_identifier(part) for part in self.break_path(path)]
        return shorten(self.make_path(*parts), path, self.max_length)


def _limit(convention: Convention, asked: int | None) -> int | None:
    if asked is None:
        return convention.longest
    if convention.longest is not None and asked > convention.longest:
        raise InputError(f"the naming convention allows {convention.longest} characters at most, not {asked}")
    return asked
