from collections import Counter

from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import advice, counted
from schemactl.schema.changes import TableRenamed
from schemactl.schema.types import chain_of


def find(comparison: Comparison) -> Matches:
    """Yield each renamed table; tables nested in it that only follow are counted."""
    followers = _followers(comparison)
    for change in comparison.of(TableRenamed):
        if change.follows_parent:
            continue
        verb = "is" if change.is_stated else "seems to be"
        number = followers[change.after]
        nested = f"; {counted(number, 'nested table')} with it" if number else ""
        is_taken = change.after in comparison.base.schema.tables
        ending = f", and `{change.after}` was another table: queries on it read other rows" if is_taken else ""
        yield Match.of(
            change,
            f"table `{change.before}` {verb} called `{change.after}` now{ending}{nested}",
            impact=BREAKS_ALL if is_taken else None,
            advice="" if change.is_stated else advice(change.before, change.after),
        )


def _followers(comparison: Comparison) -> Counter[str]:
    """Return how many nested tables follow each table that was renamed on its own account."""
    renames = list(comparison.of(TableRenamed))
    leaders = {change.after for change in renames if not change.follows_parent}
    found: Counter[str] = Counter()
    for change in renames:
        chain = chain_of(comparison.head.schema, change.after) if change.follows_parent else ()
        leader = next((name for name in chain if name in leaders), None)
        if leader is not None:
            found[leader] += 1
    return found


RULE = Rule(
    title="table renamed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt knows no renames: it makes a new, empty table, and leaves the old one as it is. Queries on the old name "
    "see no new rows or fail, queries on the new one miss the history, and pipelines that still send the old name "
    "fill the old table. Where tables swap their names, or one takes the name of another, no query fails and all read "
    "other rows.",
    fix="Rename the table at the destination before the next load, and leave a view with the old name for readers. "
    "State `x-renamed-from: OLD` on the table, so that nobody has to guess; where it is a new table, "
    "`x-renamed-from: []`.",
    find=find,
)
