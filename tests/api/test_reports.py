"""The reports of the API as text and in notebooks: what the commands print."""

from __future__ import annotations

import builtins
import copy
import html
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rich.console

from schemactl import api
from schemactl.cli.app import run

SHOP = api.build("shop").table("orders").column("id", "bigint").column("total", "double").schema()
TEXT_TOTAL = api.edit(SHOP).table("orders").column("total", "text").schema()


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "python"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    for name, schema in (("old", SHOP), ("new", TEXT_TOTAL)):
        Path(f"{name}.schema.yaml").write_text(str(api.write(schema)))
    Path("orders.csv").write_text("id,total\n1,1.5\n2,<b>&amp;\n")


def infer() -> Any:
    return api.infer("orders.csv", "shop", dry_run=True, engine="local")


def infer_against_a_contract() -> Any:
    return api.infer("orders.csv", "shop", dry_run=True, engine="local", contract="tables=freeze")


def normalize() -> Any:
    return api.normalize("orders.csv", "shop", "duckdb:///a.duckdb", load_id="one", engine="local")


def review() -> Any:
    return api.review("old.schema.yaml", "new.schema.yaml")


def plan() -> Any:
    return api.plan("old.schema.yaml", "sqlite:///a.db")


def plan_script() -> Any:
    return api.plan("new.schema.yaml", dialect="snowflake", start="old.schema.yaml")


def apply() -> Any:
    return api.apply("old.schema.yaml", "sqlite:///a.db")


def save() -> Any:
    return api.save(SHOP)


COMMANDS: list[tuple[Callable[[], Any], str]] = [
    (infer, "infer orders.csv --name shop --check --engine local"),
    (infer_against_a_contract, "infer orders.csv --name shop --check --engine local --contract tables=freeze"),
    (normalize, "normalize orders.csv --name shop --to duckdb:///a.duckdb --load-id one --engine local"),
    (review, "diff old.schema.yaml new.schema.yaml"),
    (plan, "migrate plan old.schema.yaml --to sqlite:///a.db"),
    (plan_script, "migrate plan new.schema.yaml --dialect snowflake --from old.schema.yaml"),
    (apply, "migrate apply old.schema.yaml --to sqlite:///a.db --yes"),
    (save, "import old.schema.yaml --name shop"),
]


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d+ s\b", "0.0 s", text)


@pytest.mark.parametrize(("call", "command"), COMMANDS)
def test_a_report_prints_as_its_command(
    call: Callable[[], Any], command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    report = call()
    other_folder = tmp_path / "command"
    other_folder.mkdir()
    for file in ("old.schema.yaml", "new.schema.yaml", "orders.csv"):
        (other_folder / file).write_bytes(Path(file).read_bytes())
    monkeypatch.chdir(other_folder)
    capsys.readouterr()
    run([*command.split(), "--color", "never"])
    printed, _, _ = capsys.readouterr().out.partition("\nTo apply it: ")
    assert without_times(f"{report}\n") == without_times(printed)


@pytest.mark.parametrize("call", [call for call, _ in COMMANDS])
def test_a_notebook_shows_the_text_of_a_report_as_one_element(call: Callable[[], Any]) -> None:
    report = call()
    page = report._repr_html_()
    assert {tag.partition(" ")[0] for tag in re.findall(r"<([^>]*)>", page)} <= {"pre", "/pre", "span", "/span"}
    shown = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert [line.rstrip() for line in shown.splitlines()] == str(report).splitlines()
    assert ("<span" in page) == (call is not plan_script)
    assert "\x1b" not in str(report)


class ZMQInteractiveShell:
    """The shell of a Jupyter kernel, by whose name rich recognizes a notebook."""


def test_a_notebook_displays_only_what_is_returned_to_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = review()
    text, page = str(report), report._repr_html_()
    capsys.readouterr()
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert rich.console._is_jupyter()
    assert (str(report), report._repr_html_()) == (text, page)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("call", [call for call, _ in COMMANDS])
def test_the_repr_of_a_report_is_one_short_line(call: Callable[[], Any]) -> None:
    report = call()
    assert re.fullmatch(rf"<{type(report).__name__} [^\n]{{3,60}}>", repr(report))
    assert type(report).__name__ in api.__all__


@pytest.mark.parametrize("call", [infer, review, plan, apply, save])
def test_reports_can_be_copied(call: Callable[[], Any]) -> None:
    report = call()
    assert pickle.loads(pickle.dumps(report)) == copy.deepcopy(report) == report


def test_reports_within_reports_print_too() -> None:
    planned = apply().planned
    assert isinstance(planned, api.PlanReport)
    assert "create table `orders`" in str(planned)
    inferred = normalize().inference
    assert isinstance(inferred, api.InferenceReport)
    assert "+ orders, new table" in str(inferred)


def test_a_report_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    report = review()
    wide = str(report)
    monkeypatch.setenv("COLUMNS", "40")
    narrow = str(report)
    assert 40 < max(map(len, wide.splitlines())) <= 80
    assert max(map(len, narrow.splitlines())) <= 40


def test_data_cannot_put_elements_or_links_into_a_notebook() -> None:
    value = "<img src=x onerror=alert(1)>\x1b]8;;javascript:alert(1)\x1b\\here\x1b[31m"
    api.save(SHOP)
    report = api.infer([{"id": 1, "total": value}], "shop", table="orders", contract="data_type=freeze")
    assert report.violations
    page = report._repr_html_()
    assert "&lt;img src=x" in page
    assert "<img" not in page
    assert "<a " not in page


def test_names_in_a_script_cannot_put_links_into_a_notebook() -> None:
    name = "a\x1b]8;;javascript:alert(1)\x1b\\b<i>"
    schema = api.build("shop", naming="direct").table("orders").column(name, "bigint").schema()
    script = api.plan(schema, dialect="duckdb")
    assert name in str(script)
    page = script._repr_html_()
    assert "&lt;i&gt;" in page
    assert "<a " not in page
