"""Migrations of databases that call no function of ours: distinct values are read, coerced, and put into a table.

What the database casts as dlt does stays there; statements look all other values up in the table of pairs, the mapping.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from schemactl.destinations._migration.conversion import coerce_text, has_spellings, write_retype
from schemactl.destinations._migration.session import D, SqlMigration
from schemactl.destinations._migration.unfit import SHOWN_CHARACTERS
from schemactl.destinations._session import Relation
from schemactl.migration.records import MOST_EXAMPLES, Example, Unfit
from schemactl.migration.statements import Retype, retype_of
from schemactl.migration.steps import Backfill, ChangeType, Step, Taken


@dataclass(frozen=True, slots=True)
class MappedMigration(SqlMigration[D]):
    """See ``destinations.MigrationSession``."""

    @abstractmethod
    def text_of(self, value: str, retype: Retype) -> str:
        """Return the expression of a value's text, as ``read_value`` reads it, by which equal texts are found."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """Return a text as an expression that compares with ``text_of``."""

    @abstractmethod
    def odd_values(self, retype: Retype, name: str, place: str, *, is_undone: bool = False) -> list[tuple[str, int]]:
        """Return the distinct values of a column that the database may not convert as dlt does, with their counts.

        ``name`` is quoted, ``place`` the table's full name or a query. If ``is_undone``, it is those instead that may
        come back in another spelling.
        """

    @abstractmethod
    def stage_pairs(self, pairs: list[tuple[str, str]]) -> None:
        """Make the mapping anew of texts, and the texts of what dlt's coercion makes of them."""

    def coerce(self, text: str, retype: Retype) -> str | None:
        """Return the text that the database takes for a coerced value; None where the value does not survive."""
        return self.coerce_text(text, retype)

    def coerce_text(self, text: str, retype: Retype) -> str | None:
        """Return the text of a coerced value; None where it does not survive."""
        return coerce_text(text, write_retype(retype, self.engine.type_of))

    def survives(self, text: str, retype: Retype) -> bool:
        """Return whether a value can be converted."""
        return self.coerce(text, retype) is not None

    def stage_coerced(self, retype: Retype, table: str) -> int:
        """Put what dlt's coercion makes of a column's values into the mapping; return how many values it holds."""
        with self.database.wrap_errors("coerce values"):
            odd = self.odd_values(retype, self.engine.name(retype.before.name), table)
            pairs = [(text, made) for text, _ in odd if (made := self.coerce(text, retype)) is not None]
            self.stage_pairs(pairs)
        return len(pairs)

    def _count(self, step: Step, place: str, relation: Relation, *, is_undone: bool = False) -> Unfit:
        """Count values by dlt's coercion: a session that writes nothing has no mapping."""
        if not isinstance(step, ChangeType | Backfill) or (isinstance(step, Backfill) and step.taken is Taken.UNFIT):
            return SqlMigration._count(self, step, place, relation, is_undone=is_undone)
        retype = retype_of(step)
        if is_undone and not has_spellings(retype):
            return Unfit()
        name = self.engine.name(retype.before.name)
        back = Retype(retype.after, retype.before, is_strict=False)
        found: dict[str, tuple[int, str | None]] = {}
        for text, count in self.odd_values(retype, name, place, is_undone=is_undone):
            if is_undone != self.survives(text, retype):
                continue
            made = self.coerce_text(text, retype) if is_undone else None
            again = None if made is None else self.coerce_text(made, back)
            if not is_undone or (made is not None and again != text):
                found[text] = count, again
        ((rows,),) = self.database.query(f"SELECT count(*) FROM {place}")
        examples = self._examples(found, retype, name, place, relation) if found else ()
        return Unfit(sum(count for count, _ in found.values()), rows, examples)

    def _examples(
        self, found: dict[str, tuple[int, str | None]], retype: Retype, name: str, place: str, relation: Relation
    ) -> tuple[Example, ...]:
        """Return rows of a few values that were found."""
        keys = ("_dlt_id",) if "_dlt_id" in relation.columns else self._primary_key(relation.name)
        text, engine = self.text_of(name, retype), self.engine
        wanted = ", ".join(map(self.literal, list(found)[:MOST_EXAMPLES]))
        row = (f"CAST({engine.name(key)} AS {engine.text})" for key in keys)
        listed = ", ".join((text, engine.shown(name, SHOWN_CHARACTERS), *row))
        held = self.database.query(f"SELECT {listed} FROM {place} WHERE {text} IN ({wanted}) LIMIT {MOST_EXAMPLES}")
        texts = ((*(each.decode() if isinstance(each, bytes) else each for each in row),) for row in held)
        return tuple(
            Example({each: str(part) for each, part in zip(keys, key, strict=True)}, value, found[given][1])
            for given, value, *key in texts
        )
