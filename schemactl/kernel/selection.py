"""Cuts records out of documents (``schema.record_selection``), a block of bytes at a time, without parsing values.

A document may have any size: only a block and the current record are in memory. Values outside of the records
(``--keep``) may come after them, so a separate pass finds them first.

Bytes outside of the records are checked only as far as they are needed to find the records: the brackets and quotes of
values that are skipped, and the members of objects on the path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import numpy as np
import orjson

from schemactl.errors import backquoted, did_you_mean
from schemactl.kernel.splitting import (
    BEGUN,
    BLANKS,
    BYTE_ORDER_MARK,
    Escapes,
    Flags,
    Places,
    Splitter,
    Steps,
    blocks_of,
    mark_depths,
)
from schemactl.schema.paths import ELEMENT, Path, format_path
from schemactl.schema.record_selection import ContextKey, RecordSelection

Blocks = Iterable[bytes]

CheckSize = Callable[[int], None]
"""Raises an error for a value of so many bytes, if it is too large for this machine."""

FAULT: Final = b"--records: "
"""Begins the text that replaces a document without records: it is not JSON, so it counts as a bad record."""
KEEP_FAULT: Final = b"--keep: "
"""Begins the text that replaces a record to which no keys can be added."""

_DEEPEST: Final = 255
_MOST_KEYS: Final = 8
_SHOWN: Final = 200
_NOT_BLANK: Final = re.compile(rb"[^ \t\r\n]")
_SCALAR_END: Final = re.compile(rb"[,\]}\s]")
_CLOSING: Final[Mapping[bytes, bytes]] = {b"{": b"}", b"[": b"]"}
_KINDS: Final[Mapping[bytes, str]] = {b"{": "an object", b"[": "a list", b'"': "a text"}


class _BrokenError(Exception):
    """The document is not JSON here; the argument is a text in its place, if there is one."""


def select_lines(lines: Iterable[list[bytes]], selection: RecordSelection, check: CheckSize) -> Iterator[list[bytes]]:
    """Yield the records of documents that are lines, in groups of several lines."""
    for documents in lines:
        records: list[bytes] = []
        for document in documents:
            if document.strip(BLANKS):
                records += select_in_text(document, selection, check)
        if records:
            yield records


def select_in_text(document: bytes, selection: RecordSelection, check: CheckSize) -> list[bytes]:
    """Return the records of one document; text after it becomes a bad record."""
    open_blocks = partial(blocks_of, document)
    return [record for records in select_documents(open_blocks, selection, check) for record in records]


def select_elements(
    open_blocks: Callable[[], Blocks], selection: RecordSelection, check: CheckSize
) -> Iterator[list[bytes]]:
    """Yield the records of a file of one document; each element of a list is a document.

    See ``select_documents`` for the arguments.
    """
    cursor = _Cursor(open_blocks(), check)
    if cursor.peek() != b"[":
        yield from select_documents(open_blocks, selection, check)
        return
    path = selection.path[1:] if selection.path[:1] == (ELEMENT,) else selection.path
    inner = RecordSelection(path, selection.context_keys)
    if not path:
        yield from _ending_with_fault(cursor, cursor.elements())
    elif selection.context_keys:
        # Each element is a document that has to be read twice.
        for documents in _ending_with_fault(cursor, cursor.elements()):
            yield [record for document in documents for record in select_in_text(document, inner, check)]
    else:
        yield from _ending_with_fault(cursor, _walk_elements(cursor, path))


def select_documents(
    open_blocks: Callable[[], Blocks], selection: RecordSelection, check: CheckSize, *, are_many: bool = False
) -> Iterator[list[bytes]]:
    """Yield the records of consecutive documents; the records of a broken document end with a bad record.

    Args:
        open_blocks: returns the blocks of the documents, as UTF-8 and cut anywhere; it is called again to find the
            values that the records keep.
        selection: the selection of the records.
        check: checks the size of a record, or of a value that the records keep.
        are_many: whether another document may follow the first one.
    """
    cursor = _Cursor(open_blocks(), check)
    if not cursor.peek():
        return
    ahead = _Cursor(open_blocks(), check) if selection.context_keys else None
    # Without more documents, only the first one is peeked at.
    for _ in iter(cursor.peek, b"") if are_many else (None,):
        context = _find_context(ahead, selection.context_keys) if ahead else {}
        names = {key.target[0]: ".".join(key.source) for key in selection.context_keys}
        members = _members(context)[1:]
        for records in _ending_with_fault(cursor, _walk(cursor, selection.path), are_many):
            yield [_with_members(record, members, names) for record in records] if context else records


def _ending_with_fault(
    cursor: _Cursor, records: Iterator[list[bytes]], may_be_followed: bool = False
) -> Iterator[list[bytes]]:
    """Yield records, and where the document is broken, or something follows it, a text that is not JSON."""
    try:
        yield from records
    except _BrokenError as error:
        yield [error.args[0] if error.args else b"]" + cursor.following()]
        cursor.end()
    if cursor.peek() and not may_be_followed:
        yield [b"]" + cursor.following()]


def _walk(cursor: _Cursor, path: Path, step_count: int = 0) -> Iterator[list[bytes]]:
    """Yield the records in the value at the cursor, which is at the first steps of a path."""
    first = cursor.peek()
    if step_count == len(path):
        if first == b"[":
            yield from cursor.elements()
        elif (record := cursor.take()) != b"null":
            yield [record]
        return
    step = path[step_count]
    if first == (b"[" if step is ELEMENT else b"{"):
        if step is ELEMENT:
            yield from _walk_elements(cursor, path, step_count + 1)
        else:
            yield from _walk_member(cursor, path, step_count)
        return
    if first in (b"{", b"["):
        cursor.skip()
    elif cursor.take() == b"null":
        return
    yield [_kind_fault(path, step_count, first)]


def _walk_elements(cursor: _Cursor, path: Path, step_count: int = 0) -> Iterator[list[bytes]]:
    cursor.enter()
    while not cursor.leaves(b"]"):
        yield from _walk(cursor, path, step_count)


def _walk_member(cursor: _Cursor, path: Path, step_count: int) -> Iterator[list[bytes]]:
    step, is_missing = path[step_count], True
    keys: list[str] = []
    cursor.enter()
    while not cursor.leaves(b"}"):
        key = cursor.key()
        if key == step:
            is_missing = False
            yield from _walk(cursor, path, step_count + 1)
        else:
            cursor.skip()
            if len(keys) < _MOST_KEYS:
                keys.append(key)
    if is_missing:
        yield [_missing_fault(path, step_count, keys)]


def _missing_fault(path: Path, step_count: int, keys: Sequence[str]) -> bytes:
    name = _shown(path[: step_count + 1])
    has = f"the object has {backquoted(keys)}" if keys else "the object is empty"
    suggestion = did_you_mean(str(path[step_count]), keys, lambda key: _shown((*path[:step_count], key)))
    return _fault(FAULT, f"there is no `{name}`", suggestion, has)


def _kind_fault(path: Path, step_count: int, first: bytes) -> bytes:
    subject = f"`{_shown(path[:step_count])}`" if step_count else "the document"
    kind = _KINDS.get(first, "a scalar")
    hint = f"did you mean `{_shown((*path[:step_count], ELEMENT, *path[step_count:]))}`?" if kind == "a list" else None
    expected = "a list" if path[step_count] is ELEMENT else "an object"
    return _fault(FAULT, f"{subject} is {kind}, not {expected}", hint)


def _fault(mark: bytes, reason: str, *more: str | None) -> bytes:
    """Return a text that is not JSON; ``read_selection_fault`` reads it."""
    return mark + "; ".join(filter(None, (reason, *more))).encode(errors="replace")


def read_selection_fault(text: str) -> tuple[str, str | None] | None:
    """Return the reason and the hint of a fault of a selection, as far as its text goes; None for other texts.

    >>> fault = "--records: there is no `dta`; did you mean `data`?"
    >>> read_selection_fault(f"{fault}; the object has `data`")
    ('there is no `dta`: the object has `data`', 'did you mean `data`?')
    """
    mark = next((mark for mark in (FAULT, KEEP_FAULT) if text.startswith(mark.decode())), None)
    if mark is None:
        return None
    reason, *more = text.removeprefix(mark.decode()).split("; ")
    hint = next((words for words in more if words.startswith("did you mean")), None)
    return ": ".join((reason, *(words for words in more if words != hint))), hint


def _shown(path: Path) -> str:
    return format_path(path).removeprefix("$").removeprefix(".")


def _find_context(cursor: _Cursor, context_keys: Sequence[ContextKey]) -> dict[str, Any]:
    """Return the members that records get: by key a JSON text, or members again."""
    targets = {key.source: key.target for key in context_keys}
    members: dict[str, Any] = {}

    def look_into(source: tuple[str, ...]) -> None:
        if cursor.peek() != b"{":
            cursor.skip()
            return
        cursor.enter()
        while not cursor.leaves(b"}"):
            key = (*source, cursor.key())
            if key in targets:
                target = targets.pop(key)
                inner = members
                for name in target[:-1]:
                    inner = inner.setdefault(name, {})
                inner[target[-1]] = cursor.take()
            elif any(other[: len(key)] == key for other in targets):
                look_into(key)
            else:
                cursor.skip()
            if not targets:
                return

    try:
        look_into(())
        cursor.leave_document()
    except _BrokenError:
        cursor.end()  # the records are read up to the fault, which is reported then
    return members


def _members(members: Mapping[str, Any]) -> bytes:
    items = (
        orjson.dumps(name) + b":" + (_members(value) if isinstance(value, dict) else value)
        for name, value in members.items()
    )
    return b"{" + b",".join(items) + b"}"


def _with_members(record: bytes, members: bytes, names: Mapping[str, str]) -> bytes:
    """Return a record with further members; a key that it has already is a fault.

    ``members`` is JSON text with the bracket behind it, ``names`` the place of each key in the document.
    """
    stripped = record.strip(BLANKS)
    if not stripped or record.startswith(FAULT):
        return record
    if not stripped.startswith(b"{"):
        with suppress(ValueError):
            orjson.loads(stripped)
            return _fault(KEEP_FAULT, "a record is not an object, so it gets no keys")
        return record
    for key, source in names.items():
        if orjson.dumps(key) in stripped:
            with suppress(ValueError):  # such a record is reported as bad, or only Python's parser reads it
                if key in orjson.loads(stripped):
                    reason = f"a record already has a key `{key}`: rename the other key with `--keep NAME={source}`"
                    return _fault(KEEP_FAULT, reason)
    if not stripped.endswith(b"}"):
        return record
    before = stripped[:-1].rstrip(BLANKS)
    return before + (b"" if before == b"{" else b",") + members


class _Cursor:
    """A place in a document that is read block by block, within ``depth`` brackets."""

    def __init__(self, blocks: Blocks, check: CheckSize) -> None:
        self.depth = 0
        self._blocks = _without_mark(blocks)
        self._check = check
        self._escapes = Escapes()
        self._text = self._blanked = self._levels = b""
        self._marks: Places = np.empty(0, np.int64)
        self._depths: Steps = np.empty(0, np.int32)
        self._are_in_text: Flags = np.empty(0, np.bool_)
        self._commas: tuple[Places, Steps] | None = None
        self._offset = 0
        self._start_depth, self._starts_in_text = 0, False
        self._end_depth, self._ends_in_text = 0, False
        self._is_first = False

    def peek(self) -> bytes:
        """Return the next byte that is not blank, and go to it; empty at the end."""
        while (match := _NOT_BLANK.search(self._text, self._offset)) is None:
            if not self._advance():
                return b""
        self._offset = match.start()
        return match[0]

    def following(self) -> bytes:
        """Return some bytes from here on."""
        return self._text[self._offset : self._offset + _SHOWN]

    def enter(self) -> None:
        """Go into the list or object that begins here."""
        self.peek()
        self._offset += 1
        self.depth += 1
        self._is_first = True

    def leaves(self, bracket: bytes) -> bool:
        """Return whether the list or object ends here, and leave it; else go to its next element or member."""
        following = self.peek()
        if following == bracket:
            self._offset += 1
            self.depth -= 1
            self._is_first = False
            return True
        if not self._is_first:
            if following != b",":
                raise _BrokenError
            self._offset += 1
        self._is_first = False
        return False

    def leave_document(self) -> None:
        """Go behind the document."""
        if self.depth:
            for _ in self._until_depth(0, self._mark_index(self._offset)):
                pass
            self.depth = 0

    def end(self) -> None:
        """Read no further."""
        self._text, self._offset, self._blocks = b"", 0, iter(())

    def key(self) -> str:
        """Return the key that begins here, and go to its value."""
        if self.peek() != b'"':
            raise _BrokenError
        try:
            key: str = orjson.loads(self.take())
        except ValueError as error:
            raise _BrokenError from error
        if self.peek() != b":":
            raise _BrokenError
        self._offset += 1
        return key

    def skip(self) -> None:
        """Go behind the value that begins here."""
        for _ in self._value():
            pass

    def take(self) -> bytes:
        """Return the value that begins here, and go behind it."""
        pieces, size = [], 0
        for piece in self._value():
            pieces.append(piece)
            size += len(piece)
            self._check(size)
        return b"".join(pieces)

    def elements(self) -> Iterator[list[bytes]]:
        """Yield the elements of the list that begins here, and go behind it."""
        self.peek()
        self._offset += 1
        self._is_first = False
        mark_index = self._mark_index(self._offset)
        if (end_index := self._levels.find(bytes((self.depth,)), mark_index)) >= 0:
            if elements := self._elements_before(int(self._marks[end_index])):
                yield elements
            self._check_list_end()
            return
        splitter = Splitter(BEGUN)
        size = 0
        for piece in self._until_depth(self.depth, mark_index):
            elements = splitter.split(piece)
            size = 0 if elements else size + len(piece)
            self._check(size)
            if elements:
                yield elements
        if unfinished := splitter.finish():
            raise _BrokenError(*unfinished)
        self._check_list_end()

    def _check_list_end(self) -> None:
        if self._text[self._offset - 1 : self._offset] != b"]":
            raise _BrokenError

    def _elements_before(self, end: int) -> list[bytes]:
        """Return the elements up to the bracket at ``end`` of this block, and go behind it."""
        start, self._offset = self._offset, end + 1
        if self._commas is None:
            self._commas = self._find_commas()
        commas, levels = self._commas
        first, last = np.searchsorted(commas, (start, end)).tolist()
        ends = [*commas[first:last][levels[first:last] == self.depth + 1].tolist(), end]
        elements = []
        for element_end in ends:
            element = self._text[start:element_end]
            start = element_end + 1
            # A gap between two commas is not a value.
            elements.append(element if element.strip(BLANKS) else b",")
        return [] if elements == [b","] else elements

    def _find_commas(self) -> tuple[Places, Steps]:
        """Return the positions of commas outside of strings in this block, and the bracket depth at each."""
        commas = np.flatnonzero(np.frombuffer(self._blanked, np.uint8) == ord(","))
        mark_indexes = np.searchsorted(self._marks, commas)  # of the marks behind them
        depths = np.concatenate(([self._start_depth], self._depths))[mark_indexes]
        is_outside = ~np.concatenate(([self._starts_in_text], self._are_in_text))[mark_indexes]
        return commas[is_outside], depths[is_outside]

    def _value(self) -> Iterator[bytes]:
        """Yield the pieces of the value that begins here."""
        first = self.peek()
        self._is_first = False
        if first in (b"{", b"["):
            mark_index = self._mark_index(self._offset) + 1
            yield from self._until_depth(self.depth, mark_index)
            if self._text[self._offset - 1 : self._offset] != _CLOSING[first]:
                raise _BrokenError
        elif first == b'"':
            yield from self._until_quote()
        elif first in (b"", b",", b":", b"}", b"]"):
            raise _BrokenError
        else:
            yield from self._until_scalar_end()

    def _until_depth(self, depth: int, mark_index: int) -> Iterator[bytes]:
        """Yield pieces up to the bracket, from a mark of this block on, that leaves so many brackets open."""
        level = bytes((depth,))
        while (end_index := self._levels.find(level, mark_index)) < 0:
            yield self._text[self._offset :]
            if not self._advance():
                return
            mark_index = 0
        yield self._piece(int(self._marks[end_index]) + 1)

    def _until_quote(self) -> Iterator[bytes]:
        start = self._offset + 1
        while (end := self._blanked.find(b'"', start)) < 0:
            yield self._text[self._offset :]
            if not self._advance():
                raise _BrokenError
            start = 0
        yield self._piece(end + 1)

    def _until_scalar_end(self) -> Iterator[bytes]:
        while (match := _SCALAR_END.search(self._text, self._offset)) is None:
            yield self._text[self._offset :]
            if not self._advance():
                return
        yield self._piece(match.start())

    def _piece(self, end: int) -> bytes:
        piece = self._text[self._offset : end]
        self._offset = end
        return piece

    def _mark_index(self, offset: int) -> int:
        """Return the number of marks before a place of this block."""
        return int(np.searchsorted(self._marks, offset))

    def _advance(self) -> bool:
        """Go to the next block, and return whether there is one."""
        block = next(self._blocks, None)
        if block is None:
            self._offset = len(self._text)
            return False
        self._text, self._blanked, self._offset = block, self._escapes.blank(block), 0
        self._start_depth, self._starts_in_text = self._end_depth, self._ends_in_text
        self._commas = None
        self._marks, self._depths, self._are_in_text = mark_depths(
            self._blanked, self._start_depth, self._starts_in_text
        )
        self._levels = np.clip(self._depths, 0, _DEEPEST).astype(np.uint8).tobytes()
        if len(self._depths):
            self._end_depth, self._ends_in_text = int(self._depths[-1]), bool(self._are_in_text[-1])
        return True


def _without_mark(blocks: Blocks) -> Iterator[bytes]:
    """Yield the blocks that are not empty, without a byte order mark at the beginning."""
    iterator = iter(blocks)
    start = b""
    for block in iterator:
        start += block
        if len(start) >= len(BYTE_ORDER_MARK):
            break
    yield from filter(None, (start.removeprefix(BYTE_ORDER_MARK),))
    yield from filter(None, iterator)
