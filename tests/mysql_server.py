"""A MySQL or MariaDB server for tests, as the machine has one: Debian's `mariadb-server`."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

PASSWORD = "s3cret/@word"
QUOTED_PASSWORD = "s3cret%2F%40word"
PATIENCE_SECONDS = 60


@contextmanager
def running() -> Iterator[str]:
    """Run a server that listens to a socket alone; yield its address, with a password in it."""
    pymysql = pytest.importorskip("pymysql")
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    install, server = shutil.which("mariadb-install-db", path=path), shutil.which("mariadbd", path=path)
    if not install or not server:
        pytest.skip("there is no MariaDB server: `apt-get install mariadb-server` brings one")
    with tempfile.TemporaryDirectory(prefix="schemactl-my-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        socket, data, temporary = folder / "socket", folder / "data", folder / "tmp"
        temporary.mkdir()
        # A server that starts removes temporary tables from its folder: those of another one, where both share it.
        who: dict[str, Any] = {"env": {**os.environ, "TMPDIR": str(temporary)}}
        if os.geteuid() == 0:  # which the server does not run as
            for place in (folder, temporary):
                shutil.chown(place, "nobody")
            who |= {"user": "nobody", "extra_groups": []}
        log = (folder / "log").open("wb")
        asked = [install, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
        done = subprocess.run(asked, stdout=log, stderr=log, cwd="/", timeout=PATIENCE_SECONDS, check=False, **who)
        if done.returncode != 0:
            pytest.skip(f"no MariaDB server can be made here: {(folder / 'log').read_text()[-300:]}")
        options = [f"--datadir={data}", f"--socket={socket}", "--skip-networking", "--innodb-flush-log-at-trx-commit=0"]
        process = subprocess.Popen([server, "--no-defaults", *options], stdout=log, stderr=log, cwd="/", **who)
        try:
            end = time.monotonic() + PATIENCE_SECONDS
            while not socket.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            if not socket.exists():
                pytest.skip(f"no MariaDB server can be started here: {(folder / 'log').read_text()[-300:]}")
            with pymysql.connect(user="root", unix_socket=str(socket)) as connection, connection.cursor() as cursor:
                cursor.execute("CREATE USER loader@localhost IDENTIFIED BY %s", (PASSWORD,))
                cursor.execute("GRANT ALL ON *.* TO loader@localhost WITH GRANT OPTION")
            yield f"mysql://loader:{QUOTED_PASSWORD}@localhost/?unix_socket={socket}"
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
            log.close()


def drop_databases(url: str) -> None:
    """Drop the databases of the server that are not its own."""
    import pymysql

    socket = dict(parse_qsl(url.partition("?")[2]))["unix_socket"]
    with (
        pymysql.connect(user="loader", password=PASSWORD, unix_socket=socket) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SHOW DATABASES")
        for (name,) in cursor.fetchall():
            if name not in ("information_schema", "mysql", "performance_schema", "sys"):
                cursor.execute(f"DROP DATABASE `{name}`")
