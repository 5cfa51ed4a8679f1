from schemactl.review.cosmetic import cosmetic_kind, is_content
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Match, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield a match where all that changed is cosmetic."""
    kinds = [cosmetic_kind(change) for change in comparison.changes if is_content(change)]
    phrase = [kind for kind in dict.fromkeys(kinds) if kind is not None]
    if kinds and None not in kinds:
        *others, last = phrase
        what = f"{', '.join(others)} and {last}" if others else last
        yield Match(
            sentence=f"the hash is another, but only {what} changed",
            keys=("version_hash",),
            before=comparison.base.stated_hash,
            after=comparison.head.stated_hash,
        )


RULE = Rule(
    title="only hints, wording or order changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="dlt's hash is made of all that a schema states: descriptions, hints and the order of columns as well. So "
    "the hash, and with it the version, changes although tables, columns and types are the same.",
    fix="Nothing has to be done. A new version is stored in `_dlt_version` with the next load.",
    find=find,
    is_about_file=True,
)
