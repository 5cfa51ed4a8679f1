"""Chooses the engine that reads data, Spark or this machine's processes, and opens it.

By default, Spark reads data if it is installed. ``auto`` chooses this machine for data that fits into one Spark
partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

from schemactl.engine.input import Input, compression_of
from schemactl.engine.input_formats import LOCAL_FORMATS
from schemactl.engine.inputs import IsWanted, find_inputs
from schemactl.engine.protocol import Engine
from schemactl.engine.spark.options import SparkOptions, is_on_this_machine
from schemactl.engine.store_listing import StoreError
from schemactl.errors import InputError
from schemactl.inference.report import DataReading
from schemactl.installation import install_command
from schemactl.progress import Progress, size_text

AUTO_BYTES: Final = 128 << 20
"""The bytes that Spark reads as one partition (``spark.sql.files.maxPartitionBytes``)."""

_MUCH_FOR_ONE_MACHINE: Final = 10 << 30

_AUTO_UNPACKED_TIMES: Final = 4
"""How many bytes a compressed one counts for."""

_PACKAGES: Final[Mapping[str, tuple[str, str]]] = {"local": ("pyarrow", "240 MB"), "spark": ("pyspark", "1 GB")}
"""The package that an engine needs, and the size of its extra with all that it needs."""


class EngineName(StrEnum):
    """The engines by their names in options."""

    SPARK = "spark"
    LOCAL = "local"
    AUTO = "auto"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The user's choice of an engine.

    Attributes:
        name: the choice; None for Spark if it is installed, or else this machine.
        spark: the Spark options.
        needs_spark: why only Spark can do this, for people: ``--to spark:...``; empty if any engine can.
        owns_process: whether nothing but this command runs in this process, so that pyarrow needs no pandas here.
    """

    name: EngineName | None = None
    spark: SparkOptions = field(default_factory=SparkOptions)
    needs_spark: str = ""
    owns_process: bool = False

    @property
    def spark_demand(self) -> str:
        """The first option that only Spark supports; empty without such an option."""
        options = {"--remote": self.spark.remote, "--master": self.spark.master, "--conf": self.spark.conf}
        return self.needs_spark or next((option for option, value in options.items() if value), "")

    def starts_spark(self) -> bool:
        """Return whether Spark reads the data in any case."""
        if self.name is EngineName.AUTO:
            return bool(self.spark_demand)
        return self.name is EngineName.SPARK or (self.name is None and _is_installed(EngineName.SPARK))

    def reaches_this_machine(self) -> bool:
        """Return whether all workers have this machine's files."""
        return not self.starts_spark() or is_on_this_machine(self.spark)

    def with_temporary_files(self, folder: Path) -> EngineOptions:
        """Return options that keep the engine's own temporary files in a folder too."""
        if not self.starts_spark() or not is_on_this_machine(self.spark):
            return self
        conf = {"spark.local.dir": str((folder / "spark").absolute()), **self.spark.conf}
        return replace(self, spark=replace(self.spark, conf=conf))

    @property
    def temporary_folder(self) -> Path | None:
        """The folder of a Java process that was started ahead of the session; None without such a process."""
        return None if self.spark.driver is None else self.spark.driver.temporary_folder


OpenEngine: TypeAlias = Callable[[EngineOptions, Sequence[Input], Progress], AbstractContextManager[Engine]]
"""Opens the engine for some inputs, as ``open_engine`` does."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that was chosen, and why, for people."""

    name: EngineName
    reason: str


def choose_engine(options: EngineOptions, inputs: Sequence[Input]) -> Choice:
    """Return the engine that reads the inputs."""
    demand = options.spark_demand
    match options.name:
        case EngineName.LOCAL if demand:
            raise InputError(f"`{demand}` needs Spark, not `--engine local`", hint="remove one of them")
        case EngineName.LOCAL | EngineName.SPARK:
            return Choice(options.name, f"`--engine {options.name}`")
        case None if demand or _is_installed(EngineName.SPARK):
            return Choice(EngineName.SPARK, demand or "Spark is installed")
        case None:
            return Choice(EngineName.LOCAL, "Spark is not installed")
        case EngineName.AUTO if demand:
            return Choice(EngineName.SPARK, demand)
        case EngineName.AUTO if not _is_installed(EngineName.SPARK):
            return Choice(EngineName.LOCAL, "Spark is not installed")
        case EngineName.AUTO:
            return _choose_by_data(inputs)


def _choose_by_data(inputs: Sequence[Input]) -> Choice:
    """Choose this machine for data that Spark would keep in one partition."""
    for file in inputs:
        if file.format not in LOCAL_FORMATS or not file.is_reachable:
            return Choice(EngineName.SPARK, f"only Spark reads `{file.path}`")
    size = counted_size(inputs)
    if size > AUTO_BYTES:
        return Choice(EngineName.SPARK, f"{size_text(size)} is more than one Spark partition (128 MiB)")
    return Choice(EngineName.LOCAL, f"{size_text(size)} fits one Spark partition (128 MiB)")


def find_engine_inputs(
    options: EngineOptions, sources: Sequence[str], input_format: str | None = None, is_wanted: IsWanted | None = None
) -> tuple[Input, ...]:
    """Return the inputs of a call (``inputs.find_inputs``).

    Spark lists object stores by itself, unless ``is_wanted`` chooses among the objects.
    """
    if options.starts_spark() and is_wanted is None:
        return find_inputs(sources, input_format)
    try:
        return find_inputs(sources, input_format, lists_stores=True, is_wanted=is_wanted)
    except StoreError:
        # Spark may have other credentials.
        if is_wanted is None and options.name is EngineName.AUTO and _is_installed(EngineName.SPARK):
            return find_inputs(sources, input_format)
        raise


def counted_size(inputs: Sequence[Input]) -> int:
    """Return the total size of files with a known size; compressed files count four times their size."""
    return sum(
        (file.stored_size() or 0) * (_AUTO_UNPACKED_TIMES if compression_of(file.path) else 1) for file in inputs
    )


def describe_reading(
    engine: Engine, options: EngineOptions, inputs: Sequence[Input], start_seconds: float, seconds: float
) -> DataReading:
    """Return how some inputs were read; the seconds count from the start of the engine."""
    reason = engine.session_origin or choose_engine(options, inputs).reason
    sizes = [file.stored_size() for file in inputs]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    return DataReading(engine.name, reason, total, round(start_seconds, 3), round(seconds, 3))


def hint_at_engine(reading: DataReading, options: EngineOptions, inputs: Sequence[Input]) -> str:
    """Return a hint at the engine that would have served the data better; empty if none would."""
    if reading.engine == EngineName.LOCAL:
        is_large = (reading.bytes or 0) > _MUCH_FOR_ONE_MACHINE and not _is_installed(EngineName.SPARK)
        return f"install Spark for data of this size: {install_command('spark')}" if is_large else ""
    if options.name is not None or options.spark_demand or _choose_by_data(inputs).name is not EngineName.LOCAL:
        return ""
    started = f"{reading.start_seconds:.1f} of {reading.seconds:.1f} s"
    return f'starting Spark took {started}; set `engine = "auto"` in the settings to read small data without Spark'


@contextmanager
def open_engine(options: EngineOptions, inputs: Sequence[Input], progress: Progress) -> Iterator[Engine]:
    """Open the engine that reads the inputs, and close it at the end of the block."""
    name = choose_engine(options, inputs).name
    check_installed(name)
    if name is EngineName.SPARK:
        from schemactl.engine.spark.engine import open_spark_engine

        with open_spark_engine(options.spark, progress) as spark_engine:
            yield spark_engine
    else:
        from schemactl.engine.local.engine import open_local_engine

        if options.owns_process:
            from schemactl.kernel.without_pandas import keep_pandas_out

            keep_pandas_out()
        with open_local_engine(inputs, progress) as local_engine:
            yield local_engine


def _is_installed(name: EngineName) -> bool:
    try:
        return find_spec(_PACKAGES[name][0]) is not None
    except ModuleNotFoundError:  # of an import hook
        return False


def check_installed(name: EngineName) -> None:
    """Refuse an engine that is not installed, with the commands that install one, and their sizes."""
    if _is_installed(name):
        return
    commands = {extra: f"{install_command(extra)} ({size})" for extra, (_, size) in _PACKAGES.items()}
    local, spark = commands["local"], commands["spark"]
    if name is EngineName.SPARK:
        raise InputError("Spark is not installed", hint=f"install it: {spark}; or read on this machine: {local}")
    raise InputError("no engine is installed that reads data", hint=f"for this machine: {local}; for Spark: {spark}")
