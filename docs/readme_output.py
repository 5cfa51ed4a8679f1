"""Write the output of commands into README and pages of docs/: ``uv run python docs/readme_output.py [PAGE...]``.

A ``console`` block holds a line ``$ schemactl ...``, ``$ git ...`` or ``$ python FILE`` and its output. A block with
a title (``csv title="orders.csv"``) is a file, and an ``sql`` block runs in PostgreSQL. The blocks of a page run one
after the other in one folder, on the repository's fixtures and the local engine. Run times stay as the page has them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType

TOP = Path(__file__).parents[1]
_CRM = (
    "schemactl normalize fixtures/customers.csv --name crm --to duckdb:///data.duckdb --load-id day-1",
    "schemactl edit crm --column balance:bigint",
)
PAGES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "README.md": _CRM,
        "docs/README.md": _CRM,
        "docs/start-project.md": (),
        "docs/quickstart.md": (),
        "docs/csv.md": (),
        "docs/api-pages.md": (),
        "docs/change-columns.md": _CRM[:1],
        "docs/two-branches.md": (
            "git init -q -b main",
            "schemactl infer fixtures/orders.jsonl --name shop -q",
            "git add schemas",
            "git commit -q -m Start",
            "git switch -q -c city",
            "schemactl edit shop --column orders.city:text -q",
            "schemactl sync shop -q",
            "git commit -q -a -m City",
            "git switch -q -c cents main",
            "schemactl edit shop --column orders.amount:decimal(12,2) -q",
            "schemactl sync shop -q",
            "git commit -q -a -m Cents",
            "git switch -q -c vip main",
            "schemactl edit shop --column orders.vip:bool --column orders.amount:bigint -q",
            "schemactl sync shop -q",
            "git commit -q -a -m Vip",
        ),
        "docs/readers.md": ("git init -q -b main", "schemactl infer fixtures/orders.jsonl --name shop -q"),
        "docs/start-dlt.md": (),
        "docs/start-database.md": (),
        "docs/upgrade.md": (
            "schemactl normalize fixtures/orders.jsonl --name shop --to duckdb:///data.duckdb --load-id day-1",
        ),
        "docs/many-calls.md": (),
    }
)
"""The pages, and the commands that run before their first block."""
WIDTH = 100
TIME = re.compile(r"^((?:read|applied) .+ in )\d+\.\d s\b", re.MULTILINE)
BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE)
_GIT_VARIABLES = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{field}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")},
}
_SQL = "import psycopg, sys; psycopg.connect('service=shop', autocommit=True).execute(sys.stdin.read())"


def main(names: Sequence[str]) -> None:
    """Rewrite pages, by default all."""
    sys.path.insert(0, str(TOP / "tests"))
    import postgres_server

    for name in names or PAGES:
        page = TOP / name
        text = page.read_text(encoding="utf-8")
        with postgres_server.running() if uses_postgres(text) else nullcontext() as url:
            page.write_text(with_output(text, PAGES[name], url), encoding="utf-8")


def uses_postgres(text: str) -> bool:
    """Return whether a page runs SQL."""
    return any(block["language"] == "sql" and not block["file"] for block in BLOCK.finditer(text))


def count_calls(text: str) -> int:
    """Return the number of blocks whose output a page shows."""
    return sum(block["language"] == "console" for block in BLOCK.finditer(text))


def with_output(text: str, preparation: Sequence[str] = (), postgres: str | None = None) -> str:
    """Return a page with the current output of its commands, after the commands that prepare the folder.

    Args:
        text: the page.
        preparation: commands to run before.
        postgres: the address of a PostgreSQL server; libpq finds it as the service ``shop``.
    """
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(TOP / "fixtures", work / "fixtures")
        variables = write_service(postgres, work) if postgres else {}
        for call in preparation:
            run(call, work, variables)

        def run_block(block: re.Match[str]) -> str:
            if block["file"]:
                file = work / block["file"]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block["text"], encoding="utf-8")
            elif block["language"] == "sql":
                run_process([sys.executable, "-c", _SQL], work, variables, block["text"])
            elif block["language"] == "console":
                call, _, before = block["text"].partition("\n")
                output = run(call.removeprefix("$ "), work, variables)
                return f"```console\n{call}\n{with_times_of(before, output)}```"
            return block[0]

        return BLOCK.sub(run_block, text)


def write_service(url: str, work: Path) -> dict[str, str]:
    """Write a service file of libpq for a server's address; return the variables that lead to it."""
    from psycopg.conninfo import conninfo_to_dict

    file = work / ".pg_service.conf"
    options = conninfo_to_dict(url)
    file.write_text("\n".join(["[shop]", *(f"{name}={value}" for name, value in options.items()), ""]))
    return {"PGSERVICEFILE": str(file)}


def with_times_of(before: str, output: str) -> str:
    """Return a command's output with the run times that the page has."""
    times = {line[1]: line[0] for line in TIME.finditer(before)}
    return TIME.sub(lambda line: times.get(line[1], line[0]), output)


def run(call: str, work: Path, variables: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the output of a call; RuntimeError if it fails for a reason other than findings."""
    words = shlex.split(call, comments=True)
    if words[0] == "git":
        return run_process(words, work, {**variables, **_GIT_VARIABLES})
    command = [sys.executable, "-m", *words] if words[0] == "schemactl" else [sys.executable, *words[1:]]
    return run_process(command, work, variables)


def run_process(command: Sequence[str], work: Path, variables: Mapping[str, str], text: str = "") -> str:
    """Return what a process prints; RuntimeError if its exit code is over 1."""
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "FORCE_COLOR")}
    fixed = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "SCHEMACTL_ENGINE": "local", "RUNTIME__DLTHUB_TELEMETRY": "false"}
    environment = {**outside, **fixed, **variables}
    done = subprocess.run(command, cwd=work, env=environment, input=text, capture_output=True, text=True, check=False)
    if done.returncode > 1 or (done.returncode and "Traceback" in done.stderr):
        raise RuntimeError(f"{shlex.join(command)}: {done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


if __name__ == "__main__":
    main(sys.argv[1:])
