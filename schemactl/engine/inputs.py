"""From the SOURCE arguments of a command to the inputs that Spark reads: files found, formats detected."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

from schemactl.engine.input import COMPRESSIONS, MAGIC, RECORD_TAG, UTF8, Input, check_magic, encoding_of, peek
from schemactl.engine.input_formats import format_names, format_of_ending, unknown_format
from schemactl.engine.input_warnings import warn_of_left_out, warn_of_partitions
from schemactl.engine.store_listing import Listing, StoredObject, list_objects
from schemactl.errors import InputError, Location
from schemactl.grouping import group_by
from schemactl.kernel.stores import is_store
from schemactl.redaction import redact
from schemactl.store.links import check_link, real_path
from schemactl.store.sources import TABLE_PREFIX, is_local
from schemactl.store.text import nearest_file

_NOT_UNPACKED = (".zip", ".xz", ".7z", ".br", ".lzma", ".lzo", ".rar", ".tar", ".tgz", ".z")
"""Endings of compressed files and archives that Spark does not read."""

_OTHER_NAMES = {"jsonl": "ndjson", "jsonlines": "ndjson", "json_lines": "ndjson", "json-lines": "ndjson", "txt": "text"}
"""Other names of our formats."""


IsWanted: TypeAlias = Callable[[Input], bool]
"""Returns whether a listed file, whose format is not known yet, is read."""


def find_inputs(
    sources: Sequence[str],
    input_format: str | None = None,
    *,
    lists_stores: bool = False,
    is_wanted: IsWanted | None = None,
) -> tuple[Input, ...]:
    """Return the inputs that the sources name, sorted by path, without duplicates.

    Files of unknown format in a folder or pattern (a ``README.md``) are left out, and so are plain texts in a folder
    with records (a ``README.txt``); a `LeftOutWarning` names them. This does not apply if the format is set, or if no
    file would remain. Broken links in a folder are always left out with a warning.

    Args:
        sources: files, globs, folders, object-store addresses, ``table:CATALOG.SCHEMA.TABLE``.
        input_format: the format of all files, ``xml:TAG`` for records of that name; None to detect each from its ending
            and first bytes.
        lists_stores: whether object stores are listed here, and `file://` is a path; otherwise Spark lists them.
        is_wanted: decides which listed files are read; None for all of them. The result is empty if it rejects all
            files.
    """
    record_tag = ""
    if input_format is not None and input_format.startswith(RECORD_TAG):
        input_format, _, record_tag = input_format.partition(":")
        if not record_tag:
            raise InputError(f"`{RECORD_TAG}` names no element", hint="for example `xml:book`")
    if input_format is not None and input_format not in format_names():
        if input_format.lower() not in _OTHER_NAMES:
            raise unknown_format(input_format)
        input_format = _OTHER_NAMES[input_format.lower()]
    if lists_stores:
        # RFC 8089: the path of `file:///...`.
        sources = [
            unquote(source.removeprefix("file://")) if source.startswith("file:///") else source for source in sources
        ]
    is_wanted_object = None if is_wanted is None else lambda stored: is_wanted(_listed_input(stored))
    listings = {
        source: list_objects(source, is_wanted_object) for source in sources if lists_stores and is_store(source)
    }
    objects = {stored.path: stored for listing in listings.values() for stored in listing.objects}
    paths_by_source = {source: _wanted_paths(source, listings.get(source), is_wanted) for source in sources}
    folders = {
        source
        for source in sources
        if (listings[source].is_folder if source in listings else is_local(source) and Path(source).is_dir())
    }
    patterns = {source for source in sources if _is_pattern(source, listings.get(source))}
    paths = sorted({path for paths_of_source in paths_by_source.values() for path in paths_of_source})
    named_or_matched = {path for source in sources if source not in folders for path in paths_by_source[source]}
    named_paths = {path for source in sources if source not in folders | patterns for path in paths_by_source[source]}
    inputs_by_path = {path: _input_of(path, objects.get(path), input_format, path in named_paths) for path in paths}
    inputs = tuple(file for file in inputs_by_path.values() if file is not None)
    unknown = [path for path, file in inputs_by_path.items() if file is None]
    if not inputs and unknown:
        raise _unknown_format(unknown[0])
    # Plain texts that only a folder names and that accompany records there, such as a `README.txt`.
    formats_in_folders = {file.path: file.format for file in inputs if file.path not in named_or_matched}
    texts = {path for path, name in formats_in_folders.items() if name == "text" and input_format is None}
    if len(texts) == len(formats_in_folders):
        texts = set()
    inputs = tuple(file for file in inputs if file.path not in texts)
    way = "; `--input-format` reads all files in one format"
    warn_of_left_out(unknown, "a file of unknown format", "files of unknown format", way)
    way = "; a pattern like `'DIR/*.txt'` reads them"
    warn_of_left_out(sorted(texts), "a text file next to records", "text files next to records", way)
    warn_of_partitions([file.path for file in inputs if file.path not in named_paths])
    return tuple(replace(_without_secrets(file), record_tag=record_tag) for file in inputs)


def _without_secrets(file: Input) -> Input:
    """Return an input whose path may be shown and stored: without the password of ``ftp://USER:PASSWORD@HOST/FILE``."""
    if file.size is not None:
        return file
    visible_path = file.path if file.is_local else redact(file.path)
    return file if visible_path == file.path else replace(file, path=visible_path, full_address=file.path)


def _wanted_paths(source: str, listing: Listing | None, is_wanted: IsWanted | None) -> tuple[str, ...]:
    if listing is not None:
        return tuple(stored.path for stored in listing.objects)
    return tuple(path for path in _paths_of(source) if is_wanted is None or is_wanted(Input(path, "")))


def _listed_input(stored: StoredObject) -> Input:
    return Input(stored.path, "", full_address=stored.address, size=stored.size, modified=stored.modified)


def _is_pattern(source: str, listing: Listing | None) -> bool:
    if listing is not None:
        return listing.is_pattern
    return is_local(source) and glob.has_magic(source) and not Path(source).exists()


def _unknown_format(path: str) -> InputError:
    hint = f"name it with `--input-format`: {', '.join(name for name in format_names() if name != 'table')}"
    return InputError("cannot recognize the format of the file", at=Location(path), hint=hint)


def _paths_of(source: str) -> Iterator[str]:
    if not is_local(source):
        yield source
        return
    path = Path(source)
    if path.is_dir():
        is_empty = True
        for file in _files_below(path):
            is_empty = False
            yield _shown(file)
        if is_empty:
            hint = "names that begin with `.` or `_` are ignored" if any(path.iterdir()) else None
            raise InputError(f"the folder `{source}` contains no files", hint=hint)
    elif path.exists():
        check_link(path)
        if _is_hidden(Path(path.name)):
            raise InputError("Spark does not read files whose names begin with `.` or `_`", at=Location(source))
        yield _shown(str(path))
    elif glob.has_magic(source):
        matches = [Path(match) for match in glob.glob(source, recursive=True)]  # noqa: PTH207 - it takes absolute patterns
        for path in {match.parent for match in matches} | {match for match in matches if match.is_symlink()}:
            check_link(path)
        single = [match for match in matches if match.is_file() and not _is_hidden(Path(match.name))]
        below = (Path(file) for match in matches if match.is_dir() for file in _files_below(match))
        files = _once([*single, *below])
        if not files:
            raise InputError(f"no file matches `{source}`")
        yield from map(_shown, map(str, files))
    else:
        raise _missing(source)


def _once(files: Iterable[Path]) -> list[Path]:
    """Return each file once; if several names lead to a file, prefer a name without links."""
    by_place: dict[Path, Path] = {}
    for file in sorted(files, key=lambda file: (real_path(file) != file.absolute(), file)):
        by_place.setdefault(real_path(file), file)
    return list(by_place.values())


def _files_below(folder: Path) -> Iterator[str]:
    """Yield the files below a folder, also behind links; a file that links repeat (``latest``) counts once.

    Even with a million files, only the names of one folder are in memory.
    """
    walked: set[str] = set()
    linked_files: set[str] = set()
    # Files of the folder come before linked files, so the link of two names is left out.
    links, dangling = [str(folder)], []
    while links:
        link = links.pop(0)
        check_link(Path(link))
        real = os.path.realpath(link)
        if Path(real).is_dir():
            yield from _walk(link, real, walked, linked_files, links)
        elif Path(real).is_file():
            parent, name = os.path.split(real)
            if real not in linked_files and (parent not in walked or _is_hidden(Path(name))):
                linked_files.add(real)
                yield link
        elif not Path(link).exists():
            dangling.append(link)
    warn_of_left_out(dangling, "a broken link", "broken links")


def _walk(folder: str, real: str, walked: set[str], linked_files: set[str], links: list[str]) -> Iterator[str]:
    """Yield the files below a folder, which is ``real`` without links, and add the links to ``links``.

    ``walked`` has the real paths of folders that were walked before, ``linked_files`` of files that links have led to.
    """
    if real in walked:
        return
    walked.add(real)
    prefix = "" if folder == os.curdir else os.path.join(folder, "")  # noqa: PTH118 - of a million files
    for name in _names_in(folder, prefix, links):
        if name.endswith("/"):
            yield from _walk(f"{prefix}{name[:-1]}", os.path.join(real, name[:-1]), walked, linked_files, links)  # noqa: PTH118
        elif not linked_files or os.path.join(real, name) not in linked_files:  # noqa: PTH118
            yield f"{prefix}{name}"


def _names_in(folder: str, prefix: str, links: list[str]) -> list[str]:
    """Return the sorted names of files and folders in a folder, with ``/`` after folders; links go to ``links``."""
    names: list[str] = []
    linked_names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith((".", "_")):
                    continue
                if entry.is_symlink():
                    linked_names.append(entry.name)
                elif entry.is_dir():
                    names.append(f"{entry.name}/")
                elif entry.is_file():
                    names.append(entry.name)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"the folder cannot be read: {reason}", at=Location(folder)) from error
    links += [f"{prefix}{name}" for name in sorted(linked_names)]
    return sorted(names)


def _missing(source: str) -> InputError:
    """Return the error for a source that is not there."""
    path = Path(source)
    if scheme_match := re.match(r"(s3a?|gs|abfss?|https?|hdfs):/(?!/)", source):
        return InputError(f"there is no `{source}`", hint=f"write an address as `{scheme_match[1]}://...`")
    if source == "-":
        return InputError("Spark does not read standard input", hint="save it to a file first")
    if path.is_symlink():
        return InputError(f"`{source}` is a link to `{path.readlink()}`, which does not exist")
    return InputError(f"there is no `{source}`", hint=nearest_file(path))


def _shown(path: str) -> str:
    if ":" in os.path.basename(path):  # noqa: PTH119 - of a million files
        raise InputError("Spark does not read files with `:` in their names", at=Location(path))
    folder = os.getcwd()  # noqa: PTH109 - of a million files
    return _absolute(path, folder).removeprefix(f"{folder.rstrip('/')}/")


def _absolute(path: str, folder: str) -> str:
    """Return the path as Spark will report it: with links kept, and ``..`` resolved."""
    if os.pardir not in path or os.pardir not in Path(path).parts:
        return os.path.join(folder, path)  # noqa: PTH118 - of a million files
    parts = Path(folder, path).parts
    up = max(number for number, name in enumerate(parts, start=1) if name == os.pardir)
    return str(Path(*parts[:up]).resolve() / Path(*parts[up:]))


def _is_hidden(path: Path) -> bool:
    """Return whether Spark would not read the file: its own marks and temporary files start so."""
    return any(name.startswith((".", "_")) for name in path.parts)


def _input_of(path: str, stored: StoredObject | None, input_format: str | None, is_named: bool) -> Input | None:
    """Return the input of a path; None for a file that was only found, and whose format cannot be detected.

    ``stored`` is the listed object of the path, if it is one.
    """
    if path.startswith(TABLE_PREFIX):
        return Input(path, "table")
    if is_local(path):
        _check_file(path, is_named)
    is_reachable = stored is not None or is_local(path)
    head = peek(path, stored.address if stored else "") if is_reachable else b""
    encoding = encoding_of(head)
    text = head.decode(encoding, errors="replace") if encoding != UTF8 else head
    # Without its folders, an object is one file to `_format_of`, and not a folder that Spark lists.
    name = input_format or _format_of(path.rpartition("/")[2] if stored else path, text)
    if name is None:
        if is_named:
            raise _unknown_format(path)
        return None
    if name in MAGIC.values() and is_reachable:
        check_magic(path, name, head)
    return replace(_listed_input(stored) if stored else Input(path, ""), format=name, encoding=encoding)


def _check_file(path: str, is_named: bool) -> None:
    """Raise an error for files that cannot be inspected, such as pipes and archives that Spark does not unpack.

    A packed file is data by its name, as in ``a.jsonl.zip``, or the user who names it.
    """
    if not Path(path).is_file():
        raise InputError(
            "this is not a regular file: sources must be readable twice",
            at=Location(path),
            hint="save it to a file first",
        )
    *inner_endings, last = ("", *(suffix.lower() for suffix in Path(path).suffixes))
    if last in _NOT_UNPACKED and (is_named or any(map(_format_of_ending, inner_endings))):
        hint = f"unpack it, or compress it as {', '.join(f'`{ending}`' for ending in COMPRESSIONS[:3])}"
        raise InputError(f"Spark does not unpack `{last}`", at=Location(path), hint=hint)


def _format_of(path: str, head: bytes | str) -> str | None:
    plain = Path(path)
    while plain.suffix.lower() in COMPRESSIONS:
        plain = plain.with_suffix("")
    by_ending = _format_of_ending(plain.suffix.lower())
    if by_ending is not None and by_ending != "json":
        return by_ending
    if isinstance(head, bytes):
        for magic, name in MAGIC.items():
            if head.startswith(magic):
                return name
        head = head.decode(errors="replace")
    # If a file cannot be inspected, Spark also assumes lines.
    return _json_form(head) if by_ending else _format_of_text(path, head)


def _format_of_ending(ending: str) -> str | None:
    """Return the format of files with an ending (lower case, with the dot)."""
    return format_of_ending(ending, _OTHER_NAMES.get(ending[1:], ending[1:]))


def _format_of_text(path: str, head: str) -> str | None:
    start = head.lstrip("\ufeff \t\r\n")[:1]
    if start in ("{", "["):
        return _json_form(head)
    if start == "<":
        return "xml"
    # A folder of an object store, most often; Spark lists it.
    return None if is_local(path) else "ndjson"


def _json_form(head: str) -> str:
    """Distinguish lines of JSON from one document: the first line of the former is complete, and not the only one."""
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
    return group_by(inputs, lambda file: file.format)
