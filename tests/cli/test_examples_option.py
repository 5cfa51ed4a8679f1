"""Values of rows in all that commands print and write: as they are, masked, or not at all."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from migrated_datasets import column, schema_of

from schemactl.cli.app import run
from schemactl.destinations.duckdb.session import first_line
from schemactl.engine.spark.session.failure import shorten
from schemactl.errors import DestinationError
from schemactl.examples import Examples, examples_of, mask, mask_examples, show_examples, shown_error
from schemactl.formats import dlt
from schemactl.inference.evidence import Position, observe
from schemactl.inference.saved_evidence import write_evidence
from schemactl.render.reviews import OUTPUTS
from schemactl.schema.personal import is_marked, is_personal
from schemactl.schema.types import Schema, Table
from schemactl.store.text import read_text

SSN, MAIL = "078-05-1120", "ann@shop.example"
ROWS = [{"id": 1, "ssn": SSN, "mail": MAIL}, {"id": 2, "ssn": "219-09-9999", "mail": "7"}]
PII = {"x-annotation-pii": True}

INFER = ("infer", "people.evidence.json", "--name", "shop", "--verbose", "--evidence", "kept.evidence.json")
REFUSED = ("infer", "people.evidence.json", "--name", "strict")
DIFF = ("diff", "base.yaml", "head.yaml", "--data", "people.evidence.json", "--table", "people")
PLAN = ("migrate", "plan", "./head.yaml", "--to", "sqlite:///people.db?dataset=main", "--out", "x.plan.json")
VERIFY = ("migrate", "verify", "./head.yaml", "--to", "sqlite:///people.db?dataset=main")
CALLS = [
    INFER,
    (*INFER, "--format", "json"),
    REFUSED,
    (*REFUSED, "--format", "json"),
    DIFF,
    *((*DIFF, "--format", name) for name in sorted(OUTPUTS)),
    PLAN,
    (*PLAN, "--format", "json"),
    VERIFY,
    (*VERIFY, "--format", "json"),
]


def people(kind: str, **hints: object) -> Schema:
    columns = [column("id", "bigint"), column("ssn", kind, **hints), column("mail", kind)]
    return schema_of(*columns, table="people")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Saved evidence and a database of two people, schemas that their texts do not fit, and one that takes none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    evidence = observe((Position("people.jsonl", number), row) for number, row in enumerate(ROWS, start=1))
    Path("people.evidence.json").write_text(write_evidence(evidence))
    write_schemas({})
    with sqlite3.connect("people.db") as connection:
        connection.execute("CREATE TABLE people (id BIGINT, ssn TEXT, mail TEXT)")
        connection.executemany("INSERT INTO people VALUES (:id, :ssn, :mail)", ROWS)
    return tmp_path


def write_schemas(hints: dict[str, object]) -> None:
    Path("base.yaml").write_text(dlt.write(people("text", **hints)))
    Path("head.yaml").write_text(dlt.write(people("bigint", **hints)))
    strict = replace(people("bigint", **hints), name="strict", settings={"schema_contract": {"data_type": "freeze"}})
    Path("schemas/export").mkdir(parents=True, exist_ok=True)
    Path("schemas/export/strict.schema.yaml").write_text(dlt.write(strict))


def said(call: tuple[str, ...], capfd: pytest.CaptureFixture[str], work: Path) -> str:
    """All that a call prints and writes; what an earlier call has inferred is gone."""
    for path in (*work.glob("schemas/*/shop.*"), *work.glob("kept.*")):
        path.unlink()
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    assert run(list(call)) in (0, 1)
    printed = capfd.readouterr()
    files = [path for path in work.rglob("*") if path.is_file() and path.read_bytes() != before.get(path)]
    return printed.out + printed.err + "".join(path.read_text(errors="replace") for path in files)


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_examples_are_shown_masked_or_left_out(
    work: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, call: tuple[str, ...]
):
    plain = said(call, capfd, work)
    assert SSN in plain

    masked = said((*call, "--examples", "masked"), capfd, work)
    assert "999-99-9999" in masked
    assert SSN not in masked
    assert MAIL not in masked

    none = said((*call, "--examples", "none"), capfd, work)
    assert "999-99-9999" not in none
    assert SSN not in none
    assert MAIL not in none

    monkeypatch.setenv("CI", "true")
    assert SSN not in said(call, capfd, work)
    assert SSN in said((*call, "--examples", "plain"), capfd, work)
    monkeypatch.setenv("SCHEMACTL_EXAMPLES", "plain")
    assert SSN in said(call, capfd, work)


@pytest.mark.parametrize("call", [call for call in CALLS if call[0] != "infer" or "strict" in call], ids=" ".join)
def test_values_of_personal_columns_are_masked(work: Path, capfd: pytest.CaptureFixture[str], call: tuple[str, ...]):
    write_schemas(PII)
    text = said(call, capfd, work)
    assert SSN not in text
    assert "999-99-9999" in text
    assert SSN in said((*call, "--examples", "plain"), capfd, work)


def test_evidence_of_personal_columns_is_kept_masked(work: Path, capfd: pytest.CaptureFixture[str]):
    Path("schemas/export/people.schema.yaml").write_text(dlt.write(replace(people("text", **PII), name="people")))
    said(("infer", "people.evidence.json", "--name", "people", "--evidence", "kept.evidence.json"), capfd, work)
    kept = Path("kept.evidence.json").read_text()
    assert SSN not in kept
    assert MAIL in kept

    assert run(["infer", "kept.evidence.json", "--name", "again", "--table", "people"]) == 0
    assert run(["infer", "people.evidence.json", "--name", "true", "--table", "people"]) == 0
    again, true = (
        dlt.read(read_text(work / f"schemas/export/{name}.schema.yaml"), "schema.yaml").schema
        for name in ("again", "true")
    )
    assert again.tables == true.tables


def test_the_mark_that_a_head_takes_away_still_holds(work: Path, capfd: pytest.CaptureFixture[str]):
    Path("base.yaml").write_text(dlt.write(people("text", **PII)))
    assert SSN not in said(DIFF, capfd, work)


def test_a_settings_file_says_how_examples_are_shown(work: Path, capfd: pytest.CaptureFixture[str]):
    Path("schemactl.toml").write_text('examples = "none"\n')
    assert SSN not in said(DIFF, capfd, work)
    assert SSN in said((*DIFF, "--examples", "plain"), capfd, work)


def test_ranges_of_numbers_are_values_as_well(work: Path, capfd: pytest.CaptureFixture[str]):
    assert json.loads(said((*INFER[:-2], "--format", "json", "--check"), capfd, work))
    ranges = {}
    for mode in Examples:
        text = said((*INFER[:4], "--check", "--format", "json", "--examples", mode), capfd, work)
        (table,) = (each for each in json.loads(text)["tables"] if each["name"] == "people")
        ranges[mode] = next(each["range"] for each in table["columns"] if each["name"] == "id")
    assert ranges == {"none": None, "masked": None, "plain": [1, 2]}


@pytest.mark.parametrize(
    ("value", "masked"),
    [("Zoë 12", "Xxx 99"), ("٣x", "9x"), (None, None), (12.5, "99.9"), (False, "***"), ({"a": "b"}, "{'x': 'x'}")],
)
def test_a_mask_shows_the_shape(value: object, masked: object):
    assert mask(value) == masked


def test_the_nearest_word_on_examples_holds():
    assert (examples_of(is_personal=False), examples_of(is_personal=True)) == (Examples.PLAIN, Examples.MASKED)
    with show_examples(Examples.NONE):
        assert mask_examples(["a"], is_personal=False) == ()
        with show_examples(Examples.PLAIN):
            assert mask_examples(["a"], is_personal=True) == ("a",)
    assert mask_examples(["ab", "cd", "e"], is_personal=True) == ("xx", "x")


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({"x-annotation-pii": True}, True),
        ({"x-pii": "email"}, True),
        ({"x-classification": "confidential"}, True),
        ({"x-GDPR": 1}, True),
        ({"x-annotation-pii": False}, False),
        ({"x-classification": "Public"}, False),
        ({"x-owner": "pii"}, False),
        ({"description": "pii"}, False),
    ],
)
def test_marks_of_personal_data_are_known_by_name(hints: dict[str, object], expected: bool):
    assert is_marked(hints) is expected


def test_marks_hold_for_variants_nested_tables_and_names_in_another_case():
    marked = schema_of(column("ssn", **PII), column("ssn__v_text", variant=True), column("id"), table="people")
    table = Table("orders", {"id": column("id")}, PII)
    lines = Table("orders__lines", {"n": column("n")}, {"parent": "orders"})
    schema = marked.with_table(table).with_table(lines)

    assert [is_personal(schema, "people", name) for name in ("ssn", "SSN", "ssn__v_text", "id", "none")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert is_personal(schema, "orders__lines", "n")
    assert is_personal(schema, "people", None)
    assert not is_personal(schema, "nowhere", "ssn")


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        ('invalid syntax for type integer: "078-05-1120"', 'invalid syntax for type integer: "999-99-9999"'),
        ("Key (mail)=(ann@x.org) already exists", "Key (mail)=(xxx@x.xxx) already exists"),
        ("Key (a, b)=(Ann (7), 8) is duplicated", "Key (a, b)=(Xxx (9), 9) is duplicated"),
        ('null value in column "n". Failing row contains (1, ann (x), null)',
         'null value in column "x". Failing row contains (9, xxx (x), xxxx)'),
        ("a value does not survive: Ann 7", "a value does not survive: Xxx 9"),
        ("Casting from timestamp[ns] to timestamp[us] would lose data: 77",
         "Casting from timestamp[ns] to timestamp[us] would lose data: 99"),
        ("Integer value 300 not in range: -128 to 127", "Integer value 999 not in range: -128 to 127"),
        ("Could not convert string 'Ann' to INT32", "Could not convert string 'Xxx' to INT32"),
        ("Type INT32 with value 300 can't be cast", "Type INT32 with value 999 can't be cast"),
    ],
)  # fmt: skip
def test_values_in_errors_of_databases_are_masked(said: str, masked: str):
    assert shown_error(said) == said
    with show_examples(Examples.MASKED):
        assert shown_error(said) == masked
    with show_examples(Examples.NONE):
        assert "***" in shown_error(said)
        assert "nn" not in shown_error(said).replace("column", "").replace("cannot", "")


def test_values_in_errors_of_duckdb_are_masked():
    import duckdb

    with pytest.raises(duckdb.Error) as caught:
        duckdb.execute(f"SELECT CAST('{SSN}' AS INTEGER)")
    assert SSN in first_line(caught.value)
    with show_examples(Examples.MASKED):
        assert "999-99-9999" in first_line(caught.value)
        assert SSN not in first_line(caught.value)
    with pytest.raises(duckdb.Error) as caught, show_examples(Examples.MASKED):
        duckdb.execute("SELECT * FROM nope")
    assert "nope" in first_line(caught.value)


def test_values_in_errors_of_spark_are_masked():
    said = f"[CAST_INVALID_INPUT] The value '{SSN}' of the type STRING cannot be cast. SQLSTATE: 22018"
    with show_examples(Examples.MASKED):
        assert shorten(said) == "The value '999-99-9999' of the type STRING cannot be cast."
        assert shorten("[TABLE_NOT_FOUND] no table 'ann'. SQLSTATE: 42P01") == "no table 'ann'."


def test_values_in_errors_of_postgresql_are_masked(postgres_url: str):
    from schemactl.destinations.postgresql.session import open_session, parse_address

    with (
        open_session(parse_address(postgres_url)) as session,
        show_examples(Examples.MASKED),
        pytest.raises(DestinationError, match=r'integer: "999-99-9999"'),
        session.wrap_errors("convert"),
    ):
        session.execute(f"SELECT CAST('{SSN}' AS integer)")
