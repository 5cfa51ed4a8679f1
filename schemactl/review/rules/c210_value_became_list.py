from schemactl.review.reshapes import Form, reshapes
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import listed


def find(comparison: Comparison) -> Matches:
    """Yield each column of single values whose name a new nested table has."""
    for reshape in reshapes(comparison):
        if reshape.form is not Form.LISTED:
            continue
        where = f"`{reshape.column}` of `{reshape.table}`"
        tables = listed(reshape.tables)
        gone = f"{where} holds lists now: the column is gone, the values are in {tables}"
        both = f"{where} holds lists as well now: they are in {tables}, and the column is null in those rows"
        yield Match(
            sentence=both if reshape.keeps_column else gone,
            table=reshape.table,
            column=reshape.column,
            before={"column": reshape.column},
            after={"tables": list(reshape.tables)},
            impact=Impact(readers=Severity.WARN, writers=Severity.INFO) if reshape.keeps_column else None,
        )


RULE = Rule(
    title="value became a list",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt keeps lists in a nested table with one row an item. Queries on the column miss the values of new rows, "
    "with an error where the column is gone and without one where it stays. The stored values are not moved.",
    fix="Where the source sends lists by mistake, repair it. Else keep the column until readers join the nested "
    "table, and copy the stored values there. A `data_type: json` hint keeps lists in the one column.",
    find=find,
)
