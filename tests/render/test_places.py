from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from review_samples import broken

from schemactl.errors import Location
from schemactl.render.review_words import file_name, nearest_place, stated_place


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository; the working folder is its folder ``team``."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "team").mkdir()
    monkeypatch.chdir(tmp_path / "team")
    return tmp_path


@pytest.mark.parametrize(("path", "expected"), [
    ("orders.yaml", "team/orders.yaml"), ("./a/../orders.yaml", "team/orders.yaml"), ("../orders.yaml", "orders.yaml"),
    ("HEAD:schemas/orders.yaml", "schemas/orders.yaml"), ("HEAD:./orders.yaml", "team/orders.yaml"),
    ("HEAD:../orders.yaml", "orders.yaml"), (":orders.yaml", "orders.yaml"), (":0:orders.yaml", "orders.yaml"),
    ("main@{2026-01-01 10:00}:orders.yaml", "orders.yaml"), ("HEAD:schemas\\orders.yaml", "schemas/orders.yaml"),
    ("./a:b.yaml", "team/a:b.yaml"), ("HEAD:/etc/orders.yaml", None), ("HEAD:", None),
    ("s3://bucket/orders.yaml", None), ("<stdin>", None), ("-", None),
])  # fmt: skip
def test_file_is_named_from_the_top_of_the_repository(top: Path, path: str, expected: str | None) -> None:
    assert file_name(path) == expected


def test_absolute_file_is_relative_where_it_is_inside(top: Path) -> None:
    assert file_name(str(top / "schemas" / "orders.yaml")) == "schemas/orders.yaml"
    assert file_name(str(top.parent / "orders.yaml")) == (top.parent / "orders.yaml").as_posix()


def test_file_above_the_repository_stays_absolute(top: Path) -> None:
    assert file_name("../../orders.yaml") == (top.parent / "orders.yaml").as_posix()


def test_without_a_repository_names_start_at_the_working_folder(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert file_name("schemas/orders.yaml") == "schemas/orders.yaml"


def test_places_fall_back_from_head_to_base_to_origins_to_the_name() -> None:
    review = broken().reviews[1]
    finding = review.findings[0]
    assert nearest_place(finding, review) == stated_place(finding) == Location("schemas/orders.schema.yaml", 21, 5)

    piped = replace(finding, location=Location("<stdin>", 21, 5))
    assert stated_place(piped) is None
    assert nearest_place(piped, review) == Location("schemas/orders.schema.yaml", 34, 7)

    lost = replace(finding, location=None, base_location=None, schema="a/b: c")
    assert nearest_place(lost, review) == Location("schemas/orders.schema.yaml")
    assert nearest_place(lost, replace(review, base=None, head=None)) == Location("a_b__c.schema.yaml")
