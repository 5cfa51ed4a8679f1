"""Rules about the settings of a review, and of schemas: P0xx, S8xx."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import listed, plain
from schemactl.schema.changes import NormalizerChanged, SettingChanged
from schemactl.schema.paths import PREFIX
from schemactl.schema.settings import Settings, compile_pattern


def find_settings_changed(comparison: Comparison) -> Matches:
    """Yield each setting that will be another one after the merge."""
    for change in comparison.settings:
        old, new = _setting_phrase(change.before), _setting_phrase(change.after)
        phrase = f"changes to {new} with the merge; this review uses {old}, the setting of the base"
        sentence, keys = f"`{change.key}` {phrase}", ("settings", change.key)
        yield Match(sentence=sentence, keys=keys, before=change.before, after=change.after)


def _setting_phrase(value: Any) -> str:
    match value:
        case []:
            return "none"
        case list():
            return ", ".join(map(_setting_phrase, value))
        case dict() if "rule" not in value:
            return f"`{', '.join(f'{key} = {text}' for key, text in value.items())}`"
        case dict():
            return f"`{' '.join(str(value[key]) for key in ('rule', 'table', 'column') if key in value)}`"
        case bool():
            return f"`{str(value).lower()}`"
        case _:
            return f"`{value}`"


P001 = Rule(
    title="settings of the review changed",
    impact=Impact(),
    why="Anyone who can change the review settings can let any change pass: they set severities, silences, the "
    "compatibility mode, what fails, and the schemas folder. So the settings of the base decide. The "
    "settings of the head apply to every review after the merge.",
    fix="Change the settings in a separate pull request that an authorized person merges despite this finding. "
    "`--policy` reads the rules from another place, such as an organization's file.",
    find=find_settings_changed,
    is_gate=True,
)


def find_detections_changed(comparison: Comparison) -> Matches:
    """Yield the change of ``detections``, in ``settings`` or, in old schemas, in ``normalizers``."""
    changes: list[SettingChanged | NormalizerChanged] = [*comparison.of(SettingChanged, "detections")]
    for change in [*changes, *comparison.of(NormalizerChanged, "detections")]:
        before, after = list(plain(change.before) or ()), list(plain(change.after) or ())
        if before != after:
            new = [name for name in after if name not in before]
            gone = [name for name in before if name not in after]
            phrase = [f"{listed(names)} {state}" for names, state in ((new, "on"), (gone, "off")) if names]
            yield Match.of(change, f"type detection changes: {', '.join(phrase) or 'detectors are reordered'}")


S801 = Rule(
    title="type detection changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    direction=Direction.BOTH,
    why="New columns get other types at the next load than before the change: strings become timestamps or dates, or "
    "stay text. Columns that have a type keep it. Inferring a schema from the same data again gives another result.",
    fix="Set the types of the columns that matter, so that they do not depend on detection. Otherwise infer the "
    "schema again and review the changes.",
    find=find_detections_changed,
)


def find_patterns_changed(comparison: Comparison) -> Matches:
    """Yield each list of ``default_hints`` with other patterns, and the change of ``preferred_types``."""
    for change in comparison.of(SettingChanged):
        before, after = plain(change.before) or {}, plain(change.after) or {}
        if change.name == "default_hints":
            yield from _hint_patterns(comparison, before, after)
        elif change.name == "preferred_types":
            yield from _type_patterns(comparison, before, after)


def _hint_patterns(comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]) -> Matches:
    columns_by_name = _column_names(comparison)
    for hint in {**before, **after}:
        old, new = before.get(hint) or [], after.get(hint) or []
        if set(old) == set(new):
            continue
        hit_before, hit_after = _matching_names(old, columns_by_name), _matching_names(new, columns_by_name)
        now = [columns for name, columns in columns_by_name.items() if name in hit_after - hit_before]
        no_longer = [columns for name, columns in columns_by_name.items() if name in hit_before - hit_after]
        sentence = _pattern_sentence(f"default_hints.{hint}", now, no_longer, _path_patterns({*old} ^ {*new}))
        keys = ("settings", "default_hints", hint)
        yield Match(sentence=sentence, keys=keys, before=before.get(hint), after=after.get(hint))


def _type_patterns(comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]) -> Matches:
    columns_by_name = _column_names(comparison)
    old, new = _preferred_types(before, columns_by_name), _preferred_types(after, columns_by_name)
    if before == after and old == new:  # only the order of patterns changed, and decides nothing
        return
    now = [columns for name, columns in columns_by_name.items() if new.get(name) not in (None, old.get(name))]
    no_longer = [columns for name, columns in columns_by_name.items() if name in old and name not in new]
    paths = _path_patterns({*before.items()} ^ {*after.items()})
    sentence = _pattern_sentence("preferred_types", now, no_longer, paths)
    yield Match(sentence=sentence, keys=("settings", "preferred_types"), before=dict(before), after=dict(after))


def _path_patterns(changed: Iterable[str | tuple[str, Any]]) -> list[str]:
    """Return the changed patterns that match paths: a schema cannot tell which columns they match."""
    patterns = (pattern if isinstance(pattern, str) else pattern[0] for pattern in changed)
    return sorted({pattern for pattern in patterns if pattern.startswith(PREFIX)})


def _pattern_sentence(setting: str, now: list[str], no_longer: list[str], paths: list[str]) -> str:
    phrase = [f"now matches {listed(now)}"] if now else []
    phrase += [f"no longer matches {listed(no_longer)}"] if no_longer else []
    phrase += [f"matches other values by {listed(paths)}"] if paths else []
    return f"`{setting}` changes: {', '.join(phrase) or 'no existing column is affected'}"


def _column_names(comparison: Comparison) -> Mapping[str, str]:
    """Return each column name of the head schema, with the full name of the first column called so."""
    places: dict[str, str] = {}
    for table in comparison.head.schema.tables.values():
        for column in table.columns:
            places.setdefault(column, f"{table.name}.{column}")
    return places


def _matching_names(patterns: Iterable[str], names: Iterable[str]) -> frozenset[str]:
    """Return the names that any of the patterns matches (docs/dlt.md §1.4)."""
    compiled = [compile_pattern(pattern) for pattern in patterns if not pattern.startswith(PREFIX)]
    return frozenset(name for name in names if any(pattern.search(name) for pattern in compiled))


def _preferred_types(preferred_types: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, str]:
    """Return the preferred types by name, of the names that have one."""
    settings = Settings.of({"preferred_types": preferred_types})
    types_by_name = ((name, settings.preferred_type(name)) for name in names)
    return {name: str(data_type) for name, data_type in types_by_name if data_type}


S802 = Rule(
    title="patterns for new columns changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.BOTH,
    why="dlt gives these hints and types to new columns, by name. Existing columns keep theirs, so a newly inferred "
    "schema, or a new destination, differs in the listed columns.",
    fix="Set hints and types on the columns themselves if they matter. Anchor the patterns (`re:^…$`), because dlt "
    "searches for them anywhere in a name.",
    find=find_patterns_changed,
)
