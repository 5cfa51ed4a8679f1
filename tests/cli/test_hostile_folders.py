"""Reviews of folders that somebody hostile has written: no process but git, no connection, no file, no pass.

Whatever they hold, and wherever links among them lead, nothing outside of the repository is read or written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bounds import interrupted_after
from git_commands import commit, git
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from platforms import needs_posix

from schemactl.cli.app import run
from schemactl.errors import InputError
from schemactl.formats import dlt
from schemactl.memory import memory_limit
from schemactl.store.text import read_text
from tests.cli.test_diff_command import BASE, HEAD, write

REPOSITORY = Path(__file__).parents[2]
SCHEMA = "schemas/export/shop.schema.yaml"
EVIL = "open('pwned', 'w').close(); raise SystemExit(0)\n"
STORED = dlt.write(BASE, SCHEMA)

NAMES = [
    "evil", "evil.NamingConvention", "numpy.f2py.__main__", "os", "antigravity", "../evil", "\n::error ::x", "",
    "💣" * 3000,
]  # fmt: skip
"""What stands where a schema names a module, a table, a column, a pattern."""

PARTS = [
    "names: snake_case",
    "module: dlt.common.normalizers.json.relational",
    "note:",
    "orders:",
    "data_type: text",
    "version: 1",
]
"""Of the stored base, to be replaced."""

TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            "{",
            "[" * 20_000,
            "a: &a [*a, *a]\n",
            "!!python/object/apply:os.system ['touch pwned']\n",
            "%YAML 9.9\n---\n",
            "name: shop\n" * 3,
            dlt.write(HEAD, SCHEMA),
            STORED,
        ]
    ),
    st.text(max_size=40),
    st.builds(
        lambda part, name: STORED.replace(part, f"{part.partition(':')[0]}: {name!r}"),
        st.sampled_from(PARTS),
        st.sampled_from(NAMES),
    ),
    st.builds(
        lambda pattern: STORED.replace("settings:", f"settings:\n  preferred_types:\n    're:{pattern}': text"),
        st.sampled_from(["(a+)+$", "(", "(.*)*x", "a{1,9999}{1,9999}"]),
    ),
)

GIT_FOLDER = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n  bare = false\n  worktree = .\n  fsmonitor = touch pwned\n  sshCommand = touch pwned\n"
    '[extensions]\n  partialClone = o\n[remote "o"]\n  url = ssh://h/p\n  promisor = true\n',
    "objects/keep": "",
    "refs/heads/main": "1" * 40,
}

MORE: list[dict[str, str]] = [
    {"schemactl.toml": '[diff]\nfail-on = "never"\nseverity = ["P001=none"]\n'},
    {"schemactl.toml": 'schemas = "decoy"\n', "decoy/export/shop.schema.yaml": STORED},
    {"schemactl.toml": "a = " + "[" * 20_000},
    {"pyproject.toml": '[tool.schemactl]\nnaming-module = ["evil"]\n'},
    {f"schemas/export/{name}": text for name, text in GIT_FOLDER.items()},
    {f"schemas/{name}": text for name, text in GIT_FOLDER.items()},
    {
        "evil-1.dist-info/METADATA": "Name: evil\n",
        "evil-1.dist-info/entry_points.txt": "[schemactl.rule]\nz999 = evil\n",
    },
    {
        ".gitattributes": "*.yaml diff=evil filter=evil\n",
        ".gitmodules": '[submodule "schemas"]\n  path = schemas\n  url = ext::x\n',
    },
    {"schemas/import/shop.schema.yaml": "name: [\n"},
    {"schemas/export/\n::error ::x.schema.yaml": "x"},
]
LINKS = st.sampled_from([None, "schemas/export/linked.schema.yaml", SCHEMA, "schemactl.toml"])

_watched: list[tuple[str, Any]] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched is not None and event in _WATCHED:
        _watched.append((event, arguments))


_WATCHED = {
    "os.listdir", "os.scandir", "os.truncate", "os.link", "os.symlink", "os.chmod", "shutil.rmtree",
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "open", "os.remove", "os.rename",
    "os.mkdir",
}  # fmt: skip


READS = ("open", "os.listdir", "os.scandir")


@contextmanager
def watched() -> Iterator[list[tuple[str, Any]]]:
    global _watched
    _watched = seen = []
    try:
        yield seen
    finally:
        _watched = None


def writes(arguments: tuple[Any, ...]) -> bool:
    """Return whether a file was opened to be written; Python keeps what it compiles of its own modules."""
    path, mode, flags = arguments
    is_ours = isinstance(path, int) or path == os.devnull or "__pycache__" in str(path)
    return not is_ours and (bool(set(mode or "") & set("wax+")) or bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)))


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret").write_text("token: [SECRET\n")
    sys.addaudithook(_watch)  # here, as it stays, and slows whatever the process runs from then on
    top = folder / "repository"
    write(top / SCHEMA, BASE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        (folder / "temporary").mkdir()
        patch.setattr(tempfile, "tempdir", str(folder / "temporary"))
        patch.syspath_prepend(str(top))  # as `PYTHONPATH=.` does
        subprocess.run(("git", "init", "-q", "-b", "main", "."), check=True)
        commit("first")
        yield top


@settings(suppress_health_check=list(HealthCheck))
@given(text=TEXTS, more=st.lists(st.sampled_from(MORE), max_size=3), link=LINKS)
@example(text=STORED, more=MORE[4:6], link=None)
@example(text=STORED, more=MORE[:2], link=SCHEMA)
@example(text=STORED.replace("names: snake_case", "names: evil"), more=[MORE[3], MORE[6]], link=None)
def test_a_hostile_folder_does_nothing_and_does_not_pass(
    top: Path, capsys: pytest.CaptureFixture[str], text: str, more: list[dict[str, str]], link: str | None
):
    for path in top.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in {SCHEMA: text, "evil.py": EVIL, **{k: v for each in more for k, v in each.items()}}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(content, encoding="utf-8", errors="surrogatepass")
    if link:
        (top / link).unlink(missing_ok=True)
        (top / link).symlink_to(top.parent / "secret")

    with watched() as seen:
        code = run(["diff", "git:main", "--timeout", "60"])

    printed = capsys.readouterr()
    reported = printed.out + printed.err
    assert code in (0, 1, 2), reported
    processes = [arguments[0] for event, arguments in seen if event == "subprocess.Popen"]
    assert all(Path(str(each)).name == "git" for each in processes), processes
    others = [
        (event, each)
        for event, each in seen
        if event not in ("subprocess.Popen", *READS) or (event == "open" and writes(each))
    ]
    assert others == []
    assert not list(top.parent.rglob("pwned"))
    assert "evil" not in sys.modules
    assert "given up" not in reported
    assert "SECRET" not in reported
    assert not [line for line in reported.splitlines() if line.lstrip().startswith("::")]
    if code == 0:
        assert link != SCHEMA
        assert dlt.read(read_text(top / SCHEMA), "schema.yaml").schema.tables.keys() >= BASE.tables.keys()
    if not is_readable(top / SCHEMA):
        assert code == 2


def is_readable(path: Path) -> bool:
    try:
        dlt.read(read_text(path), str(path))
    except InputError:
        return False
    return True


OUTSIDE = ("outside", "outside/schemas", "outside/secret", "outside/new")
INSIDE = (
    "schemas", "schemas/export", "schemas/import", SCHEMA, "schemas/import/shop.schema.yaml",
    "schemas/export/shop.lineage.json", "schemas/.schemactl", "schemas/.schemactl/lock",
    "schemas/.schemactl/.gitignore", "docs", "docs/schemas", "schemactl.toml", "pyproject.toml", "migrations",
    "migrations/0001_create_orders.json", "migrations/schemactl.sum", "out", "out/report", "shop.duckdb",
    ".gitattributes",
)  # fmt: skip
SPECIAL = (
    "/dev/zero", "/dev/full", "/proc/self/environ", "/", "pipe", ".git", ".git/config", ".git/hooks/post-checkout", ".",
)  # fmt: skip
SETTINGS = st.one_of(
    st.sampled_from(
        [
            f"{'a.' * 40_000}a = 1",
            f"[{' ' * 60_000}",
            f"{'[' * 20_000}",
            "[diff]\nfail-on = 'never'\ntimeout = '0'\nmax-memory = '0'\n",
            "schemas = 'docs/../docs/schemas'\n",
            "[destinations.shop]\naddress = 'duckdb:///shop.duckdb'\n",
            "#" * (2 << 20),
            "\0",
            "\ud800",
        ]
    ),
    st.text(max_size=40),
)
COMMANDS = (
    ("diff", "git:main"),
    ("diff", "git:main...", "HEAD"),
    ("diff", "git:main:docs/schemas", "docs/schemas"),
    ("diff", "git:main", "schemas", "--schemas", "docs/schemas"),
    ("diff",),
    ("diff", "shop", "duckdb:///shop.duckdb"),
    ("diff", "git:main", "--policy", "pyproject.toml", "--report", "sarif=out/report"),
    ("diff", "git:main", "--transitive", "--output", "out/report"),
    ("accept", "--all", "--base", "git:main", "--until", "2999-12-31", "--reason", "x"),
    ("check",),
    ("check", SCHEMA, "out/report"),
    ("list",),
    ("show", "shop"),
    ("export", "shop", "--to", "jsonschema"),
    ("sync", "shop", "--check"),
    ("fmt", "--check"),
    ("migrate", "lint", "migrations", "--since", "git:main", "--report", "junit=out/report"),
    ("migrate", "lint", "out/report.plan.json"),
    ("migrate", "check", "migrations"),
)
LINK = st.tuples(st.sampled_from(INSIDE), st.sampled_from((*INSIDE, *OUTSIDE, *SPECIAL)), st.booleans())
"""A path of the repository, what it becomes a link to, and whether by an absolute path."""


@pytest.fixture(scope="module")
def linked_top(top: Path) -> Path:
    """The repository with migrations and other schemas; beside it files that are none of its business."""
    for path in top.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    write(top / SCHEMA, BASE)
    write(top / "docs/schemas/export/shop.schema.yaml", HEAD)
    assert run(["migrate", "plan", "shop", "--dir", "migrations", "--dialect", "postgresql"]) == 0
    write(top.parent / "outside/schemas/export/shop.schema.yaml", HEAD)
    (top.parent / "outside/secret").write_text("token: [SECRET\n")
    (top / ".git/hooks/post-checkout").write_text("SECRET")
    commit("second")
    return top


@needs_posix
@settings(suppress_health_check=list(HealthCheck))
@given(
    links=st.lists(LINK, min_size=1, max_size=4),
    files=st.dictionaries(st.sampled_from(["schemactl.toml", "pyproject.toml"]), SETTINGS, max_size=1),
    commands=st.lists(st.sampled_from(COMMANDS), min_size=3, max_size=3),
)
@example(links=[("schemas", "docs/schemas", False)], files={}, commands=list(COMMANDS))
@example(links=[("schemas", "outside/schemas", True), ("out", "outside", False)], files={}, commands=list(COMMANDS))
@example(
    links=[("schemactl.toml", "/dev/zero", True), ("out/report", "outside/new", False)],
    files={},
    commands=list(COMMANDS),
)
@example(links=[("docs", "schemas", False), ("schemas", "docs", False)], files={}, commands=list(COMMANDS))
@example(links=[("schemas/.schemactl/lock", ".git/config", False)], files={}, commands=list(COMMANDS))
# Where no revision decides, the settings of the working folder may name any folder.
@example(links=[], files={"schemactl.toml": "schemas = '../outside/schemas'\n"}, commands=[COMMANDS[0], COMMANDS[16]])
def test_nothing_outside_is_read_or_written_wherever_links_lead(
    linked_top: Path,
    capsys: pytest.CaptureFixture[str],
    links: list[tuple[str, str, bool]],
    files: dict[str, str],
    commands: list[tuple[str, ...]],
):
    top = linked_top
    outside = top.parent / "outside"
    git("checkout", "-q", "-f", "main")
    git("clean", "-q", "-f", "-d", "-x")
    (outside / "new").unlink(missing_ok=True)
    (top / "pipe").unlink(missing_ok=True)  # which git does not clean away
    os.mkfifo(top / "pipe")
    for name, text in files.items():
        (top / name).write_text(text, encoding="utf-8", errors="surrogatepass")
    for path, target, is_absolute in links:
        put_link(top, path, target, is_absolute)
    before = content_of(outside), content_of(top / ".git/hooks"), (top / ".git/config").read_bytes()

    for command in commands:
        with watched() as seen, interrupted_after(60), memory_limit(1 << 30, MemoryError):
            code = run([*command])
        reported = "".join(capsys.readouterr())
        assert code in (0, 1, 2, 3), (command, reported)  # a link may name a file that is no database
        assert "fault of schemactl" not in reported, (command, reported)
        assert "SECRET" not in reported, command
        used = {use for event, arguments in seen for use in uses_of(event, arguments)}
        assert not {use for use in used if is_foreign(use, top)}, command

    assert before == (content_of(outside), content_of(top / ".git/hooks"), (top / ".git/config").read_bytes())


def put_link(top: Path, path: str, target: str, is_absolute: bool) -> None:
    """Put a link in place of what is at a path of the repository, unless its folder is behind another link."""
    place, aim = top / path, top / target if target not in OUTSIDE else top.parent / target
    if any((top / folder).is_symlink() for folder in Path(path).parents):
        return
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(aim if is_absolute else os.path.relpath(aim, place.parent))


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def uses_of(event: str, arguments: tuple[Any, ...]) -> Iterator[str]:
    """Yield the files and folders that something is done to, links followed."""
    if event == "subprocess.Popen":
        assert Path(str(arguments[0])).name == "git"
        return
    for path in arguments[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
        if isinstance(path, (str, bytes, os.PathLike)):
            yield os.path.realpath(os.fsdecode(path))


def is_foreign(path: str, top: Path) -> bool:
    """Return whether a path is none of the repository, of Python, or of what the machine says of this process."""
    where = Path(path)
    if where.is_relative_to(top):
        return ".git" in where.relative_to(top).parts
    ours = (sys.prefix, sys.base_prefix, REPOSITORY, tempfile.gettempdir())
    known = (os.devnull, f"/proc/{os.getpid()}/status")
    return not any(where.is_relative_to(folder) for folder in ours) and path not in known
