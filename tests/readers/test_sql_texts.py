"""Many SQL texts, which several processes read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from schemactl.errors import Location
from schemactl.readers import sql_texts
from schemactl.readers.sql_texts import SqlText, read_sql_texts
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Reader, Readership

TABLES = ReadTables({"orders": ("id", "note")}, "raw", "db")


def texts(count: int) -> list[SqlText]:
    return [
        SqlText(
            f"select id,\n  note + {number} from raw.orders" if number % 3 else "select 1",
            Reader("query", f"q{number}", Location(f"q{number}.sql")),
            TABLES,
            "duckdb",
        )
        for number in range(count)
    ]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of the processes that start; each text is worth one."""
    monkeypatch.setattr(sql_texts, "MIN_CHARACTERS_PER_PROCESS", 1)
    monkeypatch.setattr(sql_texts, "_core_count", lambda: 3)
    commands = []
    popen = subprocess.Popen

    def start(command: list[str], **keywords: object) -> subprocess.Popen[bytes]:
        commands.append(command)
        return popen(command, **keywords)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", start)
    return commands


def test_processes_return_what_one_process_returns(processes: list[list[str]]) -> None:
    readerships = read_sql_texts(texts(10))
    assert len(processes) == 2
    assert readerships[0] == Readership()
    assert readerships[5].uses[2].location == Location("q5.sql", 2)
    assert readerships == [read_sql_texts([text])[0] for text in texts(10)]


@pytest.mark.parametrize("start", ["import sys; sys.exit(3)", "import os; os._exit(0)", "import os; os.abort()"])
def test_texts_of_a_process_that_ends_early_are_read_here(
    start: str, processes: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_texts, "_START", start)
    readerships = read_sql_texts(texts(10))
    assert len(processes) == 2
    assert [len(readership.uses) for readership in readerships] == [0, 3, 3, 0, 3, 3, 0, 3, 3, 0]


def test_texts_are_read_without_another_process_if_none_can_start(
    processes: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert [len(readership.uses) for readership in read_sql_texts(texts(4))] == [0, 3, 3, 0]


def test_few_texts_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(subprocess, "Popen")
    assert len(read_sql_texts(texts(10))) == 10


def test_a_module_in_the_working_folder_is_not_imported(
    processes: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    for name in ("json", "orjson", "schemactl"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w').close()")
    assert len(read_sql_texts(texts(10))[5].uses) == 3
    assert len(processes) == 2
    assert not (tmp_path / "imported").exists()
