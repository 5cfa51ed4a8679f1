"""Conversions that PostgreSQL does by ``words`` and ``conversions``."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.destinations._migration.conversion import FALSE, TRUE, Retype
from schemactl.destinations._migration.conversions import convert
from schemactl.destinations._migration.rendering import Dialect, convert_nulls_too
from schemactl.destinations._migration.words import Converted, Words
from schemactl.schema.structure import NameLimits


@dataclass(frozen=True, slots=True)
class WordsConversion:
    """See ``rendering.Conversion``."""

    found: Converted
    refusal: str
    given: str

    @property
    def fits(self) -> str:
        return self.found.fits

    @property
    def value(self) -> str:
        made = self.found
        if made.fits == TRUE:
            return made.value
        if made.first == FALSE:
            return made.or_else(self.refusal)
        if made.first == TRUE:
            return made.quick
        rest = convert_nulls_too(self.given, made.or_else(self.refusal))
        return f"CASE WHEN {made.first} THEN {made.quick} ELSE {rest} END"

    @property
    def or_null(self) -> str:
        return f"CASE WHEN {self.fits} THEN {self.value} END"


def dialect_of(words: Words, limits: NameLimits, sql: str) -> Dialect:
    """Return what statements need of a database that converts values by ``Words``."""

    def found(retype: Retype, value: str) -> WordsConversion:
        refusal = words.refuse(value, words.type_of(retype.after))
        return WordsConversion(convert(retype, value, words), refusal, value)

    return Dialect(limits, words.type_of, found, words.unhex, words.text, sql)


def guarded_value(retype: Retype, name: str, dialect: Dialect) -> str:
    """Return what a column's values become; what does not survive fails."""
    made = dialect.convert(retype, name)
    assert isinstance(made, WordsConversion)
    found = made.found
    if found.quick and TRUE in (found.goes_well, found.first):
        return found.quick
    return convert_nulls_too(name, made.value) if not found.quick or found.first == FALSE else made.value
