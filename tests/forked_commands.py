"""Commands in processes of their own, each a fork of one that has imported schemactl: a new Python takes longer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from platforms import IS_POSIX

LIMIT_SECONDS = 120
MOST_INPUT_BYTES = 60_000
"""What a pipe holds while nobody reads it."""

SCRIPT = """
import atexit, gc, json, os, signal, sys, tempfile

commands, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
nothing = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1):
    os.dup2(nothing, stream)

def begin():
    pass

{prepare}

from schemactl.cli.app import main, run

for words in {first}:
    run(words)

# Forks would copy what garbage collection looks through, at their end at the latest: half of their time.
gc.collect()
gc.freeze()
if "duckdb" in sys.modules:
    atexit.register(gc.unfreeze)  # it complains of what is left at the end

for line in commands:
    asked = json.loads(line)
    said = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    child = os.fork()
    if not child:
        signal.alarm(asked["limit"])
        reading, writing = os.pipe()
        os.write(writing, bytes.fromhex(asked["stdin"]))
        os.close(writing)
        for stream, file in enumerate((reading, *(each.fileno() for each in said))):
            os.dup2(file, stream)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        sys.argv = ["schemactl", *asked["call"]]
        begin(*asked["begin"])
        main()
    _, status, usage = os.wait4(child, 0)
    texts = []
    for file in said:
        file.seek(0)
        texts.append(file.read().hex())
        file.close()
    print(json.dumps([os.waitstatus_to_exitcode(status), *texts, usage.ru_maxrss * 1024]), file=answers, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave, and the memory that it took at most."""

    code: int
    out: str
    err: str
    memory_bytes: int


Commands = Callable[..., Answer]


@contextmanager
def forked_commands(prepare: str = "", first: Sequence[Sequence[str]] = ()) -> Iterator[Commands]:
    """Yield a function that runs a command in the working folder of the test, with its environment.

    Its arguments are the command's words; ``stdin``, ``env`` beside the test's own, ``limit`` in seconds, after which
    the process is killed, and ``begin``, see below.

    Args:
        prepare: Python that all commands are to find done. It may define a function ``begin``, which is called before
            a command, with what the command's call says.
        first: commands that are run before all, so that these find imported what they need.
    """
    if not IS_POSIX:
        pytest.skip("needs forks")
    pipe = subprocess.PIPE
    script = SCRIPT.format(prepare=prepare, first=[list(each) for each in first])
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe, text=True) as process:

        def run(
            *call: str,
            stdin: bytes = b"",
            env: Mapping[str, str] | None = None,
            limit: int = LIMIT_SECONDS,
            begin: tuple[Any, ...] = (),
        ) -> Answer:
            assert len(stdin) < MOST_INPUT_BYTES
            assert process.stdin is not None
            assert process.stdout is not None
            asked = {"call": call, "stdin": stdin.hex(), "limit": limit, "begin": begin, "folder": str(Path.cwd())}
            process.stdin.write(json.dumps({**asked, "environment": {**os.environ, **(env or {})}}) + "\n")
            process.stdin.flush()
            code, out, err, memory = json.loads(process.stdout.readline())
            return Answer(code, bytes.fromhex(out).decode(), bytes.fromhex(err).decode(), memory)

        yield run
        assert process.stdin is not None
        process.stdin.close()


PROGRAM = """#!{python} -IS
import json, os, socket, sys

server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [b"."], [0, 1, 2])
server.sendall(json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode())
server.shutdown(socket.SHUT_WR)
sys.exit(int(server.makefile().read()))
"""

SERVER = """
import gc, json, os, socket, sys
from schemactl.cli.app import main, run

for words in {first}:
    run(words)

gc.collect()
gc.freeze()  # see above

listener = socket.socket(fileno=0)
while True:
    client, _ = listener.accept()
    streams = socket.recv_fds(client, 1, 3)[1]
    call, folder, environment = json.load(client.makefile())
    child = os.fork()
    if not child:
        for to, stream in enumerate(streams):
            os.dup2(stream, to)
        for file in (client.fileno(), *streams):
            os.close(file)
        # As Python opens them: a stream that began as a file would be taken for one that can seek.
        sys.stdin, sys.stdout = open(0), open(1, "w")
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = call
        main()
    for stream in streams:
        os.close(stream)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with client:
        client.sendall(str(code).encode())
"""


@contextmanager
def forked_program(first: Sequence[Sequence[str]] = ()) -> Iterator[Path]:
    """Yield a program that stands for the installed ``schemactl`` where other programs start it.

    It has the streams, the folder and the variables of whoever starts it, takes a tenth of the time, and runs one
    command after the other. Signals do not reach the command, and ``PYTHONPATH`` has no effect.

    Args:
        first: see ``forked_commands``.
    """
    if not IS_POSIX:
        pytest.skip("needs forks")
    # A socket needs a short path.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as listener:
        address, program = Path(folder, "socket"), Path(folder, "schemactl")
        listener.bind(str(address))
        listener.listen()
        program.write_text(PROGRAM.format(python=sys.executable, address=str(address)))
        program.chmod(0o755)
        script = SERVER.format(first=[list(each) for each in first])
        nothing = subprocess.DEVNULL
        # -P: the working folder holds no modules, as with the installed command.
        with subprocess.Popen([sys.executable, "-P", "-c", script], stdin=listener, stdout=nothing) as process:
            yield program
            process.terminate()


MIGRATION = """
import duckdb, filelock, orjson, psycopg, pyarrow.parquet, rich.console, rich.table, sqlglot, yaml
import schemactl.flows.migrate.apply, schemactl.flows.migrate.rollback, schemactl.render.migrate
from schemactl.cli.commands import all_options

all_options()
"""
"""Imports what each migration would import anew, which takes most of its time."""

BETWEEN_STEPS = (
    MIGRATION
    + """
from schemactl.destinations._migration.session import SqlMigration
from schemactl.destinations.sqlite.migration import SqliteMigration

depth = 0

def begin(steps):
    global left
    left = steps

def dying(real):
    def run_step(self, step, statements):
        global left, depth
        if depth == 0 and left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= depth == 0
        depth += 1
        try:
            real(self, step, statements)
        finally:
            depth -= 1
    return run_step

for each in (SqlMigration, SqliteMigration):
    each.run = dying(each.run)
"""
)
"""Kills the process before a step (from 0) of a migration of an SQL database runs its statements."""
