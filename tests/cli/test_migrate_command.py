"""``schemactl migrate`` around its flows: groups of commands, what is printed, and the exit code."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from command_schemas import check_document
from migrated_datasets import ADDED, FIRST, ID, Dataset, column, new_dataset, put, schema_of

from schemactl.cli.app import run
from schemactl.destinations import DESTINATIONS

pytestmark = pytest.mark.destinations


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("duckdb", tmp_path)
    put(FIRST, "first.yaml")
    put(ADDED, "added.yaml")
    assert run(["migrate", "apply", "./first.yaml", "--to", made.url, "--yes", "--quiet"]) == 0
    made.sql("INSERT INTO @.orders VALUES (1, 5, 'x', 'o')")
    return made


def test_the_group_reports_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["migrate"]) == 2
    err = capsys.readouterr().err
    assert all(name in err for name in ("plan", "apply", "status", "verify", "rollback", "baseline"))
    assert run(["migrate", "--help"]) == 0
    assert run(["migrate", "plna"]) == 2
    assert "there is no command `migrate plna`\nhint: did you mean `plan`?" in capsys.readouterr().err
    assert run(["migrate", "plan"]) == 2
    assert run(["migrate", "apply"]) == 2


def test_options_before_the_names_count(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["--quiet", "migrate", "status", "--to", dataset.url]) == 0
    assert capsys.readouterr().out == ""


def test_the_settings_file_names_the_destination(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    Path("schemactl.toml").write_text(f'[migrate]\nto = "{dataset.url}"\non-unfit = "expand"\n')
    assert run(["migrate", "plan", "./added.yaml", "--check"]) == 1
    assert "add column `orders.amount__new_1`, double" in capsys.readouterr().out
    assert run(["migrate", "status"]) == 0
    Path("schemactl.toml").write_text("[migrate]\nyes = true\n")
    assert run(["migrate", "status", "--to", dataset.url]) == 2
    assert "there is no setting `migrate.yes`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["plan", "./added.yaml"], "no destination is named"),
        (["plan", "./added.yaml", "--to", "duckdv:///x"], "is not the address of a destination"),
        (["plan", "./added.yaml", "--to", "spark:x"], "`spark:x` does not name a schema of a Spark catalog"),
        (["plan", "./added.yaml", "--from", "./first.yaml", "--to", "@"], "`--from` needs `--dialect`"),
        (["plan", "./added.yaml", "--dialect", "snwflake"], "there is no dialect `snwflake`"),
        (["plan", "./added.yaml", "--dialect", "snowflake", "--to", "@"], "`--dialect` writes a script offline"),
        (["plan", "./added.yaml", "--to", "@", "--out", "a.json"], "`a.json` is not the name of a plan"),
        (["plan", "@", "--to", "@"], "names tables, not a schema"),
        (["apply", "./added.yaml", "--dir", "migrations", "--to", "@"], "no schema, plan or folder given"),
        (["plan", "./added.yaml", "--to", "@", "--name", "x"], "`--name` needs `--dir`"),
        (["plan", "./added.yaml", "--dir", "m", "--out", "x.plan.json"], "cannot be used with `--dir`"),
        (["plan", "./added.yaml", "--dir", "m"], "no dialect given"),
        (["plan", "./added.yaml", "--dir", "m", "--dialect", "snowflake"], "there is no destination `snowflake`"),
        (["status", "--dir", "m", "--to", "@"], "there is no folder `m`"),
        (["check", "m"], "there is no folder `m`"),
        (["apply", "./added.yaml", "--to", "@", "--lock-timeout", "soon"], "is not a number of seconds"),
        (["apply", "./added.yaml", "--to", "@", "--step-lock-timeout", "-1"], "is not a number of seconds"),
        (["apply", "./added.yaml", "--to", "@", "--lock-retries", "-1"], "is not a whole number, 0 or greater"),
        (["apply", "./added.yaml", "--to", "@", "--statement-timeout", "soon"], "is not a number of seconds"),
        (["rollback", "--to", "@", "--steps", "0"], "is not a whole number, 1 or greater"),
        (["rollback", "--to", "@", "--steps", "1", "--to-hash", "a"], "cannot be used together"),
        (["rollback", "--to", "@", "--steps", "9"], "too many steps"),
        (["status", "nothing", "--to", "@"], "nothing"),
        (["verify", "--to", "@", "--sample", "some"], "`some` is not a sample"),
        (["verify", "--to", "@", "--sample", "10%", "--skip-rows"], "`--skip-rows` and `--sample` cannot"),
    ],
)
def test_a_wrong_call_is_reported(
    dataset: Dataset, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["migrate", *(dataset.url if each == "@" else each for each in args)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["report.json", "report.plan.json"])
def test_a_printed_report_is_not_applied_and_the_way_to_save_a_plan_is_reported(
    name: str, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["migrate", "plan", "./added.yaml", "--to", dataset.url, "--format", "json"]) == 0
    Path(name).write_text(capsys.readouterr().out)
    for to in (["--to", dataset.url], []):
        assert run(["migrate", "apply", name, *to, "--yes"]) == 2
        err = capsys.readouterr().err
        assert "this is a report that `schemactl migrate --format json` has printed" in err
        assert "create a plan with `schemactl migrate plan" in err
        assert "engine_version" not in err


@pytest.mark.parametrize("command", ["apply", "status", "verify", "rollback", "baseline"])
def test_what_each_command_prints_is_known_for_a_report(
    command: str, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = {"status": [], "verify": [], "rollback": []}.get(command, ["./first.yaml"])
    agreed = ["--yes"] if command in ("apply", "rollback") else []
    capsys.readouterr()
    run(["migrate", command, *reference, "--to", dataset.url, "--format", "json", *agreed])
    Path("report.json").write_text(capsys.readouterr().out)
    assert run(["migrate", "apply", "report.json", "--yes"]) == 2
    assert "this is a report that `schemactl migrate --format json` has printed" in capsys.readouterr().err


def test_what_loses_data_is_named_and_left_out(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    without = put(schema_of(ID, column("amount", "bigint"), column("note"), before=FIRST), "without.yaml")
    call = [without, "--to", dataset.url]
    assert run(["migrate", "plan", *call]) == 0
    out = capsys.readouterr().out
    assert "left out: `orders.old` is not dropped: its values would be lost\n  `--allow-destructive` drops it\n" in out
    assert run(["migrate", "apply", *call, "--yes"]) == 0
    capsys.readouterr()
    assert run(["migrate", "apply", *call, "--yes", "--allow-destructive"]) == 0
    assert "applied 1 step in" in capsys.readouterr().out
    assert run(["migrate", "rollback", "--to", dataset.url, "--yes"]) == 1
    assert "refused: step 1 cannot be undone: its values are lost" in capsys.readouterr().out


def test_status_and_verify_report_what_was_changed_by_hand(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["migrate", "verify", "--to", dataset.url]) == 0
    dataset.sql("ALTER TABLE @.orders ADD COLUMN by_hand INTEGER")
    capsys.readouterr()
    assert run(["migrate", "status", "--to", dataset.url, "--check"]) == 1
    out = capsys.readouterr().out
    assert "drift: `orders.by_hand`: new column" in out
    assert out.endswith("Not settled: 1 change of drift.\n")
    assert run(["migrate", "status", "--to", dataset.url]) == 0
    assert run(["migrate", "verify", "--to", dataset.url]) == 1


def test_verify_reports_that_a_run_stands_half_done(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["migrate", "apply", "./added.yaml", "--to", dataset.url, "--yes"]) == 0
    assert run(["migrate", "rollback", "--to", dataset.url, "--yes", "--steps", "1"]) == 0
    capsys.readouterr()
    call = ["migrate", "verify", "./added.yaml", "--to", dataset.url]

    assert run(call) == 1
    out = capsys.readouterr().out
    assert f"unfinished: 2 of 3 steps to the schema {ADDED.version_hash} completed" in " ".join(out.split())
    assert "`apply` ends it, `rollback` undoes it" in out
    assert "A run is unfinished; 1 difference (" in out
    assert run([*call, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    check_document(document, "migrate-verify")
    assert (document["unfinished"]["done"], document["unfinished"]["state"]) == (2, "running")


def test_verify_reports_how_many_rows_a_sample_has_read(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    dataset.sql("INSERT INTO @.orders SELECT i, 5, 'x', 'o' FROM range(2, 1001) AS numbers(i)")
    required = put(schema_of(ID, column("amount", "bigint"), column("note", nullable=False), column("old")), "r.yaml")
    capsys.readouterr()
    assert run(["migrate", "verify", required, "--to", dataset.url, "--sample", "10%"]) == 1
    assert re.search(r"values of 1 column in \d{2,3} of 1,000 rows\)\.\n$", capsys.readouterr().out)
    assert run(["migrate", "verify", required, "--to", dataset.url]) == 1
    assert capsys.readouterr().out.endswith("values of 1 column).\n")


def test_a_script_for_an_engine_that_is_not_connected(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = column('x"; DROP TABLE y; --', "json")
    put(schema_of(ID, column("amount", "double"), hostile, before=FIRST), "hostile.yaml")
    capsys.readouterr()
    assert run(["migrate", "plan", "./hostile.yaml", "--from", "./first.yaml", "--dialect", "snowflake"]) == 0
    out = capsys.readouterr().out
    assert 'ALTER TABLE "ORDERS" ADD "X""; DROP TABLE Y; --" VARIANT;' in out
    assert 'ALTER TABLE "ORDERS" DROP COLUMN "OLD";' in out
    assert 'UPDATE "ORDERS" SET "AMOUNT__NEW_1" = CASE WHEN' in out
    assert run(["migrate", "plan", "./added.yaml", "--dialect", "bigquery"]) == 0
    assert "CREATE TABLE `orders` (`id` INT64 NOT NULL, `amount` FLOAT64" in capsys.readouterr().out


def test_schemas_come_back_out_of_the_ledger(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    run(["migrate", "apply", "./added.yaml", "--to", dataset.url, "--yes"])
    capsys.readouterr()
    assert run(["export", dataset.url]) == 0
    assert capsys.readouterr().out == Path("added.yaml").read_text()
    assert run(["export", dataset.url, "--hash", FIRST.version_hash[:8]]) == 0
    assert capsys.readouterr().out == Path("first.yaml").read_text()
    assert run(["export", dataset.url, "--hash", "none"]) == 2
    assert run(["export", "./first.yaml", "--hash", "none"]) == 2
    assert run(["export", dataset.url, "--tables"]) == 0


KEYED = schema_of(
    column("id", "bigint", nullable=False, primary_key=True),
    column("amount", "bigint", unique=True),
    column("note"),
    column("old"),
    before=FIRST,
)


def test_a_primary_key_is_planned_where_it_is_asked_for_and_taken_back(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    call = [put(KEYED, "keyed.yaml"), "--to", dataset.url]
    assert run(["migrate", "plan", *call, "--check"]) == 0
    assert run(["migrate", "status", *call, "--check"]) == 0
    assert run(["migrate", "plan", *call, "--check", "--primary-keys"]) == 1
    assert "make `id` the primary key of `orders`" in capsys.readouterr().out
    Path("schemactl.toml").write_text("[migrate]\nprimary-keys = true\n")
    assert run(["migrate", "status", *call, "--check"]) == 1
    assert run(["migrate", "plan", *call, "--out", "keyed.plan.json", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["migrate", "apply", "keyed.plan.json", "--yes", "--quiet"]) == 2
    assert "`apply` does not connect to an address from a plan" in capsys.readouterr().err
    assert run(["migrate", "apply", "keyed.plan.json", "--to", dataset.url, "--yes", "--quiet"]) == 0
    assert run(["migrate", "status", *call, "--check"]) == 0
    assert primary_key(dataset) == {"id"}
    assert run(["migrate", "rollback", "shop", "--to", dataset.url, "--yes", "--quiet"]) == 0
    assert primary_key(dataset) == set()


def primary_key(dataset: Dataset) -> set[str]:
    columns = DESTINATIONS[dataset.kind].read_catalogue(dataset.url).schema.tables["orders"].columns
    return {name for name, each in columns.items() if each.properties.get("primary_key")}


def test_a_primary_key_that_rows_share_is_refused_with_examples(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset.sql("INSERT INTO @.orders VALUES (1, 6, 'y', 'o')")
    call = [put(KEYED, "keyed.yaml"), "--to", dataset.url, "--primary-keys"]
    assert run(["migrate", "apply", *call, "--yes"]) == 1
    reported = " ".join(capsys.readouterr().out.split())
    assert "2 rows of `orders` have a null or a duplicate value in `id`" in reported
    assert primary_key(dataset) == set()


def test_a_primary_key_that_somebody_has_made_is_pending_where_keys_are_asked_for(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset.sql("ALTER TABLE @.orders ADD PRIMARY KEY (id)")
    to = ["--to", dataset.url]
    assert run(["migrate", "status", *to, "--check"]) == 0
    capsys.readouterr()
    assert run(["migrate", "status", *to, "--check", "--primary-keys"]) == 1
    assert "drop the primary key of `orders`, `id`" in capsys.readouterr().out
    assert run(["migrate", "apply", "./first.yaml", *to, "--primary-keys", "--yes", "--quiet"]) == 0
    assert primary_key(dataset) == set()


def test_verify_counts_what_stands_twice_in_keys_of_the_schema_alone(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["migrate", "verify", put(KEYED, "keyed.yaml"), "--to", dataset.url]
    dataset.sql("INSERT INTO @.orders VALUES (1, 5, 'y', 'o'), (2, NULL, 'z', 'o'), (3, NULL, 'z', 'o')")
    assert run(call) == 0
    assert run([*call, "--unique", "--primary-keys", "--sample", "50%"]) == 0
    capsys.readouterr()
    assert run([*call, "--unique", "--primary-keys", "--format", "json"]) == 1
    odd = json.loads(capsys.readouterr().out)["odd"]
    assert [(each["column"], each["count"], each["rows"]) for each in odd] == [("amount", 2, 4), ("id", 2, 4)]
    dataset.sql("DELETE FROM @.orders WHERE id = 1")
    assert run([*call, "--unique", "--primary-keys"]) == 0


@pytest.mark.parametrize(
    ("dialect", "statement"),
    [
        ("snowflake", 'ALTER TABLE "ORDERS" ADD PRIMARY KEY ("ID");'),
        ("bigquery", "ALTER TABLE `orders` ADD PRIMARY KEY (`id`) NOT ENFORCED;"),
        ("postgres", 'ALTER TABLE "orders" ADD PRIMARY KEY ("id");'),
        ("mysql", "ALTER TABLE `orders` ADD PRIMARY KEY (`id`);"),
    ],
)
def test_a_script_gives_tables_their_primary_keys(
    dataset: Dataset, dialect: str, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["migrate", "plan", put(KEYED, "keyed.yaml"), "--dialect", dialect]
    capsys.readouterr()
    assert run(call) == 0
    assert "PRIMARY KEY" not in capsys.readouterr().out
    assert run([*call, "--primary-keys"]) == 0
    assert statement in capsys.readouterr().out
    assert run([*call, "--primary-keys", "--from", "./first.yaml"]) == 0
    assert statement in capsys.readouterr().out
    assert run([*call, "--primary-keys", "--from", "./keyed.yaml", "--check"]) == 0


def test_a_script_reports_of_a_primary_key_that_an_engine_cannot_have_or_drop(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    keyed = put(KEYED, "keyed.yaml")
    plan = ["migrate", "plan", "--primary-keys", "--dialect"]
    assert run([*plan, "athena", keyed]) == 1
    assert run([*plan, "postgres", "./first.yaml", "--from", keyed]) == 1
    capsys.readouterr()
    assert run([*plan, "snowflake", "./first.yaml", "--from", keyed]) == 0
    assert 'ALTER TABLE "ORDERS" DROP PRIMARY KEY;' in capsys.readouterr().out


def test_a_script_names_the_table_that_it_drops(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    none = put(schema_of(ID, table="other", before=FIRST), "none.yaml")
    capsys.readouterr()
    run(["migrate", "plan", none, "--dialect", "snowflake", "--from", "./first.yaml", "--allow-destructive"])
    assert 'DROP TABLE "ORDERS";' in capsys.readouterr().out


def test_a_script_is_for_no_destination_of_the_settings_and_starts_from_the_schema_of_its_name(
    dataset: Dataset, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("schemactl.toml").write_text('[migrate]\nto = "sqlite:///nothing.db"\n')
    monkeypatch.setenv("SCHEMACTL_TO", "sqlite:///nothing.db")
    Path("schemas/export").mkdir(parents=True)
    shutil.copy("added.yaml", "schemas/export/shop.schema.yaml")
    other = Path("added.yaml").read_text().replace("name: shop", "name: other")
    Path("schemas/export/other.schema.yaml").write_text(other)

    assert run(["migrate", "plan", "./added.yaml", "--from", "schemas", "--dialect", "Snowflake"]) == 0
    assert "Nothing to do" in capsys.readouterr().out


def test_a_plan_ends_with_the_command_that_applies_it(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["migrate", "plan", "./added.yaml", "--to", dataset.url]) == 0
    command = f"schemactl migrate apply ./added.yaml --to {shlex.quote(dataset.url)}"
    assert capsys.readouterr().out.endswith(f"\nTo apply it: {command}\n")
    for options in (["--on-unfit", "variant"], ["--unique"], ["--primary-keys", "--guess-renames"]):
        assert run(["migrate", "plan", "./added.yaml", "--to", dataset.url, *options]) == 0
        assert capsys.readouterr().out.endswith(f"\nTo apply it: {command} {shlex.join(options)}\n")
    assert run([*shlex.split(command)[1:], "--yes"]) == 0
    capsys.readouterr()
    assert run(["migrate", "plan", "./added.yaml", "--to", dataset.url]) == 0
    assert "To apply it" not in capsys.readouterr().out


def test_status_does_not_call_what_apply_left_nullable_a_change_by_hand(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    required = schema_of(
        *FIRST.tables["orders"].columns.values(), column("more", "bigint", nullable=False), before=FIRST
    )
    reference = put(required, "required.yaml")
    assert run(["migrate", "apply", reference, "--to", dataset.url, "--yes"]) == 0
    capsys.readouterr()

    run(["migrate", "status", reference, "--to", dataset.url])
    out = capsys.readouterr().out
    assert "by hand" not in out
    assert "forbid nulls in `orders.more`" in out


def test_a_conversion_is_said_in_words_and_its_sql_only_where_all_is_asked_for(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = [*FIRST.tables["orders"].columns.values()]
    number = put(schema_of(*(column("note", "bigint") if each.name == "note" else each for each in columns)), "n.yaml")
    plan = ["migrate", "plan", number, "--to", dataset.url]
    capsys.readouterr()

    run(plan)
    short = capsys.readouterr().out
    run([*plan, "--verbose"])
    long = capsys.readouterr().out

    assert "SET DATA TYPE BIGINT, values as dlt coerces them (--verbose shows the SQL)" in " ".join(short.split())
    assert "USING" not in short
    assert 'ALTER COLUMN "note" SET DATA TYPE BIGINT USING' in " ".join(long.split())


def test_a_value_for_stored_rows_that_the_column_cannot_hold_is_refused_with_and_without_rows(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = FIRST.tables["orders"].columns.values()
    put(schema_of(*columns, column("paid", "bool", nullable=False, **{"x-backfill": "abc"}), before=FIRST), "paid.yaml")
    for _ in range(2):
        assert run(["migrate", "plan", "./paid.yaml", "--to", dataset.url]) == 2
        said = "`x-backfill` of `orders.paid` cannot fill stored rows: `abc` is not a `bool`"
        assert said in " ".join(capsys.readouterr().err.split())
        dataset.sql("DELETE FROM @.orders")


def test_a_conversion_names_the_type_of_its_statement(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    columns = [each for each in FIRST.tables["orders"].columns.values() if each.name != "note"]
    for zone, kind in ((None, "TIMESTAMP WITH TIME ZONE"), (False, "TIMESTAMP")):
        hints = {} if zone is None else {"timezone": zone}
        put(schema_of(*columns, column("note", "timestamp", **hints), before=FIRST), "note.yaml")
        capsys.readouterr()
        run(["migrate", "plan", "./note.yaml", "--to", dataset.url])
        assert f"SET DATA TYPE {kind}, values as dlt" in " ".join(capsys.readouterr().out.split())


def test_status_says_which_schema_a_run_that_stands_half_done_leads_to(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["migrate", "apply", "./added.yaml", "--to", dataset.url, "--yes"]) == 0
    assert run(["migrate", "rollback", "--to", dataset.url, "--yes", "--steps", "1"]) == 0
    capsys.readouterr()
    assert run(["migrate", "status", "--to", dataset.url, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"]["version_hash"] == ADDED.version_hash


def test_the_help_of_the_subcommand_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["migrate", "check"]) == 2
    assert "`schemactl migrate check --help`" in capsys.readouterr().err


def test_a_rollback_reports_that_the_schema_files_still_have_the_change(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path("schemas/export")
    folder.mkdir(parents=True)
    put(ADDED, str(folder / "shop.schema.yaml"))
    assert run(["migrate", "apply", "shop", "--to", dataset.url, "--yes", "--quiet", "--on-unfit", "expand"]) == 0
    assert run(["migrate", "rollback", "shop", "--to", dataset.url, "--yes", "--allow-destructive"]) == 0
    out = capsys.readouterr().out
    assert "the schema files of `shop` still have the change" in out
    assert "run `schemactl sync shop`" in out
    assert run(["migrate", "status", "--to", dataset.url]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "undone:" in line)
    assert " of " not in line, "0 of N steps reads as if the undo had done nothing"


@pytest.mark.parametrize("content", [None, "old", "unreadable"])
def test_a_rollback_is_silent_about_schema_files_that_lack_the_change(
    content: str | None, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["migrate", "apply", "./added.yaml", "--to", dataset.url, "--yes", "--on-unfit", "expand"]) == 0
    if content is not None:
        Path("schemas/export").mkdir(parents=True)
        put(FIRST, "schemas/export/shop.schema.yaml")
    if content == "unreadable":
        Path("schemas/export/shop.schema.yaml").write_text("tables: [")
    assert run(["migrate", "rollback", "shop", "--to", dataset.url, "--yes", "--allow-destructive"]) == 0
    out = capsys.readouterr().out
    assert "the ledger now has" in out
    assert "still have" not in out


def test_a_status_without_a_schema_compares_only_the_ledger(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["migrate", "status", "--to", dataset.url]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Settled: the tables match the ledger's schema." in out
    assert "`schemactl migrate status shop --to DEST` compares the schema files" in out
    assert "target" not in out
    assert run(["migrate", "status", "./first.yaml", "--to", dataset.url]) == 0
    assert "Settled: no pending steps, no drift." in capsys.readouterr().out
