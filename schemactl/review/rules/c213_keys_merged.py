from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import listed, plain
from schemactl.schema.changes import TablePropertyChanged


def find(comparison: Comparison) -> Matches:
    """Yield each key that ``x-source-names`` kept apart from another key, and does so no longer."""
    for change in comparison.of(TablePropertyChanged, "x-source-names"):
        before, after = _names(change.before), _names(change.after)
        for path, name in before.items():
            if path not in after:
                phrase = f"the key `{path}` no longer has the name `{name}` to itself, and falls together with another"
                yield _match(change, phrase, {path: name}, None)
        shared_before = _shared(before)
        for (level, name), paths in _shared(after).items():
            if set(shared_before.get((level, name), ())) != set(paths):
                phrase = f"the keys {listed(paths)} have one name, `{name}`"
                yield _match(change, phrase, {path: before.get(path) for path in paths}, dict.fromkeys(paths, name))


def _match(change: TablePropertyChanged, phrase: str, before: Any, after: Any) -> Match:
    return Match.of(change, f"{phrase} in `{change.table}`", before=before, after=after)


def _names(stated: Any) -> Mapping[str, str]:
    names = plain(stated)
    return names if isinstance(names, Mapping) else {}


def _shared(names: Mapping[str, str]) -> Mapping[tuple[str, str], list[str]]:
    """Return the levels and names that several keys have, with these keys."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, name in names.items():
        found[path.rpartition(".")[0], name].append(path)
    return {place: paths for place, paths in found.items() if len(paths) > 1}


RULE = Rule(
    title="keys merged",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="Several keys of the data, such as `userId` and `user_id`, are normalized to one name. dlt writes them into "
    "one column with no more than a line in the log: the later key of a row overwrites the earlier one.",
    fix="Keep the entry in `x-source-names` that gives the key a name of its own, as `schemactl infer` wrote it.",
    find=find,
)
