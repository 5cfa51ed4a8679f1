from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import plain, quote_value
from schemactl.schema.changes import TablePropertyChanged


def find(comparison: Comparison) -> Matches:
    """Yield each root table with another ``resource``; where none is stated it is the table's name."""
    for change in comparison.of(TablePropertyChanged, "resource"):
        base, head = comparison.base_table(change.table), comparison.head.schema.tables.get(change.table)
        if base is None or head is None or head.is_nested:
            continue
        before, after = plain(change.before) or base.name, plain(change.after) or head.name
        follows_table = base.name != head.name and (before, after) == (base.name, head.name)
        if before == after or follows_table:
            continue
        has_cursor = any(column.properties.get("incremental") for column in base.columns.values())
        loses_cursor = has_cursor and head.properties.get("write_disposition") != "replace"
        now = f"is called {quote_value(after)} now, before {quote_value(before)}"
        phrase = ": its cursor starts anew, and rows are loaded twice" if loses_cursor else ""
        yield Match.of(
            change,
            f"the resource of `{change.table}` {now}{phrase}",
            before=before,
            after=after,
            impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.WARN) if loses_cursor else None,
        )


RULE = Rule(
    title="resource renamed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.NONE,
    why="dlt keeps the state of a pipeline by the names of its resources. Under another name an incremental cursor "
    "starts at the beginning: all rows are loaded again, and stand twice in a table that is appended to. Pipelines "
    "that choose resources by name (`with_resources`, `refresh`) no longer find it.",
    fix="Keep the name: `@dlt.resource(name=OLD, table_name=NEW)` gives the table another one. Where it has to change, "
    "load the table anew (`refresh`), or give the cursor its `initial_value`.",
    find=find,
)
