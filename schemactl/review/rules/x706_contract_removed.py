from schemactl.review.contracts import CONTRACT, shifts
from schemactl.review.hints import is_unset
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import quote_value
from schemactl.schema.changes import SettingChanged, TablePropertyChanged
from schemactl.schema.contract import Mode


def find(comparison: Comparison) -> Matches:
    """Yield the schema, and each table, whose contract was taken out, where that lets everything in somewhere."""
    freed = {shift.table for shift in shifts(comparison) if shift.after is Mode.EVOLVE}
    for change in comparison.of(SettingChanged, CONTRACT):
        if is_unset(change.after) and not is_unset(change.before) and freed:
            sentence = f"the schema states no contract any more; it was {quote_value(change.before)}"
            yield Match.of(change, sentence, after=None)
    for stated in comparison.of(TablePropertyChanged, CONTRACT):
        if is_unset(stated.after) and not is_unset(stated.before) and stated.table in freed:
            yield Match.of(
                stated, f"`{stated.table}` states no contract any more; it was {quote_value(stated.before)}", after=None
            )


RULE = Rule(
    title="contract removed",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="The contract was what later changes are held against (rule X703): without it every new table, column and "
    "variant comes in by itself, and no review fails for it any more. Rule X701 says what is let in from now on.",
    fix="Keep the contract, and loosen only what has to change, by name: `schema_contract: {columns: evolve}` says "
    "that it is meant.",
    find=find,
)
