"""Reads many SQL texts: from the cache, and new ones in several processes if there are many."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import orjson

from schemactl.errors import Location
from schemactl.readers.tables import ReadTables
from schemactl.readers.templates import names_any_table
from schemactl.readers.use_cache import read_entries, write_entries
from schemactl.readers.uses import TOO_LONG, Uses
from schemactl.review.readers import Blindness, Clause, Reader, Readership, Use
from schemactl.schema.casts import Cast
from schemactl.schema.types import DataType
from schemactl.store.cache_folder import cache_folder

MIN_CHARACTERS_PER_PROCESS: Final = 400_000
"""A process takes as long to start as these take to read."""

MAX_PROCESSES: Final = 4

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from schemactl.readers.sql_texts import serve; serve()"
)

_NO_USES: Final[Uses] = {name: [] for name in ("tables", "columns", "blind", "outputs", "created")}

_CLAUSES: Final = {clause.value: clause for clause in Clause}

_ROW_LENGTHS: Final = {"tables": 2, "columns": 7, "blind": 4, "outputs": 4, "created": 3}
"""Of the rows of ``Uses``."""


@dataclass(frozen=True, slots=True)
class SqlText:
    """A SQL text of a reader.

    Attributes:
        text: SQL without templates.
        reader: the path of its location is the path of its uses.
        tables: the tables to look for.
        dialect: sqlglot's name; None for an unknown dialect.
    """

    text: str
    reader: Reader
    tables: ReadTables
    dialect: str | None


def read_sql_texts(texts: Sequence[SqlText]) -> list[Readership]:
    """Return the uses in each SQL text of one or several statements."""
    return [readership_of(text.reader, uses) for text, uses in zip(texts, read_uses(texts), strict=True)]


def read_uses(texts: Sequence[SqlText]) -> list[Uses]:
    """Return the uses in each SQL text, without its reader."""
    texts_to_read = {
        number: replace(text, tables=text.tables.for_text(text.text, names))
        for number, text in enumerate(texts)
        # A parameter may name any table.
        if (names := text.tables.columns if names_any_table(text.text) else text.tables.mentioned_in(text.text))
    }
    uses_by_number = _uses_of(texts_to_read)
    return [uses_by_number.get(number, _NO_USES) for number in range(len(texts))]


def read_sql(text: str, reader: Reader, tables: ReadTables, dialect: str | None) -> Readership:
    """Return the uses in a SQL text, as ``read_sql_texts`` does."""
    return read_sql_texts([SqlText(text, reader, tables, dialect)])[0]


def readership_of(reader: Reader, uses: Uses) -> Readership:
    """Return uses as uses by a reader."""
    path = reader.location.path if reader.location else reader.name
    # A text has many uses on few lines.
    rows = (*uses["tables"], *uses["columns"], *uses["blind"])
    locations = {line: Location(path, line) for line in {row[-1] for row in rows}}
    table_uses = [Use(reader, table, None, Clause.FROM, location=locations[line]) for table, line in uses["tables"]]
    column_uses = []
    for table, column, clause, is_computed, is_fixed, row, line in uses["columns"]:
        cast = None if row is None else Cast(DataType(row[0]), *row[1:])
        column_uses.append(
            Use(reader, table, column, _CLAUSES[clause], is_computed, is_fixed, locations[line], cast=cast)
        )
    blind = [Blindness(reader, reason, table, column, locations[line]) for table, column, reason, line in uses["blind"]]
    return Readership((*table_uses, *column_uses), tuple(blind))


def _uses_of(texts: Mapping[int, SqlText]) -> dict[int, Uses]:
    """Return the uses of texts by their numbers: from the cache if it has them."""
    folder = cache_folder()
    keys = {number: _key(text) for number, text in texts.items()} if folder else {}
    entries = read_entries(folder, list(keys.values())) if folder else {}
    uses = {number: entry for number, key in keys.items() if (entry := _parse(entries.get(key))) is not None}
    missing = {number: text for number, text in texts.items() if number not in uses}
    new_uses = dict(zip(missing, _parse_texts(list(missing.values())), strict=True))
    if folder and new_uses:
        contents = {
            keys[number]: orjson.dumps(entry)
            for number, entry in new_uses.items()
            # The machine was too slow: another run may find more.
            if not any(reason == TOO_LONG for *_, reason, _ in entry["blind"])
        }
        write_entries(folder, contents)
    return uses | new_uses


def _parse(content: bytes | None) -> Uses | None:
    """Return the content of an entry of the cache; None if it is not of this form."""
    try:
        uses = None if content is None else orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    is_whole = isinstance(uses, dict) and all(
        isinstance(uses.get(name), list) and all(isinstance(row, list) and len(row) == length for row in uses[name])
        for name, length in _ROW_LENGTHS.items()
    )
    return uses if is_whole else None


def _key(text: SqlText) -> bytes:
    """Return the hash of all that the uses of a text depend on."""
    content = [_code_version(), text.dialect, _tables_as_json(text.tables), text.text]
    return hashlib.sha256(orjson.dumps(content)).digest()


def _tables_as_json(tables: ReadTables) -> list[Any]:
    """Return the arguments of ``ReadTables`` in order, for a cache key and for another process."""
    return [tables.columns, tables.dataset, tables.database, tables.foreign, tables.shadowed]


@cache
def _code_version() -> str:
    """Return the versions of the code that reads: of sqlglot, and of these modules, which a clone can change."""
    digest = hashlib.sha256(_parser_version())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _parser_version() -> bytes:
    """Return the version of sqlglot: its file is read faster than importlib.metadata is imported."""
    spec = find_spec("sqlglot")
    version_file = Path(spec.origin).with_name("_version.py") if spec is not None and spec.origin else None
    if version_file is not None and version_file.is_file():
        return version_file.read_bytes()
    from importlib.metadata import version

    return version("sqlglot").encode()


def _parse_texts(texts: Sequence[SqlText]) -> list[Uses]:
    """Return the uses of texts, which several processes parse if they are long enough."""
    size = sum(len(text.text) for text in texts)
    count = min(_core_count(), MAX_PROCESSES, size // MIN_CHARACTERS_PER_PROCESS)
    if count < 2:
        return _parse_here(texts)
    shares = [texts[number::count] for number in range(count)]
    processes = [_start(share) for share in shares[1:]]
    try:
        results = [_parse_here(shares[0])]
        for share, process in zip(shares[1:], processes, strict=True):
            results.append(_result_of(process) or _parse_here(share))
    finally:
        for process in processes:
            if process is not None:
                process.kill()
                process.wait()
    return [results[number % count][number // count] for number in range(len(texts))]


def _core_count() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _start(texts: Sequence[SqlText]) -> subprocess.Popen[bytes] | None:
    """Start a process that parses texts; None if that fails."""
    if not sys.executable:  # Python is embedded in another program
        return None
    jobs = [[text.text, text.dialect, _tables_as_json(text.tables)] for text in texts]
    # -P: the first import must not find a module of the working folder, which may be a stranger's.
    command = [sys.executable, "-P", "-c", _START, json.dumps(sys.path)]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        if process.stdin is not None:
            with process.stdin as stream:
                stream.write(orjson.dumps(jobs))
    except OSError:
        return None
    return process


def _result_of(process: subprocess.Popen[bytes] | None) -> list[Uses] | None:
    """Return the result of a process; None if it has ended without one."""
    if process is None or process.stdout is None:
        return None
    with process.stdout as stream:
        output = stream.read()
    return orjson.loads(output) if process.wait() == 0 and output else None


def serve() -> None:
    """Parse the texts on standard input, and write their uses to standard output."""
    jobs = orjson.loads(sys.stdin.buffer.read())
    reader = Reader("query", "")
    texts = [SqlText(text, reader, ReadTables(*tables), dialect) for text, dialect, tables in jobs]
    sys.stdout.buffer.write(orjson.dumps(_parse_here(texts)))


def _parse_here(texts: Sequence[SqlText]) -> list[Uses]:
    if not texts:
        return []
    from schemactl.readers.sql_uses import find_uses  # imports sqlglot, which cached texts do not need

    return [find_uses(text.text, text.tables, text.dialect) for text in texts]
