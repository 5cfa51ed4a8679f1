from collections.abc import Mapping

from schemactl.review.hints import ENUM, column_hints, hint_match, permitted_values, values, without
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Matches, Rule
from schemactl.review.wording import quote_value
from schemactl.schema.changes import ColumnPropertyChanged
from schemactl.schema.types import DataType


def find(comparison: Comparison) -> Matches:
    """Yield each column where a code has another label, or names have other numbers."""
    for change in column_hints(comparison, ENUM):
        if isinstance(change.before, Mapping) and isinstance(change.after, Mapping):
            for code in change.before:
                old, new = change.before[code], change.after.get(code)
                if new is not None and new != old:
                    phrase = (
                        f"says that {quote_value(code)} stands for {quote_value(new)}, no longer for {quote_value(old)}"
                    )
                    yield hint_match(change, phrase, aspect=str(code))
        elif _are_numbered(comparison, change):
            before, after = permitted_values(change.before) or [], permitted_values(change.after) or []
            kept = [name for name in before if not without([name], after)]
            if moved := [name for name in kept if before.index(name) != after.index(name)]:
                yield hint_match(change, f"gives other numbers to {values(moved)}")


def _are_numbered(comparison: Comparison, change: ColumnPropertyChanged) -> bool:
    """Return whether the column holds numbers and names are permitted: then the place of a name is its number."""
    column = comparison.head_column(change.table, change.column)
    names = [*(permitted_values(change.before) or []), *(permitted_values(change.after) or [])]
    is_number = column is not None and column.data_type is DataType.BIGINT
    return is_number and bool(names) and all(isinstance(name, str) and not name.lstrip("-").isdigit() for name in names)


RULE = Rule(
    title="permitted value means something else",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="`x-enum` says what the codes of a column stand for: by a mapping of codes to labels, or by the place of a "
    "name where the column holds numbers. Readers distinguish the codes by it; stored rows, and pipelines that do not "
    "know of the change, go on with the old meaning.",
    fix="Give a new meaning a new code: add it at the end, and leave codes that are no longer used where they are.",
    find=find,
)
