"""Checkouts in which links, pipes or settings stand where a review looks: it reads and writes nothing outside."""

from __future__ import annotations

import os
import shutil
from itertools import product
from pathlib import Path

import pytest
from git_commands import commit, git
from platforms import needs_posix

from schemactl.cli.app import run
from tests.cli.test_diff_command import BASE, HEAD, write

SCHEMA = "schemas/export/shop.schema.yaml"
GONE = "column `note` was removed from `orders`"
MIGRATIONS, OTHER = "db/migrations", "docs/ex/migrations"
OWN_SQL = "0001_create_orders.postgresql.3.after.sql"

LAX = """\
fail-on = "never"
compat = "none"
severity = {P001 = "none"}
silence = [{rule = "C204", reason = "x"}, {rule = "T102", reason = "x"}]
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a schema and a migration of it, and other ones in ``docs``; beside it a file of a stranger."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "outside").mkdir()
    (folder / "outside/secret").write_text("token = [SECRET\n")
    (folder / "repository").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "repository")
        git("init", "-q", "-b", "main", ".")
        write(Path(SCHEMA), BASE)
        assert run(["migrate", "plan", "shop", "--dir", MIGRATIONS, "--dialect", "postgresql"]) == 0
        write(Path("docs/example/export/shop.schema.yaml"), HEAD)
        shutil.copytree("db", "docs/ex")
        for migrations, own in ((MIGRATIONS, "CREATE INDEX a ON orders (id);\n"), (OTHER, "DROP TABLE orders;\n")):
            Path(migrations, OWN_SQL).write_text(own)
            assert run(["migrate", "hash", migrations]) == 0
        commit("first")
        git("switch", "-q", "-c", "change")
    return folder


@pytest.fixture
def work(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the prepared repository; the working folder is there."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path / "repository")
    return tmp_path / "repository"


def put_link(path: str | Path, target: str | Path) -> None:
    path = Path(path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("schemas", "docs/example"),
        ("schemas/export", "../docs/example/export"),
        ("schemas/import", "export"),
        (SCHEMA, "../../docs/example/export/shop.schema.yaml"),
    ],
)
@pytest.mark.parametrize(
    "arguments",
    [
        ("diff", "git:main"),
        ("diff", "git:main..."),
        ("diff", "git:main", "git:change"),
        ("diff", "git:main", "shop"),
        ("diff", "git:main", "schemas"),
        ("diff", "git:main:schemas", f"./{SCHEMA}"),
        ("diff", "git:main:./docs/../schemas", "import:"),
        ("diff", "--schemas", "docs/../schemas", "git:main"),
        ("diff", "schemas", "git:main"),
        ("accept", "--all", "--base", "git:main", "--until", "2999-12-31", "--reason", "x"),
    ],
)
def test_a_link_in_place_of_schemas_is_an_error_that_nothing_silences(
    work: Path,
    capsys: pytest.CaptureFixture[str],
    path: str,
    target: str,
    arguments: tuple[str, ...],
):
    put_link(path, target)
    (work / "schemactl.toml").write_text(f"[diff]\n{LAX}")
    commit("change")
    capsys.readouterr()

    assert run([*arguments]) == 2

    assert "is a symbolic link" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["schemas", "schemas/export", "schemas/import", SCHEMA])
@pytest.mark.parametrize("reference", ["git:main", "git:main:schemas"])
def test_a_link_in_the_base_is_an_error(work: Path, capsys: pytest.CaptureFixture[str], path: str, reference: str):
    git("switch", "-q", "main")
    put_link(path, work / "docs/example")
    commit("a link in the base")
    git("switch", "-q", "-C", "change")
    Path(path).unlink()
    write(work / SCHEMA, HEAD)
    commit("change")
    capsys.readouterr()

    assert run(["diff", reference, "schemas"]) == 2
    assert f"`main:{path}` is a symbolic link" in capsys.readouterr().err


@pytest.mark.parametrize(("path", "target"), [("db", "docs/ex"), (MIGRATIONS, "../docs/ex/migrations")])
@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", MIGRATIONS, "--since", "git:main"),
        ("lint", "docs/../db/migrations", "--fail-on", "never"),
        ("lint", MIGRATIONS, "--since", "git:main", "--format", "json"),
        ("check", MIGRATIONS),
        ("hash", MIGRATIONS),
        ("apply", "--to", "sqlite:///shop.db", "--dir", MIGRATIONS, "--yes"),
        ("plan", "shop", "--dir", MIGRATIONS),
    ],
)
def test_a_link_in_place_of_migrations_is_an_error(
    work: Path, capsys: pytest.CaptureFixture[str], path: str, target: str, arguments: tuple[str, ...]
):
    put_link(path, target)
    (work / "schemactl.toml").write_text(f"[diff]\n{LAX}")
    commit("change")
    capsys.readouterr()

    assert run(["migrate", *arguments]) == 2

    assert f"`{path}` is a symbolic link" in capsys.readouterr().err
    assert not (work / "shop.db").exists()


def test_a_link_to_migrations_in_the_base_is_an_error(work: Path, capsys: pytest.CaptureFixture[str]):
    git("switch", "-q", "main")
    put_link("db", "docs/ex")
    commit("a link in the base")
    Path("db").unlink()
    shutil.copytree("docs/ex", "db")

    assert run(["migrate", "lint", MIGRATIONS, "--since", "git:main"]) == 2
    assert "`main:db` is a symbolic link" in capsys.readouterr().err


def test_a_checkout_behind_a_link_is_reviewed_as_any_other(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    # As `/tmp` of macOS, or a home on another disk; also a link of the user's own straight to the schemas.
    (work.parent / "home").symlink_to("repository")
    (work.parent / "schemas-of-shop").symlink_to("home/schemas")
    write(work / SCHEMA, HEAD)
    commit("change")
    home = work.parent / "home"
    monkeypatch.chdir(home)
    for arguments in (
        ("--schemas", str(home / "schemas"), "git:main"),
        ("--schemas", str(work.parent / "schemas-of-shop"), "git:main..."),
        ("--schemas", "../home/schemas", "git:main", "git:change"),
        ("git:main", str(home / SCHEMA)),
    ):
        assert run(["diff", *arguments]) == 1
        assert GONE in capsys.readouterr().out
    assert run(["migrate", "lint", str(home / MIGRATIONS), "--since", "git:main"]) == 0
    monkeypatch.chdir(work.parent)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(work.parent))
    assert run(["diff", "--schemas", "home/schemas", "git:main"]) == 1


def test_links_of_the_repository_may_stand_beside_what_is_reviewed(work: Path, capsys: pytest.CaptureFixture[str]):
    put_link("docs/latest", "example")
    put_link("schemas/README", "../docs")
    put_link("elsewhere", "../outside")
    write(work / SCHEMA, HEAD)
    commit("change")
    assert run(["diff", "git:main"]) == 1
    assert GONE in capsys.readouterr().out


def test_a_linked_worktree_is_reviewed(work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    git("worktree", "add", "-q", "-b", "other", str(work.parent / "other"))
    monkeypatch.chdir(work.parent / "other")
    write(Path(SCHEMA), HEAD)
    assert run(["diff", "git:main"]) == 1
    put_link("schemas", "docs/example")
    assert run(["diff", "git:main"]) == 2
    assert "`schemas` is a symbolic link" in capsys.readouterr().err


SETTINGS = {"schemactl.toml": "", "pyproject.toml": "", "schemas/schemactl.toml": "schemas"}


@needs_posix
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("target", ["secret", "absolute", "device", "pipe", "git", "through a folder"])
@pytest.mark.parametrize(
    "arguments", [("diff",), ("diff", "git:main"), ("check",), ("migrate", "lint", "../db/migrations")]
)
def test_settings_are_not_read_through_a_link_out_of_the_repository(
    work: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    target: str,
    arguments: tuple[str, ...],
):
    folder = work / SETTINGS[name]
    monkeypatch.chdir(folder)
    Path("pipe").unlink(missing_ok=True)
    os.mkfifo(work / "pipe")
    put_link(work / "up", work.parent)
    up = Path(os.path.relpath(work, folder))
    targets = {
        "secret": up / "../outside/secret",
        "absolute": work.parent / "outside/secret",
        "device": Path("/dev/zero"),
        "pipe": up / "pipe",
        "git": up / ".git/config",
        "through a folder": up / "up/outside/secret",
    }
    put_link(work / name, targets[target])

    assert run([*arguments, "--schemas", str(work / "schemas")]) == 2

    reported = capsys.readouterr().err
    assert "is a link out of the repository" in reported or "is a pipe or a device" in reported
    assert "SECRET" not in reported


def test_a_policy_is_not_read_through_a_link_out_of_the_repository(work: Path, capsys: pytest.CaptureFixture[str]):
    put_link("rules.toml", "../outside/secret")
    assert run(["diff", "git:main", "--policy", "rules.toml"]) == 2
    assert "is a link out of the repository" in capsys.readouterr().err


def test_a_link_to_the_settings_of_the_repository_is_followed_in_the_working_folder(work: Path):
    (work / "docs/team.toml").write_text('[diff]\nfail-on = "never"\n')
    put_link("schemactl.toml", "docs/team.toml")
    write(work / "old.yaml", BASE)
    assert run(["diff", "old.yaml", "docs/example/export/shop.schema.yaml"]) == 0


OUTPUTS = {
    "report": ("diff", "git:main", "--report", "sarif=out/written"),
    "output": ("diff", "git:main", "--output", "out/written"),
    "lint": ("migrate", "lint", MIGRATIONS, "--report", "junit=out/written"),
    "evidence": ("infer", "rows.jsonl", "--name", "shop", "--evidence", "out/written"),
    "plan": ("migrate", "plan", "shop", "--to", "duckdb:///shop.duckdb", "--out", "out/written"),
    "export": ("export", "shop", "--to", "sql", "--output", "out/written"),
    "export into a folder": ("export", "shop", "--to", "sql", "--output", "out/"),
    "schema": ("schema", "file", "--output", "out/written"),
    "name in": ("schema", "file", "--output", "schema.json", "--name-in", "out/written.toml"),
    "settings": ("accept", "--all", "--base", "git:main", "--until", "2999-12-31", "--reason", "x"),
    "rejects": ("normalize", "rows.jsonl", "--name", "shop", "--rejects", "out/written"),
    "staging": ("normalize", "rows.jsonl", "--name", "shop", "--staging", "out/written"),
    "parquet": ("normalize", "rows.jsonl", "--name", "shop", "--to", "parquet:out/written"),
    "duckdb": ("migrate", "apply", "shop", "--to", "duckdb:///out/written", "--yes"),
    "sqlite": ("migrate", "apply", "shop", "--to", "sqlite:///out/written", "--yes"),
    "delta": ("migrate", "plan", "shop", "--to", "delta:out/written"),
    "iceberg": ("migrate", "plan", "shop", "--to", "iceberg:out/written"),
}
"""Commands that write, each to `out/written`; some to a name of their own."""
NAMES = {"name in": "out/written.toml", "export into a folder": "out/shop.sql", "settings": "schemactl.toml"}


@pytest.mark.parametrize(
    ("command", "place"),
    [
        *product(OUTPUTS, ["file", "new file", "git"]),
        *((command, "folder above") for command in OUTPUTS if "/" in NAMES.get(command, "out/written")),
    ],
)
def test_no_output_goes_through_a_link_out_of_the_repository(
    work: Path, capsys: pytest.CaptureFixture[str], command: str, place: str
):
    write(work / SCHEMA, HEAD)
    (work / "rows.jsonl").write_text('{"id": 1}\n')
    path = work / NAMES.get(command, "out/written")
    match place:
        case "file":
            put_link(path, work.parent / "outside/secret")
        case "new file":
            put_link(path, work.parent / "outside/new")
        case "git":
            put_link(path, work / ".git/hooks/post-checkout")
        case "folder above":
            put_link(path.parent, work.parent / "outside")
            path.unlink(missing_ok=True)
    before = files_of(work.parent / "outside"), files_of(work / ".git/hooks"), files_of(work / "schemas")
    capsys.readouterr()

    assert run([*OUTPUTS[command]]) == 2

    assert "is a link out of the repository" in capsys.readouterr().err
    assert before == (files_of(work.parent / "outside"), files_of(work / ".git/hooks"), files_of(work / "schemas"))


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("written", [SCHEMA, "schemas/import/shop.schema.yaml"])
@pytest.mark.parametrize(
    "command", [("fmt",), ("edit", "shop", "--column", "orders.note:bool"), ("sync", "shop", "--yes")]
)
def test_a_schema_file_that_is_a_link_out_is_not_written(
    work: Path, capsys: pytest.CaptureFixture[str], written: str, command: tuple[str, ...]
):
    outside = write(work.parent / "outside/shop.schema.yaml", HEAD)
    before = outside.read_bytes()
    write(work / "schemas/import/shop.schema.yaml", HEAD)
    put_link(written, outside)
    assert run([*command]) == 2
    assert "is a link out of the repository" in capsys.readouterr().err
    assert outside.read_bytes() == before


@pytest.mark.parametrize(
    ("source", "linked"),
    [
        *((source, "data") for source in ("data", "data/*.jsonl", "data/rows.jsonl")),
        *((source, "data/rows.jsonl") for source in ("data", "data/*.jsonl", "data/rows.jsonl", "**/*.jsonl")),
        ("data", "data/more"),
        ("data/*", "data/more"),
    ],
)
def test_data_is_not_read_through_a_link_out_of_the_repository(
    work: Path, capsys: pytest.CaptureFixture[str], source: str, linked: str
):
    outside = work.parent / "outside"
    (outside / "rows.jsonl").write_text('{"note": "SECRET"}\n')
    Path("data").mkdir()
    Path("data/rows.jsonl").write_text('{"note": "a"}\n')
    put_link(linked, outside / "rows.jsonl" if linked.endswith("jsonl") else outside)
    assert run(["infer", source, "--name", "found", "--check"]) == 2
    reported = capsys.readouterr()
    assert "is a link out of the repository" in reported.err
    assert "SECRET" not in reported.out + reported.err


def test_settings_of_the_head_do_not_decide_how_its_migrations_are_judged(
    work: Path, capsys: pytest.CaptureFixture[str]
):
    (work / "schemactl.toml").write_text("this is not TOML")
    assert run(["migrate", "lint", MIGRATIONS, "--since", "git:main"]) == 0
    assert run(["migrate", "lint", MIGRATIONS]) == 2
    assert "this is not TOML" in capsys.readouterr().err
