from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield a match where the head was edited since its hash was made; an old edit in both is reported only once."""
    head = comparison.head
    if head.is_edited and comparison.changes:
        yield Match(
            sentence="the content was edited, but `version`, `version_hash` and `previous_hashes` were not",
            keys=("version_hash",),
            before=comparison.base.stated_hash,
            after=head.stated_hash,
        )


RULE = Rule(
    title="hash not restamped",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.NONE,
    why="The version and the hash of the file are those of another content. Whoever distinguishes schemas by their "
    "hash, as dlt does in `_dlt_version`, takes the edited schema for the one before. dlt itself notices the edit "
    "when it loads the file, and gives the schema a new version that is not the one in this file.",
    fix="Let dlt or schemactl write the file after an edit, so that `version`, `version_hash` and `previous_hashes` "
    "fit the content. Edits by hand belong into the import file; `schemactl sync` takes them over.",
    find=find,
    is_about_file=True,
    is_cosmetic=True,  # the review says in one line that the file was edited
)
