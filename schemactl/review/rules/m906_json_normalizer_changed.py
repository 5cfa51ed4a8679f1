from typing import Any

from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import plain
from schemactl.schema.changes import NormalizerChanged
from schemactl.schema.templates import RELATIONAL_NORMALIZER


def find(comparison: Comparison) -> Matches:
    """Yield the change of the JSON normalizer's module."""
    for change in comparison.of(NormalizerChanged, "json"):
        before, after = _module(change.before), _module(change.after)
        if before != after:
            yield Match(
                sentence=f"the JSON normalizer changes from `{before}` to `{after}`",
                keys=("normalizers", "json", "module"),
                before=before,
                after=after,
            )


def _module(stated: Any) -> str:
    """Return the module of ``normalizers.json``; dlt's own may be named without its package (docs/dlt.md §1.5)."""
    name = (plain(stated) or {}).get("module") or RELATIONAL_NORMALIZER
    return RELATIONAL_NORMALIZER if name == RELATIONAL_NORMALIZER.rpartition(".")[2] else str(name)


RULE = Rule(
    title="JSON normalizer changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="The normalizer decides which tables and columns come out of a document, how rows are linked, and what becomes "
    "of values of another type. Another one makes other tables of the same data, beside those that are stored.",
    fix="Load everything anew into a new dataset with the new normalizer, compare, and move the readers over.",
    find=find,
)
