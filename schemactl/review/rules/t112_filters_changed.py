from collections.abc import Iterator

from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import listed, plain
from schemactl.schema.changes import TablePropertyChanged
from schemactl.schema.types import Properties


def find(comparison: Comparison) -> Matches:
    """Yield each table whose ``filters`` changed."""
    for change in comparison.of(TablePropertyChanged, "filters"):
        before, after = plain(change.before) or {}, plain(change.after) or {}
        phrase = [*_phrases("excludes", before, after), *_phrases("includes", before, after)]
        if phrase:
            yield Match.of(
                change, f"`filters` of `{change.table}` changed: {'; '.join(phrase)}", before=before, after=after
            )


def _phrases(kind: str, before: Properties, after: Properties) -> Iterator[str]:
    old, new = before.get(kind) or [], after.get(kind) or []
    if added := [pattern for pattern in new if pattern not in old]:
        yield f"it {kind.removesuffix('s')}s {listed(added)} now"
    if gone := [pattern for pattern in old if pattern not in new]:
        yield f"it {kind.removesuffix('s')}s {listed(gone)} no longer"


RULE = Rule(
    title="filters changed",
    impact=Impact(readers=Severity.WARN, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="dlt leaves out the fields that `excludes` matches and `includes` does not, in nested tables as well, and "
    "whole rows that have no field left. Columns that are filtered out now stay, and are null in all new rows.",
    fix="Look whether readers use what is filtered out. Where they do, keep the filter as it was, or announce the "
    "removal of the columns (rule C205).",
    find=find,
)
