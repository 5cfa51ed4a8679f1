"""``schemactl diff`` and ``rules`` around the flow: references, exit codes, configuration, outputs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_schemas import check_document
from git_commands import commit, git

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.inference.lineage import Lineage, TableLineage, to_json
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

COLUMNS = {"id": {"data_type": "bigint", "nullable": False}, "note": {"data_type": "text"}}
WITHOUT_NOTE = {"id": COLUMNS["id"]}


def schema_of(columns: dict[str, dict[str, object]], name: str = "shop", before: Schema | None = None) -> Schema:
    table = Table(
        "orders",
        {key: Column(key, value) for key, value in columns.items()},
        {"write_disposition": "append", "resource": "orders"},
    )
    start = before or new_schema(name)
    return bump(replace(start, tables={**start.tables, "orders": table}))


def write(path: Path, schema: Schema) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dlt.write(schema, str(path)))
    return path


BASE = schema_of(COLUMNS)
HEAD = schema_of(WITHOUT_NOTE, before=BASE)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "base.yaml", BASE)
    write(tmp_path / "head.yaml", HEAD)
    return tmp_path


def document(*args: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    run(["diff", "--format", "json", *args])
    found = json.loads(capsys.readouterr().out)
    check_document(found, "diff")
    return found


def test_a_broken_reader_is_reported_and_fails_the_command(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["diff", "base.yaml", "head.yaml"]) == 1
    out = capsys.readouterr().out
    assert "✗ error C204: column `note` was removed from `orders`" in out
    assert "1 error — breaks readers and stored data" in out


def test_what_changed_is_named_with_its_paths_in_the_data(work: Path, capsys: pytest.CaptureFixture[str]):
    write(work / "new" / "shop.schema.yaml", schema_of({**WITHOUT_NOTE, "remark": COLUMNS["note"]}, before=BASE))
    lineage = TableLineage(("$",), {"remark": {"$.meta.Note": ("text",)}, "id": {"$.id": ("bigint",)}})
    (work / "new" / "shop.lineage.json").write_text(to_json(Lineage({"orders": lineage})))
    run(["diff", "base.yaml", "new/shop.schema.yaml", "--verbose"])
    assert "+ remark: new column, text from $.meta.Note" in capsys.readouterr().out
    run(["diff", "base.yaml", "new/shop.schema.yaml", "--format", "markdown"])
    assert "new column, text from `$.meta.Note`" in capsys.readouterr().out
    (review,) = document("base.yaml", "new/shop.schema.yaml", capsys=capsys)["reviews"]
    assert review["sources"] == [{"table": "orders", "column": "remark", "paths": ["$.meta.Note"]}]


def test_a_renamed_column_has_the_paths_of_its_old_name(work: Path, capsys: pytest.CaptureFixture[str]):
    renamed = {"id": COLUMNS["id"], "remark": {**COLUMNS["note"], "x-renamed-from": "note"}}
    write(work / "new" / "shop.schema.yaml", schema_of(renamed, before=BASE))
    lineage = Lineage({"orders": TableLineage(("$",), {"note": {"$.note": ("text",)}})})
    (work / "new" / "shop.lineage.json").write_text(to_json(lineage))
    (review,) = document("base.yaml", "new/shop.schema.yaml", capsys=capsys)["reviews"]
    assert review["sources"] == [{"table": "orders", "column": "remark", "paths": ["$.note"]}]


def test_the_same_schema_on_both_sides_is_no_change(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["diff", "base.yaml", "base.yaml"]) == 0
    assert capsys.readouterr().out.endswith("no changes\n")


def test_data_that_is_not_there_is_an_error_and_none_is_said_to_be_counted_without_need(
    work: Path, capsys: pytest.CaptureFixture[str]
):
    (work / "orders.jsonl").write_text('{"id": 1}\n')
    write(work / "described.yaml", schema_of({**COLUMNS, "note": {"data_type": "text", "description": "x"}}))
    assert run(["diff", "base.yaml", "described.yaml", "--data", "orders.jsonl"]) == 0
    assert "data counted" not in capsys.readouterr().out
    assert run(["diff", "base.yaml", "described.yaml", "--data", "nosuch.jsonl"]) == 2
    assert "nosuch.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warn", 1), ("never", 0)])
def test_fail_on_says_how_bad_a_finding_has_to_be(work: Path, fail_on: str, code: int):
    assert run(["diff", "base.yaml", "head.yaml", "--severity", "C204=warn", "--fail-on", fail_on]) == code


@pytest.mark.parametrize(("compat", "code"), [("readers", 1), ("writers", 1), ("full", 1), ("none", 0)])
def test_each_mode_looks_at_those_it_is_named_for(work: Path, compat: str, code: int):
    assert run(["diff", "base.yaml", "head.yaml", "--compat", compat]) == code


def test_nobody_who_only_writes_is_broken_by_a_column_that_may_be_null_now(work: Path):
    write(work / "head.yaml", schema_of({**COLUMNS, "id": {"data_type": "bigint"}}, before=BASE))
    assert run(["diff", "base.yaml", "head.yaml", "--compat", "writers"]) == 0
    assert run(["diff", "base.yaml", "head.yaml", "--compat", "readers"]) == 1


def test_a_broken_contract_fails_in_every_mode(work: Path, capsys: pytest.CaptureFixture[str]):
    frozen = bump(replace(schema_of(WITHOUT_NOTE), settings={"schema_contract": {"columns": "freeze"}}))
    write(work / "base.yaml", frozen)
    write(work / "head.yaml", schema_of(COLUMNS, before=frozen))
    assert run(["diff", "base.yaml", "head.yaml", "--compat", "none"]) == 1
    assert "contract violation X703" in capsys.readouterr().out


def put_both(work: Path, schema: Schema) -> tuple[Path, Path]:
    """Write import and export file of a schema that data brought."""
    imported = replace(schema, tables={name: table for name, table in schema.tables.items() if name != "orders"})
    orders = schema.tables["orders"]
    hints = bump(replace(imported, version_hash="", tables={**imported.tables, "orders": replace(orders, columns={})}))
    marked = replace(orders, properties={**orders.properties, "x-normalizer": {"seen-data": True}})
    exported = bump(replace(schema, version_hash=hints.version_hash, tables={**schema.tables, "orders": marked}))
    folder = work / "schemas"
    return write(folder / "import/shop.schema.yaml", hints), write(folder / "export/shop.schema.yaml", exported)


DATA = schema_of({name: {**stated, "nullable": name != "id"} for name, stated in COLUMNS.items()})
"""A schema whose columns are as data brings them, but for `id`."""


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


NO_COLUMNS = "  orders:\n    columns: {}\n"
KEY = "  orders:\n    columns:\n      id:\n        nullable: false\n        primary_key: true\n"


def test_by_default_it_says_what_an_edit_of_the_import_file_will_do(work: Path, capsys: pytest.CaptureFixture[str]):
    imported, _ = put_both(work, DATA)
    write(work / "schemas/import/stock.schema.yaml", schema_of(COLUMNS, "stock"))
    write(work / "schemas/export/stock.schema.yaml", schema_of(COLUMNS, "stock"))
    assert run(["diff"]) == 0
    assert "unchanged: shop, stock" in capsys.readouterr().out
    edit(imported, NO_COLUMNS, KEY.replace("nullable: false", "nullable: true"))
    run(["diff"])
    out = capsys.readouterr().out
    assert "from schemas/export/shop.schema.yaml to" in out
    assert "primary key" in out
    assert "no primary key any more" not in out
    assert "note" not in out
    assert "stock: unchanged" in out or "unchanged: stock" in out
    assert run(["diff", "stock"]) == 0


def test_an_edit_of_the_import_file_alone_is_reviewed(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", "-b", "main", ".")
    imported, _ = put_both(work, DATA)
    commit("first")
    assert run(["diff", "git:main"]) == 0
    edit(imported, NO_COLUMNS, NO_COLUMNS.replace("{}", "\n      note:\n        data_type: bigint\n".rstrip()))
    capsys.readouterr()
    assert run(["diff", "git:main"]) == 1
    out = capsys.readouterr().out
    assert "~ note: type text -> bigint" in out
    assert "schemas/import/shop.schema.yaml:" in out
    commit("second")
    assert run(["diff", "git:main~1"]) == 1
    assert run(["diff", "git:main"]) == 0


def test_what_only_data_can_say_of_an_edit_fails_the_review(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", "-b", "main", ".")
    imported, _ = put_both(work, DATA)
    commit("first")
    edit(imported, "  detections:", "  preferred_types:\n    note: double\n  detections:")
    assert run(["diff", "git:main"]) == 1
    out = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "V007: import edit not applied: `preferred_types` changed for `orders.note`" in out


def test_the_last_schema_deleted_is_a_finding(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", "-b", "main", ".")
    export = write(work / "schemas/export/shop.schema.yaml", BASE)
    commit("first")
    export.unlink()
    assert run(["diff", "git:main"]) == 1
    assert "shop: schema removed" in capsys.readouterr().out


def test_a_base_whose_schemas_are_elsewhere_is_refused(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", "-b", "main", ".")
    write(work / "contracts/export/shop.schema.yaml", BASE)
    (work / "base.yaml").unlink()
    commit("first")
    (work / "contracts").rename(work / "schemas")
    assert run(["diff", "git:main"]) == 2
    error = capsys.readouterr().err
    assert "there is no schema file at `schemas` in revision `main`" in error
    assert "in `contracts`: `git:main:contracts schemas`" in error
    assert run(["diff", "git:main:contracts", "schemas"]) == 0


def test_each_of_several_folders_of_schemas_is_named_with_the_option_that_compares_it(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    git("init", "-q", "-b", "main", ".")
    (work / "base.yaml").unlink()
    for name in ("a", "b"):
        write(work / f"apps/{name}/schemas/import/shop.schema.yaml", BASE)
        write(work / f"apps/{name}/schemas/export/shop.schema.yaml", BASE)
    commit("first")
    monkeypatch.chdir(work / "apps")
    assert run(["diff", "git:main..."]) == 2
    assert (
        "the revision has schema files in `a/schemas` and `b/schemas`: `--schemas a/schemas`" in capsys.readouterr().err
    )
    assert run(["diff", "git:main...", "--schemas", "a/schemas"]) == 0


def test_a_revision_is_compared_with_the_export_folder(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", ".")
    export = write(work / "schemas/export/shop.schema.yaml", BASE)
    commit("first")
    write(export, HEAD)
    assert run(["diff", "git:HEAD"]) == 1
    assert "from HEAD:schemas/export/shop.schema.yaml to schemas/export/shop.schema.yaml" in capsys.readouterr().out
    assert run(["diff", "git:HEAD", "git:HEAD:schemas/export"]) == 0


def test_a_bare_revision_is_reported_how_to_be_named(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", "-b", "main", ".")
    write(work / "schemas/export/shop.schema.yaml", BASE)
    commit("first")
    git("tag", "shop")
    for call in (["main"], ["main", "shop"], ["shop", "main"]):
        assert run(["diff", *call]) == 2
        assert "hint: `main` is a git revision: write `git:main`" in capsys.readouterr().err
    for name in ("mian",):
        assert run(["diff", name]) == 2
        err = capsys.readouterr().err
        assert f"there is no schema `{name}` in" in err or "there is no schema in" in err
        assert "git knows" not in err


def test_schemas_that_came_or_went_since_a_revision_are_reported(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", ".")
    write(work / "schemas/export/shop.schema.yaml", BASE)
    gone = write(work / "schemas/export/stock.schema.yaml", schema_of(COLUMNS, "stock"))
    commit("two")
    gone.unlink()
    write(work / "schemas/export/staff.schema.yaml", schema_of(COLUMNS, "staff"))
    assert run(["diff", "git:HEAD"]) == 1
    out = capsys.readouterr().out
    assert "shop: unchanged" in out
    assert "staff: new schema" in out
    assert "stock: schema removed" in out


@pytest.mark.parametrize("head", ["shop", "schemas/export/shop.schema.yaml"])
def test_of_a_revision_only_the_schema_counts_that_is_asked_for(
    head: str, work: Path, capsys: pytest.CaptureFixture[str]
):
    git("init", "-q", ".")
    write(work / "schemas/export/shop.schema.yaml", BASE)
    write(work / "schemas/export/stock.schema.yaml", schema_of(COLUMNS, "stock"))
    commit("two")
    assert run(["diff", "git:HEAD", head]) == 0
    assert "stock" not in capsys.readouterr().out


def test_a_revision_before_the_first_schema_is_an_empty_base(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", ".")
    commit("nothing yet")
    write(work / "schemas/export/shop.schema.yaml", BASE)
    assert run(["diff", "git:HEAD"]) == 0
    assert "shop: new schema" in capsys.readouterr().out
    assert run(["diff", "git:HEAD:schemas/exprot"]) == 2
    assert "there is no schema file at `schemas/exprot`" in capsys.readouterr().err


def test_a_repository_without_a_commit_is_named_as_the_reason(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", ".")
    assert run(["diff", "git:HEAD"]) == 2
    err = capsys.readouterr().err
    assert "has no commit yet" in err
    assert "git fetch" not in err


def test_keys_that_no_hash_counts_are_not_called_hints(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", ".")
    file = work / "schemas/export/shop.schema.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("name: shop\ntables:\n  orders:\n    columns:\n      id: {data_type: bigint}\n")
    commit("by hand")
    assert run(["fmt"]) == 0
    assert run(["diff", "git:HEAD"]) == 0
    out = capsys.readouterr().out
    assert "1 change of keys that the hash omits" in out
    assert "only hints and descriptions changed" not in out


@pytest.mark.parametrize("form", ["markdown", "text", "json", "github", "gitlab", "sarif", "junit"])
def test_versions_and_hashes_that_tools_write_are_no_change_to_show(
    work: Path, form: str, capsys: pytest.CaptureFixture[str]
):
    linked = replace(HEAD, imported_version_hash="import")
    write(work / "head.yaml", linked)
    run(["diff", "base.yaml", "head.yaml", "--format", form, "--verbose"])
    out = capsys.readouterr().out
    for key in ("previous_hashes", "imported_version_hash", "version_hash"):
        assert f"`{key}`" not in out
        assert f'"name": "{key}"' not in out
    if form == "json":
        found = json.loads(out)
        assert found["counts"]["changes"] == 1
        assert [change["kind"] for change in found["reviews"][0]["changes"]] == ["ColumnRemoved"]


def test_a_schema_that_is_new_or_gone_is_reported_with_its_tables(work: Path, capsys: pytest.CaptureFixture[str]):
    write(work / "a/shop.schema.yaml", BASE)
    write(work / "b/shop.schema.yaml", BASE)
    write(work / "b/stock.schema.yaml", schema_of(COLUMNS, "stock"))
    assert run(["diff", "a", "b"]) == 0
    assert "stock: new schema" in capsys.readouterr().out
    assert run(["diff", "b", "a"]) == 1
    assert "T102" in capsys.readouterr().out


def test_older_versions_are_looked_at_where_that_is_asked_for(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", ".")
    export = write(work / "schemas/export/shop.schema.yaml", BASE)
    commit("first")
    write(export, HEAD)
    commit("note is gone")
    assert run(["diff", "git:HEAD"]) == 0
    capsys.readouterr()
    assert run(["diff", "git:HEAD", "--transitive"]) == 1
    out = capsys.readouterr().out
    assert "error C204: column `note` was removed from `orders`" in out
    assert "breaks " in out
    assert ":schemas/export/shop.schema.yaml" in out


def test_older_versions_count_where_the_files_state_no_version(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", ".")
    for data_type in ("text", "bigint", "double"):
        table = f"  orders:\n    columns:\n      total: {{data_type: {data_type}}}\n"
        (work / "schemas/export").mkdir(parents=True, exist_ok=True)
        (work / "schemas/export/shop.schema.yaml").write_text(f"name: shop\ntables:\n{table}")
        commit(data_type)
    assert run(["diff", "git:HEAD"]) == 0
    capsys.readouterr()
    assert run(["diff", "git:HEAD", "--transitive"]) == 1
    out = capsys.readouterr().out
    assert "error D302: " in out
    assert "breaks " in out


def test_a_broken_history_is_reported_once_and_not_for_each_older_version(
    work: Path, capsys: pytest.CaptureFixture[str]
):
    git("init", "-q", ".")
    export = work / "schemas/export/shop.schema.yaml"
    version = BASE
    for number in range(3):
        version = schema_of({**COLUMNS, f"column_{number}": {"data_type": "text"}}, before=version)
        write(export, version)
        commit(f"version {number}")
    write(export, schema_of({**COLUMNS, "other": {"data_type": "text"}}))
    run(["diff", "git:HEAD", "--transitive", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    rules = [finding["rule"] for review in document["reviews"] for finding in review["findings"]]
    assert rules.count("V003") == 1


def test_a_guessed_rename_says_how_to_state_and_to_refuse_it(work: Path, capsys: pytest.CaptureFixture[str]):
    write(work / "base.yaml", schema_of({"id": COLUMNS["id"], "cust_id": COLUMNS["note"]}))
    write(work / "head.yaml", schema_of({"id": COLUMNS["id"], "customer_id": COLUMNS["note"]}))
    for form in ("text", "markdown", "github", "json"):
        run(["diff", "base.yaml", "head.yaml", "--format", form])
        out = capsys.readouterr().out
        assert "x-renamed-from: cust_id" in out
        assert "x-renamed-from: []" in out


def test_a_stated_rename_is_not_asked_to_be_stated(work: Path, capsys: pytest.CaptureFixture[str]):
    write(work / "base.yaml", schema_of({"id": COLUMNS["id"], "cust_id": COLUMNS["note"]}))
    stated = {**COLUMNS["note"], "x-renamed-from": "cust_id"}
    write(work / "head.yaml", schema_of({"id": COLUMNS["id"], "customer_id": stated}))
    for form in ("text", "markdown", "github", "json"):
        run(["diff", "base.yaml", "head.yaml", "--format", form])
        out = capsys.readouterr().out
        assert "C206" in out
        assert "State `x-renamed-from" not in out


def test_a_schema_in_the_place_of_another_is_new(work: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "-q", ".")
    export = write(work / "schemas/export/shop.schema.yaml", BASE)
    commit("one")
    export.unlink()
    weather = schema_of({}, "weather")
    tables = {name: table for name, table in weather.tables.items() if name != "orders"}
    stations = Table("stations", {"height": Column("height", {"data_type": "double"})}, {"resource": "stations"})
    write(work / "schemas/export/weather.schema.yaml", bump(replace(weather, tables={**tables, "stations": stations})))
    assert run(["diff", "git:HEAD"]) == 1
    out = capsys.readouterr().out
    assert "weather: new schema" in out
    assert "shop: schema removed" in out
    assert "V006" not in out


def test_older_versions_need_a_file(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["diff", "base.yaml", "head.yaml", "--transitive"]) == 2
    assert "is not in a git repository" in capsys.readouterr().err


def test_explain_names_the_mode_as_confluent_does(work: Path, capsys: pytest.CaptureFixture[str]):
    run(["diff", "base.yaml", "head.yaml", "--compat", "writers", "--explain"])
    assert "writers is BACKWARD in Confluent's schema registry" in capsys.readouterr().out


def test_silences_stand_in_the_settings(work: Path, capsys: pytest.CaptureFixture[str]):
    (work / "schemactl.toml").write_text(
        '[[diff.silence]]\nrule = "C204"\ntable = "ord*"\nreason = "nobody reads it"\n\n'
        '[[diff.silence]]\nrule = "T102"\nreason = "old"\nuntil = 2020-01-01\n'
    )
    assert run(["diff", "base.yaml", "head.yaml"]) == 0
    out = capsys.readouterr().out
    assert "silenced for good: nobody reads it" in out
    assert "\nwarning: schemactl.toml:6: " in out
    assert "T102" in out
    for form in ("markdown", "github", "json"):
        run(["diff", "base.yaml", "head.yaml", "--format", form])
        out = capsys.readouterr().out
        assert "schemactl.toml" in out
        assert str(work) not in out


def test_settings_of_a_folder_above_are_named_from_the_working_folder(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (work / "schemactl.toml").write_text("[[diff.silence]]\nrule = 'C204'\n")
    (work / "below").mkdir()
    monkeypatch.chdir(work / "below")
    assert run(["diff", "../base.yaml", "../head.yaml"]) == 2
    assert "error: ../schemactl.toml:1: silence 1 has no `reason`" in capsys.readouterr().err


def test_severities_stand_in_the_settings_and_on_the_command_line(work: Path):
    (work / "schemactl.toml").write_text('[diff]\nseverity = { C204 = "info" }\n')
    assert run(["diff", "base.yaml", "head.yaml"]) == 0
    assert run(["diff", "base.yaml", "head.yaml", "--severity", "C204=error"]) == 1


@pytest.mark.parametrize(
    ("args", "settings", "message"),
    [
        (["--severity", "C999=warn"], "", "there is no rule `C999`"),
        (["--severity", "C204=loud"], "", "`loud` is not a severity"),
        (["--severity", "C204=warning"], "", "did you mean `warn`?"),
        (["--format", "sarf"], "", "did you mean `sarif`?"),
        (["one.yaml"], "", "is an extra reference"),
        (["--compat", "reader"], "", "did you mean `readers`?"),
        ([], "[[diff.silence]]\nrule = 'C204'\n", "schemactl.toml:1: silence 1 has no `reason`"),
        ([], "[diff]\nsilence = 'C204'\n", "`silence` must be a list of tables"),
        ([], "[diff]\nsilences = []\n", "there is no setting `diff.silences`"),
    ],
)
def test_a_call_that_means_nothing_is_refused(
    work: Path, capsys: pytest.CaptureFixture[str], args: list[str], settings: str, message: str
):
    (work / "schemactl.toml").write_text(settings)
    assert run(["diff", "base.yaml", "head.yaml", *args]) == 2
    assert message in capsys.readouterr().err


def test_one_run_reports_in_several_formats(work: Path, capsys: pytest.CaptureFixture[str]):
    command = ["diff", "base.yaml", "head.yaml", "--color", "always"]
    formats = ("text", "json", "sarif", "junit")
    for name in formats:
        assert run([*command, "--format", name, "--output", f"alone/{name}"]) == 1

    assert run([*command, *(f"--report={name}=out/{name}" for name in formats)]) == 1

    assert "\x1b[" in capsys.readouterr().out
    for name in formats:
        assert (work / "out" / name).read_text() == (work / "alone" / name).read_text(), name


@pytest.mark.parametrize(("stated", "message"), [
    ("sarif", "`--report sarif` must be FORMAT=FILE"), ("sarif=", "`--report sarif=` must be FORMAT=FILE"),
    ("=a.json", "`--report =a.json` must be FORMAT=FILE"), ("sarf=a.json", "there is no output `sarf`"),
])  # fmt: skip
def test_a_report_that_cannot_be_made_is_refused_first(
    work: Path, capsys: pytest.CaptureFixture[str], stated: str, message: str
):
    assert run(["diff", "no-such.yaml", "head.yaml", "--report", stated]) == 2
    assert message in capsys.readouterr().err


def test_a_settings_file_does_not_name_files_to_write(work: Path, capsys: pytest.CaptureFixture[str]):
    (work / "schemactl.toml").write_text('[diff]\nreport = ["json=taken.json"]\n')
    assert run(["diff", "base.yaml", "head.yaml"]) == 2
    assert not (work / "taken.json").exists()


@pytest.mark.parametrize("output", ["markdown", "github", "gitlab", "sarif", "junit"])
def test_every_output_reports_the_finding(work: Path, capsys: pytest.CaptureFixture[str], output: str):
    assert run(["diff", "base.yaml", "head.yaml", "--format", output]) == 1
    assert "C204" in capsys.readouterr().out


def test_the_json_document_follows_its_schema(work: Path, capsys: pytest.CaptureFixture[str]):
    found = document("base.yaml", "head.yaml", capsys=capsys)
    assert found["counts"]["error"] == 1  # type: ignore[index]


def test_findings_point_to_the_line_of_the_file(work: Path, capsys: pytest.CaptureFixture[str]):
    run(["diff", "head.yaml", "base.yaml", "--format", "github"])
    line = next(line for line in capsys.readouterr().out.splitlines() if "C201" in line)
    number = int(line.partition("line=")[2].partition(",")[0])
    assert (work / "base.yaml").read_text().splitlines()[number - 1].strip() == "note:"


def test_the_result_can_go_to_a_file(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["diff", "base.yaml", "head.yaml", "--format", "sarif", "--output", "out/found.sarif"]) == 1
    assert capsys.readouterr().out == ""
    assert json.loads((work / "out/found.sarif").read_text())["version"] == "2.1.0"


def test_data_belongs_to_one_schema(work: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("shop", "stock"):
        write(work / f"schemas/import/{name}.schema.yaml", schema_of(COLUMNS, name))
        write(work / f"schemas/export/{name}.schema.yaml", schema_of(WITHOUT_NOTE, name))
    assert run(["diff", "--data", "orders.jsonl"]) == 2
    assert "`--data` is data of one schema, and these are 2: `shop`, `stock`" in capsys.readouterr().err


def test_standard_input_is_one_of_the_two(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["diff", "-", "-"]) == 2
    assert "BASE and HEAD cannot both be `-`" in capsys.readouterr().err


def git_arguments(old: Path | str, new: Path | str) -> list[str]:
    return ["diff", "--git", "shop.schema.yaml", str(old), "abc", "100644", str(new), "def", "100644"]


def test_git_shows_typed_changes_and_never_fails(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run(git_arguments("base.yaml", "head.yaml")) == 0
    assert "C204" in capsys.readouterr().out
    assert run(git_arguments("/dev/null", "head.yaml")) == 0
    assert "new schema" in capsys.readouterr().out


def test_git_names_both_files_of_a_rename(work: Path, capsys: pytest.CaptureFixture[str]):
    assert run([*git_arguments("base.yaml", "base.yaml"), "store.schema.yaml", "similarity index 100%"]) == 0
    assert capsys.readouterr().out.startswith("shop.schema.yaml -> store.schema.yaml\n")


def test_a_schema_that_has_the_name_of_its_file_is_renamed_with_it_in_git(
    work: Path, capsys: pytest.CaptureFixture[str]
):
    """One that states its name changes it in the file, which is the same finding."""
    text = "version: 1\nengine_version: 11\ntables: {orders: {columns: {id: {data_type: bigint}}}}\n"
    (work / "state.yaml").write_text(text)
    assert run([*git_arguments("state.yaml", "state.yaml"), "store.schema.yaml", "similarity index 100%"]) == 0
    out = capsys.readouterr().out
    assert "error V006: the schema `shop` was renamed to `store`" in out
    assert "at store.schema.yaml" in out


def test_git_shows_lines_where_a_file_is_no_schema(work: Path, capsys: pytest.CaptureFixture[str]):
    (work / "broken.yaml").write_text("name: [\n")
    assert run(git_arguments("base.yaml", "broken.yaml")) == 0
    out = capsys.readouterr().out
    assert "shop.schema.yaml: no typed changes: " in out
    assert "+name: [" in out


def test_rules_are_listed_and_explained(capsys: pytest.CaptureFixture[str]):
    assert run(["rules"]) == 0
    listed = capsys.readouterr().out
    assert "C204" in listed
    assert "D302" in listed
    assert run(["rules", "c204"]) == 0
    reported = capsys.readouterr().out
    assert "column removed" in reported
    assert 'rule = "C204"' in reported


def test_rules_about_migrations_are_listed_and_explained(capsys: pytest.CaptureFixture[str]):
    assert run(["rules"]) == 0
    listed = capsys.readouterr().out
    for rule in ("M001", "M101", "M203", "M303"):
        assert rule in listed
    assert run(["rules", "m102"]) == 0
    reported = capsys.readouterr().out
    assert "step loses data" in reported
    assert "of the severity `error` in every mode" in reported
    assert "silence" not in reported


def test_rules_as_json_follow_their_schema(capsys: pytest.CaptureFixture[str]):
    run(["rules", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    check_document(found, "rules")
    assert len(found["rules"]) > 50


def test_an_unknown_rule_is_reported_with_the_nearest(capsys: pytest.CaptureFixture[str]):
    assert run(["rules", "C24"]) == 2
    assert "did you mean `C2" in capsys.readouterr().err


def test_a_nullable_that_means_the_same_is_only_listed_in_full(work: Path, capsys: pytest.CaptureFixture[str]):
    wordy = schema_of({**COLUMNS, "note": {"data_type": "text", "nullable": True}})
    write(work / "base.yaml", wordy)
    write(work / "head.yaml", schema_of({**COLUMNS, "note": {"data_type": "bigint"}}, before=wordy))
    assert run(["diff", "./base.yaml", "./head.yaml"]) == 1
    out = capsys.readouterr().out
    assert "note: type text -> bigint\n" in out
    assert "nullable" not in out
    assert run(["diff", "./base.yaml", "./head.yaml", "--verbose"]) == 1
    assert "still nullable (`nullable: true` removed)" in capsys.readouterr().out
