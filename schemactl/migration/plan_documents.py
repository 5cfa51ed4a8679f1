"""Plans, their steps and all in them as JSON: a plan that was shown is kept in a file, and applied as it was shown."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import partial
from typing import Any, Final, TypeVar, get_args

from schemactl.errors import InputError, Location
from schemactl.field_values import field_values
from schemactl.migration.custom_sql import OwnSql, When
from schemactl.migration.migration_plan import MigrationMark, MigrationPlan, Place
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.planner import PlannedStep
from schemactl.migration.steps import Phase, Step, Taken, Undo
from schemactl.migration.ways import Lock, Risk, Way
from schemactl.schema.changes import ABSENT, Change
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, Table

MARK: Final = "schemactl_plan"
FORMAT: Final = 1
ENDING: Final = ".plan.json"

_SIGNATURE: Final = "signature"

_SAVING: Final = "create a plan with `schemactl migrate plan REF --to DEST --out FILE.plan.json`"
_PLACE_KEYS: Final = frozenset(("kind", "origin", "dataset"))
_KEYS: Final = frozenset((MARK, "hash", "place", "target", "fingerprint", "tables", "steps", "notes", "schema"))


def plan_hash(plan: MigrationPlan) -> str:
    """Return the SHA-256, in hex, of the content of a plan."""
    return content_hash(_content(plan))


def plan_document(plan: MigrationPlan) -> dict[str, Any]:
    """Return a plan as JSON data, with its hash."""
    content = _content(plan)
    return {MARK: FORMAT, "hash": content_hash(content), **content}


def write_plan(plan: MigrationPlan, key: bytes | None = None) -> str:
    """Return a plan as the text of a file that ends in ``.plan.json``, signed if there is a key."""
    document = plan_document(plan)
    if key is not None:
        document = {**document, _SIGNATURE: _sign(document["hash"], key)}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def read_plan(text: str, path: str, key: bytes | None = None) -> MigrationPlan:
    """Read a plan that ``write_plan`` wrote.

    With a key, the plan must be signed with it.
    """
    location = Location(path)
    try:
        return _read_plan(text, location, key)
    except RecursionError:
        raise InputError("this is not a plan: it is nested too deeply", at=location) from None


def _read_plan(text: str, location: Location, key: bytes | None) -> MigrationPlan:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError(f"this is not JSON: {error}", at=location) from error
    if _is_report(document):
        raise _printed(location)
    if not isinstance(document, dict) or MARK not in document:
        raise InputError("this is not a plan", at=location, hint=_SAVING)
    if document[MARK] != FORMAT or isinstance(document[MARK], bool):
        message = f"this plan has format {document[MARK]}, but schemactl supports format {FORMAT}"
        raise InputError(message, at=location, hint="create the plan again with this version of schemactl")
    content = {name: value for name, value in document.items() if name not in (MARK, "hash", _SIGNATURE)}
    computed_hash = content_hash(content)
    if key is not None:
        signature = document.get(_SIGNATURE)
        if signature is None:
            hint = "`schemactl migrate plan --sign-key NAME` signs it"
            raise InputError("the plan is not signed", at=location, hint=hint)
        expected = _sign(computed_hash, key).encode()
        if not isinstance(signature, str) or not hmac.compare_digest(signature.encode(), expected):
            hint = "sign it with the same key when you create it, and check whether it was changed since"
            raise InputError("the plan was not signed with this key", at=location, hint=hint)
    if document.get("hash") != computed_hash:
        hint = "create the plan again: `apply` runs only the reviewed steps"
        raise InputError("this plan was changed after it was created", at=location, hint=hint)
    try:
        return _plan(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"this plan is damaged: {error}", at=location) from error


def mistaken_for_schema(text: str, path: str) -> InputError | None:
    """Return the error for a plan or a report of ``migrate`` that is used as a schema; None for other texts."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    location = Location(path)
    if _is_report(document):
        return _printed(location)
    if isinstance(document, dict) and MARK in document:
        hint = f"name the file `NAME{ENDING}`, so `schemactl migrate apply` can run it"
        return InputError("this is a plan, not a schema", at=location, hint=hint)
    return None


def _sign(digest: str, key: bytes) -> str:
    """Return the HMAC-SHA256, in hex, of a plan's hash."""
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()


def mark_in(text: str) -> MigrationMark | None:
    """Return the mark of the migration whose plan a run in the ledger has; None for a plan without a migration.

    Reading the whole plan takes far longer.
    """
    if '"migration"' not in text:
        return None
    try:
        mark = json.loads(text).get("migration")
        return MigrationMark(str(mark["name"]), str(mark["hash"])) if isinstance(mark, dict) else None
    except (ValueError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"a plan in the ledger is damaged: {error}") from error


def _is_report(document: Any) -> bool:
    """Return whether JSON data is a report of ``migrate``, which has a plan or a place."""
    if not isinstance(document, dict) or MARK in document:
        return False
    plan, place_document = document.get("plan"), document.get("place")
    is_place = isinstance(place_document, dict) and place_document.keys() == _PLACE_KEYS
    return is_place or (isinstance(plan, dict) and MARK in plan)


def _printed(location: Location) -> InputError:
    message = "this is a report that `schemactl migrate --format json` has printed, neither a plan nor a schema"
    return InputError(message, at=location, hint=_SAVING)


def _content(plan: MigrationPlan) -> dict[str, Any]:
    schema = plan.schema
    return {
        "place": to_document(plan.place),
        "target": {key: schema[key] for key in ("name", "version", "version_hash")},
        "fingerprint": plan.fingerprint,
        "tables": list(plan.tables),
        "steps": [step_document(step) for step in plan.steps],
        "notes": [to_document(note) for note in plan.notes],
        "schema": dict(schema),
        # As in steps: plans that are no migration of a folder keep their hash.
        **({} if plan.migration is None else {"migration": to_document(plan.migration)}),
        **({} if not plan.own else {"own": [to_document(own_sql) for own_sql in plan.own]}),
    }


def content_hash(content: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of a plan's document without its mark and its hash."""
    # The order of keys counts: that of columns is part of a schema.
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def step_document(planned: PlannedStep) -> dict[str, Any]:
    """Return a planned step as JSON data; the order of its keys is part of the hash of a plan."""
    document = to_document(planned)
    first = {name: document.pop(name) for name in ("step", "reason", "way", "risk")}
    return {**first, "is_destructive": planned.is_destructive, **document}


def _plan(document: Mapping[str, Any]) -> MigrationPlan:
    if document.keys() - {_SIGNATURE, "migration", "own"} != _KEYS:
        raise ValueError(f"its keys are not {', '.join(sorted(_KEYS))}")
    beside = (MARK, "hash", "target", _SIGNATURE)
    plan = from_document(MigrationPlan, {name: value for name, value in document.items() if name not in beside})
    _check_groups(plan.steps)
    if not all(1 <= own_sql.number <= len(plan.steps) for own_sql in plan.own):
        raise ValueError("it has custom SQL for a missing step")
    return plan


def _check_groups(steps: Sequence[PlannedStep]) -> None:
    """Refuse steps that are not adjacent to the steps that they run with."""
    end = 0
    for number, planned in enumerate(steps, 1):
        if number > end and planned.done_with is not None:
            end = planned.done_with
            if not number < end <= len(steps):
                raise ValueError(f"step {number} is done with step {end}")
        elif number <= end and planned.done_with != end:
            raise ValueError(f"step {number} is between steps that are done with step {end}")


# --- parts of plans: a mapping of the fields of a value, with its kind ---

T = TypeVar("T")


def to_document(
    value: Step | Change | Note | Place | Lock | Undo | OwnSql | MigrationMark | PlannedStep, *, is_tagged: bool = False
) -> dict[str, Any]:
    """Return a value's fields as JSON data, without the absent sides of a change.

    ``is_tagged``: whether ``kind`` names the type, which the reader of steps and changes needs.
    """
    kind = {"kind": type(value).__name__} if is_tagged else {}
    values = field_values(value)
    defaults = {field.name: field.default for field in fields(value) if field.metadata.get("later")}
    present_fields = {
        name: _plain(field_value)
        for name, field_value in values.items()
        if field_value is not ABSENT and not (name in defaults and field_value == defaults[name])
    }
    return {**kind, **present_fields}


def from_document(kind: type[T], document: Any) -> T:
    """Read a value that is no step and no change."""
    types = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(document, dict) or not document.keys() <= types.keys():
        raise ValueError(f"`{document!r}` is not of type {kind.__name__}")
    later = {kind_field.name: kind_field.default for kind_field in fields(kind) if kind_field.metadata.get("later")}  # type: ignore[arg-type]
    absent = {name for name in types if name not in document and name not in later}
    if any(types[name] != "Any" for name in absent):
        raise ValueError(f"a {kind.__name__} does not have {', '.join(sorted(absent))}")
    field_values = {name: _reader(types[name])(value) for name, value in document.items()}
    return kind(**{**dict.fromkeys(absent, ABSENT), **later, **field_values})


_STEPS: Final[Mapping[str, type]] = {kind.__name__: kind for kind in get_args(Step)}
_CHANGES: Final[Mapping[str, type]] = {kind.__name__: kind for kind in get_args(Change)}


def _plain(value: Any) -> Any:
    match value:
        case Table():
            columns = [_plain(column) for column in value.columns.values()]
            return {"name": value.name, "columns": columns, "properties": dict(value.properties)}
        case Column():
            return {"name": value.name, "properties": dict(value.properties)}
        case Enum():
            return value.value
        case Mapping():
            return dict(value)
        case tuple():
            return [_plain(item) for item in value]
        case Lock() | Undo():
            return to_document(value)
        case _ if type(value).__name__ in _STEPS or type(value).__name__ in _CHANGES:
            return to_document(value, is_tagged=True)
        case _:
            return value


def _reader(annotation: str) -> Callable[[Any], Any]:
    """Return how a field is read, by its annotation."""
    if annotation in _READERS:
        return _READERS[annotation]
    if annotation.endswith(" | None"):
        read = _reader(annotation.removesuffix(" | None"))
        return lambda value: None if value is None else read(value)
    read_item = _reader(annotation.removeprefix("tuple[").removesuffix(", ...]"))
    return lambda value: tuple(map(read_item, _of(list)(value)))


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"`{value!r}` is not of type {kind.__name__}")
        return value

    return read


def _tagged(kinds: Mapping[str, type]) -> Callable[[Any], Any]:
    def read(document: Any) -> Any:
        kind = document.get("kind") if isinstance(document, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            raise ValueError(f"there is no `{kind}`")
        return from_document(kinds[kind], {name: value for name, value in document.items() if name != "kind"})

    return read


def _column(document: Any) -> Column:
    return Column(_of(str)(document["name"]), _of(dict)(document["properties"]))


def _table(document: Any) -> Table:
    columns = {column.name: column for column in map(_column, document["columns"])}
    return Table(_of(str)(document["name"]), columns, _of(dict)(document["properties"]))


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Any": lambda value: value,
    "bool": _of(bool),
    "int": _of(int),
    "str": _of(str),
    "Properties": _of(dict),
    "Column": _column,
    "Table": _table,
    **dict.fromkeys(
        ("Step", "Backfill", "Backfill | SetNotNull | AddUnique | AddPrimaryKey", "SwapColumns"), _tagged(_STEPS)
    ),
    "Change": _tagged(_CHANGES),
    # `is_destructive` follows from the risk.
    "PlannedStep": lambda document: from_document(
        PlannedStep, {name: value for name, value in document.items() if name != "is_destructive"}
    ),
    **{kind.__name__: partial(from_document, kind) for kind in (Lock, MigrationMark, Note, OwnSql, Place, Undo)},
    **{kind.__name__: kind for kind in (Conversion, NoteKind, Phase, Risk, Taken, Way, When)},
}
