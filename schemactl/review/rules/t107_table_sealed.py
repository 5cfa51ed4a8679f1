from schemactl.review.hints import property_rule
from schemactl.review.rule import Direction, Impact, Rule, Severity
from schemactl.schema.changes import TablePropertyChanged

RULE = Rule(
    title="table sealed",
    impact=Impact(writers=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="`table_sealed` asks that the table takes no new columns. It is a legacy of old schemas: dlt accepts it and "
    "does not act on it, so a team that counts on it is not protected, and another tool may refuse new columns.",
    fix="State `schema_contract: {columns: freeze}` on the table instead, which dlt enforces.",
    find=property_rule(
        TablePropertyChanged,
        "table_sealed",
        says=lambda change: f"table `{change.table}` is sealed now" if change.after is True else None,
    ),
)
