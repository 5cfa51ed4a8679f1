from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Match, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield a match where the stated engine versions differ."""
    before, after = comparison.base.stated_engine_version, comparison.head.stated_engine_version
    if before != after:
        yield Match(
            sentence=f"`engine_version` goes from {before} to {after}; both were brought up to date and then compared",
            keys=("engine_version",),
            before=before,
            after=after,
        )


RULE = Rule(
    title="engine version changed",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="dlt upgrades an older file when it loads it, and cannot load a newer one than it knows: pipelines with an "
    "older dlt stop with an error when they meet the new file.",
    fix="Upgrade dlt in every pipeline that shares the schema before the new file is put to use.",
    find=find,
    is_about_file=True,
)
