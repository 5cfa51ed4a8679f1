"""The tables of a schema as SQL names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schemactl.schema.types import Schema

_BLANKS: Final = {number: " " for number in range(128) if re.match(r"\W", chr(number))}
"""Blanks for the characters between words: to split is faster than to match words."""

_LAST_WORD: Final = re.compile(r"\w+\Z")
_LONGEST_NAME: Final = 300


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return text.casefold().translate(_BLANKS).split()


def _prefixes_in(text: str) -> Iterator[str]:
    """Yield the names of several tables that a text has, without their stars: `raw.orders_*` in BigQuery."""
    before, *parts = text.split("*")
    for after in parts:
        if (before[-1:].isalnum() or before[-1:] == "_") and (after[:1] in ("`", "") or after[:1].isspace()):
            last_word = _LAST_WORD.search(before[-_LONGEST_NAME:])
            if last_word is not None:
                yield last_word.group()
        before = after


@dataclass(frozen=True)
class ReadTables:
    """The tables that queries may read: ``DATASET.table``, or the bare table name.

    Attributes:
        columns: the names of each table's columns, in order.
        dataset: the database schema that holds the tables.
        database: the database that holds the dataset; None for any.
        foreign: the columns of other tables, by ``dataset.table`` in lower case, if they are known.
        shadowed: the tables that queries must name with the dataset: without it, the name is another table's.
    """

    columns: Mapping[str, tuple[str, ...]]
    dataset: str
    database: str | None = None
    foreign: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shadowed: tuple[str, ...] = ()

    @classmethod
    def of(cls, schemas: Iterable[Schema], dataset: str, database: str | None = None) -> ReadTables:
        """Return the tables of several versions of a schema, each with the columns of all versions."""
        columns: dict[str, dict[str, None]] = {}
        for schema in schemas:
            for table in schema.tables.values():
                columns.setdefault(table.name, {}).update(dict.fromkeys(table.columns))
        return cls({table: tuple(names) for table, names in columns.items()}, dataset, database)

    @cached_property
    def _by_first_word(self) -> Mapping[str, tuple[str, ...]]:
        tables: dict[str, tuple[str, ...]] = {}
        for table in self.columns:
            first_word, *_ = (*words_in(table), "")
            tables[first_word] = (*tables.get(first_word, ()), table)
        return tables

    def mentioned_in(self, text: str) -> tuple[str, ...]:
        """Return the tables whose names a text contains as words, in any case, or by a pattern of names."""
        folded = text.casefold()
        words = {"", *folded.translate(_BLANKS).split()} & self._by_first_word.keys()
        mentioned = {table for word in words for table in self._by_first_word[word] if table.casefold() in folded}
        patterns = [re.compile(f"{re.escape(prefix)}.*") for prefix in _prefixes_in(folded)]
        if not patterns and not mentioned:
            return ()
        return tuple(
            table
            for table in self.columns
            if table in mentioned or any(pattern.fullmatch(table.casefold()) for pattern in patterns)
        )

    @cached_property
    def _foreign_by_last_word(self) -> Mapping[str, tuple[str, ...]]:
        names: dict[str, tuple[str, ...]] = {}
        for name in self.foreign:
            *_, last_word = ("", *words_in(name))
            names[last_word] = (*names.get(last_word, ()), name)
        return names

    def for_text(self, text: str, names: Iterable[str]) -> ReadTables:
        """Return some of the tables, and the foreign tables that a text may name."""
        words = set(words_in(text)) if self.foreign else set()
        by_word = self._foreign_by_last_word
        foreign = [name for word in words & by_word.keys() for name in by_word[word]]
        return replace(
            self,
            columns={name: self.columns[name] for name in names},
            foreign={name: self.foreign[name] for name in sorted(foreign)},
        )
