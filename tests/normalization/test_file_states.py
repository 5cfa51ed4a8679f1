"""States of loaded files, by the entries of the ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from schemactl.normalization.loaded_files import FileState, find_states
from schemactl.normalization.package import LedgerEntry, LoadedInput

AT = datetime(2026, 1, 2, tzinfo=UTC)


def entry(load_id: int, path: str, *, is_forgotten: bool = False) -> LedgerEntry:
    return LedgerEntry(str(load_id), AT + timedelta(hours=load_id), LoadedInput(path, 1, AT), is_forgotten)


def states(*entries: LedgerEntry) -> list[tuple[str, str, FileState]]:
    return [(file.entry.file.path, file.entry.load_id, file.state) for file in find_states(entries)]


def test_the_last_load_of_a_file_counts() -> None:
    assert states(entry(2, "/a"), entry(1, "/b"), entry(1, "/a")) == [
        ("/a", "1", FileState.RELOADED),
        ("/a", "2", FileState.LOADED),
        ("/b", "1", FileState.LOADED),
    ]


def test_a_file_is_forgotten_until_a_load_after_that() -> None:
    forgotten = entry(2, "/a", is_forgotten=True)
    assert states(entry(1, "/a"), forgotten) == [("/a", "1", FileState.FORGOTTEN)]
    assert states(forgotten, entry(3, "/a"), entry(1, "/a")) == [
        ("/a", "1", FileState.FORGOTTEN),
        ("/a", "3", FileState.LOADED),
    ]
    again = entry(4, "/a", is_forgotten=True)
    assert states(entry(1, "/a"), forgotten, entry(3, "/a"), again) == [
        ("/a", "1", FileState.FORGOTTEN),
        ("/a", "3", FileState.FORGOTTEN),
    ]
