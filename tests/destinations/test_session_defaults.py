"""What destinations of third parties need not state: modules that leave something out, sessions with the defaults."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from schemactl.destinations import DESTINATIONS, MigrationSession, is_loader, is_migrator, name_limits, sqlite
from schemactl.errors import DestinationError, InputError
from schemactl.migration.abilities import Abilities
from schemactl.migration.rewrites import find_rewrites
from schemactl.migration.steps import ChangeType, DropColumn, RewriteTable, SetNotNull
from schemactl.schema.types import Column, Table

A = Column("a", {"data_type": "text"})
TABLE = Table("t", {"a": A})


@pytest.fixture
def session() -> Any:
    """A session that states what every one must, and nothing else."""
    stated: dict[str, Any] = dict.fromkeys(MigrationSession.__abstractmethods__)
    return type("Bare", (MigrationSession,), {**stated, "origin": "acme:"})()


def test_a_session_stands_in_no_steps_way_and_keeps_nothing(session: Any) -> None:
    assert session.find_blocker(DropColumn("t", A)) is None
    assert session.disagreement("t") is None
    assert session.left_behind("t", "a") == session.outdated_copies([DropColumn("t", A)]) == session.kept() == ()
    assert session.back_up("label") is None
    session.drop_kept([])


def test_a_session_says_what_it_cannot_do(session: Any) -> None:
    step = SetNotNull("t", A)
    with pytest.raises(InputError, match="`acme:` does not support `--sample`"):
        MigrationSession.unfit(session, step, 0.1)
    for run in (lambda: session.gives_rows("SELECT 1", "1.sql"), lambda: session.run_own(["SELECT 1"], "1.sql")):
        with pytest.raises(DestinationError, match="`acme:` does not support custom SQL"):
            run()
    with pytest.raises(DestinationError, match="`acme:` does not rewrite `t`"):
        session.run_rewrite(RewriteTable(TABLE, (step,)))
    with pytest.raises(DestinationError, match="does not support `--online` for set not null"):
        session.run_outside(step, (), TABLE, 1, lambda *_: None)


def test_a_session_that_leaves_out_what_every_one_must_state_is_none() -> None:
    with pytest.raises(TypeError, match="abstract"):
        type("Less", (MigrationSession,), {"origin": "acme:"})()


def test_steps_are_done_by_themselves_where_nothing_says_that_they_share_a_rewrite() -> None:
    steps = [ChangeType("t", A, Column("a", {"data_type": name})) for name in ("bigint", "double")]
    found = find_rewrites(steps, {"t": TABLE}, Abilities(), sqlite.stored)
    assert [list(places) for places, _ in found] == [[0], [1]]


def test_a_destination_takes_rows_and_migrates_only_where_its_module_can() -> None:
    bare: Any = SimpleNamespace(NAMES=sqlite.NAMES, read_catalogue=None, stored=None)
    assert not is_loader(bare)
    assert not is_migrator(bare)
    assert name_limits(bare, "acme:x") == sqlite.NAMES
    assert [name for name in DESTINATIONS if not is_migrator(DESTINATIONS[name])] == ["dlt"]
    assert all(is_loader(DESTINATIONS[name]) for name in DESTINATIONS)
