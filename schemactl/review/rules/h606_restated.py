"""H606: the same, stated in another way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schemactl.review.comparison import Comparison
from schemactl.review.hints import hint_changes, hint_match, is_restated
from schemactl.review.retypes import type_match
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact
from schemactl.review.wording import place, plain, shown
from schemactl.schema.changes import ColumnRetyped, NullabilityChanged
from schemactl.schema.full_types import full_type

_SAME: Final = "which means the same"


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each property that is stated, left out or spelled anew without another meaning."""
    yield from _types(comparison)
    for change in comparison.of(NullabilityChanged):
        if change.is_restated:
            phrase = f"states `nullable` as {shown(change.after)} instead of {shown(change.before)}, {_SAME}"
            yield Match(
                sentence=f"{place(change.table, change.column)} {phrase}",
                table=change.table,
                column=change.column,
                keys=("tables", change.table, "columns", change.column, "nullable"),
                before=plain(change.before),
                after=plain(change.after),
            )
    for hint in hint_changes(comparison):
        if is_restated(hint) and hint.name != "description":
            phrase = f"states `{hint.name}` as {shown(hint.after)} instead of {shown(hint.before)}, {_SAME}"
            yield hint_match(hint, phrase)


def _types(comparison: Comparison) -> Iterator[Match]:
    for change in comparison.of(ColumnRetyped):
        before, after = full_type(change.before), full_type(change.after)
        if before == after:
            phrase = f"`{after}`" if after else "no type"
            sentence = f"{place(change.table, change.column)} states its type in another way, and it is still {phrase}"
            yield type_match(change, sentence)


RULE = Rule(
    id="H606",
    title="restated",
    impact=Impact(),
    direction=Direction.NONE,
    why="A property that is absent, null or its default means the same to dlt: `nullable: true`, `unique: false`, "
    "`precision: 64` of a bigint. The hash is made of what is stated, so it changes all the same.",
    fix="Nothing has to be done.",
    find=find,
    is_cosmetic=True,
)
