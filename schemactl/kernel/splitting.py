"""Cuts texts into records, a block of bytes at a time: lines, or the elements of a list; nothing is parsed.

Quotes, escapes and brackets are found by ``bytes`` and numpy, never a character at a time; an element is whatever
is between two commas of the list itself. A part of a file is cut as the whole is (``ListPart``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

import numpy as np

Places: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Steps: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"
Flags: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

BLANKS: Final = b" \t\r\n"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_QUOTE: Final = ord('"')
_MARKS: Final = b'"[]{}'
_IS_MARK: Final = bytes(octet in _MARKS for octet in range(256))
_NO_MARKS: Final = bytes(octet for octet in range(256) if octet not in _MARKS)
_STEPS: Final = np.zeros(256, np.int32)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_SHOWN_OF_REST: Final = 1 << 20
"""Bytes to keep of text after a list, which is a bad record of any length."""


@dataclass(frozen=True, slots=True)
class ListPart:
    """The initial state of a reader of a part of a list.

    Attributes:
        depth: how many brackets are open; 0 once the list has ended.
        is_in_text: whether a text is open.
        is_begun: whether the list has just begun, so that its first element is one of the part.
    """

    depth: int
    is_in_text: bool
    is_begun: bool = False


BEGUN: Final = ListPart(1, False, is_begun=True)


@dataclass(frozen=True, slots=True)
class Outline:
    """The brackets and texts that open and close in a part of a document, whatever comes before.

    Attributes:
        is_odd: whether it has an odd number of quotes.
        outside: the change of the depth, and its minimum, if the part begins outside of a text.
        inside: the same if the part begins within a text.
    """

    is_odd: bool
    outside: tuple[int, int]
    inside: tuple[int, int]

    def after(self, before: ListPart) -> ListPart:
        """Return the state after this part, by the state before it; a list that has ended is not begun again."""
        change, least = self.inside if before.is_in_text else self.outside
        depth = 0 if before.depth <= 0 or before.depth + least <= 0 else before.depth + change
        return ListPart(depth, before.is_in_text ^ self.is_odd)

    def followed_by(self, other: Outline) -> Outline:
        """Return the outline of both parts together."""
        first, second = (other.inside, other.outside) if self.is_odd else (other.outside, other.inside)
        return Outline(self.is_odd ^ other.is_odd, _joined(self.outside, first), _joined(self.inside, second))


def _joined(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    return first[0] + second[0], min(first[1], first[0] + second[1])


NOTHING: Final = Outline(False, (0, 0), (0, 0))


def blocks_of(text: bytes, size: int = 1 << 21) -> Iterator[bytes]:
    """Yield a text in blocks of ``size`` bytes."""
    return (text[start : start + size] for start in range(0, len(text), size))


class Outliner:
    """Draws the outline of a part that begins behind no backslash, and whose blocks come one after the other."""

    def __init__(self) -> None:
        self.outline = NOTHING
        self._escapes = Escapes()

    def add(self, block: bytes) -> None:
        """Take the next block."""
        marks = np.frombuffer(self._escapes.blank(block).translate(None, _NO_MARKS), np.uint8)
        if not len(marks):
            return
        is_quote = marks == _QUOTE
        is_inside: Flags = np.logical_xor.accumulate(is_quote)
        steps = _STEPS[marks]
        outside, inside = np.cumsum(steps * ~is_inside), np.cumsum(steps * is_inside)
        outline = Outline(bool(is_inside[-1]), _change(outside), _change(inside))
        self.outline = self.outline.followed_by(outline)


def _change(depths: Steps) -> tuple[int, int]:
    return int(depths[-1]), min(0, int(depths.min()))


class Escapes:
    """Blanks out escaped characters, so that each remaining quote opens or closes a text."""

    def __init__(self) -> None:
        self._is_open = False

    def blank(self, block: bytes) -> bytes:
        """Return a block of the same length; the blocks of a document come one after the other."""
        if self._is_open and block:
            block = b"_" + block[1:]
            self._is_open = False
        if b"\\" in block:
            block = block.replace(rb"\\", b"__")
            self._is_open = block.endswith(b"\\")
            block = block.replace(rb"\"", b"__")
        return block


def mark_depths(blanked: bytes, depth: int, is_in_text: bool) -> tuple[Places, Steps, Flags]:
    """Return the positions of quotes and brackets in a block, and behind each the depth and whether a text is open.

    The block has no escapes (``Escapes``).
    """
    mark_indexes: Places = np.flatnonzero(np.frombuffer(blanked.translate(_IS_MARK), np.bool_))
    marks = np.frombuffer(blanked, np.uint8)[mark_indexes]
    are_in_text: Flags = np.logical_xor.accumulate(marks == _QUOTE) ^ is_in_text
    return mark_indexes, depth + np.cumsum(_STEPS[marks] * ~are_in_text), are_in_text


def split_elements(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the elements of a list, block by block; a document that is not a list is one element.

    Invalid JSON gives invalid elements: the last one of an unclosed list, text behind the document, and an element for
    a surplus comma.

    Args:
        blocks: the document as UTF-8, cut anywhere.
    """
    blocks = iter(blocks)
    start = b""
    for block in blocks:
        start = (start + block).removeprefix(BYTE_ORDER_MARK).lstrip(BLANKS)
        if len(start) >= len(BYTE_ORDER_MARK):
            break
    if not start.startswith(b"["):
        yield [b"".join((start, *blocks))]
        return
    splitter = Splitter(BEGUN)
    yield splitter.split(start[1:])
    for block in blocks:
        yield splitter.split(block)
    yield splitter.finish()


def split_part(blocks: Iterable[bytes], before: ListPart, size: int) -> Iterator[list[bytes]]:
    """Yield the elements of a list that begin behind a comma within a part of its document, as ``split_elements``.

    The blocks go on from the part to the end of the document; ``before`` is the state at the start of the part.
    """
    if before.depth <= 0:
        return
    splitter = Splitter(before)
    read = 0
    for block in blocks:
        yield splitter.split(block, size - read)
        read += len(block)
        if splitter.is_done or (read >= size and not splitter.is_owner):
            return
    if splitter.is_owner:
        yield splitter.finish()


class Splitter:
    """Splits the elements of a list block by block.

    Attributes:
        is_owner: whether the element that is open counts: it began within the part.
        is_done: whether the last element that counts has ended.
    """

    def __init__(self, before: ListPart) -> None:
        self.is_owner = before.is_begun
        self.is_done = False
        self._open: list[bytes] = []
        self._depth = before.depth
        self._is_in_text = before.is_in_text
        self._escapes = Escapes()
        self._is_first = before.is_begun
        self._rest = _SHOWN_OF_REST

    def split(self, block: bytes, size: int | None = None) -> list[bytes]:
        """Return the elements that end in a block, without elements that begin after its first ``size`` bytes."""
        elements: list[bytes] = []
        if self._depth <= 0:
            self._keep_rest(block)
            return elements
        start = 0
        for separator, is_end in self._separators(block):
            if self.is_owner:
                self._open.append(block[start:separator])
                element = b"".join(self._open)
                self._open.clear()
                is_blank = not element.strip(BLANKS)
                if not (is_end and is_blank and self._is_first):
                    # A gap between two commas is not a value.
                    elements.append(b"," if is_blank else element)
            start = separator + 1
            self._is_first = False
            if is_end:
                # Text after the list goes with the last element.
                self.is_done = not self.is_owner
                self._keep_rest(block[start:])
                return elements
            self.is_owner = size is None or separator < size
            if not self.is_owner:
                self.is_done = True
                return elements
        if self.is_owner:
            self._open.append(block[start:])
        return elements

    def _keep_rest(self, text: bytes) -> None:
        beginning = text[: self._rest] if self._open else text.lstrip(BLANKS)[: self._rest]
        if beginning:
            self._open.append(beginning)
            self._rest -= len(beginning)

    def finish(self) -> list[bytes]:
        """Return the remainder; it is empty if the list has ended."""
        remainder = b"".join(self._open)
        if self._depth > 0:
            return [b"[" + remainder]
        return [b"]" + remainder] if remainder.strip(BLANKS) else []

    def _separators(self, block: bytes) -> Iterator[tuple[int, bool]]:
        """Yield the positions of commas and of the end of the list, and whether it is the end."""
        blanked, begins, stops, end = self.outside(block)
        for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True):
            comma = blanked.find(b",", begin + 1, stop)
            while comma >= 0:
                yield comma, False
                comma = blanked.find(b",", comma + 1, stop)
        if end is not None:
            yield end, True

    def outside(self, block: bytes) -> tuple[bytes, Places, Places, int | None]:
        """Return a block without escapes, the bounds of its direct parts of the list, and the end position of the list.

        Commas of the list itself are between two marks, outside of texts, at depth one.
        """
        blanked = self._escapes.blank(block)
        mark_indexes, depths, is_in_text = mark_depths(blanked, self._depth, self._is_in_text)
        ends = np.flatnonzero(depths <= 0)
        last = int(ends[0]) if len(ends) else len(depths)
        are_between = np.flatnonzero((depths[:last] == 1) & ~is_in_text[:last])
        begins, bounds = mark_indexes[are_between], np.append(mark_indexes, len(block))
        stops = bounds[are_between + 1]
        if self._depth == 1 and not self._is_in_text:
            begins, stops = np.insert(begins, 0, -1), np.insert(stops, 0, bounds[0])
        if len(ends):
            self._depth = 0
        elif len(depths):
            self._depth, self._is_in_text = int(depths[-1]), bool(is_in_text[-1])
        return blanked, begins, stops, int(mark_indexes[last]) if len(ends) else None


def runs_of_members(text: bytes, start: int, size: int = 1 << 20) -> Iterator[tuple[int, int]]:
    """Yield the bounds of runs of members of a list or an object, cut at commas; the last run ends with the list.

    ``start`` follows the opening bracket. A run of more than ``size`` bytes is a single member.

    Raises:
        ValueError: the list or object is not closed.
    """
    splitter = Splitter(BEGUN)
    begin = start
    for offset in range(start, len(text), size):
        blanked, begins, stops, end = splitter.outside(text[offset : offset + size])
        firsts = map(blanked.find, repeat(b","), begins + 1, stops)
        first = next((index for index in firsts if index >= 0), None)
        if first is not None:
            lasts = map(blanked.rfind, repeat(b","), begins[::-1] + 1, stops[::-1])
            for comma in sorted({first, next(index for index in lasts if index >= 0)}):
                yield begin, offset + comma
                begin = offset + comma + 1
        if end is not None:
            yield begin, offset + end
            return
    raise ValueError("a list or an object is not closed")


def split_lines(blocks: Iterable[bytes], size: int | None = None) -> Iterator[list[bytes]]:
    """Yield lines without their ends, block by block; lines end as in Spark: LF, CR LF or CR.

    Lines that begin after ``size`` bytes are left out; None for all lines.
    """
    pending: list[bytes] = []
    read = 0
    for block in filter(None, blocks):
        if size is not None and read + len(block) >= size:
            # The last line that counts contains the last byte.
            stop = _line_end(block, max(0, size - 1 - read))
            if stop is not None:
                yield b"".join((*pending, block[:stop])).splitlines()
                return
        read += len(block)
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
        if pending and pending[-1].endswith(b"\r") and not block.startswith(b"\n"):
            yield b"".join(pending).splitlines()
            pending.clear()
        if end:
            yield b"".join((*pending, block[:end])).splitlines()
            pending.clear()
        if end < len(block):
            pending.append(block[end:])
    if remainder := b"".join(pending):
        yield remainder.splitlines()


def skip_line(blocks: Iterator[bytes]) -> tuple[int, Iterator[bytes]]:
    """Skip the line that the blocks begin in; return how many bytes were skipped, and the blocks that are left."""
    skipped = 0
    for block in blocks:
        end = _line_end(block, 0)
        if end is None:
            skipped += len(block)
            continue
        if end == len(block) and block.endswith(b"\r"):
            # The line may end in the next block.
            following = next(blocks, b"")
            if following.startswith(b"\n"):
                return skipped + end + 1, chain((following[1:],), blocks)
            return skipped + end, chain((following,), blocks)
        return skipped + end, chain((block[end:],), blocks)
    return skipped, iter(())


def _line_end(block: bytes, start: int) -> int | None:
    """Return the end of the line that contains the byte at ``start``, after its line end; None if the line goes on."""
    ends = [index for index in (block.find(b"\n", start), block.find(b"\r", start)) if index >= 0]
    if not ends:
        return None
    end = min(ends) + 1
    return end + 1 if block.startswith(b"\r\n", end - 1) else end
