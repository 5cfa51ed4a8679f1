"""Selects the records inside documents: the path of a list (``--records``), and document keys to copy to each record.

The path is JSONPath with keys and ``[*]``, as dlt's ``data_selector`` takes it. A schema remembers the selection of its
data in ``settings``, under ``x-records``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.schema.paths import ELEMENT, Path, format_path, parse_keys, parse_path
from schemactl.schema.types import Properties

SETTING: Final = "x-records"
"""The key of ``settings`` that remembers a selection: ``{path: $.data, keep: [page]}``."""

_MOST_STEPS: Final = 100
_COMMAS: Final = re.compile(r",(?![^\[]*\])")
_NAME: Final = re.compile(r"(?P<name>[^=\[\]]*)=(?P<path>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ContextKey:
    """A key of a document, outside its records, whose value is copied to each record.

    Attributes:
        source: its keys in the document.
        target: its keys in the record.
        text: the form in which a call or a schema declares it.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class RecordSelection:
    """The records of each document.

    Attributes:
        path: the path of the records or of their list, without a final ``[*]``.
        context_keys: keys outside the records, whose values each record gets.
    """

    path: Path
    context_keys: tuple[ContextKey, ...] = ()

    @property
    def text(self) -> str:
        """The path for people: ``data``, ``data[*].items``."""
        return format_path(self.path).removeprefix("$").removeprefix(".") or "$"

    @property
    def is_whole(self) -> bool:
        """Whether each document is a record, as without a selection."""
        return not self.path

    def stored(self) -> dict[str, Any]:
        """Return the value of ``SETTING``."""
        keys = {"keep": [key.text for key in self.context_keys]} if self.context_keys else {}
        return {"path": format_path(self.path), **keys}


def parse_selection(path: str, keep: Iterable[str] = ()) -> RecordSelection:
    """Return the selection that a call declares.

    Args:
        path: the path of the records, ``data`` or ``$.data.items[*]``; ``$`` for whole documents.
        keep: keys outside the records, ``page`` or ``meta.page``, possibly with a new name: ``number=page``.

    >>> parse_selection("data.items[*]").text
    'data.items'
    """
    steps = _parse_records_path(path)
    if steps[-1:] == (ELEMENT,) and any(step is not ELEMENT for step in steps):
        steps = steps[:-1]  # the elements of a list are records anyway
    context_keys = tuple(map(_context_key, keep))
    if context_keys and not steps:
        raise InputError("`--keep` needs the path of the records", hint="name it, for example `--records data`")
    for index, key in enumerate(context_keys):
        if steps[: len(key.source)] == key.source:
            raise InputError(f"`--keep {key.text}` contains the records", hint="use a key next to the records")
        # One key is the other, or inside of it.
        other = next((other for other in context_keys[:index] if all(map(eq, other.target, key.target))), None)
        if other is not None:
            hint = f"give one another name: `--keep NAME={'.'.join(key.source)}`"
            raise InputError(f"`--keep {other.text}` and `--keep {key.text}` have one name", hint=hint)
    return RecordSelection(steps, context_keys)


def split_keys(options: Sequence[str]) -> list[str]:
    """Return the keys of ``--keep``, which may list several with commas between them.

    >>> split_keys(["page,meta.next", "$['a,b']"])
    ['page', 'meta.next', "$['a,b']"]
    """
    return [key.strip() for option in options for key in _COMMAS.split(option) if key.strip()]


def stored_selection(settings: Properties) -> RecordSelection | None:
    """Return the selection that a schema remembers; None without one."""
    stored = settings.get(SETTING)
    if stored is None:
        return None
    path, keep = (stored.get("path"), stored.get("keep") or []) if isinstance(stored, Mapping) else (stored, [])
    if not isinstance(path, str) or not isinstance(keep, list) or not all(isinstance(key, str) for key in keep):
        hint = "write it like `x-records: {path: $.data, keep: [page]}`"
        raise InputError(f"`{SETTING}` in `settings` does not name the path of records", hint=hint)
    selection = parse_selection(path, keep)
    return None if selection.is_whole else selection


def with_selection(settings: Properties, selection: RecordSelection) -> dict[str, Any]:
    """Return settings that remember a selection; a selection of whole documents is left out."""
    remaining = {key: value for key, value in settings.items() if key != SETTING}
    return remaining if selection.is_whole else {**remaining, SETTING: selection.stored()}


def _parse_records_path(text: str) -> Path:
    stripped = text.strip()
    try:
        path = parse_path(stripped if stripped.startswith("$") else f"${'' if stripped[:1] == '[' else '.'}{stripped}")
    except InputError:
        path = None
    if path is None or len(path) > _MOST_STEPS or "*" in path:
        hint = "it has keys and `[*]` for the elements of a list: `data`, `data.items`, `pages[*].data`, `$['a.b']`"
        raise InputError(f"`{text}` is not a path of records (`--records`)", hint=hint)
    return path


def _context_key(text: str) -> ContextKey:
    rename = _NAME.fullmatch(text.strip())
    path, name = (rename["path"].strip(), rename["name"].strip()) if rename else (text.strip(), None)
    try:
        source = () if name == "" else parse_keys(path)
    except InputError:
        source = ()
    if not source:
        hint = "use a key next to the records: `page`, `meta.page`, or `number=page` to rename it"
        raise InputError(f"`{text}` is not a key to keep (`--keep`)", hint=hint)
    return ContextKey(source, (name,) if name else source, text.strip())
