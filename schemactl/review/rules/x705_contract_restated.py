from schemactl.review.contracts import CONTRACT, restated
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Match, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield each table, or the schema, whose ``schema_contract`` changed without any effect."""
    for table in restated(comparison):
        owner = "the schema" if table is None else f"`{table}`"
        yield Match(
            sentence=f"the contract of {owner} is stated in another way or place, and holds as before",
            table=table,
            keys=("settings", CONTRACT) if table is None else ("tables", table, CONTRACT),
        )


RULE = Rule(
    title="contract restated",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="A table without a contract of its own inherits that of its parent, and then that of the schema's settings. "
    "What holds for the tables is the same as before; the hash is another.",
    fix="Nothing has to be done. Mind that the first place that states a contract decides alone: the entities that "
    "it leaves out evolve.",
    find=find,
)
