from typing import Final

from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Match, Matches, Rule
from schemactl.schema.types import Table

_ROLES: Final = {"x-valid-from": "beginning", "x-valid-to": "end"}


def find(comparison: Comparison) -> Matches:
    """Yield each validity column of ``scd2`` that is another one now; dlt may keep the old one beside it."""
    for name, head in comparison.head.schema.tables.items():
        base = comparison.base_table(name)
        for hint, role in _ROLES.items() if base else ():
            before = _with(base, hint)
            for column in _with(head, hint):
                if before and column not in before:
                    phrase = f"the {role} of a row's validity in `{name}` is `{column}` now"
                    yield Match(
                        sentence=f"{phrase}, no longer `{before[0]}`",
                        table=name,
                        column=column,
                        keys=("tables", name, "columns", column, hint),
                        before=before[0],
                        after=column,
                    )


def _with(table: Table | None, hint: str) -> list[str]:
    columns = table.columns.values() if table else ()
    return [column.name for column in columns if column.properties.get(hint)]


RULE = Rule(
    title="validity column renamed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="dlt adds the new columns, null in all stored rows, and takes rows whose end of validity is null for current: "
    "all old versions are current again, beside the new ones, and no load ever closes them. Queries on the old columns "
    "see no change any more.",
    fix="Keep `validity_column_names`. Where they have to change, rename the columns at the destination before the "
    "next load, and give readers a view with the old names.",
    find=find,
)
