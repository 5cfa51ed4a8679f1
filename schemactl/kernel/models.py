"""Documents that a Pydantic model validates on their way to tables (``--model``), a batch at once.

Documents continue as the model converts them; rejected documents are counted with Pydantic's reasons, and become
rejects or stop the command, depending on the contract. Modes and ``extra`` correspond as in dlt 1.31.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time
from functools import cache
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from itertools import compress
from pkgutil import resolve_name
from typing import Any, Final, TypeAlias, cast

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError

from schemactl.grouping import group_by
from schemactl.kernel.dispatch import ONE_TABLE, Dispatch, Piece, value_at
from schemactl.kernel.ignored_keys import ignored_keys
from schemactl.kernel.outcome import REJECTS_SCHEMA, FieldErrors, IgnoredKey, count_errors, name_of, path_of
from schemactl.kernel.stored import encodable
from schemactl.normalization.tally import LoadTime
from schemactl.schema.coercion import coerce
from schemactl.schema.contract import Entity, Mode
from schemactl.schema.types import DataType
from schemactl.type_systems.pydantic_models import as_model, extra_of, keys_of, variants_of

_EXTRA: Final = {Mode.EVOLVE: "allow", Mode.DISCARD_VALUE: "ignore"}
_LONGEST_VALUE: Final = 200
_ANY: Final = TypeAdapter[Any](Any)

Reason: TypeAlias = Mapping[str, Any]
"""An error as Pydantic describes it: ``type``, ``loc``, ``msg``, ``input``."""


class _SentModules(MetaPathFinder, SourceLoader):  # type: ignore[misc] # as importlib's own file loaders
    """Modules whose source came with a call: workers need not have their files."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        """Return the spec of a module that came with the call."""
        file = self._file(fullname)
        return spec_from_loader(fullname, self, is_package=file.endswith("__init__.py")) if file else None

    def get_filename(self, fullname: str) -> str:
        """Return the file of a module."""
        return self._file(fullname) or ""

    def get_data(self, path: str | bytes) -> bytes:
        """Return the source of a file."""
        return self._files[path.decode() if isinstance(path, bytes) else path]

    def _file(self, fullname: str) -> str | None:
        path = fullname.replace(".", "/")
        return next((file for file in (f"{path}/__init__.py", f"{path}.py") if file in self._files), None)


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model's name, and the source of its package by path (``app/models.py``); empty if workers have the module."""

    module: str
    name: str
    files: Mapping[str, bytes] = field(default_factory=dict)

    def load(self) -> type[BaseModel]:
        """Import the model on a worker, which may have another version of it from a call before."""
        digest = hashlib.sha256(repr((self.module, self.name, sorted(self.files.items()))).encode()).hexdigest()
        if digest not in _loaded:
            if self.files:
                top = self.module.partition(".")[0]
                for name in [name for name in sys.modules if name.partition(".")[0] == top]:
                    del sys.modules[name]
                sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _SentModules)]
                sys.meta_path.insert(0, _SentModules(self.files))
            _loaded[digest] = as_model(resolve_name(f"{self.module}:{self.name}"))
        return _loaded[digest]


_loaded: dict[str, type[BaseModel]] = {}


@dataclass(frozen=True, slots=True)
class ModelTask:
    """The task of validating documents.

    Attributes:
        columns: the treatment of keys that the model does not know.
        data_type: the treatment of values that the model rejects; ``evolve`` accepts all values.
        overrides_models: whether the call sets ``columns``, which then overrides all models within the model.
    """

    source: ModelSource
    columns: Mode
    data_type: Mode
    overrides_models: bool = False


@dataclass(frozen=True, slots=True)
class ModelError:
    """Why a model rejects a document.

    Attributes:
        loc: Pydantic's location of the error.
        entity, mode: the part of the contract that decides.
        path: the path in the document, such as ``$.items[0].qty``.
    """

    loc: tuple[str | int, ...]
    message: str
    kind: str
    value: Any
    entity: Entity
    mode: Mode
    path: str

    @property
    def name(self) -> str:
        """The field, equal for all elements of a list: ``items.qty``; empty for the whole document."""
        return name_of(self.loc)


@dataclass(frozen=True, slots=True)
class RejectedDocuments:
    """Documents of one table that a model rejects, and the numbers of their records in the file."""

    piece: Piece
    errors: Sequence[Sequence[ModelError]]
    file: str
    numbers: Sequence[int] = ()

    def field_errors(self) -> dict[tuple[str, str], FieldErrors]:
        """Return the errors by field and by contract mode (``data_type=freeze``)."""
        return count_errors(
            ((error.name, f"{error.entity}={error.mode}"), FieldErrors(1, position, error.message))
            for position, errors in zip(self.piece.positions, self.errors, strict=True)
            for error in errors
        )

    def describe(self, table: str, _types: Mapping[str, str], load: LoadTime) -> pa.RecordBatch:
        """Return a record for each error (``REJECTS_SCHEMA``), with the whole document as it is in the data."""
        texts = self.piece.texts
        if texts is None:
            texts = [coerce(document, DataType.JSON, DataType.TEXT).encode() for document in self.piece.documents]
        rejects = [
            {
                "load_id": load.id, "table_name": table, "column_name": ".".join(map(str, error.loc)) or None,
                "entity": str(error.entity), "mode": "discard_row", "expected": error.kind, "found": error.message,
                "value": _text(error.value), "path": error.path, "file": self.file, "line": number,
                "row": text.decode("utf-8", "replace"), "inserted_at": load.inserted_at,
            }
            for text, errors, number in zip(texts, self.errors, self.numbers, strict=True)
            for error in errors
        ]  # fmt: skip
        return pa.RecordBatch.from_pylist(rejects, schema=REJECTS_SCHEMA)


class Validator:
    """Validates the documents of one partition."""

    def __init__(self, task: ModelTask) -> None:
        model = task.source.load()
        self._task = task
        variants = variants_of(model)
        self._variants = None if variants is None else (variants.key, frozenset(variants.models))
        extra = _EXTRA.get(task.columns, "forbid")
        # A model with the same setting is not changed: its variants and inner models may have other settings.
        is_declared = not task.overrides_models and extra == (extra_of(model) or "ignore")
        self._extra: Any = None if is_declared else extra
        self._known = [key for _, key in _dumped_keys(model)]
        models = {"": model} if variants is None else variants.models
        self._keys = {value: keys_of(variant) for value, variant in models.items()}
        self._shared_keys = frozenset.intersection(*self._keys.values())
        self._one, self._all = TypeAdapter(model), TypeAdapter(list[model])  # type: ignore[valid-type]

    def sort(self, piece: Piece, dispatch: Dispatch | None) -> Iterator[Piece | RejectedDocuments]:
        """Yield for each table the documents as the model converts them, and the documents that it rejects."""
        if piece.texts is None:
            piece = self._without_nulls(piece)
        if self._task.data_type is Mode.EVOLVE:
            documents, errors = self._leave_be(piece.documents)
            documents = documents if piece.texts is not None else _documents(documents)
            models: Sequence[Any] = ()
        else:
            models, errors = self._validate(piece)
            documents = self._dumped(models)
        valid_indexes = [index for index in range(len(piece.documents)) if index not in errors]
        if valid_indexes:
            valid = replace(piece, texts=None, originals=piece.texts).taken(valid_indexes, ONE_TABLE)
            good = replace(valid, documents=documents, ignored=self._ignored(models, valid.documents))
            for table_piece in (good,) if dispatch is None else dispatch.sort(good):
                yield self._with_columns(table_piece, dispatch) if table_piece.columns else table_piece
        if errors:
            bad = piece.taken(list(errors), piece.table)
            errors_by_position = dict(zip(bad.positions, errors.values(), strict=True))
            for table_piece in (bad,) if dispatch is None else dispatch.sort(bad):
                described = [
                    [self._error(reason) for reason in errors_by_position[position]]
                    for position in table_piece.positions
                ]
                yield from self._by_variant(table_piece, described)

    def _ignored(self, models: Sequence[Any], documents: Sequence[Any]) -> Sequence[Sequence[IgnoredKey]]:
        """Return the keys of each document that its model ignores; empty if no document has such keys.

        ``models`` are the validated documents; empty if values are not validated (``data_type`` evolves).
        """
        if self._task.data_type is not Mode.EVOLVE:
            extra = self._extra
            if extra in ("allow", "forbid"):
                return ()
            ignored = [tuple(ignored_keys(*pair, extra)) for pair in zip(models, documents, strict=True)]
        elif self._task.columns is Mode.DISCARD_VALUE and self._known != ["root"]:
            model_keys = set(self._known)
            ignored = [
                tuple(
                    IgnoredKey((key,), value)
                    for key, value in document.items()
                    if key not in model_keys
                    if value is not None
                )
                if isinstance(document, dict)
                else ()
                for document in documents
            ]
        else:
            return ()
        return ignored if any(ignored) else ()

    def _keys_of(self, document: Any) -> frozenset[str]:
        """Return the keys that the model of a document knows."""
        value = "" if self._variants is None else str(value_at(document, (self._variants[0],)))
        return self._keys.get(value, self._shared_keys)

    def _without_nulls(self, piece: Piece) -> Piece:
        """Remove nulls in columns that a document's model lacks, because each row has all columns of the source."""
        columns = {name: column for name, column in piece.columns.items() if name not in self._shared_keys}
        for name, column in columns.items():
            for index in pc.indices_nonzero(column.is_null()).to_pylist():
                if name not in self._keys_of(piece.documents[index]):
                    del piece.documents[index][name]
        return replace(piece, columns=columns if self._task.columns is Mode.EVOLVE else {})

    def _with_columns(self, piece: Piece, dispatch: Dispatch | None) -> Piece:
        """Move values under keys that no model of a table has from documents to columns with the source's types."""
        model_keys, columns = self._keys_in(piece.table, dispatch), {}
        for name, column in piece.columns.items():
            if name in model_keys:
                continue
            has_key = [type(row) is dict and name in row for row in piece.documents]
            for row_with_key in compress(piece.documents, has_key):
                del row_with_key[name]
            columns[name] = (
                column if all(has_key) else pc.if_else(pa.array(has_key), column, pa.scalar(None, column.type))
            )
        return replace(piece, columns=columns)

    def _keys_in(self, table: str | None, dispatch: Dispatch | None) -> frozenset[str]:
        """Return the keys that models of the documents of a table know."""
        key_sets = list(self._keys.values())
        if self._variants is not None and dispatch is not None and dispatch.path == (self._variants[0],):
            key_sets = [keys for value, keys in self._keys.items() if dispatch.names.get(value, value) == table]
        return frozenset().union(*key_sets)

    def _by_variant(self, piece: Piece, errors: list[list[ModelError]]) -> Iterator[RejectedDocuments]:
        """Yield rejected documents; documents that match no variant of a union belong to no table."""
        groups = group_by(range(len(piece.documents)), lambda index: self._has_table(piece.documents[index]))
        for has_table, indexes in groups.items():
            table = piece.table if has_table else None
            rejected = piece.taken(indexes, table)
            yield RejectedDocuments(rejected, [errors[index] for index in indexes], rejected.positions.file)

    def _has_table(self, document: Any) -> bool:
        return self._variants is None or str(value_at(document, (self._variants[0],))) in self._variants[1]

    def _validate(self, piece: Piece) -> tuple[list[Any], dict[int, list[Reason]]]:
        """Return valid documents as models, and the errors of invalid documents by index."""
        errors: dict[int, list[Reason]] = {}
        indexes = list(range(len(piece.documents)))
        while indexes:
            try:
                if piece.texts is None:
                    models = self._all.validate_python([piece.documents[index] for index in indexes], extra=self._extra)
                else:
                    joined = b"[" + b",".join([piece.texts[index] for index in indexes]) + b"]"
                    models = self._all.validate_json(joined, extra=self._extra)
                break
            except ValidationError as error:
                reasons = [reason for reason in error.errors(include_url=False) if reason["loc"]]
                if not reasons:
                    models, indexes = self._validate_each(piece, indexes, errors)
                    break
                for reason in reasons:
                    errors.setdefault(indexes[int(reason["loc"][0])], []).append({**reason, "loc": reason["loc"][1:]})
                indexes = [index for index in indexes if index not in errors]
            except Exception:  # a validator of the model may raise anything
                models, indexes = self._validate_each(piece, indexes, errors)
                break
        else:
            models = []
        return models, dict(sorted(errors.items()))

    def _validate_each(
        self, piece: Piece, indexes: Sequence[int], errors: dict[int, list[Reason]]
    ) -> tuple[list[Any], list[int]]:
        models, valid_indexes = [], []
        for index in indexes:
            try:
                models.append(self._one.validate_python(piece.documents[index], extra=self._extra))
                valid_indexes.append(index)
            except ValidationError as error:
                errors[index] = list(error.errors(include_url=False))
            except Exception as error:  # as above: the document is rejected with the reason
                message = f"{type(error).__name__}: {error}"
                errors[index] = [{"type": "value_error", "loc": (), "msg": message, "input": piece.documents[index]}]
        return models, valid_indexes

    def _dumped(self, models: list[Any]) -> list[Any]:
        """Return models as documents of JSON."""
        documents = self._all.dump_python(models, by_alias=True, warnings=False)
        if self._extra == "allow":
            for model, document in zip(models, documents, strict=True):
                _add_extra(model, document)
        return _documents(documents)

    def _leave_be(self, documents: Sequence[Any]) -> tuple[list[Any], dict[int, list[Reason]]]:
        """Return documents with the keys of the model and any values (``data_type`` evolves)."""
        kept_documents: list[Any] = []
        errors: dict[int, list[Reason]] = {}
        for index, document in enumerate(documents):
            if self._known == ["root"] or not isinstance(document, dict):
                kept_documents.append(document)
                continue
            unknown = [key for key in document if key not in self._known]
            if unknown and self._task.columns in (Mode.FREEZE, Mode.DISCARD_ROW):
                errors[index] = [
                    {"type": "extra_forbidden", "loc": (key,), "msg": "Extra inputs are not permitted", "input": value}
                    for key, value in document.items()
                    if key in unknown
                ]
                continue
            model_values = {key: document.get(key) for key in self._known}
            kept_documents.append(
                model_values if self._task.columns is Mode.DISCARD_VALUE else {**model_values, **document}
            )
        return kept_documents, errors

    def _error(self, reason: Reason) -> ModelError:
        is_extra = reason["type"] == "extra_forbidden"
        entity, mode = (Entity.COLUMNS, self._task.columns) if is_extra else (Entity.DATA_TYPE, self._task.data_type)
        if is_extra and mode in _EXTRA:  # the model permits the key; a variant or an inner model forbids it
            mode = Mode.FREEZE
        loc = reason["loc"]
        # A union puts the variant's name before the place.
        steps = loc[1:] if self._variants and loc and loc[0] in self._variants[1] else loc
        return ModelError(loc, reason["msg"], reason["type"], reason.get("input"), entity, mode, path_of(steps))


def _documents(values: list[Any]) -> list[Any]:
    """Return values of Python as documents of JSON."""
    try:
        dumped = orjson.dumps(values, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # an integer past 64 bits, a time with a zone, half of a surrogate pair
        return cast(list[Any], json.loads(encodable(json.dumps(values, default=_plain, ensure_ascii=False))))
    documents: list[Any] = orjson.loads(dumped)
    return _restore_floats(documents, values) if b"null" in dumped else documents


def _add_extra(model: Any, dumped: Any) -> None:
    """Add the keys that a model does not know to its dump, at all levels."""
    if isinstance(model, RootModel):
        _add_extra(model.root, dumped)
    elif isinstance(model, BaseModel) and isinstance(dumped, dict):
        values = vars(model)
        for name, key in _dumped_keys(type(model)):
            if key in dumped and isinstance(value := values.get(name), BaseModel | list | tuple | dict):
                _add_extra(value, dumped[key])
        for key, value in (model.__pydantic_extra__ or {}).items():
            dumped.setdefault(key, value)
    elif isinstance(model, list | tuple) and isinstance(dumped, list | tuple):
        for inner, inner_dumped in zip(model, dumped, strict=False):
            _add_extra(inner, inner_dumped)
    elif isinstance(model, dict) and isinstance(dumped, dict):
        for key, inner in model.items():
            _add_extra(inner, dumped.get(key))


@cache
def _dumped_keys(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a model with the keys that they are dumped under."""
    return tuple((name, field.serialization_alias or field.alias or name) for name, field in model.model_fields.items())


def _restore_floats(document: Any, source: Any) -> Any:
    """Return a document with the infinities and NaN of its source, which orjson dumps as null."""
    if document is None:
        return source if isinstance(source, float) else None
    if isinstance(document, dict) and isinstance(source, dict):
        for key, value in zip(document, source.values(), strict=False):
            if (dumped := document[key]) is None or type(dumped) in (dict, list):
                document[key] = _restore_floats(dumped, value)
    elif isinstance(document, list) and isinstance(source, Iterable):
        document[:] = map(_restore_floats, document, source)
    return document


def _plain(value: Any) -> Any:
    """Return a Python value as a JSON value that the column's type converts back."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, date | time) else _ANY.dump_python(value, mode="json")


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)[:_LONGEST_VALUE]
