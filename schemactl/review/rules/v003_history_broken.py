from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.schema.hash import MAX_PREVIOUS_HASHES


def find(comparison: Comparison) -> Matches:
    """Yield a match where two contents have one version, or the head does not know the base's hash."""
    sentence = _phrases(comparison)
    if sentence:
        yield Match(
            sentence=sentence,
            keys=("version",),
            before={"version": comparison.base.schema.version, "version_hash": comparison.base.stated_hash},
            after={"version": comparison.head.schema.version, "version_hash": comparison.head.stated_hash},
        )


def _phrases(comparison: Comparison) -> str | None:
    base, head = comparison.base, comparison.head
    old, new = base.stated_hash, head.stated_hash
    known = head.schema.previous_hashes
    if not old or not new or old == new or old in known or base.schema.name != head.schema.name:
        return None
    versions = f"version {head.schema.version}", f"version {base.schema.version}"
    if new in base.schema.previous_hashes:
        return f"the schema goes back to {versions[0]}, which the base ({versions[1]}) has left behind"
    if base.schema.version == head.schema.version:
        return f"both schemas are {versions[0]}, with different contents"
    # dlt keeps ten hashes; older ones are no proof of anything.
    if len(known) >= MAX_PREVIOUS_HASHES:
        return None
    return f"{versions[0]} does not come from the base: the hash of {versions[1]} is not in `previous_hashes`"


RULE = Rule(
    title="history broken",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.UNDETERMINED,
    why="Two branches went on from one version, or the file was made anew. What one of them added is missing in the "
    "other, and whichever is loaded last is the schema that dlt goes on with.",
    fix="Merge the base first, and make the change again on top of it: then `version` counts on, and "
    "`previous_hashes` holds the base's hash. A schema that was inferred from nothing should start from the stored "
    "one.",
    find=find,
    is_about_file=True,
)
