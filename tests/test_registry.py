"""Plug-ins: modules of a package by their file names, and modules of other packages by entry points."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.registry import Registry, import_module_if_exists

ENTRY_POINTS = """\
[schemactl.thing_of_tests]
snake_case = registry_acme.good
good = registry_acme.good
broken = registry_acme.broken
gone = registry_acme.gone
object = registry_acme.good:NAME
"""


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry with naming conventions as its built-in plug-ins, and those of an installed package."""
    package = tmp_path / "registry_acme"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "good.py").write_text("NAME = 'good'\n")
    (package / "broken.py").write_text("import registry_acme_needs_this\n")
    info = tmp_path / "registry_acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: registry-acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    return Registry("thing of tests", "schemactl.schema.naming")


def test_built_in_names_come_first_and_modules_with_an_underscore_are_none(things):
    names = list(things)
    assert names[-4:] == ["broken", "gone", "good", "object"]
    assert "snake_case" in names[:-4]
    assert not any(name.startswith("_") for name in names)
    assert len(things) == len(names)


def test_a_built_in_plug_in_goes_before_an_installed_one_of_its_name(things):
    assert things["snake_case"].__name__ == "schemactl.schema.naming.snake_case"


def test_an_installed_plug_in_is_the_module_that_its_entry_point_names(things):
    assert things["good"].NAME == "good"


def test_an_unknown_name_is_reported_with_the_nearest_one(things):
    with pytest.raises(InputError, match="there is no thing of tests `snake_kase`") as caught:
        things["snake_kase"]

    assert caught.value.hint == "did you mean `snake_case`?"


def test_a_name_that_is_no_text_is_not_in_it(things):
    assert ["good"] not in things


def test_an_installed_plug_in_that_fails_is_reported_with_its_fault(things):
    with pytest.raises(InputError, match=r"`registry_acme.broken` does not import: .*registry_acme_needs_this"):
        things["broken"]


@pytest.mark.parametrize("name", ["gone", "object"])
def test_an_entry_point_that_names_no_module_is_reported(things, name):
    with pytest.raises(
        InputError, match=rf"`{name}` is installed as `registry_acme\.\w+(:NAME)?`, which is not a module"
    ):
        things[name]


@pytest.mark.parametrize("reference", ["registry_acme.none", "registry_acme_none.good", "no module", ""])
def test_a_path_without_a_module_gives_none(things, reference):
    assert import_module_if_exists(reference, "thing") is None
