"""From the SOURCE arguments of a command to the inputs that Spark reads: files found, formats told apart."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from schemactl.engine.input import COMPRESSIONS, UTF8, Input, encoding_of, peek
from schemactl.engine.sources import SOURCES
from schemactl.errors import InputError, Location, did_you_mean
from schemactl.store.sources import TABLE_PREFIX, is_local

_MAGIC = {b"PAR1": "parquet", b"ORC": "orc", b"Obj\x01": "avro"}


def find_inputs(sources: Sequence[str], input_format: str | None = None) -> tuple[Input, ...]:
    """Find what the sources name, sorted by path, each once.

    Args:
        sources: files, globs, folders, object-store addresses, ``table:CATALOG.SCHEMA.TABLE``.
        input_format: the format of all files; None to tell each from its ending and first bytes.

    Raises:
        InputError: there is no such file, a glob or folder holds none, or a format cannot be told.
    """
    if input_format is not None and input_format not in SOURCES:
        hint = did_you_mean(input_format, SOURCES) or f"known: {', '.join(SOURCES)}"
        raise InputError(f"there is no input format `{input_format}`", hint=hint)
    paths = sorted({path for source in sources for path in _paths_of(source)})
    named = {path for source in sources if not _is_several(source) for path in _paths_of(source)}
    return tuple(_input_of(path, input_format, hint=None if path in named else _among(paths)) for path in paths)


def _is_several(source: str) -> bool:
    return is_local(source) and (Path(source).is_dir() or (glob.has_magic(source) and not Path(source).exists()))


def _among(paths: Sequence[str]) -> str:
    """Return what helps where a file that is no data stands among others."""
    known = {ending for name in SOURCES for ending in SOURCES[name].ENDINGS}
    ending = next((suffix for path in paths if (suffix := Path(path).suffix.lower()) in known), ".jsonl")
    return f"if it is no data, name the rest by a pattern in quotes, such as `'DIR/**/*{ending}'`"


def shown_path(uri: str) -> str:
    """Return the path of a Spark address as people are shown it: relative where it is below the working folder."""
    if not uri.startswith("file:"):
        return uri
    path = unquote("/" + uri.removeprefix("file:").lstrip("/"))
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _paths_of(source: str) -> Iterator[str]:
    if not is_local(source):
        yield source
        return
    path = Path(source)
    if path.is_dir():
        found = _files_below(path)
        if not found:
            raise InputError(f"the folder `{source}` holds no files")
        yield from map(_shown, found)
    elif path.exists():
        if _is_hidden(Path(path.name)):
            raise InputError("Spark does not read files whose names begin with `.` or `_`", at=Location(source))
        yield _shown(path)
    elif glob.has_magic(source):
        matches = [Path(match) for match in glob.glob(source, recursive=True)]  # noqa: PTH207 - it takes absolute patterns
        files = [file for match in matches for file in _files_of(match)]
        if not files:
            raise InputError(f"no file matches `{source}`")
        yield from map(_shown, files)
    else:
        near = did_you_mean(path.name, _names_beside(path))
        raise InputError(f"there is no `{source}`", hint=near)


def _files_of(match: Path) -> list[Path]:
    if match.is_dir():
        return _files_below(match)
    return [match] if match.is_file() and not _is_hidden(Path(match.name)) else []


def _files_below(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(folder))]


def _shown(path: Path) -> str:
    if ":" in path.name:
        raise InputError("Spark does not read files with `:` in their names", at=Location(str(path)))
    return shown_path(f"file:{_absolute(path)}".replace("%", "%25"))


def _absolute(path: Path) -> Path:
    """Return the path as Spark will tell it: links are kept, but what leads up through ``..`` is resolved."""
    parts = (Path.cwd() / path).parts
    up = max((at for at, part in enumerate(parts, start=1) if part == os.pardir), default=0)
    return Path(*parts[:up]).resolve() / Path(*parts[up:]) if up else Path(*parts)


def _is_hidden(path: Path) -> bool:
    """Return whether Spark would not read the file: its own marks and temporary files start so."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _names_beside(path: Path) -> list[str]:
    try:
        return [beside.name for beside in path.parent.iterdir()]
    except OSError:
        return []


def _input_of(path: str, input_format: str | None, hint: str | None = None) -> Input:
    if path.startswith(TABLE_PREFIX):
        return Input(path, "table")
    head = peek(path) if is_local(path) else b""
    encoding = encoding_of(head)
    try:
        name = input_format or _format_of(path, head.decode(encoding, errors="replace") if encoding != UTF8 else head)
    except InputError as error:
        error.hint = hint or error.hint
        raise
    if name in _MAGIC.values() and is_local(path) and not head:
        raise InputError("the file is empty", at=Location(path))
    return Input(path, name, encoding)


def _format_of(path: str, head: bytes | str) -> str:
    endings = {ending: name for name in SOURCES for ending in SOURCES[name].ENDINGS}
    plain = Path(path)
    while plain.suffix.lower() in COMPRESSIONS:
        plain = plain.with_suffix("")
    by_ending = endings.get(plain.suffix.lower())
    if by_ending is not None and by_ending != "json":
        return by_ending
    if isinstance(head, bytes):
        for magic, name in _MAGIC.items():
            if head.startswith(magic):
                return name
        head = head.decode(errors="replace")
    # Of a file that cannot be looked into, Spark too takes lines for granted.
    return _json_form(head) if by_ending else _format_of_text(path, head)


def _format_of_text(path: str, head: str) -> str:
    start = head.lstrip("\ufeff \t\r\n")[:1]
    if start in ("{", "["):
        return _json_form(head)
    if start == "<":
        return "xml"
    if not is_local(path):
        # A folder of an object store, most often; Spark lists it.
        return "ndjson"
    hint = f"name it with `--input-format`: {', '.join(name for name in SOURCES if name != 'table')}"
    raise InputError("cannot tell the format of the file", at=Location(path), hint=hint)


def _json_form(head: str) -> str:
    """Tell lines of JSON from one JSON document: the first line of the former is complete, and not the only one."""
    lines = [line for line in head.lstrip("\ufeff").splitlines() if line.strip()]
    if not lines:
        return "ndjson"
    if _is_json(lines[0]):
        return "json" if lines[0].lstrip().startswith("[") and len(lines) == 1 else "ndjson"
    starts_object = lines[0].lstrip().startswith("{")
    if len(lines) == 1:
        return "ndjson" if starts_object else "json"
    is_broken_line = starts_object and lines[1].startswith("{") and not _is_json(head)
    return "ndjson" if is_broken_line else "json"


def _is_json(text: str) -> bool:
    try:
        json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def by_format(inputs: Iterable[Input]) -> dict[str, list[Input]]:
    """Group inputs by format, in order of first appearance."""
    groups: dict[str, list[Input]] = {}
    for each in inputs:
        groups.setdefault(each.format, []).append(each)
    return groups
