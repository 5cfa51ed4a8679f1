"""From a schema to its normalizer."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from schemactl.errors import InputError
from schemactl.normalization.normalizers import normalizer_of, relational, relational_no_coercion
from schemactl.registry import admit_modules
from schemactl.schema.templates import new_schema

SCHEMA = new_schema("demo")


def naming(module):
    return replace(SCHEMA, normalizers={**SCHEMA.normalizers, "json": {"module": module}})


@pytest.mark.parametrize("module", ["relational", "dlt.common.normalizers.json.relational", "", None])
def test_dlts_normalizer_is_the_default_by_any_name(module):
    assert normalizer_of(naming(module)) is relational


def test_a_schema_may_state_no_normalizer():
    assert normalizer_of(replace(SCHEMA, normalizers={})) is relational


def test_the_one_that_coerces_nothing():
    assert normalizer_of(naming("dlt.common.normalizers.json.relational_no_coercion")) is relational_no_coercion


def test_a_module_of_the_users(tmp_path, monkeypatch):
    (tmp_path / "own_normalizer.py").write_text("def plan(request):\n    return 'planned'\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="no normalizer") as reported:
        normalizer_of(naming("own_normalizer"))
    assert "--naming-module own_normalizer" in reported.value.hint
    assert "own_normalizer" not in sys.modules
    with admit_modules(["own_normalizer"]):
        assert normalizer_of(naming("own_normalizer")).plan(None) == "planned"


@pytest.mark.parametrize(("module", "message", "hint"), [
    ("relatonal", "no normalizer `relatonal`", "did you mean `relational`"),
    ("dlt.common.normalizers.json.relational_no_coersion", "no normalizer", "did you mean `relational_no_coercion`"),
    ("no.such.module", "no normalizer `no.such.module`", "known: nested, relational"),
    ("json", "contains no normalizer", "plan"),
])  # fmt: skip
def test_what_is_no_normalizer_is_reported(module, message, hint):
    with pytest.raises(InputError, match=message) as reported, admit_modules(["no.such.module", "json"]):
        normalizer_of(naming(module))
    assert hint in reported.value.hint


def test_a_module_that_does_not_import_is_reported(tmp_path, monkeypatch):
    (tmp_path / "broken_normalizer.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="does not import: No module named"), admit_modules(["broken_normalizer"]):
        normalizer_of(naming("broken_normalizer"))
