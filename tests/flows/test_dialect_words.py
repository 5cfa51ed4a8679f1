"""Scripts for engines that are not connected: what is written can be read again, and nothing is said beside it."""

import logging

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from schemactl.flows.migrate.dialects import abilities_of, render_for
from schemactl.migration.abilities import Way, way_of
from schemactl.migration.steps import AddColumn, DropColumn, DropNotNull, RenameColumn, RenameTable, SetNotNull
from schemactl.schema.types import Column

NOTE = Column("note", {"data_type": "text"})
REQUIRED = Column("note", {"data_type": "text", "nullable": False})
STEPS = (
    AddColumn("orders", NOTE),
    DropColumn("orders", NOTE),
    DropNotNull("orders", REQUIRED),
    RenameColumn("orders", "note", 'a"b`c]; --'),
    RenameTable("orders", "sales"),
    SetNotNull("orders", NOTE),
)


@pytest.mark.parametrize("dialect", sorted(set(Dialect.classes) - {"", "dax", "prql"}))  # these have no ALTER
@pytest.mark.filterwarnings("error")
def test_steps_are_written_as_the_engine_reads_them(dialect, caplog):
    render, abilities = render_for(dialect), abilities_of(dialect)
    with caplog.at_level(logging.WARNING):
        for step in STEPS:
            if way_of(step, abilities) is Way.NONE:
                continue
            (statement,) = render(step, None)
            assert "\x1b" not in statement
            (read,) = sqlglot.parse(statement, read=dialect)
            assert not isinstance(read, exp.Command), statement
    assert caplog.messages == []
