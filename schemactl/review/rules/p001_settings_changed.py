from typing import Any

from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield each setting that will be another one after the merge."""
    for change in comparison.settings:
        yield Match(
            sentence=f"`{change.key}` becomes {_phrases(change.after)} with the merge; this review goes by "
            f"{_phrases(change.before)}, as the base does",
            keys=("settings", change.key),
            before=change.before,
            after=change.after,
        )


def _phrases(value: Any) -> str:
    match value:
        case []:
            return "none"
        case list():
            return ", ".join(map(_phrases, value))
        case dict():
            return f"`{' '.join(str(value[key]) for key in ('rule', 'table', 'column') if key in value)}`"
        case bool():
            return f"`{str(value).lower()}`"
        case _:
            return f"`{value}`"


RULE = Rule(
    title="settings of the review changed",
    impact=Impact(),
    direction=Direction.NONE,
    why="Whoever sets the rules by which a change is judged can let anything pass: severities, silences, whom a change "
    "must not break, what fails, and in which folder the schemas are. So the settings of the base decide, and those of "
    "the head hold from the merge on, for every review after it.",
    fix="Change the settings in a pull request of their own that somebody who may decide it merges in spite of this "
    "finding. `--policy` takes the rules from elsewhere, such as an organization's file.",
    find=find,
    is_gate=True,
)
