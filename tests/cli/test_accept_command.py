"""``schemactl accept``: silences of single findings, in the settings file."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from command_schemas import check_document

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.render.reviews import OUTPUTS
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

TO_COME = "2999-12-31"
WHY = ("--until", TO_COME, "--reason", 'the "team" agreed')


def write(path: str, **columns: dict[str, object]) -> None:
    made = {name: Column(name, properties) for name, properties in columns.items()}
    table = Table("orders", made, {"write_disposition": "append", "resource": "orders"})
    Path(path).write_text(dlt.write(bump(new_schema("shop").with_table(table)), path))


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("base.yaml", id={"data_type": "bigint"}, note={"data_type": "text"}, total={"data_type": "double"})
    write("head.yaml", id={"data_type": "bigint"}, total={"data_type": "decimal"})


BOTH = ("--base", "base.yaml", "--head", "head.yaml")


def found(capsys: pytest.CaptureFixture[str], head: str = "head.yaml") -> dict[str, dict]:
    """Return the findings of ``diff`` by rule."""
    capsys.readouterr()
    run(["diff", "base.yaml", head, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    return {each["rule"]: each for review in document["reviews"] for each in review["findings"]}


def test_an_accepted_finding_fails_nothing_and_others_still_do(capsys: pytest.CaptureFixture[str]) -> None:
    removal = found(capsys)["C204"]

    assert run(["accept", removal["fingerprint"], *BOTH, *WHY]) == 0

    silence = found(capsys)["C204"]["silence"]
    assert (silence["until"], silence["reason"]) == (TO_COME, 'the "team" agreed')
    assert tomllib.loads(Path("schemactl.toml").read_text())["diff"]["silence"][0]["table"] == "orders"
    # Another column that goes is another finding.
    write("worse.yaml", id={"data_type": "bigint"})
    assert run(["diff", "base.yaml", "worse.yaml"]) == 1


def test_the_result_is_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    removal = found(capsys)["C204"]
    for accepted, path in (([removal["fingerprint"]], str(Path.cwd() / "schemactl.toml")), ([], None)):
        chosen = (removal["fingerprint"],) if accepted else ("--all", "--base", "base.yaml", "--head", "base.yaml")
        assert run(["accept", *chosen, *(BOTH if accepted else ()), *WHY, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        check_document(document, "accept")
        assert [each["fingerprint"] for each in document["accepted"]] == accepted
        assert (document["path"], document["until"]) == (path, TO_COME)


def test_a_silence_covers_the_same_finding_only_while_it_is_no_worse(capsys: pytest.CaptureFixture[str]) -> None:
    write("head.yaml", id={"data_type": "decimal"}, note={"data_type": "text"}, total={"data_type": "double"})
    warning = found(capsys)["D301"]
    assert warning["severity"] == "warn"
    assert run(["accept", warning["fingerprint"], *BOTH, *WHY]) == 0
    assert found(capsys)["D301"]["silence"]

    assert run(["diff", "base.yaml", "head.yaml", "--severity", "D301=error"]) == 1


def test_all_accepts_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text("[tool.schemactl.diff]\ncompat = 'full' # as ever\n")
    assert run(["diff", "base.yaml", "head.yaml"]) == 1

    assert run(["accept", "--all", *BOTH, *WHY]) == 0

    assert run(["diff", "base.yaml", "head.yaml", "--fail-on", "warn"]) == 0
    assert "# as ever" in Path("pyproject.toml").read_text()
    assert re.search(r"\d+ changes, \d findings silenced", capsys.readouterr().out)
    assert run(["accept", "--all", *BOTH, *WHY]) == 0
    assert capsys.readouterr().out == "no findings to accept\n"


def test_a_new_settings_file_is_at_the_top_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".git").mkdir()
    Path("schemas/import").mkdir(parents=True)
    monkeypatch.chdir("schemas/import")
    assert run(["accept", "--all", "--base", "../../base.yaml", "--head", "../../head.yaml", *WHY]) == 0
    assert not Path("schemactl.toml").exists()
    monkeypatch.chdir("../..")
    assert Path("schemactl.toml").exists()
    assert run(["diff", "base.yaml", "head.yaml"]) == 0


def test_verbose_output_shows_the_fingerprints_that_accept_takes(capsys: pytest.CaptureFixture[str]) -> None:
    write("base.yaml", id={"data_type": "bigint", "unique": False}, note={"data_type": "text"})
    write("head.yaml", id={"data_type": "bigint", "x-stability": "draft"})
    findings = found(capsys)
    cosmetic, gate = findings["H606"], findings["H608"]
    assert (cosmetic["is_cosmetic"], gate["is_cosmetic"]) == (True, False)

    run(["diff", "base.yaml", "head.yaml", "--verbose"])
    fingerprints = re.findall(r"fingerprint (\w+)", capsys.readouterr().out)

    assert gate["fingerprint"] not in fingerprints
    assert cosmetic["fingerprint"] not in fingerprints
    assert run(["accept", *fingerprints, *BOTH, *WHY]) == 0
    assert run(["accept", cosmetic["fingerprint"], *BOTH, *WHY]) == 2
    assert run(["accept", gate["fingerprint"], *BOTH, *WHY]) == 2
    assert "H608 changes the review itself" in capsys.readouterr().err
    assert run(["accept", "--all", *BOTH, *WHY]) == 0
    assert "H608" not in Path("schemactl.toml").read_text()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("schemactl.toml", '[diff]\ncompat = "full"\nsilence = []  # none so far\ntransitive = false\n'),
        ("schemactl.toml", "diff.silence = [\n]\n[infer]\n"),
        ("pyproject.toml", "[tool.other]\nsilence = []\n[tool.schemactl.diff]\nsilence = []\n"),
    ],
)
def test_an_empty_list_of_silences_gives_way(file: str, text: str) -> None:
    Path(file).write_text(text)
    before = tomllib.loads(text)
    assert run(["accept", "--all", *BOTH, *WHY]) == 0
    after = tomllib.loads(Path(file).read_text())
    assert run(["diff", "base.yaml", "head.yaml"]) == 0
    for document in (before, after):
        document.get("tool", {}).get("schemactl", document)["diff"].pop("silence")
    assert after == before


def test_what_lets_nobody_add_a_silence_is_reported_with_how_to_state_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = 'diff = {compat = "full"}\n'
    Path("schemactl.toml").write_text(text)
    assert run(["accept", "--all", *BOTH, *WHY]) == 2
    assert "as tables (`[diff]` and `[[diff.silence]]`), then run `accept` again" in " ".join(
        capsys.readouterr().err.split()
    )
    assert Path("schemactl.toml").read_text() == text


def test_a_silence_that_is_over_is_reported_and_covers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["accept", "--all", *BOTH, *WHY]) == 0
    path = Path("schemactl.toml")
    path.write_text(path.read_text().replace(TO_COME, "2020-01-01"))
    capsys.readouterr()

    assert run(["diff", "base.yaml", "head.yaml"]) == 1
    assert "ended on 2020-01-01; remove or renew it" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("output", ["text", *sorted(OUTPUTS)])
def test_every_format_reports_a_silence_that_is_over(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("schemactl.toml").write_text('[[diff.silence]]\nrule = "C204"\nreason = "x"\nuntil = 2020-01-01\n')
    assert run(["diff", "base.yaml", "head.yaml", "--format", output, *(["--quiet"] if output == "text" else [])]) == 1
    assert "2020-01-01" in capsys.readouterr().out


def test_a_fingerprint_of_another_review_is_answered_with_how_to_name_its_base(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fingerprint = found(capsys)["C204"]["fingerprint"]
    Path("schemas/export").mkdir(parents=True)
    write("schemas/export/shop.schema.yaml", id={"data_type": "bigint"})
    assert run(["accept", fingerprint, *WHY]) == 2
    assert "against another base: `--base git:main...`" in capsys.readouterr().err
    assert run(["accept", "0123456789ab", *BOTH, *WHY]) == 2
    assert "another base" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("0123456789ab", *WHY), "no finding has the fingerprint `0123456789ab`"),
        (WHY, "name the fingerprints of findings, or `--all`"),
        (("--all", "--reason", "x"), "`--until` is missing"),
        (("--all", "--until", TO_COME), "`--reason` is missing"),
        (("--all", "--until", "2020-01-01", "--reason", "x"), "`--until 2020-01-01` is in the past"),
        (("--all", "--until", "soon", "--reason", "x"), "`soon` is not a date"),
    ],
)
def test_what_is_no_acceptance_is_refused(
    args: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["accept", *args, *BOTH]) == 2
    assert message in capsys.readouterr().err
    assert not Path("schemactl.toml").exists()


def test_no_severity_switches_off_what_a_contract_forbids(capsys: pytest.CaptureFixture[str]) -> None:
    Path("schemactl.toml").write_text('[diff.severity]\nX703 = "none"\n')
    columns = {"id": Column("id", {"data_type": "bigint"})}
    hints = {"write_disposition": "append", "resource": "orders", "schema_contract": {"columns": "freeze"}}
    for path, more in (("base.yaml", {}), ("head.yaml", {"note": Column("note", {"data_type": "text"})})):
        schema = new_schema("shop").with_table(Table("orders", {**columns, **more}, hints))
        Path(path).write_text(dlt.write(bump(schema), path))

    for level in ("info", "none"):
        assert run(["diff", "base.yaml", "head.yaml", "--severity", f"X703={level}", "--compat", "none"]) == 1
        assert "contract violation X703" in capsys.readouterr().out


def test_line_ends_of_windows_stay(capsys: pytest.CaptureFixture[str]) -> None:
    Path("schemactl.toml").write_bytes(b'[diff]\r\nsilence = []\r\ncompat = "full"\r\n')
    assert run(["accept", "--all", *BOTH, *WHY]) == 0
    content = Path("schemactl.toml").read_bytes()
    assert content.startswith(b'[diff]\r\ncompat = "full"\r\n\r\n[[diff.silence]]\r\n')
    assert content.count(b"\n") == content.count(b"\r\n")
    assert found(capsys)["C204"]["silence"]
