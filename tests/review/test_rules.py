"""Every rule on its own fixture: ``rules/c204.yaml`` holds the cases of C204.

A fixture is a list of cases. A case has a ``name``, a ``base`` and a ``head``, the ``finds`` expected of this rule
(``table``, ``column``, ``sentence``; an empty list where it must find nothing), and an ``impact`` where a match has
another than its rule; ``settings`` that the head changes. Base and head are parts of stored schemas, the rest is
filled in; ``side`` in them says what only a file knows (``stated_hash``, ``is_edited``, ``stated_engine_version``).
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from schemactl.errors import InputError
from schemactl.review.comparison import Comparison, SettingChange, Side
from schemactl.review.review import compare
from schemactl.review.rules import all_rules, rule_ids
from schemactl.review.severity import Severity
from schemactl.schema.structure import NameLimits
from schemactl.schema.templates import new_schema
from schemactl.schema.types import schema_from_dict

FOLDER = Path(__file__).parent / "rules"

RULES_BY_ID = {rule.id: rule for rule in all_rules()}


def cases_of(path: Path) -> list[dict]:
    return yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


FIXTURES = {path.stem: cases_of(path) for path in sorted(FOLDER.glob("*.yaml"))}

CASES = [
    pytest.param(stem.upper(), case, id=f"{stem}-{case['name']}") for stem, cases in FIXTURES.items() for case in cases
]


def side(parts: dict | None) -> Side:
    parts = dict(parts or {})
    known = dict(parts.pop("side", {}))
    stored = {**new_schema("shop").to_dict(), "tables": {}, **parts}
    stored["tables"] = {name: with_defaults(name, table) for name, table in stored["tables"].items()}
    if "destination" in known:
        known["destination"] = NameLimits(**known["destination"])
    known["unfilled"] = tuple(map(tuple, known.get("unfilled", ())))
    return Side(schema_from_dict(stored), **{**known, "hashes": tuple(known.get("hashes", ()))})


def with_defaults(name: str, table: dict | None) -> dict:
    """Return the table with what reading a file fills in."""
    filled = {"columns": {}, **(table or {})}
    columns = {column: properties or {} for column, properties in (filled["columns"] or {}).items()}
    if not filled.get("parent"):
        filled = {"write_disposition": "append", "resource": name, **filled}
    return {**filled, "columns": columns}


def comparison_of(case: dict) -> Comparison:
    settings = tuple(SettingChange(**each) for each in case.get("settings", ()))
    return replace(compare(side(case.get("base")), side(case.get("head")), date.today()), settings=settings)


@pytest.mark.parametrize(("rule_id", "case"), CASES)
def test_a_rule_finds_what_its_fixture_says_and_nothing_where_nothing_changed(rule_id, case):
    rule, comparison = RULES_BY_ID[rule_id], comparison_of(case)
    matches = list(rule.find(comparison))
    found = [(match.table, match.column, match.sentence) for match in matches]
    assert found == [(each.get("table"), each.get("column"), each["sentence"]) for each in case["finds"]]
    for match in matches:
        # What asks the data also says how to count, and what to do if nothing is lost.
        assert match.question is None or (rule.count and rule.fix_if_all_survive)
        impact = match.impact or rule.impact
        for axis, severity in case.get("impact", {}).items():
            assert getattr(impact, axis) == severity, axis
    assert_keys_lead_to_something(matches, comparison)
    head = comparison.head
    assert list(rule.find(compare(head, replace(head), date.today()))) == []


def assert_keys_lead_to_something(matches, comparison):
    """Look for the keys of each match in one of the schemas or the settings."""
    stored = [each.schema.to_dict() for each in (comparison.base, comparison.head)]
    stored.append({"settings": {each.key: each.after for each in comparison.settings}})
    for match in matches:
        assert match.keys
        assert any(leads_to_something(tree, match.keys) for tree in stored), match.keys


def leads_to_something(tree, keys) -> bool:
    for key in keys:
        try:
            tree = tree[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def test_every_rule_has_a_fixture_and_every_fixture_a_rule():
    assert {stem.upper() for stem in FIXTURES} == set(RULES_BY_ID)


@pytest.mark.parametrize("cases", FIXTURES.values(), ids=FIXTURES)
def test_a_fixture_has_a_case_that_finds_and_one_that_does_not(cases):
    assert any(case["finds"] for case in cases)
    assert any(not case["finds"] for case in cases)
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names))


def test_ids_are_unique_and_no_other_s():
    assert list(RULES_BY_ID) == list(rule_ids())
    assert all(re.fullmatch(r"[A-Y]\d{3}", rule_id) for rule_id in RULES_BY_ID), "Z is left to third parties"


def installed(monkeypatch, name, rule_id):
    modules = {name: SimpleNamespace(__name__="own_rules", RULE=replace(all_rules()[0], id=rule_id))}
    monkeypatch.setattr("schemactl.review.rules.RULES", modules)


@pytest.mark.parametrize("rule_id", ["", "Z101"])
def test_a_rule_has_the_id_that_its_name_begins_with(monkeypatch, rule_id):
    installed(monkeypatch, "z101_own", rule_id)
    assert [rule.id for rule in all_rules.__wrapped__()] == ["Z101"]


def test_an_installed_module_without_a_rule_is_refused_whatever_rules_it_imports(monkeypatch):
    modules = {"z103_own": SimpleNamespace(__name__="own_rules", C204=all_rules()[0])}
    monkeypatch.setattr("schemactl.review.rules.RULES", modules)
    with pytest.raises(InputError, match="the module that is installed as the rule `z103_own` has no `RULE`"):
        all_rules.__wrapped__()


def test_a_rule_that_states_another_id_than_its_name_is_refused(monkeypatch):
    """It could not be silenced: settings know rules by the names that they are installed under."""
    installed(monkeypatch, "z102_own", "Z199")
    with pytest.raises(InputError, match="the rule installed as `z102_own` has the id `Z199`"):
        all_rules.__wrapped__()


@pytest.mark.parametrize("rule", RULES_BY_ID.values(), ids=lambda rule: rule.id)
def test_a_rule_explains_itself(rule):
    first_word = rule.title.split()[0]
    assert first_word[0].islower() or first_word.isupper() or first_word[0] == "`"
    assert not rule.title.endswith(".")
    for text in (rule.why, rule.fix, *filter(None, (rule.count, rule.fix_if_all_survive))):
        assert text[0].isupper() or text.startswith(("dlt", "`"))
        assert text.endswith((".", ".)"))
        assert len(text) > 20
        assert text == " ".join(text.split())


@pytest.mark.parametrize("rule", RULES_BY_ID.values(), ids=lambda rule: rule.id)
def test_only_stored_data_is_left_to_be_counted(rule):
    assert Severity.DEPENDS not in (rule.impact.readers, rule.impact.writers)
