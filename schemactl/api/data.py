"""Infers schemas from data and loads data, by the flows of the commands.

Data is files, documents in memory, or a data frame. Documents are looked at in this process; an engine reads the rest.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from schemactl.api.builder import WriteDisposition
from schemactl.api.choices import check_choice
from schemactl.api.reports import InferenceReport, NormalizeReport
from schemactl.errors import InputError, Problem, SchemactlError, hinting_at_extras
from schemactl.flows.backlog import LoadLimits
from schemactl.flows.infer import infer as infer_sources
from schemactl.flows.infer import infer_documents
from schemactl.flows.loaded_files import Changed
from schemactl.flows.models import find_model
from schemactl.flows.normalize import NormalizeRequest
from schemactl.flows.normalize import normalize as load_sources
from schemactl.flows.promotion import DEFAULT_MAX_ROWS, PromoteLocks, PromotionOptions
from schemactl.flows.request import InferRequest, dispatch_by
from schemactl.flows.schemas import open_schemas
from schemactl.flows.typing import find_typing
from schemactl.inference.evidence import Position, too_deep
from schemactl.schema.hints import Hints, only_root, parse_column
from schemactl.schema.record_selection import RecordSelection, parse_selection, stored_selection
from schemactl.store.folder import SchemasFolder, SchemasPlace

if TYPE_CHECKING:
    import pyarrow as pa

    from schemactl.engine.choice import EngineOptions, OpenEngine
    from schemactl.engine.input import Input
    from schemactl.engine.protocol import Engine
    from schemactl.progress import Progress

Document: TypeAlias = Mapping[str, Any]
"""A record as a parser of JSON returns it."""


EngineName: TypeAlias = Literal["spark", "local", "auto"]
TypingErrors: TypeAlias = Literal["column", "reject", "fail"]
ChangedFiles: TypeAlias = Literal["load", "skip", "fail"]
PromoteLocksName: TypeAlias = Literal["wait", "fail"]


@runtime_checkable
class ArrowStream(Protocol):
    """A table that hands its columns over as Arrow does: of pandas, Polars, DuckDB, pyarrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@runtime_checkable
class SparkDataFrame(Protocol):
    """A DataFrame of PySpark, classic or of Spark Connect."""

    @property
    def sparkSession(self) -> Any: ...

    def createOrReplaceGlobalTempView(self, name: str) -> None: ...


_Kind: TypeAlias = "tuple[str, ...] | _Documents | ArrowStream | SparkDataFrame"
Data: TypeAlias = str | Path | Iterable[str | Path] | Document | Iterable[Document] | ArrowStream | SparkDataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """The Spark that reads data, as in the commands' options; a DataFrame is read in its own session.

    Attributes:
        session: an open SparkSession; it stays open and keeps its settings. None for this thread's active session if no
            other attribute is set, or for a new session.
        master: ``local[*]``, ``spark://HOST:PORT``, ``yarn`` ...; None for this machine.
        remote: a Spark Connect server, ``sc://HOST:PORT``.
        conf: Spark settings.
    """

    session: Any = None
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] | None = None


@hinting_at_extras()
def infer(
    data: Data,
    name: str,
    *,
    table: str | None = None,
    contract: str | None = None,
    columns: Sequence[str] = (),
    write_disposition: WriteDisposition | None = None,
    table_by: str | None = None,
    dispatch: Mapping[str, str] | None = None,
    model: str | type | None = None,
    typing: str | Path | None = None,
    typing_errors: TypingErrors | None = None,
    null_values: Sequence[str] = (),
    records: str | None = None,
    keep: Sequence[str] = (),
    sample: str = "full",
    dry_run: bool = False,
    schemas: SchemasPlace = "schemas",
    engine: EngineName | None = None,
    spark: SparkSettings | None = None,
) -> InferenceReport:
    """Infer the schema of data and save it, as ``schemactl infer`` does; ``report.schema`` is the schema.

    If a contract forbids changes, they are in ``report.violations`` and nothing is written.

    Args:
        data: files, folders, patterns or addresses, one or more documents, or a data frame of pandas, Polars, PySpark
            ...
        name: the schema's name.
        table: the root table; None for the schema's only root table, or for a table named after the file or the schema.
        contract: the changes that data can make, as in ``--contract``; overrides the schema's contract.
        columns: types and hints that override inference: ``id:bigint,primary_key``.
        write_disposition: the write disposition of the root table.
        table_by: a field that names the root table of each record, ``type`` or ``meta.kind``; records without it go to
            ``table``.
        dispatch: table names by values of ``table_by``, if they differ from the value.
        model: a Pydantic model that declares the columns and validates the data, or ``MODULE:CLASS``. Workers import
            its module from source, so a model of a notebook has to move to a file.
        typing: an Arc schema file, or the name of a schema imported from Arc; it types string columns.
        typing_errors: what to do with rows whose strings cannot be typed, as in ``--typing-errors``; None loads them
            with nulls if any string of the column can be typed.
        null_values: strings to read as null in CSV, TSV and XML.
        records: the path of the records inside documents, ``data`` or ``pages[*].data``; ``$`` for whole documents.
            None for the path saved in the schema.
        keep: keys to copy from the document to its records, ``page`` or ``number=page``.
        sample: how much data to read: ``full``, ``10%`` or a number of records; documents in memory are all read.
        dry_run: whether to write nothing.
        schemas: the folder of ``import/`` and ``export/``, or a ``SchemasFolder``.
        engine: the engine that reads the data: ``spark``, ``local`` (processes of this machine) or ``auto`` (this
            machine for up to 128 MB of files); None for Spark if it is installed.
        spark: the Spark that reads the data; documents need Spark only for ``table_by``, ``model`` and ``typing``.

    Raises:
        InputError: the call is wrong, or the data or the schema cannot be read.
        EngineError: Spark failed.
    """
    request = InferRequest(
        sources=(),
        name=name,
        table=table,
        schemas=schemas,
        sample=sample,
        contract=contract,
        hints=_hints(columns, write_disposition),
        is_check=dry_run,
        null_values=tuple(null_values),
        selection=_selection(records, keep),
    )
    request = _with_row_options(request, table_by, dispatch, model, typing, typing_errors)
    kind = _kind_of(data)
    needs_engine = request.dispatch or request.model or request.typing or _selects_records(request)
    if isinstance(kind, _Documents) and not needs_engine:
        request = replace(request, sources=(_MEMORY,), table=_table_of(request))
        documents = ((Position(_MEMORY, number), document) for number, document in kind.checked())
        return InferenceReport.of(infer_documents(request, documents))
    with _readable(kind, request, engine, spark) as (readable, open_engine):
        return InferenceReport.of(infer_sources(readable, open_engine=open_engine))


@hinting_at_extras()
def normalize(
    data: Data,
    name: str,
    to: str,
    *,
    table: str | None = None,
    contract: str | None = None,
    columns: Sequence[str] = (),
    write_disposition: WriteDisposition | None = None,
    table_by: str | None = None,
    dispatch: Mapping[str, str] | None = None,
    model: str | type | None = None,
    typing: str | Path | None = None,
    typing_errors: TypingErrors | None = None,
    null_values: Sequence[str] = (),
    records: str | None = None,
    keep: Sequence[str] = (),
    load_id: str | None = None,
    new_only: bool = False,
    changed: ChangedFiles | None = None,
    max_files: int | None = None,
    max_bytes: int | None = None,
    promote_max_rows: int = DEFAULT_MAX_ROWS,
    promote_locks: PromoteLocksName = "wait",
    staging: str | Path | None = None,
    schemas: SchemasPlace = "schemas",
    engine: EngineName | None = None,
    spark: SparkSettings | None = None,
) -> NormalizeReport:
    """Load data into a destination, all or nothing, as ``schemactl normalize`` does.

    If nothing was loaded, ``report.stops`` says why.

    Args:
        data: as in ``infer``.
        name: the schema's name.
        to: the destination's address.
        table: as in ``infer``.
        contract: as in ``infer``.
        columns: as in ``infer``.
        write_disposition: as in ``infer``.
        table_by: as in ``infer``.
        dispatch: as in ``infer``.
        model: as in ``infer``.
        typing: as in ``infer``.
        typing_errors: as in ``infer``.
        null_values: as in ``infer``.
        records: as in ``infer``.
        keep: as in ``infer``.
        load_id: the load ID; an existing load is not repeated. None for an ID made from the time.
        new_only: whether to skip files that were loaded before; implied by the next three.
        changed: what to do with loaded files that have changed: ``load``, ``skip`` or ``fail``; None to load them into
            tables that merge by a key, and to fail for other tables.
        max_files: the maximum number of files in one load; a call may make several loads, the oldest files first.
        max_bytes: the maximum size of one load, in bytes; as ``max_files``.
        promote_max_rows: the maximum number of stored rows that a load rewrites to widen a column.
        promote_locks: ``wait`` for other sessions that use such a table, or ``fail``.
        staging: a folder for rows before the load; all machines of a cluster must reach it.
        schemas: the folder of ``import/`` and ``export/``, or a ``SchemasFolder``.
        engine: as in ``infer``.
        spark: the Spark that reads the data.

    Raises:
        InputError: the call is wrong, or the data or the schema cannot be read.
        EngineError: Spark failed.
        DestinationError: the destination failed.
    """
    if changed is not None:
        check_choice("changed", changed, get_args(ChangedFiles))
    check_choice("promote_locks", promote_locks, get_args(PromoteLocksName))
    request = InferRequest((), name, table, schemas, contract=contract, null_values=tuple(null_values))
    request = replace(request, hints=_hints(columns, write_disposition), selection=_selection(records, keep))
    request = _with_row_options(request, table_by, dispatch, model, typing, typing_errors)
    with _readable(_kind_of(data), request, engine, spark) as (readable, open_engine):
        call = NormalizeRequest(
            readable,
            to,
            load_id=load_id,
            new_only=new_only,
            changed=Changed(changed) if changed is not None else None,
            limits=LoadLimits(max_files, max_bytes),
            staging=None if staging is None else Path(staging),
            promotion=PromotionOptions(promote_max_rows, PromoteLocks(promote_locks)),
        )
        return NormalizeReport.of(load_sources(call, open_engine=open_engine))


def _with_row_options(
    request: InferRequest,
    table_by: str | None,
    dispatch: Mapping[str, str] | None,
    model: str | type | None,
    typing: str | Path | None,
    typing_errors: TypingErrors | None,
) -> InferRequest:
    """Return the request with the model, the typing and the dispatch field of a call."""
    if typing_errors is not None:
        check_choice("typing_errors", typing_errors, get_args(TypingErrors))
    if isinstance(model, type):
        model = f"{model.__module__}:{model.__qualname__}"
    data_model = find_model(model, request.contract) if model else None
    folder = SchemasFolder.at(request.schemas)
    return replace(
        request,
        dispatch=dispatch_by(table_by, dispatch or {}, request.table, data_model.key if data_model else None),
        model=data_model,
        typing=find_typing(str(typing), typing_errors, folder) if typing else None,
    )


def _selection(records: str | None, keep: Sequence[str]) -> RecordSelection | None:
    """Return the record selection of a call; None if it does not set `records`."""
    if records is None and keep:
        raise InputError("`keep` needs the path of the records", hint="pass `records`, for example `data`")
    return None if records is None else parse_selection(records, keep)


def _selects_records(request: InferRequest) -> bool:
    """Return whether records are inside of documents, by the call or the schema."""
    if request.selection is not None:
        return not request.selection.is_whole
    stored = open_schemas(SchemasFolder.at(request.schemas), request.name).schema
    return stored is not None and stored_selection(stored.settings) is not None


_MEMORY = "documents"
"""How messages call documents in memory."""

_FRAME = "the data frame"
"""How messages call a data frame."""


@dataclass(frozen=True, slots=True)
class _Documents:
    documents: Iterable[Any]

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield the documents as JSON, numbered from 1."""
        for number, document in enumerate(self.documents, 1):
            try:
                yield number, json.dumps(document, allow_nan=False, default=_as_dict)
            except RecursionError as error:
                raise too_deep(Position(_MEMORY, number)) from error
            except (TypeError, ValueError) as error:
                hint = "convert it to text, or pass a data frame, whose columns have types"
                message = f"document {number} contains a value that JSON does not support: {error}"
                raise InputError(message, hint=hint) from error

    def checked(self) -> Iterator[tuple[int, Any]]:
        """Yield the documents as they are read from JSON, numbered from 1."""
        for number, text in self.texts():
            try:
                document = json.loads(text)
            except RecursionError as error:
                raise too_deep(Position(_MEMORY, number)) from error
            yield number, document


def _as_dict(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type `{type(value).__name__}`")


def _kind_of(data: Data) -> _Kind:
    match data:
        case str() | Path():
            return (str(data),)
        case SparkDataFrame() | ArrowStream():
            return data
        case Mapping():
            return _Documents((data,))
    items = iter(data)
    first_item = next(items, None)
    if isinstance(first_item, (str, Path)):
        return (str(first_item), *(str(source) for source in items))
    return _Documents(chain(() if first_item is None else (first_item,), items))


@contextmanager
def _readable(
    kind: _Kind, request: InferRequest, engine: EngineName | None, spark: SparkSettings | None
) -> Iterator[tuple[InferRequest, OpenEngine | None]]:
    """Yield the request with sources that an engine reads, and the engine's opener; None for the default one."""
    from schemactl.engine import choice
    from schemactl.engine.spark.session import SparkOptions
    from schemactl.engine.spark.session.opening import view_of

    settings = spark or SparkSettings()
    if engine is not None:
        check_choice("engine", engine, get_args(EngineName))
    spark_options = SparkOptions(settings.master, settings.remote, settings.conf or {})
    options = choice.EngineOptions(choice.EngineName(engine) if engine else None, spark_options)
    request = replace(request, engine=options)
    session, session_origin = settings.session, "the session of `SparkSettings`"
    with ExitStack() as stack:
        if isinstance(kind, tuple):
            request = replace(request, sources=kind)
        else:
            if request.dispatch is None:
                request = replace(request, table=_table_of(request))
            if isinstance(kind, SparkDataFrame):
                session, session_origin = kind.sparkSession, "the session of the DataFrame"
                source = stack.enter_context(view_of(kind, f"schemactl_{request.name}"))
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="schemactl-")))
                file = _write(kind, folder / "data")
                stack.enter_context(_renaming_in_errors(file, _MEMORY if isinstance(kind, _Documents) else _FRAME))
                source = str(file)
            request = replace(request, sources=(source,))
        if session is not None:
            yield request, partial(_open_sibling_engine, session, session_origin)
        else:
            yield request, None if options.spark_demand else _open_engine


@contextmanager
def _open_engine(options: EngineOptions, inputs: Sequence[Input], progress: Progress) -> Iterator[Engine]:
    """Open the engine that reads the inputs; if that is Spark, use the session that is active in this thread."""
    from schemactl.engine import choice
    from schemactl.engine.spark.session.opening import active_session

    # Without PySpark's modules no session is open, and importing them ahead of Java would delay its start.
    is_spark = choice.choose_engine(options, inputs).name is choice.EngineName.SPARK and "pyspark.sql" in sys.modules
    session = active_session() if is_spark else None
    if session is None:
        opened = choice.open_engine(options, inputs, progress)
    else:
        opened = _open_sibling_engine(session, "the active Spark session")
    with opened as engine:
        yield engine


@contextmanager
def _open_sibling_engine(session: Any, session_origin: str, *_: Any) -> Iterator[Engine]:
    """Open an engine in the Spark of a session that is open."""
    from schemactl.engine.spark.engine import SparkEngine
    from schemactl.engine.spark.session.opening import open_sibling_session

    with open_sibling_session(session) as spark:
        yield SparkEngine(spark, session_origin)


@contextmanager
def _renaming_in_errors(file: Path, name: str) -> Iterator[None]:
    """Let errors within the block call a temporary file by a name that the caller knows."""
    # A path may be an address, or relative to the working folder; the folder's name is like no other one.
    path = re.compile(rf"`?[^\s`'\"(]*{re.escape(f'{file.parent.name}/{file.name}')}`?")

    def renamed(problem: Problem) -> Problem:
        location = problem.at and replace(problem.at, path=path.sub(name, problem.at.path))
        return Problem(path.sub(name, problem.message), location, problem.hint and path.sub(name, problem.hint))

    try:
        yield
    except SchemactlError as error:
        problem = renamed(Problem(error.message, error.at, error.hint))
        error.message, error.at, error.hint = problem.message, problem.at, problem.hint
        error.problems = tuple(map(renamed, error.problems))
        raise


def _write(data: _Documents | ArrowStream, path: Path) -> Path:
    """Write data in memory to a file next to ``path``, and return its path."""
    if isinstance(data, _Documents):
        file = path.with_suffix(".jsonl")
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines(f"{text}\n" for _, text in data.texts())
        return file
    file = path.with_suffix(".parquet")
    _write_frame(data, file)
    return file


def _write_frame(frame: ArrowStream, file: Path) -> None:
    """Write a data frame to a file of Parquet."""
    import pyarrow as pa

    try:
        with pa.RecordBatchReader.from_stream(frame) as batches:
            _write_batches(batches, file)
    except (SchemactlError, ModuleNotFoundError, OSError, MemoryError):
        raise
    except Exception as error:  # pandas, Polars, DuckDB and pyarrow raise errors without a common class
        # pyarrow names the column in a second argument.
        reason = "; ".join(str(argument).partition("\n")[0] for argument in error.args)
        message = f"{_FRAME} cannot be read: {reason or type(error).__name__}"
        is_of_types = isinstance(error, (ValueError, TypeError, pa.ArrowException))
        hint = "use unique names and one type per column: `frame.astype({COLUMN: str})`"
        raise InputError(message, hint=hint if is_of_types else None) from error


def _write_batches(batches: pa.RecordBatchReader, file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # pandas writes an index without a name as a column, which the user did not ask for.
    fields = [field for field in batches.schema if not re.fullmatch(r"__index_level_\d+__", field.name)]
    names = [field.name for field in fields]
    if duplicates := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"{_FRAME} has several columns `{duplicates[0]}`", hint="use a unique name for each column")
    for field in fields:
        try:
            pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
        except pa.ArrowNotImplementedError as error:
            message = f"the column `{field.name}` of {_FRAME} has a type that Parquet does not support: `{field.type}`"
            raise InputError(message, hint="convert it, for example to text") from error
    schema = pa.schema(fields)
    with pq.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch.select(names).cast(schema))


def _table_of(request: InferRequest) -> str:
    """Return the root table that a call names; the schema's only root table, or its name, for data without a name."""
    if request.table is not None:
        return request.table
    stored = open_schemas(SchemasFolder.at(request.schemas), request.name).schema
    return (only_root(stored) if stored else None) or request.name


def _hints(columns: Sequence[str], write_disposition: WriteDisposition | None) -> Hints | None:
    if write_disposition is not None:
        check_choice("write_disposition", write_disposition, get_args(WriteDisposition))
    elif not columns:
        return None
    return Hints(columns=tuple(map(parse_column, columns)), write_disposition=write_disposition)
