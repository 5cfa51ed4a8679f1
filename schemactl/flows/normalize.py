"""``schemactl normalize``: sources -> (infer's walk) -> plan -> tables -> destination.

``normalize_call`` checks what was asked for, ``normalize_load`` makes the rows and hands them over.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.errors import InputError
from schemactl.flows.evidence import check_bad_records, check_documents
from schemactl.flows.normalize_call import ROWS, NormalizeRequest, prepare
from schemactl.flows.normalize_load import Data, load
from schemactl.flows.noted_warnings import noted_warnings
from schemactl.flows.packing import make_rows
from schemactl.flows.progress import Progress
from schemactl.flows.request import OpenSession
from schemactl.flows.schemas import open_schemas
from schemactl.flows.tables import dispatched
from schemactl.inference.sample import parse_sample
from schemactl.normalization.report import NormalizeReport
from schemactl.store.own_folder import own_folder

if TYPE_CHECKING:
    from schemactl.engine.session.settings import SparkOptions


def normalize(
    request: NormalizeRequest, progress: Progress | None = None, open_session: OpenSession | None = None
) -> NormalizeReport:
    """Load the sources' rows, or say what speaks against it.

    Args:
        request: what was asked for.
        progress: called for each phase.
        open_session: for those who have a session already; None to open one.

    Raises:
        InputError: the call is wrong, or a source or the schema cannot be read.
        EngineError: Spark failed.
        DestinationError: the destination failed; ``Loader.load`` says what it holds then.
    """
    with noted_warnings() as noted:
        report = _normalize(request, progress or (lambda *_: None), open_session)
    return replace(report, warnings=tuple(noted.values()))


def _normalize(request: NormalizeRequest, progress: Progress, open_session: OpenSession | None) -> NormalizeReport:
    call = prepare(request)
    if isinstance(call, NormalizeReport):
        return call
    from schemactl.engine import session
    from schemactl.engine.package import find_records
    from schemactl.engine.scan import scan_inputs
    from schemactl.engine.session.settings import SparkOptions

    options = request.inference.spark or SparkOptions()
    with _staging(request.staging, options) as staging:
        progress("starting Spark", None)
        opened = open_session or partial(session.open_session, progress=progress)
        with opened(_beside(options, request.staging, staging)) as spark:
            is_known = open_schemas(call.folder, request.inference.name).schema is not None
            found: list[Data] = []
            for part in call.parts:
                full, reading = parse_sample("full"), part.request.reading
                scan = scan_inputs(spark, part.inputs, full, progress, counts_typed=is_known, options=reading)
                check_bad_records(scan, request.inference.on_bad_record)
                check_documents(part.request.sources, scan.files)
                make = partial(make_rows, spark, scan, load=call.load, progress=progress)
                find = partial(find_records, spark, scan)
                found += [
                    Data(each.request, each.evidence, each.tables, make, find, each.typing, each.rejected)
                    for each in dispatched(part.request, scan, call.before)
                ]
            return load(call, found, staging, progress)


@contextmanager
def _staging(stated: Path | None, spark: SparkOptions) -> Iterator[Path]:
    """Hand out a folder for rows while they are made; it is removed at the end, after a kill by the next command.

    Raises:
        InputError: it cannot be made, or a cluster would not reach it.
    """
    if stated is None and _is_far(spark):
        hint = "name a folder that all its machines reach: `--staging DIR`"
        raise InputError("a cluster does not reach this machine's temporary folder", hint=hint)
    try:
        if stated is not None:
            stated.mkdir(parents=True, exist_ok=True)
        made = ExitStack()
        # A driver that was started before holds the lock of its own folder alone: after a kill it may still write rows.
        above = spark.begun.launch.folder if stated is None and spark.begun is not None else stated
        folder = made.enter_context(own_folder(ROWS, above))
    except OSError as error:
        raise InputError(f"cannot write to `{stated or tempfile.gettempdir()}`: {error.strerror or error}") from error
    with made:
        yield folder


def _beside(spark: SparkOptions, stated: Path | None, staging: Path) -> SparkOptions:
    """Return options that keep Spark's own files in a stated staging folder too: documents wait in them to be rows.

    Not those of a Spark that outlives the command and its staging folder.
    """
    if stated is None or spark.keep is not None or _is_far(spark):
        return spark
    return replace(spark, conf={"spark.local.dir": str((staging / "spark").absolute()), **spark.conf})


def _is_far(spark: SparkOptions) -> bool:
    from schemactl.engine.session.settings import DEFAULT_MASTER, local_cores

    master = spark.conf.get("spark.master") or spark.master or DEFAULT_MASTER
    return spark.remote is not None or local_cores(master) is None
