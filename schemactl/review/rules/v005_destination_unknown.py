from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.schema.hash import MAX_PREVIOUS_HASHES


def find(comparison: Comparison) -> Matches:
    """Yield a match where the file knows nothing of the schema that the destination was loaded with last."""
    sides = comparison.base, comparison.head
    for catalogue, file in (sides, sides[::-1]):
        if catalogue.destination is None or file.destination is not None or not catalogue.hashes or not file.hashes:
            continue
        loaded = catalogue.hashes[0]
        # dlt keeps ten hashes; older ones are no proof of anything.
        if loaded not in file.hashes and len(file.hashes) <= MAX_PREVIOUS_HASHES:
            yield Match(
                sentence=f"the destination was loaded with the schema of hash `{loaded}`, which this file does not "
                "come from",
                keys=("version_hash",),
                before=catalogue.hashes[0],
                after=file.hashes[0],
            )


RULE = Rule(
    title="destination unknown to the schema",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.UNDETERMINED,
    why="dlt writes the hash of each schema that it loads with to `_dlt_version`. The last one there is neither the "
    "hash of this file nor one of its `previous_hashes`: somebody loads with another version of the schema, or with a "
    "branch that was never merged. What that version added is missing in the file.",
    fix="Find the pipeline that wrote the last row of `_dlt_version`, and take its export file as the start of the "
    "next change. Where the file is only older than the destination, bring the newer one into git.",
    find=find,
)
