"""The engine of this machine: small data in this process, more of it in worker processes, one for each core."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

from schemactl.engine.input import COMPRESSIONS, Input, shown_path
from schemactl.engine.input_formats import LOCAL_FORMATS
from schemactl.engine.inputs import by_format
from schemactl.engine.local.batches import LocalRecords, TextDocuments
from schemactl.engine.local.columns import SPARK_HINT
from schemactl.engine.local.tasks import text_task
from schemactl.engine.local.workers import Workers, core_count
from schemactl.engine.parts import uncompressed_size
from schemactl.engine.protocol import Batch, Engine, RowPlaces
from schemactl.errors import EngineError, InputError, Location
from schemactl.kernel.files import UnreadableFileError
from schemactl.progress import Progress

_SMALL_BYTES: Final = 1 << 23
"""The bytes that the kernel reads in the time that it takes to start a worker."""

_TOO_LARGE_HINT: Final = "split the document: a list or a JSON Lines file can have any size"


@contextmanager
def open_local_engine(inputs: Sequence[Input], progress: Progress) -> Iterator[Engine]:
    """Open the engine, and end its processes at the end of the block; for much data they start at once."""
    workers = Workers(core_count())
    try:
        if sum(uncompressed_size(file) for file in inputs) > _SMALL_BYTES:
            workers.start()
        yield LocalEngine(workers, core_count(), progress)
    finally:
        workers.close()


class LocalEngine:
    """The processes of this machine as an engine (``engine.protocol.Engine``)."""

    name = "local"
    session_origin = ""

    def __init__(self, workers: Workers, cores: int, progress: Progress) -> None:
        self._workers = workers
        self._cores = cores
        self._progress = progress

    def read(self, inputs: Sequence[Input], null_values: Sequence[str] = ()) -> list[Batch]:
        for file in inputs:
            _check_readable(file)
        with _explained():
            batches = [
                batch
                for name, group in by_format(inputs).items()
                for batch in LOCAL_FORMATS[name].read(group, self._cores)
            ]
        if not null_values:
            return batches
        return [batch.with_null_values(null_values) if isinstance(batch, TextDocuments) else batch for batch in batches]

    def run(self, records: LocalRecords, module: str, function: str, /, **arguments: Any) -> list[Any]:
        tasks = chain.from_iterable(source.tasks() for source in records)
        total = sum(source.size for source in records)
        with _explained():
            if total <= _SMALL_BYTES or self._cores == 1:
                kernel_function = resolve_name(f"{module}:{function}")
                return [kernel_function(task.batches(), **arguments) for task in tasks]
            read = 0

            def count(size: int) -> None:
                nonlocal read
                read += size
                self._progress("", min(read / total, 1.0))

            return self._workers.run((module, function, arguments), tasks, count)

    def distribute(self, texts: Sequence[str]) -> LocalRecords:
        return tuple(map(text_task, texts))

    def explaining(self, _inputs: Sequence[Input]) -> AbstractContextManager[None]:
        """Do nothing: errors name the file that they are about."""
        return nullcontext()

    def write_superseded(self, places: RowPlaces, target: Path) -> bool:
        # Few loads need it, and its imports take as long as a small file.
        from schemactl.engine.local.superseded import write_superseded

        return write_superseded(places, target)


def _check_readable(file: Input) -> None:
    """Raise an error for inputs that only Spark can read."""
    location = Location(file.path)
    if file.format not in LOCAL_FORMATS:
        raise InputError(f"this machine does not read `{file.format}` without Spark", at=location, hint=SPARK_HINT)
    if not file.has_size:
        message = "this machine reads files, and objects of S3, Google Cloud Storage and Azure"
        raise InputError(message, at=location, hint=SPARK_HINT)
    if not file.is_reachable:
        suffix = next(ending for ending in COMPRESSIONS if file.path.endswith(ending))
        raise InputError(f"this machine does not unpack `{suffix}` without Spark", at=location, hint=SPARK_HINT)


@contextmanager
def _explained() -> Iterator[None]:
    """Translate exceptions of the kernel into errors for people."""
    try:
        yield
    except UnreadableFileError as error:
        address, reason = error.args[0].split(": ", 1)
        hint = _TOO_LARGE_HINT if reason.startswith(("a document has ", "document ")) else None
        if "nanosecond" in reason:  # timestamps of ORC before 1677 and after 2262, which pyarrow lacks
            hint = SPARK_HINT
        raise InputError(reason, at=Location(shown_path(address)), hint=hint) from error
    except MemoryError as error:
        hint = "split large records, or run fewer processes: `taskset -c 0 schemactl ...`"
        raise EngineError("the memory of this machine is full", hint=hint) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        hint = "name a folder on another disk: TMPDIR, or `--staging` of a load"
        raise EngineError("the disk with the rows of the load is full", hint=hint) from error
