"""Limits the nested fields that named types expand to, in files and in models.

Types that name each other make a field for each path through them: of 28 records that hold the one before twice, the
last has 268 million fields. Every reader that replaces the name of a type by its fields counts them here.
"""

from __future__ import annotations

from typing import Final

from schemactl.errors import InputError, Location

MOST_FIELDS: Final = 10_000
"""Nested fields of one column."""

MOST_LEVELS: Final = 45
"""Levels of nested fields: in a schema file, which has 100 levels, the notes of a field take two levels."""

MOST_FIELDS_OF_ALL: Final = 100_000
"""Fields of all columns of a file, in addition to one field for every ``_LEAST_CHARACTERS`` of its text."""

_LEAST_CHARACTERS: Final = 10

MOST_CHARACTERS: Final = 8 << 20
"""Characters in the names, descriptions and values of these fields, in addition to the characters of the file."""

MOST_NAMES: Final = 200_000
"""Names, and components of types, that replace type names, in addition to the names that the file can write out."""

MOST_NAME_LEVELS: Final = 150
"""Names that lead to a name; few enough for Python's stack."""


class TooManyFieldsError(Exception):
    """A column has more nested fields, or levels of them, than are read; the text names the bound."""

    @property
    def lost(self) -> tuple[str, str, None]:
        """The facts about a field's form that no property has: see ``formats._fields.Field.unread``."""
        return "nested fields", str(self), None


class Expansion:
    """Counts the fields of the columns of a file, including nested fields.

    Args:
        at: the file, for errors.
        size: its characters.
    """

    def __init__(self, location: Location | None = None, size: int = 0) -> None:
        self._at = location
        self._most_fields = MOST_FIELDS_OF_ALL + size // _LEAST_CHARACTERS
        self._most_characters = MOST_CHARACTERS + size
        self._most_names = MOST_NAMES + size
        self._of_column = self._of_all = self._characters = self._names = 0

    def start_column(self) -> None:
        """Count the fields of another column from here on."""
        self._of_column = 0

    def count(self, level: int, *texts: object) -> None:
        """Count a field that is nested ``level`` levels deep; ``texts`` are its name and its descriptions."""
        self._of_column += 1
        self._of_all += 1
        self._characters += sum(len(text if isinstance(text, str) else repr(text)) for text in texts)
        if self._of_all > self._most_fields:
            raise self._refuse(f"have more than {self._most_fields:,} nested fields")
        if self._characters > self._most_characters:
            raise self._refuse(f"have fields with more than {self._most_characters >> 20:,} million characters")
        if self._of_column > MOST_FIELDS:
            raise TooManyFieldsError(f"more than {MOST_FIELDS:,}")
        if level > MOST_LEVELS:
            raise TooManyFieldsError(f"more than {MOST_LEVELS} levels")

    def follow(self, level: int) -> None:
        """Count a name, or a part of a type, that its type replaces; ``level`` counts the names that lead to it."""
        self._names += 1
        if self._names > self._most_names:
            raise self._refuse(f"do so more than {self._most_names:,} times")
        if level > MOST_NAME_LEVELS:
            raise TooManyFieldsError(f"more than {MOST_NAME_LEVELS} levels of names")

    def _refuse(self, reason: str) -> InputError:
        hint = "use these types in fewer columns, or import the tables one by one"
        return InputError(f"types that refer to each other {reason}", at=self._at, hint=hint)
