from schemactl.review.reshapes import Form, Reshape, reshapes
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import listed


def find(comparison: Comparison) -> Matches:
    """Yield each ``json`` column that stands for tables or columns on the other side."""
    for reshape in reshapes(comparison):
        if reshape.form is Form.LISTED:
            continue
        json_column = {"column": reshape.column, "data_type": "json"}
        spread = {"tables": list(reshape.tables), "columns": list(reshape.columns)}
        collapsed = reshape.form is Form.COLLAPSED
        yield Match(
            sentence=_phrases(reshape),
            table=reshape.table,
            column=reshape.column,
            before=spread if collapsed else json_column,
            after=json_column if collapsed else spread,
        )


def _phrases(reshape: Reshape) -> str:
    tables = f"in {_noun('table', reshape.tables)} {listed(reshape.tables)}" if reshape.tables else ""
    columns = f"in {_noun('column', reshape.columns)} {listed(reshape.columns)}" if reshape.columns else ""
    spread = " and ".join(part for part in (columns, tables) if part)
    one = f"in one `json` column `{reshape.column}` of `{reshape.table}`"
    before, after = (spread, one) if reshape.form is Form.COLLAPSED else (one, spread)
    return f"nested data that was {before} is {after} now"


def _noun(noun: str, names: tuple[str, ...]) -> str:
    return noun if len(names) == 1 else f"{noun}s"


RULE = Rule(
    title="nesting changed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="Readers find the data in another place and another form, so their queries fail or see no new rows. dlt "
    "moves none of the stored rows: the history stays in the old form beside the new one.",
    fix="Keep `max_table_nesting` and the column's `data_type: json` hint as they were. Where the form has to change, "
    "load the data from the source again, and give readers a view of the old form meanwhile.",
    find=find,
)
