from collections.abc import Iterable, Mapping
from typing import Any

from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import listed, plain
from schemactl.schema.changes import SettingChanged
from schemactl.schema.path_patterns import PREFIX
from schemactl.schema.settings import Settings, compile_pattern


def find(comparison: Comparison) -> Matches:
    """Yield each list of ``default_hints`` with other patterns, and the change of ``preferred_types``."""
    for change in comparison.of(SettingChanged):
        before, after = plain(change.before) or {}, plain(change.after) or {}
        if change.name == "default_hints":
            yield from _hints(comparison, before, after)
        elif change.name == "preferred_types":
            yield from _types(comparison, before, after)


def _hints(comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]) -> Matches:
    places = _column_names(comparison)
    for hint in {**before, **after}:
        old, new = before.get(hint) or [], after.get(hint) or []
        if set(old) == set(new):
            continue
        hit_before, hit_after = _matching(old, places), _matching(new, places)
        yield Match(
            sentence=_sentence(
                f"default_hints.{hint}",
                [place for name, place in places.items() if name in hit_after - hit_before],
                [place for name, place in places.items() if name in hit_before - hit_after],
                paths=_paths({*old} ^ {*new}),
            ),
            keys=("settings", "default_hints", hint),
            before=before.get(hint),
            after=after.get(hint),
        )


def _types(comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]) -> Matches:
    places = _column_names(comparison)
    old, new = _preferred(before, places), _preferred(after, places)
    if before == after and old == new:  # only the order of patterns changed, and decides nothing
        return
    yield Match(
        sentence=_sentence(
            "preferred_types",
            [place for name, place in places.items() if new.get(name) not in (None, old.get(name))],
            [place for name, place in places.items() if name in old and name not in new],
            paths=_paths({*before.items()} ^ {*after.items()}),
        ),
        keys=("settings", "preferred_types"),
        before=dict(before),
        after=dict(after),
    )


def _paths(changed: Iterable[str | tuple[str, Any]]) -> list[str]:
    """Return the patterns of paths among those that changed: a schema does not say which columns they hit."""
    texts = (each if isinstance(each, str) else each[0] for each in changed)
    return sorted({text for text in texts if text.startswith(PREFIX)})


def _sentence(setting: str, now: list[str], no_longer: list[str], paths: list[str]) -> str:
    phrase = [f"hits {listed(now)} now"] if now else []
    phrase += [f"hits {listed(no_longer)} no longer"] if no_longer else []
    phrase += [f"is about other values by {listed(paths)}"] if paths else []
    return f"`{setting}` changes: {', '.join(phrase) or 'hits no other of the columns of today'}"


def _column_names(comparison: Comparison) -> Mapping[str, str]:
    """Return each column name of the head schema, with the full name of the first column called so."""
    places: dict[str, str] = {}
    for table in comparison.head.schema.tables.values():
        for column in table.columns:
            places.setdefault(column, f"{table.name}.{column}")
    return places


def _matching(patterns: Iterable[str], names: Iterable[str]) -> frozenset[str]:
    """Return the names that any of the patterns matches (docs/dlt.md §1.4)."""
    compiled = [compile_pattern(pattern) for pattern in patterns if not pattern.startswith(PREFIX)]
    return frozenset(name for name in names if any(pattern.search(name) for pattern in compiled))


def _preferred(stated: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, str]:
    """Return the preferred types by name, of the names that have one."""
    settings = Settings.of({"preferred_types": stated})
    found = ((name, settings.preferred_type(name)) for name in names)
    return {name: str(data_type) for name, data_type in found if data_type}


RULE = Rule(
    title="patterns for new columns changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.BOTH,
    why="dlt gives these hints and types to columns when they are new, by their names. Columns that exist keep what "
    "they have, so a schema that is inferred anew, or a new destination, differs in the columns that are named.",
    fix="State hints and types on the columns themselves where they matter. Anchor the patterns (`re:^…$`), because "
    "dlt searches for them anywhere in a name.",
    find=find,
)
