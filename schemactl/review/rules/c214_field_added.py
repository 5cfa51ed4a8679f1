"""C214: a field is new inside a column that keeps objects or lists."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.review.comparison import Comparison
from schemactl.review.nested_fields import field_changes, told_type
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each field that is new; those inside of it are not told as well."""
    for found in field_changes(comparison):
        if found.before is None and found.after is not None:
            yield found.match(f"field {found.where} (`{told_type(found.after)}`) is new")


RULE = Rule(
    id="C214",
    title="field added inside a column",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Stored rows have null there, and pipelines that do not know the field leave it null. The next load adds it "
    "to the column, where the destination's columns of structs can take new fields.",
    fix="Nothing has to be done. Programs that take the column with exactly the fields it had get one more.",
    find=find,
)
