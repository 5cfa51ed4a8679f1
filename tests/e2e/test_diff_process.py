"""``schemactl diff``, ``rules``, ``export`` and ``import`` as their users run them, on input that is wrong.

Whatever comes in: exit code 2, a message with the place and a way out, no traceback, soon, in bounded memory.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from command_schemas import check_document
from forked_commands import Answer, Commands, forked_commands

from schemactl.formats import dlt
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

pytestmark = pytest.mark.e2e

COMMAND = Path(sys.executable).with_name("schemactl")
TIME_LIMIT_SECONDS = 10
"""Generous: other tests may run beside this one. On a free machine each call takes less than a second."""

MEMORY_LIMIT_BYTES = 500 * 1024**2

COLUMNS = {"id": {"data_type": "bigint", "nullable": False}, "note": {"data_type": "text"}}


def text_of(columns: Mapping[str, Mapping[str, object]], table: str = "orders", name: str = "shop") -> str:
    """The file of a schema with one table."""
    held = Table(table, {key: Column(key, value) for key, value in columns.items()}, {"write_disposition": "append"})
    start = new_schema(name)
    return dlt.write(bump(replace(start, tables={**start.tables, table: held})))


VALID = text_of(COLUMNS)
WITHOUT_NOTE = text_of({"id": COLUMNS["id"]})


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    base, head = (tmp_path_factory.mktemp("first") / f"{name}.yaml" for name in ("base", "head"))
    base.write_text(VALID)
    head.write_text(WITHOUT_NOTE)
    with forked_commands(first=[("diff", str(base), str(head))]) as run:
        yield run


@pytest.fixture
def call(commands: Commands) -> Commands:
    """Runs the command under the limits; one that does not keep them fails the test."""
    return partial(commands, limit=TIME_LIMIT_SECONDS)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two schemas, far from any settings and repository of the machine."""
    for name in [name for name in os.environ if name.startswith(("SCHEMACTL_", "GIT_"))] + ["COLUMNS", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCHEMACTL_PROGRESS_SECONDS", "0")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    Path("base.yaml").write_text(VALID)
    Path("head.yaml").write_text(WITHOUT_NOTE)
    return tmp_path


def git(*args: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    files = ("-c", "protocol.file.allow=always")
    return subprocess.run(("git", *name, *files, *args), check=True, capture_output=True, text=True).stdout


def repository(*versions: str, folder: str = "schemas/export") -> Path:
    """Make the working folder a repository with a commit for each version of a schema; return the file."""
    path = Path(folder, "shop.schema.yaml")
    git("init", "-q", "-b", "main", ".")
    for version in versions:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(version)
        git("add", "-A")
        git("commit", "-qm", "next")
    return path


def assert_refused(answer: Answer, message: str, *, hinted: bool = True) -> None:
    assert answer.code == 2, answer
    assert answer.out == ""
    assert message in answer.err
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err
    assert "a fault of schemactl" not in answer.err
    assert ("\nhint: " in answer.err or "\n    hint: " in answer.err) or not hinted
    assert answer.memory_bytes < MEMORY_LIMIT_BYTES


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]\n" for number in range(1, 20)
)
CONFLICT = VALID.replace("  orders:\n", "<<<<<<< HEAD\n  orders:\n=======\n  order:\n>>>>>>> theirs\n")

UNREADABLE: dict[str, tuple[bytes, str]] = {
    "syntax error": (VALID.replace("name: shop", "name: [shop").encode(), "bad.yaml:5:7: this is not YAML"),
    "quote not closed": (VALID.replace("name: shop", "name: 'shop").encode(), "bad.yaml:4:7: the quote that opens"),
    "conflict": (CONFLICT.encode(), "the file contains a merge conflict"),
    "table twice": (VALID.replace("\nsettings:", "\n  orders:\n    columns: {}\nsettings:").encode(),
                    "the key `orders` is duplicated here"),
    "newer engine": (VALID.replace("engine_version: 11", "engine_version: 12").encode(),
                     "bad.yaml:3:1: the schema is of engine version 12"),
    "alias bomb": (BOMB.encode(), "aliases repeat too much"),
    "deep": (b"a: " + b"[" * 100_000, "nested deeper than 100 levels"),
    "deep block": ("\n".join(" " * depth + "a:" for depth in range(3000)).encode(), "nested deeper than 100 levels"),
    "binary": (bytes(range(256)) * 400, "the file is not UTF-8"),
    "NUL": (VALID.replace("shop", "sh\0op").encode(), "the character U+0000 is not allowed in YAML"),
    "UTF-16": (VALID.encode("utf-16"), "bad.yaml:1:1: the file is not UTF-8\nhint: it is UTF-16"),
    "Latin-1": (VALID.replace("shop", "caf\xe9").encode("latin-1"), "bad.yaml:4:10: the file is not UTF-8"),
    "empty": (b"", "bad.yaml:1:1: the file is empty"),
    "comments only": (b"# later\n", "the file is empty"),
    "list": (b"- a\n- b\n", "is not a mapping"),
    "no schema": (b"openapi: 3.1.0\n", "openapi"),
    "long number": (b"version: " + b"9" * 100_000, "is not a valid int value"),
    "long key": (VALID.replace("  orders:", f"  {'o' * 100_000}:").encode(), "bad.yaml:"),
    "two documents": (f"{VALID}---\n{VALID}".encode(), "a second document starts here"),
    "objects": (VALID.replace("name: shop", "name: !!python/object:os.system x").encode(), "is not supported"),
    "wrong type": (VALID.replace("  orders:\n", "  orders: 3\n  lines:\n").encode(), "the table `orders` is `3`"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_is_no_schema_is_refused_with_the_place(call: Commands, name: str) -> None:
    content, message = UNREADABLE[name]
    Path("bad.yaml").write_bytes(content)

    hinted = name != "wrong type"
    assert_refused(call("diff", "base.yaml", "bad.yaml"), message, hinted=hinted)


@pytest.mark.parametrize("command", [("export", "bad.json"), ("import", "bad.json", "--name", "shop", "--from", "dlt")])
@pytest.mark.parametrize(
    ("content", "message"),
    [(b'{"name": "a', "bad.json:1:10: the quote that opens here is not closed"), (b'{"a":' * 100_000, "nested deeper"),
     (b"", "the file is empty"), (b"[]", "is not a mapping"), (b"{'a': 1}", "bad.json:1:2: ")],
)  # fmt: skip
def test_export_and_import_refuse_it_too(
    call: Commands, command: tuple[str, ...], content: bytes, message: str
) -> None:
    Path("bad.json").write_bytes(content)

    assert_refused(call(*command), message, hinted=b"'a'" not in content)
    assert not Path("schemas").exists()


@pytest.mark.parametrize("size_mb", [50, 70])
def test_a_file_far_too_large_is_refused_at_once(call: Commands, size_mb: int) -> None:
    table = "  t{}:\n    columns:\n      id:\n        data_type: bigint\n"
    with Path("bad.yaml").open("w") as stream:
        stream.write(VALID.partition("  orders:")[0])
        while stream.tell() < size_mb * 1_000_000:
            start = stream.tell()
            stream.write("".join(table.format(start + number) for number in range(20_000)))

    assert_refused(call("diff", "base.yaml", "bad.yaml"), "bad.yaml")


CALLS: dict[str, tuple[tuple[str, ...], str]] = {
    "no such file": (("base.yaml", "nowhere.yaml"), "there is no file `nowhere.yaml`"),
    "no such schema": (("base.yaml", "nowhere"), "there is no schema `nowhere`"),
    "empty name": (("base.yaml", ""), "`` does not name a schema"),
    "name too long for a file": (("base.yaml", "x" * 5000), "there is no schema"),
    "path too long": (("base.yaml", "x/" * 5000), "cannot read"),
    "folder without schemas": (("base.yaml", "."), "there is no schema in `.`"),
    "no folders": ((), "there is no schema in `schemas`"),
    "file that cannot be read": (("base.yaml", "/proc/self/mem"), "cannot read `/proc/self/mem`"),
    "link to itself": (("base.yaml", "loop.yaml"), "cannot read `loop.yaml`"),
    "device without end": (("base.yaml", "/dev/zero"), "`/dev/zero` is longer than 64 MiB"),
    "empty standard input": (("base.yaml", "-"), "<stdin>:1:1: the file is empty"),
    "empty standard input by its path": (("base.yaml", "/dev/stdin"), "/dev/stdin:1:1: the file is empty"),
    "standard input twice": (("-", "-"), "BASE and HEAD cannot both be `-`"),
    "no repository": (("git:HEAD", "head.yaml"), "is not in a git repository"),
    "no repository for --transitive": (("base.yaml", "head.yaml", "--transitive"), "is not in a git repository"),
    "output is a folder": (("base.yaml", "head.yaml", "-o", "."), "is a folder, not a file"),
    "output cannot be written": (("base.yaml", "head.yaml", "-o", "/proc/x"), "cannot write `/proc/x`"),
    "output on a full disk": (("base.yaml", "head.yaml", "-o", "/dev/full"), "cannot write `/dev/full`: No space"),
    "no level": (("base.yaml", "head.yaml", "--severity", "C204"), "`C204` has no level"),
}
UNHINTED = {"no such file", "path too long", "file that cannot be read", "link to itself", "standard input twice",
            "output is a folder", "output cannot be written", "output on a full disk"}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_cannot_be_done_is_refused(call: Commands, name: str) -> None:
    args, message = CALLS[name]
    Path("loop.yaml").symlink_to("loop.yaml")

    assert_refused(call("diff", *args), message, hinted=name not in UNHINTED)


def test_a_device_stays_a_device(call: Commands, work: Path) -> None:
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True)

    answer = call("diff", "base.yaml", "head.yaml", "-o", "pipe")

    assert (answer.code, answer.out) == (1, "")
    assert "C204" in reader.communicate(timeout=TIME_LIMIT_SECONDS)[0]
    assert (work / "pipe").is_fifo()


def test_a_schema_may_come_through_a_pipe(call: Commands) -> None:
    os.mkfifo("pipe")
    writer = subprocess.Popen(["cp", "head.yaml", "copy.yaml"])
    writer.wait()
    writer = subprocess.Popen(["sh", "-c", "cat copy.yaml > pipe"])

    answer = call("diff", "base.yaml", "pipe")

    writer.wait(timeout=TIME_LIMIT_SECONDS)
    assert answer.code == 1
    assert "C204" in call("diff", "-", "head.yaml", stdin=VALID.encode()).out


@pytest.mark.parametrize(
    ("revision", "message"),
    [("nowhere", "there is no git revision `nowhere`"), ("HEAD~9", "there is no git revision `HEAD~9`"),
     ("--help", "is not a git revision"), ("HEAD:schemas/exprot", "there is no schema file at `schemas/exprot`")],
)  # fmt: skip
def test_a_revision_that_is_missing_is_reported(call: Commands, revision: str, message: str) -> None:
    repository(VALID)

    assert_refused(call("diff", f"git:{revision}"), message, hinted=":" not in revision)


def test_a_shallow_clone_is_reported(call: Commands) -> None:
    repository(VALID, WITHOUT_NOTE)
    git("clone", "-q", "--depth", "1", Path.cwd().as_uri(), "clone")
    os.chdir("clone")

    for args in (("git:HEAD~1",), ("git:HEAD", "--transitive")):
        assert_refused(call("diff", *args), "hint: this clone is shallow: `git fetch --unshallow`")


def test_git_without_commits_and_no_git_at_all(call: Commands) -> None:
    git("init", "-q", ".")

    assert_refused(call("diff", "git:HEAD", "head.yaml"), "there is no git revision `HEAD`")
    lonely = {"PATH": "/nowhere"}
    assert_refused(call("diff", "git:HEAD", "head.yaml", env=lonely), "`git:` needs the `git` command")


def test_a_detached_head_is_a_revision_like_any_other(call: Commands) -> None:
    repository(VALID, WITHOUT_NOTE)
    git("checkout", "-q", "--detach", "HEAD")

    assert call("diff", "git:HEAD~1").code == 1
    assert call("diff", "git:HEAD").code == 0


@pytest.mark.parametrize("name", ["a b", "a\nb", "größe-表", "-a", "a:b", "*", "\x1b[31m"])
def test_files_may_have_any_name(call: Commands, name: str) -> None:
    repository(VALID, WITHOUT_NOTE, folder=f"./{name}")
    path = f"./{name}/shop.schema.yaml"

    answer = call("diff", f"git:HEAD~1:{name}/shop.schema.yaml", path)

    assert answer.code == 1, answer
    assert "\x1b" not in answer.out
    assert call("diff", path, path, "--transitive").code == 1
    assert "\x1b" not in call("diff", path, f"./{name}/nowhere.yaml").err


@pytest.mark.parametrize(
    "text", [VALID.replace("\n", "\r\n"), f"\ufeff{VALID}", f"\ufeff{VALID}".replace("\n", "\r\n")]
)
def test_line_ends_and_byte_order_mark_are_no_change(call: Commands, text: str) -> None:
    Path("other.yaml").write_bytes(text.encode())

    assert call("diff", "base.yaml", "other.yaml").out.endswith("no changes\n")


HOSTILE = (
    "<img src=x onerror=alert(1)>", "a|b", "`code`", "::error::x", "%0A::warning::y", "[link](http://x)", "@everyone",
    "\x1b[31mred", "a\nb", "]]>", "&lt;", "<!-- -->", "\u202egnp", "x" * 3000, "'; drop table x", "$(touch owned)",
)  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json", "markdown", "github", "gitlab", "sarif", "junit"])
def test_hostile_names_are_only_names(call: Commands, form: str) -> None:
    columns = {name: {"data_type": "text"} for name in HOSTILE}
    Path("base.yaml").write_text(text_of({"id": COLUMNS["id"], **columns}, table="a|b\n::error::<b>"))
    Path("head.yaml").write_text(text_of({"id": COLUMNS["id"]}, table="a|b\n::error::<b>"))

    answer = call("diff", "base.yaml", "head.yaml", "--format", form)

    assert (answer.code, answer.err) == (1, "")
    assert "\x1b" not in answer.out
    assert "\u202e" not in answer.out
    if form == "json":
        check_document(json.loads(answer.out), "diff")
    if form == "github":
        assert all(line.startswith(("::error file=", "::warning file=", "::notice file=", "::error title=", "::notice"))
                   for line in answer.out.splitlines())  # fmt: skip
        assert "\n::error::" not in answer.out
    if form == "markdown":
        assert "<img" not in answer.out
        assert len(answer.out) <= 65_000
    if form == "junit":
        from xml.etree import ElementTree

        ElementTree.fromstring(answer.out)
    assert not Path("owned").exists()


def start(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen([COMMAND, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_reader_who_has_seen_enough_is_no_error(form: str) -> None:
    Path("base.yaml").write_text(text_of({f"column_{number}": COLUMNS["note"] for number in range(3000)}))
    process = start("diff", "base.yaml", "head.yaml", "--format", form)
    assert process.stdout is not None
    assert process.stderr is not None

    process.stdout.readline()
    process.stdout.close()

    assert process.stderr.read() == ""
    assert process.wait(timeout=TIME_LIMIT_SECONDS) == 1


def test_an_interrupt_ends_with_its_own_code() -> None:
    os.mkfifo("pipe")
    process = start("diff", "base.yaml", "pipe")
    with Path("pipe").open("w"):
        # The command has opened its end by now, and waits for the text.
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIME_LIMIT_SECONDS)

    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_two_small_files_are_compared_at_once() -> None:
    def cpu_seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([COMMAND, "diff", "base.yaml", "head.yaml", "--format", "json"], stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # The processor's time, not the clock's: other tests may run beside this one.
    assert min(cpu_seconds() for _ in range(3)) < 1


@pytest.mark.parametrize(("setting", "is_colored"), [((), True), (("-c", "color.ui=false"), False)])
def test_git_diff_is_colored_in_a_pager_as_git_s_own_lines_are(setting: tuple[str, ...], is_colored: bool) -> None:
    pexpect = pytest.importorskip("pexpect")
    path = repository(VALID)
    Path(".gitattributes").write_text("*.schema.yaml diff=schemactl\n")
    path.write_text(WITHOUT_NOTE)
    driver = ("-c", f"diff.schemactl.command={COMMAND} diff --git", "-c", "core.pager=cat")

    environ = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "", "GIT_PAGER": "cat"}
    arguments = [*driver, *setting, "--paginate", "diff"]
    printed = pexpect.run(shlex.join(["git", *arguments]), env=environ, encoding="utf-8", timeout=60)

    assert "C204" in printed
    assert ("\x1b[" in printed) is is_colored
