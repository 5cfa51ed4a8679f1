"""Destinations that settings name, ``[destinations.prod]``, and what a stranger's file cannot do with them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from command_schemas import check_document
from migrated_datasets import ADDED, FIRST, ID, column, put, schema_of
from terminals import Person

from schemactl.cli.app import run
from schemactl.cli.environments import find_environment
from schemactl.cli.settings import find_surroundings

LESS = schema_of(ID, column("amount", "bigint"), column("note"), before=FIRST)


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    put(FIRST, "first.yaml")
    put(ADDED, "added.yaml")
    put(LESS, "less.yaml")


def settings(text: str, path: str = "schemactl.toml") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


@pytest.mark.destinations
def test_a_name_stands_for_an_address_and_its_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", "duckdb:///prod_file.duckdb")
    settings(
        '[destinations.staging]\naddress = "duckdb:///staging_file.duckdb"\ndataset = "shop"\n'
        '[destinations.prod]\naddress-env = "SHOP_URL"\ndataset = "shop"\non-unfit = "expand"\n'
    )
    for name in ("staging", "prod"):
        assert run(["migrate", "apply", "./first.yaml", "--to", name, "--yes", "--quiet"]) == 0
    assert Path("staging_file.duckdb").exists()
    capsys.readouterr()
    assert run(["migrate", "compare", "staging", "prod"]) == 0
    assert "The same schema, and the same tables." in capsys.readouterr().out
    assert run(["migrate", "plan", "./added.yaml", "--to", "staging"]) == 0
    assert "amount__new_1" not in capsys.readouterr().out
    assert run(["migrate", "plan", "./added.yaml", "--to", "prod"]) == 0
    assert "amount__new_1" in capsys.readouterr().out
    assert run(["migrate", "apply", "./added.yaml", "--to", "prod", "--yes", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["migrate", "compare", "staging", "prod", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    check_document(document, "migrate-compare")
    assert "paid" in json.dumps(document["changes"])


@pytest.mark.destinations
def test_all_named_destinations_show_their_place(capsys: pytest.CaptureFixture[str]) -> None:
    settings(
        "".join(f'[destinations.{name}]\naddress = "duckdb:///{name}_file.duckdb?dataset=shop"\n' for name in "ab")
    )
    assert run(["migrate", "plan", "./first.yaml", "--dir", "migrations", "--dialect", "duckdb", "--quiet"]) == 0
    assert run(["migrate", "apply", "--dir", "migrations", "--to", "a", "--yes", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["migrate", "status", "--dir", "migrations", "--check"]) == 1
    first, second = capsys.readouterr().out.split("\n\n")
    assert "a_file" in first
    assert "no pending migrations" in first
    assert "pending: 0001_create_orders" in second


@pytest.mark.destinations
def test_a_protected_destination_asks_for_its_name_before_data_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings('[destinations.prod]\naddress = "duckdb:///prod_file.duckdb?dataset=shop"\nprotected = true\n')
    assert run(["migrate", "apply", "./first.yaml", "--to", "prod", "--yes", "--quiet"]) == 0
    call = ["migrate", "apply", "./less.yaml", "--to", "prod", "--allow-destructive", "--yes", "--quiet"]
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(call) == 2
    assert "`prod` is protected, and this run would lose data" in capsys.readouterr().err
    assert run([*call, "--confirm", "staging"]) == 2
    monkeypatch.setattr("sys.stdin", Person("no\n"))
    assert run(call) == 1
    monkeypatch.setattr("sys.stdin", Person("prod\n"))
    assert run(call) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(["migrate", "rollback", "--to", "prod", "--yes", "--quiet"]) in (1, 2)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://evil.example/shop",
        "duckdb:///md:evil",
        "duckdb:///https://evil.example/x.duckdb",
        "parquet:s3://evil/x",
        "delta:s3://evil/x",
        "iceberg:evil",
        "spark:evil.x",
    ],
)
def test_a_file_of_the_repository_cannot_send_anything_to_a_server(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(f'[destinations.prod]\naddress = "{address}"\n')
    assert run(["migrate", "plan", "./first.yaml", "--to", "prod"]) == 2
    assert "names a server, which a repository file cannot set" in capsys.readouterr().err


def test_the_users_own_file_may_name_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    settings('[destinations.prod]\naddress = "postgresql://localhost:1/shop"\n', "own/schemactl/config.toml")
    assert run(["migrate", "plan", "./first.yaml", "--to", "prod"]) == 3
    assert "names a server" not in capsys.readouterr().err


@pytest.mark.parametrize("yes", ['"yes"', "1", '"true"'])
def test_protection_is_stated_as_other_flags_are(yes: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = '[destinations.prod]\naddress = "duckdb:///prod_file.duckdb?dataset=shop"\n'
    settings(f"{head}protected = {yes}\n")
    assert find_environment("prod", find_surroundings()).is_protected
    settings(f'{head}protected = "maybe"\n')
    assert run(["migrate", "status", "--to", "prod"]) == 2
    assert "`maybe` is not a value of `protected`" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["hunter2-secret", "https://hooks.example/hunter2-secret", "a:hunter2-secret@b"])
def test_a_file_cannot_have_another_variable_printed(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOME_TOKEN", value)
    settings('[destinations.prod]\naddress-env = "SOME_TOKEN"\n')
    assert run(["migrate", "plan", "./first.yaml", "--to", "prod"]) == 2
    err = capsys.readouterr().err
    assert "`SOME_TOKEN` is not a destination address" in err
    assert "hunter2" not in err


def test_a_missing_variable_and_an_unknown_key_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    settings("[destinations.prod]\nprotected = true\n")
    assert run(["migrate", "plan", "./first.yaml", "--to", "prod"]) == 2
    assert "environment variable `SCHEMACTL_TO_PROD`, the address of `prod`, is not set" in capsys.readouterr().err
    settings('[destinations.prod]\nadress = "x"\n')
    assert run(["migrate", "plan", "./first.yaml", "--to", "prod"]) == 2
    assert "there is no setting `destinations.prod.adress`\nhint: did you mean `address`?" in capsys.readouterr().err


@pytest.mark.destinations
def test_the_name_of_a_destination_is_a_reference_wherever_its_address_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEMACTL_TO_PROD", "duckdb:///prod_file.duckdb")
    settings('[destinations.prod]\ndataset = "shop"\nprotected = true\n')
    assert run(["migrate", "apply", "./first.yaml", "--to", "prod", "--yes", "--quiet"]) == 0
    capsys.readouterr()
    for call in (["show", "{}"], ["diff", "{}", "./added.yaml"], ["diff", "./added.yaml", "{}"], ["export", "{}"]):
        printed = []
        for reference in ("prod", "duckdb:///prod_file.duckdb?dataset=shop"):
            printed.append((run([word.format(reference) for word in call]), capsys.readouterr().out))
        assert printed[0] == printed[1]
        assert "amount" in printed[0][1]
    assert run(["import", "prod", "--name", "taken"]) == 0
    assert "amount" in Path("schemas/import/taken.schema.yaml").read_text()


@pytest.mark.parametrize("name", ["first", "main.yaml"])
def test_no_name_of_a_destination_stands_for_a_schema_or_a_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("main.yaml").write_text(Path("first.yaml").read_text())
    Path("schemas/export").mkdir(parents=True)
    Path("schemas/export/first.schema.yaml").write_text(
        Path("first.yaml").read_text().replace("name: shop", "name: first")
    )
    settings(f'[destinations."{name}"]\naddress = "duckdb:///nowhere.duckdb"\n')
    assert run(["show", name]) == 0
    assert "orders" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["git:main", "-", "import:"])
def test_no_name_of_a_destination_changes_what_another_reference_means(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    settings(f'[destinations."{name}"]\naddress = "duckdb:///nowhere.duckdb"\n')
    assert run(["show", name]) == 2
    assert "nowhere" not in capsys.readouterr().err
