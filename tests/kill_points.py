"""Counts the points at which a command changes something outside its process, and kills it at one of them.

A point is a file or folder that is opened for writing, renamed or removed, a statement that a database gets, its
commit, or a call that writes to a table of a lake. ``PREPARE`` belongs to ``forked_commands``: ``begin(N)`` kills the
command at its point N, counted from 0, before the change; ``begin(0, CHANGE)`` at the first change that begins so.
"""

from __future__ import annotations

PREPARE = """
import functools, signal, sqlite3, tempfile
from pathlib import Path

import deltalake, deltalake.table, duckdb, psycopg, pyarrow.parquet, pyiceberg.io.pyarrow, pyiceberg.table, pymysql
import pyiceberg.catalog.sql
import schemactl.engine.local.engine, schemactl.engine.package, schemactl.engine.scan
import schemactl.flows.migrate.apply, schemactl.flows.migrate.rollback, schemactl.flows.normalize
import schemactl.render.migrate
from schemactl.destinations import DESTINATIONS

for kind in ("duckdb", "sqlite", "postgresql", "parquet", "delta", "iceberg", "mysql"):
    DESTINATIONS[kind]

points_left, awaited_change, working_folder = -1, "", ""

def begin(point, change=""):
    global points_left, awaited_change, working_folder
    awaited_change = change
    tempfile.tempdir = str(Path.cwd())  # where the test sees what is left of them
    working_folder = f"{Path.cwd()}/"
    Path("killed.txt").unlink(missing_ok=True)
    points_left = point

def reach(what):
    global points_left
    if not what.startswith(awaited_change):
        return
    if points_left == 0:
        points_left = -1
        Path("killed.txt").write_text(what)
        os.kill(os.getpid(), signal.SIGKILL)
    points_left = max(points_left - 1, -1)

FILE_CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.truncate")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT

def watch(event, args):
    if points_left < 0 or not (event in FILE_CHANGES or (event == "open" and args[2] & WRITES)):
        return
    path = os.path.abspath(os.fsdecode(args[0])) if isinstance(args[0], (str, bytes, Path)) else ""
    if path.startswith(working_folder):
        reach(f"{event} {path.removeprefix(working_folder)}")

sys.addaudithook(watch)

READS = ("select", "show", "pragma", "set", "use", "with", "explain", "describe", "from")

def reach_statement(statement):
    text = statement.decode() if isinstance(statement, bytes) else str(statement)
    if not text.lstrip().lower().startswith(READS):
        reach(text[:200])

def before(owner, name, tell):
    real = getattr(owner, name)

    @functools.wraps(real)
    def call(*args, **options):
        tell(*args)
        return real(*args, **options)

    setattr(owner, name, call)

class Sqlite(sqlite3.Connection):
    def execute(self, statement, *values):
        reach_statement(statement)
        return super().execute(statement, *values)

    def executemany(self, statement, *values):
        reach_statement(statement)
        return super().executemany(statement, *values)

    def commit(self):
        reach("commit")
        super().commit()

    def cursor(self, factory=None):
        return super().cursor(SqliteCursor)

class SqliteCursor(sqlite3.Cursor):
    def execute(self, statement, *values):
        reach_statement(statement)
        return super().execute(statement, *values)

connect_sqlite = sqlite3.connect

def connect(database, *args, **options):
    if database == ":memory:":
        return connect_sqlite(database, *args, **options)
    return connect_sqlite(database, *args, **{"factory": Sqlite, **options})

sqlite3.connect = sqlite3.dbapi2.connect = connect

class DuckDb:
    def __init__(self, connection):
        self.connection = connection

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.connection.close()

    def execute(self, statement, *values):
        reach_statement(statement)
        return self.connection.execute(statement, *values)

    def commit(self):
        reach("commit")
        self.connection.commit()

connect_duckdb = duckdb.connect
duckdb.connect = lambda *args, **options: DuckDb(connect_duckdb(*args, **options))

before(psycopg.Cursor, "execute", lambda cursor, statement, *_: reach_statement(statement))
before(psycopg.Cursor, "executemany", lambda cursor, statement, *_: reach_statement(statement))
before(psycopg.Cursor, "copy", lambda cursor, statement, *_: reach_statement(statement))
before(psycopg.Connection, "commit", lambda *_: reach("commit"))
before(pymysql.connections.Connection, "query", lambda connection, statement, *_: reach_statement(statement))
before(pymysql.connections.Connection, "commit", lambda *_: reach("commit"))

for name in ("create_write_transaction", "restore"):
    before(deltalake.DeltaTable, name, lambda *_, name=name: reach(f"delta {name}"))
for name in ("add_columns", "add_feature", "drop_column_not_null", "set_column_metadata", "set_table_description"):
    before(deltalake.table.TableAlterer, name, lambda *_, name=name: reach(f"delta {name}"))
before(deltalake.DeltaTable, "create", lambda *_: reach("delta create"))
before(deltalake, "write_deltalake", lambda *_: reach("delta write"))
before(pyarrow.parquet.ParquetWriter, "__init__", lambda *_: reach("begin a Parquet file"))
before(pyarrow.parquet.ParquetWriter, "close", lambda *_: reach("end a Parquet file"))
before(pyiceberg.io.pyarrow.PyArrowFile, "create", lambda file, *_: reach("iceberg file"))
before(pyiceberg.io.pyarrow.PyArrowFileIO, "delete", lambda *_: reach("iceberg delete"))
"""
