"""Migrations of MySQL and MariaDB servers: their abilities, their statements, and a session on a server.

DDL ends a transaction in MySQL: each step is committed by itself, and the journal of steps records how far a run came.
A size, and a type whose values the server converts as dlt's coercion does, changes in place; for any other type, a new
column takes the values and then the name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from schemactl.destinations import Catalogue
from schemactl.destinations._migration.conversion import FALSE
from schemactl.destinations._migration.session import MappedMigration, SqlMigration
from schemactl.destinations._session import Relation
from schemactl.destinations._sql_bookkeeping import find_migrated
from schemactl.destinations.mysql.catalogue import read_session
from schemactl.destinations.mysql.conversion import MAKE_MAPPING, MAPPING, as_text, convert, stored_text
from schemactl.destinations.mysql.dependents import dependents_of, find_blocker, find_missing_type
from schemactl.destinations.mysql.session import MySqlSession, open_session, parse_address, take_lock, text_of
from schemactl.destinations.mysql.types import NAMES, column_type, settle
from schemactl.destinations.mysql.views import view_scripts
from schemactl.errors import DestinationError
from schemactl.migration import statements as of_engines
from schemactl.migration.abilities import Abilities
from schemactl.migration.records import NO_PATIENCE, Blocker, Patience, Unfit, ViewScript
from schemactl.migration.statements import Engine, Retype, checked_texts, checked_type, retype_of
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropNotNull,
    DropPrimaryKey,
    DropUnique,
    FillColumn,
    RenameColumn,
    RenameTable,
    RewriteTable,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.migration.ways import Lock, Way
from schemactl.schema.conversions import Conversion
from schemactl.schema.fit import fit
from schemactl.schema.quoting import literal, quote
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Table
from schemactl.type_systems.ddl import Dialect, cut_comment

_READING_SECONDS: Final = 60
_PART: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[(),]|[^\s'"`(),]+|\s+""")
"""A part of a column's definition."""


def _retype(before: Column, after: Column) -> Way:
    # To a smaller size, too: values are counted before, and MySQL refuses integers and texts that have no room.
    # Between types that dlt does not know no value counts as one that survives: both have no `data_type`.
    return Way.REWRITE if before.data_type is after.data_type or _is_modified(before, after) else Way.NONE


_MODIFIED: Final = frozenset(
    (
        frozenset((DataType.BIGINT, DataType.DOUBLE)),
        frozenset((DataType.BIGINT, DataType.DECIMAL)),
        frozenset((DataType.BIGINT, DataType.WEI)),
        frozenset((DataType.DECIMAL, DataType.WEI)),
        frozenset((DataType.DATE, DataType.TIMESTAMP)),
    )
)
"""Pairs of types: MODIFY COLUMN converts the values that survive as dlt's coercion does, in either direction."""


def _is_modified(before: Column, after: Column) -> bool:
    is_plain = DATABASE_TYPE not in before.properties and DATABASE_TYPE not in after.properties
    return is_plain and frozenset((before.data_type, after.data_type)) in _MODIFIED


def _is_wider(before: Column, after: Column) -> bool:
    """Return whether every value survives unchanged: the type has more room, or is the same."""
    if before.data_type is not after.data_type or before.data_type is None:
        return False
    if type_of(before) == type_of(after):
        return True
    return fit(settle(before), settle(after)).conversion is Conversion.WHOLE


def _lock_of(step: Step) -> Lock | None:
    """Return the lock that a step takes (MySQL, "Metadata Locking", and "Online DDL Operations")."""
    match step:
        case CreateTable():
            return None
        case Backfill() | FillColumn():
            return Lock("row locks", readers_wait=False, writers_wait=False)
        case ChangeType() | SetNotNull() | DropNotNull() | AddPrimaryKey() | DropPrimaryKey():
            return Lock("SHARED_NO_WRITE", readers_wait=False, writers_wait=True)
        case _:
            return Lock("EXCLUSIVE", readers_wait=True, writers_wait=True)


ABILITIES: Final = Abilities(
    transactional_ddl=MySqlSession.has_transactional_ddl,
    adds_not_null=True,
    retype=_retype,
    set_not_null=Way.REWRITE,
    drop_not_null=Way.REWRITE,
    add_primary_key=Way.REWRITE,
    drop_primary_key=Way.REWRITE,
    names=NAMES,
    settle=settle,
    lock=_lock_of,
    describe_table=Way.IN_PLACE,
    kept_description=cut_comment,
    rewrites=lambda step, _: isinstance(step, RenameColumn | DropNotNull),
)


type_of: Final = partial(checked_type, column_type=column_type)
"""Returns a column's type, checked."""


ENGINE: Final = Engine(Dialect("mysql", has_plain_texts=True), type_of, convert, NAMES, text="CHAR")


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step; see ``destinations.Migrator``."""
    match step:
        case RenameTable():  # ALTER TABLE would take it to the database that the connection is in
            return (f"RENAME TABLE {ENGINE.table(dataset, step.before)} TO {ENGINE.table(dataset, step.after)}",)
        case AddUnique():
            action = f"ADD UNIQUE INDEX {ENGINE.name(_index(step))} ({ENGINE.name(step.column)})"
            return (_alter(dataset, step.table, action),)
        case DropUnique():
            return (_drop_index(dataset, step.table, _index(step)),)
        case _:
            return of_engines.render(step, table, ENGINE, dataset)


def _alter(dataset: str, table: str, action: str) -> str:
    return ENGINE.sql.alter(ENGINE.table(dataset, table), action)


def _index(step: AddUnique | DropUnique) -> str:
    return ENGINE.checked(f"_schemactl_unique_{step.column}"[:64])


def _drop_index(dataset: str, table: str, index: str) -> str:
    return _alter(dataset, table, f"DROP INDEX {ENGINE.name(index)}")


_UNIQUE_INDEXES: Final = """
    select index_name from information_schema.statistics
    where table_schema = %s and table_name = %s and non_unique = 0 and index_name <> 'PRIMARY'
    group by index_name having count(*) = 1 and max(column_name) = %s
"""
_KEPT: Final = """
    select collation_name, column_comment from information_schema.columns
    where table_schema = %s and table_name = %s and column_name = %s
"""


@dataclass(frozen=True, slots=True)
class MySqlMigration(MappedMigration[MySqlSession]):
    """See ``destinations.MigrationSession``."""

    engine = ENGINE

    def read_tables(self, names: Collection[str] | None = None) -> Catalogue:  # noqa: ARG002 - it reads all
        return read_session(self.database, self.dataset)

    def sampled(self, table: str, relation: Relation, share: float) -> str | None:
        """Return about that share of the rows, the same each time: by a hash of their keys, where they have one."""
        if not relation.is_table or "_dlt_id" not in relation.columns:
            return None
        return f"SELECT * FROM {table} WHERE crc32({ENGINE.name('_dlt_id')}) < {int(share * 2**32)}"

    def find_blocker(self, step: Step) -> Blocker | None:
        with self.database.wrap_errors("look for dependents of a table"):
            return find_missing_type(self.database, step) or find_blocker(self.database, self.dataset, step)

    def view_scripts(self, steps: Sequence[Step]) -> tuple[ViewScript, ...]:
        # A converted value goes to a new column, which then gets the name of the old one.
        renames = [step for step in steps if isinstance(step, RenameColumn)]
        names_after = {(step.table, step.after) for step in renames}
        columns = [(step.table, step.before) for step in renames if (step.table, step.before) in names_after]
        with self.database.wrap_errors("look at the views on a column"):
            return view_scripts(self.database, self.dataset, columns) if columns else ()

    def left_behind(self, table: str, column: str) -> tuple[str, ...]:
        with self.database.wrap_errors("look for dependents of a column"):
            return tuple(dependents_of(self.database, self.dataset, table, column))

    def run(self, step: Step, statements: Sequence[str]) -> None:
        """Run the statements of a step; values go through dlt's coercion before, and comments stay."""
        match step:
            case Backfill(taken=Taken.FITTING):
                self.stage_coerced(retype_of(step), ENGINE.table(self.dataset, step.table))
            case DropUnique():
                with self.database.wrap_errors("look for indexes"):
                    indexes = self.database.query(_UNIQUE_INDEXES, self.dataset, step.table, step.column)
                statements = [_drop_index(self.dataset, step.table, row[0]) for row in indexes]
            case DescribeTable():
                statements = self._describe(step)
            case ChangeType():
                statements = (self._with_kept(statements[0], step.table, step.before.name, step.after),)
            case SetNotNull() | DropNotNull():
                statements = (self._with_kept(statements[0], step.table, step.column.name, step.column),)
            case _:
                pass
        SqlMigration.run(self, step, statements)

    def written_otherwise(self, step: Backfill | FillColumn) -> int | None:  # noqa: ARG002 - overrides use it
        """Return None: the coerced values were in a temporary table that was dropped with its connection."""
        return None

    def render_rewrite(self, rewrite: RewriteTable) -> tuple[str, ...]:
        """Return the statement that renames columns, lets them hold nulls, and adds columns.

        No name is missing in between. Its actions use the names from before the statement.
        """
        table = rewrite.table
        names_before = {name: name for name in table.columns}
        nullable_columns: set[str] = set()
        added_columns: dict[str, Column] = {}
        for step in rewrite.changes:
            match step:
                case AddColumn():
                    added_columns[step.column.name] = step.column
                case DropNotNull():
                    nullable_columns.add(names_before[step.column.name])
                case RenameColumn() if step.before in added_columns:
                    added_columns[step.after] = replace(added_columns.pop(step.before), name=step.after)
                case RenameColumn():
                    names_before[step.after] = names_before.pop(step.before)
                case _:
                    raise self._rewrites_nothing(rewrite)
        statements: list[str] = []
        for name, before in names_before.items():
            if before in nullable_columns:
                statements.append(self._renamed_nullable(table, before, name))
            elif name != before:
                statements += render(RenameColumn(table.name, before, name), table, self.dataset)
        for column in added_columns.values():
            statements += render(AddColumn(table.name, column), table, self.dataset)
        start = _alter(self.dataset, table.name, "")
        return (start + ", ".join(statement.removeprefix(start) for statement in statements),)

    def _renamed_nullable(self, table: Table, name: str, new_name: str) -> str:
        """Return the statement that gives a column another name, or the same, and lets it hold nulls."""
        column = table.columns[name]
        (statement,) = render(DropNotNull(table.name, column), table, self.dataset)
        statement = self._with_kept(statement, table.name, name, column)
        action = f"MODIFY COLUMN {ENGINE.name(name)}"
        return statement.replace(
            action, f"CHANGE COLUMN {ENGINE.name(name)} {ENGINE.name(ENGINE.checked(new_name))}", 1
        )

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        self._run_all(rewrite.changes, self.render_rewrite(rewrite))

    def _describe(self, step: DescribeTable) -> tuple[str, ...]:
        """Return the statements of a step, in which columns keep all other parts of their definitions."""
        with self.database.wrap_errors("read a table"):
            table = ENGINE.table(self.dataset, step.table)
            definition = text_of(self.database.query(f"SHOW CREATE TABLE {table}")[0][1])
        actions = [
            f"MODIFY COLUMN {with_comment(definition, column, text)}" if column else f"COMMENT = {literal(text or '')}"
            for column, text in checked_texts(step)
        ]
        return tuple(_alter(self.dataset, step.table, action) for action in actions)

    def _with_kept(self, statement: str, table: str, name: str, column: Column) -> str:
        """Return a change of a column that keeps its collation and its comment."""
        with self.database.wrap_errors("read a column"):
            rows = self.database.query(_KEPT, self.dataset, table, name)
        collation, comment = rows[0] if rows else (None, "")
        kind = type_of(column)
        if collation and column.data_type is DataType.TEXT and f" {kind} " in statement:
            statement = statement.replace(f" {kind} ", f" {kind} COLLATE {collation} ", 1)
        return f"{statement} COMMENT {literal(text_of(comment))}" if comment else statement

    def _count(self, step: Step, table: str, relation: Relation, *, is_undone: bool = False) -> Unfit:
        if isinstance(step, ChangeType) and not is_undone and _is_wider(step.before, step.after):
            return Unfit(0, self.row_count(relation.name))
        return MappedMigration._count(self, step, table, relation, is_undone=is_undone)

    def text_of(self, value: str, retype: Retype) -> str:
        return f"CAST({as_text(value, retype.before)} AS BINARY)"  # collations do not matter

    def literal(self, text: str) -> str:
        return f"CAST({literal(text)} AS BINARY)"

    def coerce(self, text: str, retype: Retype) -> str | None:
        return stored_text(self.coerce_text(text, retype), retype.after)

    def odd_condition(self, retype: Retype, name: str, *, is_undone: bool = False) -> str:
        is_sure = FALSE if is_undone else convert(retype, name).is_sure
        return f"{name} IS NOT NULL" if is_sure == FALSE else f"{name} IS NOT NULL AND ({is_sure}) IS NOT TRUE"

    def stage_pairs(self, pairs: list[tuple[str, str]]) -> None:
        self.database.execute(f"USE {ENGINE.name(self.dataset)}")
        for statement in MAKE_MAPPING:
            self.database.execute(statement)
        if pairs:
            rows = [(hashlib.sha256(text.encode()).digest(), coerced) for text, coerced in pairs]
            self.database.insert_rows(MAPPING, ("given", "made"), rows)


def with_comment(definition: str, column: str, text: str | None) -> str:
    """Return a column's definition, of SHOW CREATE TABLE, with another comment; ``DestinationError`` without one."""
    start = definition.find(f"\n  {quote(column)} ")
    if start < 0:
        raise DestinationError(f"the server reports no column `{column}`: {definition}")
    tokens = list(_definition(definition, start))
    words = [token.upper() for token in tokens]
    end = words.index("CHECK") if "CHECK" in words else len(tokens)  # MariaDB's, which comes last
    comment_index = words.index("COMMENT") if "COMMENT" in words else end
    checks = tokens[end:]
    return "".join(
        (*tokens[:comment_index], f" COMMENT {literal(text or '')}", *([" "] if checks else []), *checks)
    ).strip()


def _definition(definition: str, start: int) -> Iterator[str]:
    """Yield the parts of a definition, with the content of brackets as one."""
    depth, inner = 0, ""
    for match in _PART.finditer(definition, start):
        token = match[0]
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth < 0 or (depth == 0 and token == ","):
            return
        if depth or token == ")":
            inner += token
        if not depth:
            yield inner or token
            inner = ""


@contextmanager
def connect(
    url: str,
    schema_name: str,
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,  # noqa: ARG001
) -> Iterator[MySqlMigration]:
    """Open a server for migrating; a lock that ends with the connection keeps other sessions out.

    See ``destinations.Migrator``.
    """
    address = parse_address(url)

    with open_session(address) as session:
        with session.wrap_errors("begin a migration"):
            session.connection.autocommit(True)
            seconds = _READING_SECONDS if is_read_only else max(int(patience.lock_seconds), 1)
            session.execute(f"SET SESSION lock_wait_timeout = {seconds}, SESSION innodb_lock_wait_timeout = {seconds}")
            if is_read_only:
                session.execute("SET SESSION TRANSACTION READ ONLY")
            dataset = find_migrated(session, address.dataset, schema_name)
            if not is_read_only:
                take_lock(session, dataset, patience.seconds)
        yield MySqlMigration(session, dataset, is_read_only)
