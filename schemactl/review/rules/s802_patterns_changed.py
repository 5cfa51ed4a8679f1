"""S802: other patterns give new columns their hints and types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.setting_effects import column_names, hit, preferred
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import listed
from schemactl.schema.changes import ABSENT, SettingChanged


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each list of ``default_hints`` with other patterns, and the change of ``preferred_types``."""
    for change in comparison.of(SettingChanged):
        if change.name == "default_hints":
            yield from _hints(comparison, _mapping(change.before), _mapping(change.after))
        elif change.name == "preferred_types":
            yield from _types(comparison, _mapping(change.before), _mapping(change.after))


def _hints(comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Match]:
    places = column_names(comparison)
    for hint in {**before, **after}:
        old, new = before.get(hint) or [], after.get(hint) or []
        if set(old) == set(new):
            continue
        hit_before, hit_after = hit(old, places), hit(new, places)
        yield Match(
            sentence=_sentence(
                f"default_hints.{hint}",
                [place for name, place in places.items() if name in hit_after - hit_before],
                [place for name, place in places.items() if name in hit_before - hit_after],
            ),
            keys=("settings", "default_hints", hint),
            before=before.get(hint),
            after=after.get(hint),
        )


def _types(comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Match]:
    places = column_names(comparison)
    old, new = preferred(before, places), preferred(after, places)
    if before == after and old == new:  # only the order of patterns changed, and decides nothing
        return
    yield Match(
        sentence=_sentence(
            "preferred_types",
            [place for name, place in places.items() if new.get(name) not in (None, old.get(name))],
            [place for name, place in places.items() if name in old and name not in new],
        ),
        keys=("settings", "preferred_types"),
        before=dict(before),
        after=dict(after),
    )


def _sentence(setting: str, now: list[str], no_longer: list[str]) -> str:
    phrase = [f"hits {listed(now)} now"] if now else []
    phrase += [f"hits {listed(no_longer)} no longer"] if no_longer else []
    return f"`{setting}` changes: {', '.join(phrase) or 'hits no other of the columns of today'}"


def _mapping(stated: Any) -> Mapping[str, Any]:
    return {} if stated is ABSENT or not stated else stated


RULE = Rule(
    id="S802",
    title="patterns for new columns changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.BOTH,
    why="dlt gives these hints and types to columns when they are new, by their names. Columns that exist keep what "
    "they have, so a schema that is inferred anew, or a new destination, differs in the columns that are named.",
    fix="State hints and types on the columns themselves where they matter. Anchor the patterns (`re:^…$`), because "
    "dlt searches for them anywhere in a name.",
    find=find,
)
