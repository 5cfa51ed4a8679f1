"""Defines the options of commands as dataclasses: options of all commands, and options of several."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import typer

from schemactl.cli import completing
from schemactl.cli.declarations import CommandGroup, Group, Setting, SettingsTable, argument, flag, option
from schemactl.errors import InputError, nearest_or_all
from schemactl.store.sources import is_local

if TYPE_CHECKING:
    from schemactl.cli.settings import Surroundings
    from schemactl.engine.choice import EngineOptions
    from schemactl.engine.spark.options import SparkOptions
    from schemactl.flows.reader_sources import ReaderSource
    from schemactl.flows.request import InferRequest
    from schemactl.schema.hints import Hints
    from schemactl.schema.record_selection import RecordSelection
    from schemactl.store.folder import SchemasFolder


STDOUT: Final = "-"
"""Names standard output in place of a file."""

DEFAULT_LIMITS: Final = ("300", "4096")
"""The time (seconds) and memory (MB) limits of a review; a thousand tables need seconds and a few hundred MB."""


def ref(metavar: str, help: str, **more: Any) -> Any:
    """Declare an argument that is a REF, or several."""
    return argument(metavar, help, completes=complete_references, is_reference=True, **more)


def text_or_json(**more: Any) -> str:
    """Declare ``--format`` of a command whose result is text or JSON."""
    more = {"annotation": Literal["text", "json"], **more}
    return option("The output format.", Group.OUTPUT, Setting(), default="text", **more)


def output_file() -> str | None:
    """Declare ``--output``, where the result of a command may go to a file."""
    help = "Write the result to FILE, not to standard output."
    return option(help, Group.OUTPUT, metavar="FILE", short="-o", check=check_file_to_write)


def sql_dialect(used: str, default: str) -> str | None:
    """Declare ``--dialect``, the SQL dialect that is ``used`` to read or write, with its default."""
    help = f"{used}: the SQL dialect, such as `snowflake` or `mssql`. Default: {default}."
    return option(help, metavar="DIALECT", completes=completing.complete_dialects)


def check_file_to_write(path: str) -> None:
    """Raise InputError if a link leads the result file out of its repository."""
    from schemactl.store.links import check_file

    if path != STDOUT:
        check_file(Path(path))


def check_report(report: str) -> None:
    """Raise InputError if a ``--report`` cannot be parsed or written."""
    check_file_to_write(parse_report(report)[1])


def check_output(name: str) -> None:
    """Raise InputError if no review output has this name."""
    from schemactl.render.reviews import OUTPUTS

    outputs = ("text", *OUTPUTS)
    if name not in outputs:
        raise InputError(f"there is no output `{name}`", hint=nearest_or_all(name, outputs))


def parse_report(report: str) -> tuple[str, str]:
    """Return the format and the file of a ``--report``.

    >>> parse_report("sarif=review.sarif")
    ('sarif', 'review.sarif')
    """
    name, _, file = report.partition("=")
    if not name or not file:
        raise InputError(f"`--report {report}` must be FORMAT=FILE", hint="for example `--report sarif=review.sarif`")
    check_output(name)
    return name, file


def migration_folder() -> str:
    """Declare the folder of migrations that a command is about."""
    return argument("DIR", "The migrations folder.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The options of every command; they are also allowed before the command's name.

    Attributes:
        command_group: the group that lists the command in ``schemactl --help``; None for one that programs call.
    """

    command_group: ClassVar[CommandGroup | None] = CommandGroup.SCHEMAS

    schemas: str = option(
        "The folder that contains `import/` and `export/`.",
        Group.GLOBAL,
        Setting(is_path=True, found_by=("import", "export")),
        metavar="DIR",
        default="schemas",
    )
    import_schemas: str | None = option(
        "The folder of import files, instead of `import/` (dlt's `import_schema_path`).",
        Group.GLOBAL,
        Setting(is_path=True, gives_way_to="schemas"),
        metavar="DIR",
    )
    export_schemas: str | None = option(
        "The folder of export files, instead of `export/` (dlt's `export_schema_path`).",
        Group.GLOBAL,
        Setting(is_path=True, gives_way_to="schemas"),
        metavar="DIR",
    )
    format: str = text_or_json(annotation=str, metavar="FORMAT")
    naming_module: Sequence[str] = option(
        "Let schemas use this Python module as naming convention or normalizer. Repeatable.",
        Group.GLOBAL,
        Setting(in_file=False),
        metavar="MODULE",
        default=[],
    )
    quiet: bool = flag("Print only what needs attention.", Group.OUTPUT, Setting(), short="-q")
    verbose: bool = flag("Print all evidence and details.", Group.OUTPUT, Setting(), short="-v")
    debug: bool = flag("Print tracebacks and the Spark log.", Group.GLOBAL, Setting())
    color: Literal["auto", "always", "never"] = option("When to use colors.", Group.OUTPUT, Setting(), default="auto")

    @property
    def schemas_folder(self) -> SchemasFolder:
        """The folders of import and export files."""
        from schemactl.store.folder import SchemasFolder

        return SchemasFolder.at(self.schemas, self.import_schemas, self.export_schemas)

    def surround(self, read: Callable[[], Surroundings]) -> Surroundings:
        """Return the surroundings of the call, which decide the options that are not on the command line.

        ``read`` returns the settings of the working folder; a command that goes by other files does not call it.
        """
        return read()

    def limits(self) -> AbstractContextManager[None]:
        """Return a block within which the command has to end, and before it the reading of its settings."""
        return nullcontext()


def complete_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the schemas that begin so, of the folder that the command line or a settings file names."""
    from schemactl.cli.settings import Call, Surroundings, find_files, resolve
    from schemactl.schema.templates import is_name

    try:
        surroundings = Surroundings(os.environ, find_files(Path.cwd()))
        options = resolve(CommonOptions, Call(ctx.info_name or "", (ctx.params, ctx.find_root().params), surroundings))
    except InputError:
        # The command reports the error; completion stays silent.
        return []
    return completing.beginning(incomplete, filter(is_name, options.schemas_folder.names))


def complete_references(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the REFs that begin so: schemas of the folder, and branches and tags after ``git:``."""
    kind, colon, start = incomplete.partition(":")
    if colon and kind == "git":
        return [f"git:{name}" for name in completing.beginning(start, completing.revisions())]
    if colon and kind in ("import", "export"):
        return [f"{kind}:{name}" for name in complete_names(ctx, start)]
    return [*complete_names(ctx, incomplete), *completing.beginning(incomplete, ("git:", "import:", "export:"))]


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class FindingsOptions(CommonOptions):
    """The options of a command whose result has findings."""

    format: str = text_or_json(annotation=Literal["text", "json", "markdown", "github", "gitlab", "sarif", "junit"])
    report: Sequence[str] = option(
        "Also write the result to a file in this format. Repeatable.",
        Group.OUTPUT,
        metavar="FORMAT=FILE",
        default=[],
        check=check_report,
    )

    @property
    def formats(self) -> tuple[str, ...]:
        """All requested formats of the result."""
        return (self.format, *(parse_report(report)[0] for report in self.report))


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class ReviewOptions(CommonOptions):
    """The options of a command that reads files which anybody may have written: it ends within its time and memory."""

    timeout: str | None = option(
        "Stop with exit code 2 after this time; `0` for no limit. Default: 300.",
        setting=Setting(in_file=False),
        metavar="SECONDS",
    )
    max_memory: str | None = option(
        "Stop with exit code 2 above this memory (Linux); `0` for no limit. Default: 4096.",
        setting=Setting(in_file=False),
        metavar="MB",
    )

    def limits(self) -> AbstractContextManager[None]:
        """Return a block within which the command has to end."""
        seconds = read_seconds(self.timeout or self.default_limits[0], "--timeout")
        megabytes = read_count(self.max_memory or self.default_limits[1], "--max-memory", least=0)
        return _within(seconds, megabytes)

    @property
    def default_limits(self) -> tuple[str, str]:
        """The limits of the command in seconds and MB, unless the call sets them."""
        return DEFAULT_LIMITS


@contextmanager
def _within(seconds: float, megabytes: int) -> Iterator[None]:
    from schemactl.memory import memory_limit
    from schemactl.time_limit import time_limit

    hint = "raise the limit with `--timeout SECONDS`, or remove it with `--timeout 0`"
    too_long = partial(InputError, f"stopped after the time limit of {seconds:g} s", hint=hint)
    hint = "raise the limit with `--max-memory MB`, or remove it with `--max-memory 0`"
    too_large = partial(InputError, f"stopped at the memory limit of {megabytes:,} MB", hint=hint)
    with time_limit(seconds, too_long), memory_limit(megabytes << 20, too_large):
        yield


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class ReadersOptions(CommonOptions):
    """The options of a command that asks who reads tables."""

    readers: Sequence[SettingsTable] = option("", setting=Setting(in_file_only=True, is_top_level=True), default=[])
    reader_addresses: Sequence[str] = option(
        "Look here for readers of the tables: `sql:PATTERN`, `dbt:MANIFEST` or a database. After `?`: `dialect=`, "
        "`dataset=`, `database=`, `base=`, `complete=true`. Repeatable.",
        Group.INPUT,
        metavar="SOURCE",
        word="--readers",
        default=[],
    )

    def reader_sources(self) -> tuple[ReaderSource, ...]:
        """Return the sources of readers: first from the settings, then from the command line."""
        if not (self.readers or self.reader_addresses):
            return ()
        from schemactl.cli.reader_tables import parse_reader_tables, read_datasets
        from schemactl.flows.reader_sources import parse_reader_source

        datasets = read_datasets(self.readers)
        named_sources = (replace(parse_reader_source(text), datasets=datasets) for text in self.reader_addresses)
        return (*parse_reader_tables(self.readers, os.environ), *named_sources)


@dataclass(frozen=True, kw_only=True)
class ShownReadersOptions(ReadersOptions):
    """Options of commands that show readers on request; a bare ``--readers`` means the readers of the settings."""

    reader_addresses: Sequence[str] = option(
        "Show the readers of each column: from the settings, and of SOURCE if given, as in `schemactl readers`. "
        "Repeatable.",
        metavar="[SOURCE]",
        word="--readers",
        is_value=lambda word: ":" in word and not word.startswith("-"),
        default=[],
    )

    def reader_sources(self) -> tuple[ReaderSource, ...]:
        """Return the sources of readers, none if readers are not requested."""
        if not self.reader_addresses:
            return ()
        from schemactl.flows.reader_sources import no_readers

        addresses = [address for address in self.reader_addresses if address]
        sources = ReadersOptions.reader_sources(replace(self, reader_addresses=addresses))
        if not sources:
            raise no_readers()
        return sources


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCommandOptions(CommonOptions):
    """The options of a command that works with Spark."""

    engine: Literal["spark", "local", "auto"] | None = option(
        "Read data with Spark, with processes of this machine (`local`), or `auto`: this machine for up to "
        "128 MB. Default: Spark if it is installed.",
        Group.SPARK,
        Setting(),
    )
    master: str | None = option(
        "The Spark master: `local[*]`, `spark://HOST:PORT`, `yarn` ...", Group.SPARK, Setting(), metavar="URL"
    )
    remote: str | None = option("The Spark Connect server: `sc://HOST:PORT`.", Group.SPARK, Setting(), metavar="URL")
    conf: Sequence[str] = option(
        "A Spark setting. Repeatable.", Group.SPARK, Setting(in_environment=False), metavar="K=V", default=[]
    )
    examples: Literal["none", "masked", "plain"] | None = option(
        "How to show row values and save them in evidence: not at all, masked by their shape, or plain. "
        "Default: masked if `CI` is set and for columns marked as personal (`x-annotation-pii` ...), plain "
        "otherwise.",
        Group.OUTPUT,
        Setting(),
    )

    def spark(self) -> SparkOptions:
        """Return which Spark to use."""
        from schemactl.engine.spark.options import SparkOptions

        return SparkOptions(master=self.master, remote=self.remote, conf=parse_conf(self.conf), debug=self.debug)

    def engine_options(self) -> EngineOptions:
        """Return which engine reads data."""
        from schemactl.engine.choice import EngineName, EngineOptions

        return EngineOptions(EngineName(self.engine) if self.engine else None, self.spark(), owns_process=True)

    @contextmanager
    def begun_engine(self, sources: Sequence[str]) -> Iterator[EngineOptions]:
        """Return the engine that reads data; start Java for the block if the engine is Spark and the sources exist.

        Starting Java takes longer than everything else that a command does before it reads data.
        """
        engine = self.engine_options()
        data = [source for source in sources if not source.endswith(".evidence.json")]
        sources_exist = all(not is_local(source) or has_magic(source) or Path(source).exists() for source in data)
        if not (data and sources_exist and engine.starts_spark()):
            yield engine
            return
        from schemactl.engine.choice import EngineName, check_installed
        from schemactl.engine.spark.session import start_java_early

        check_installed(EngineName.SPARK)
        with start_java_early(engine.spark) as spark:
            yield replace(engine, spark=spark)


def staging_folder() -> str | None:
    """Declare ``--staging``, where a load collects its rows."""
    help = "The folder for rows during the load. All machines of a cluster must reach it."
    return option(help, Group.LOAD, Setting(is_path=True), metavar="DIR")


def schema_name() -> str:
    """Declare the argument that names the schema of the loads."""
    return argument("NAME", "The schema of the loads.", completes=complete_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLoadsOptions(SparkCommandOptions):
    """Options of commands that inspect data loaded into a destination."""

    to: str = option(
        "The destination of the loads: a folder (Parquet), `duckdb:///PATH`, `postgresql://USER@HOST/DATABASE` ...; "
        "`?dataset=NAME` sets the database schema. Or a name from the settings: `[destinations.prod]`.",
        setting=Setting(),
        metavar="DEST",
        is_destination=True,
        default="warehouse",
    )
    format: str = text_or_json()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions(SparkCommandOptions):
    """Options of commands that evolve a schema by data."""

    sources: Sequence[str] = argument(
        "SOURCE...", "Files, globs, folders, object-store paths, or `table:CATALOG.SCHEMA.TABLE`.", default=[]
    )
    name: str | None = option(
        "The schema's name. Default: the name of the source, with the hints of `SOURCE.schema.yaml` next to "
        "it (see `--hints`).",
        Group.SCHEMA,
        metavar="NAME",
        completes=complete_names,
    )
    table: Sequence[str] = option(
        "The root table. Default: the schema's only root table, or a table named after the source. "
        "TABLE=SOURCE sets the table of a source: `--table 'contacts=crm/*.csv'`. Repeatable.",
        Group.INPUT,
        metavar="TABLE|TABLE=SOURCE",
        default=[],
    )
    table_per_file: bool = flag("Load each file into a root table named after the file.", Group.INPUT)
    table_by: str | None = option(
        "Load each record into the root table that this field names: `type`, `meta.kind`. Records without the "
        "field go to `--table`, if set.",
        Group.INPUT,
        metavar="FIELD",
    )
    dispatch: Sequence[str] = option(
        "Table names for `--table-by` values, if not the value itself: `click=click_events,purchase=purchase_events`.",
        Group.INPUT,
        Setting(in_environment=False, only_with=("table_by", "model")),
        metavar="VALUE=TABLE,...",
        default=[],
    )
    model: str | None = option(
        "A Pydantic model that declares the columns and validates the data. In a discriminated union, each "
        "variant is a table. Importing the module runs its code.",
        Group.INPUT,
        Setting(in_file=False),
        metavar="MODULE:CLASS",
    )
    contract: str | None = option(
        "Which schema changes data can make: `evolve`, `freeze`, `discard_row`, `discard_value`, or "
        "`tables=M,columns=M,data_type=M`. `data_type=promote` widens columns instead of adding variant columns if all "
        "values survive; `promote_text` also makes them text. Overrides the schema's contract.",
        Group.CONTRACT,
        Setting(),
        metavar="C",
        completes=completing.complete_contracts,
        is_joined=True,
    )
    column: Sequence[str] = option(
        "Set a column's type and hints, overriding inference: `id:bigint,primary_key`, "
        "`lines.price:decimal(10,2)`. Repeatable.",
        Group.SCHEMA,
        Setting(in_environment=False),
        metavar="NAME:TYPE,HINT",
        default=[],
    )
    write_disposition: Literal["append", "replace", "merge", "skip"] | None = option(
        "What a load does with existing rows of the root table.", Group.SCHEMA, Setting()
    )
    hints: str | None = option(
        "A schema file whose tables, columns and settings override inference. It can be partial.",
        Group.SCHEMA,
        Setting(is_path=True),
        metavar="FILE",
    )
    on_bad_record: Literal["stop", "skip"] = option(
        "What to do with unreadable records.", Group.CONTRACT, Setting(), default="stop"
    )
    input_format: str | None = option(
        "The format of the sources, if detection fails. `xml:TAG` also sets the record element.",
        Group.INPUT,
        Setting(),
        metavar="FORMAT",
        completes=completing.complete_input_formats,
    )
    records: str | None = option(
        "The records inside JSON documents: `data`, `data.items`, `pages[*].data`; `$` reads whole documents. The "
        "schema remembers it.",
        Group.INPUT,
        metavar="PATH",
    )
    keep: Sequence[str] = option(
        "Keys of the document that each of its records gets, with `--records`: `page,meta.next`; `NUMBER=page` gives "
        "it another name.",
        Group.INPUT,
        metavar="KEY,...",
        default=[],
    )
    naming: str | None = option(
        "The naming convention of a new schema: `snake_case`, `duck_case`, `direct`, `sql_ci_v1`, "
        "`sql_cs_v1`, `s3_tables`, `hash_names`, or a Python module.",
        Group.SCHEMA,
        Setting(),
        metavar="NAME",
        completes=completing.complete_namings,
    )
    normalizer: str | None = option(
        "The normalizer of a new schema: `relational`, `relational_no_coercion`, `nested` (keeps structs and "
        "lists), or a Python module.",
        Group.SCHEMA,
        Setting(),
        metavar="NAME",
        completes=completing.complete_normalizers,
    )
    typing: str | None = option(
        "An Arc schema file, or a schema imported from one, that types text columns.", Group.INPUT, metavar="FILE|NAME"
    )
    typing_errors: Literal["column", "reject", "fail"] | None = option(
        "What to do with rows that have text that cannot be typed: `column` loads null and writes the reason "
        "to `_errors` (default, if some values of the column can be typed), `reject` rejects the rows, `fail` "
        "writes nothing. If a required field cannot be typed, nothing is written.",
        Group.CONTRACT,
        Setting(),
    )
    header: bool = flag("Read the first row of CSV and TSV as column names, without detection.", Group.INPUT)
    no_header: bool = flag(
        "Read the first row of CSV and TSV as a record, and name columns `_c0`, `_c1` ...", Group.INPUT
    )
    null_value: Sequence[str] = option(
        "String to read as null in CSV, TSV and XML, such as `N/A`. Repeatable.",
        Group.INPUT,
        Setting(in_environment=False, section=("csv", "null-values")),
        metavar="TEXT",
        default=[],
    )
    detect: str | None = option(
        "Detectors that pick a new column's type from its values: `digits,number,bool,iso_date` (default for "
        "CSV, TSV and XML), `iso_timestamp`, `timestamp`, `large_integer`, `all_text`. `--detect=-NAME,+NAME` "
        "changes the default.",
        Group.INPUT,
        Setting(in_environment=False),
        metavar="LIST",
    )
    resolve_collisions: bool = flag("Give each key its own column if several share a name.", Group.SCHEMA, Setting())

    def all_sources(self) -> list[str]:
        """Return all sources, including the sources of single tables."""
        return [*self.sources, *(source for _, source in parse_tables(self.table)[1])]

    def make_inference(self, agrees: Callable[[str], bool] | None) -> InferRequest:
        """Return the request that ``infer`` and ``normalize`` share."""
        from schemactl.flows.request import InferRequest, dispatch_by
        from schemactl.store.sources import file_beside, schema_for

        if not self.all_sources():
            raise InputError("no source given", hint="pass files, folders or patterns, or `--table TABLE=SOURCE`")
        table, table_sources = parse_tables(self.table)
        model = typing = None
        if self.model:
            from schemactl.flows.models import find_model

            model = find_model(self.model, self.contract)
        if self.typing:
            from schemactl.flows.typing import find_typing

            typing = find_typing(self.typing, self.typing_errors, self.schemas_folder)
        if self.header and self.no_header:
            raise InputError("`--header` and `--no-header` cannot be used together")
        request = InferRequest(
            sources=tuple(self.sources),
            name=self.name if self.name is not None else schema_for(self.sources),
            table=table,
            table_sources=table_sources,
            table_per_file=self.table_per_file,
            agrees=agrees,
            schemas=self.schemas_folder,
            contract=self.contract,
            hints=parse_hints(self, None if self.name is not None else file_beside(self.sources[0])),
            on_bad_record=self.on_bad_record,
            input_format=self.input_format,
            resolve_collisions=self.resolve_collisions,
            naming=self.naming,
            normalizer=self.normalizer,
            detect=self.detect,
            null_values=tuple(dict.fromkeys(self.null_value)),
            has_header=True if self.header else False if self.no_header else None,
            selection=_selection(self.records, self.keep),
            typing=typing,
            dispatch=dispatch_by(self.table_by, parse_dispatch(self.dispatch), table, model.key if model else None),
            model=model,
            engine=self.engine_options(),
        )
        is_by_schema = self.typing_errors is not None and typing is None
        return replace(request, typing_errors=self.typing_errors) if is_by_schema else request


def _selection(records: str | None, keep: Sequence[str]) -> RecordSelection | None:
    """Return the selection of records that a call declares; None if it declares none."""
    from schemactl.schema.record_selection import parse_selection, split_keys

    if records is None:
        if keep:
            raise InputError("`--keep` needs the path of the records", hint="name it, for example `--records data`")
        return None
    return parse_selection(records, split_keys(keep))


def parse_dispatch(assignments: Sequence[str]) -> dict[str, str]:
    """Return the tables by value from ``VALUE=TABLE,...``.

    >>> parse_dispatch(["click=clicks,view=views"])
    {'click': 'clicks', 'view': 'views'}
    """
    tables: dict[str, str] = {}
    for assignment in ",".join(assignments).split(",") if assignments else ():
        value, _, table = (piece.strip() for piece in assignment.rpartition("="))
        if not value or not table:
            raise InputError(f"`{assignment}` is not VALUE=TABLE (`--dispatch`)", hint="for example `click=clicks`")
        if value in tables:
            raise InputError(f"`--dispatch` sets `{value}` twice")
        tables[value] = table
    return tables


def parse_tables(options: Sequence[str]) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Return the table of the shared sources, if named, and the tables that name their source.

    >>> parse_tables(["orders", "contacts=crm/*.csv"])
    ('orders', (('contacts', 'crm/*.csv'),))
    """
    pairs = [(table, source) for table, equals, source in (option.partition("=") for option in options) if equals]
    names = [option for option in options if "=" not in option]
    if len(names) > 1:
        message = f"`--table {names[0]}` and `--table {names[1]}` name two tables for the same sources"
        raise InputError(message, hint=f"write `--table {names[1]}=SOURCE`")
    for table, source in pairs:
        if not table or not source:
            hint = "for example `--table 'contacts=crm/*.csv'`"
            raise InputError(f"`--table {table}={source}` must be TABLE=SOURCE", hint=hint)
    return (names[0] if names else None), tuple(pairs)


def parse_hints(options: DataOptions, default_file: Path | None = None) -> Hints | None:
    """Return the hints of a call about tables and columns, if it has any."""
    file = Path(options.hints) if options.hints else default_file
    if not (options.column or options.write_disposition or file):
        return None
    from schemactl.flows.edit import read_hints
    from schemactl.schema.hints import Hints, parse_column

    return Hints(
        columns=tuple(map(parse_column, options.column)),
        write_disposition=options.write_disposition,
        schema=read_hints(file) if file else None,
    )


def parse_conf(pairs: Iterable[str]) -> Mapping[str, str]:
    """Return Spark's settings; the last value of a name counts.

    >>> parse_conf(["spark.a=1", "spark.b=x=y", "spark.a=2"])
    {'spark.a': '2', 'spark.b': 'x=y'}
    """
    conf = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            # Its value may be a secret, with something else before it than `=`.
            subject = f"`{name.split()[0]}`" if name.strip() and not equals else "a value that begins with `=`"
            hint = "for example `spark.driver.memory=2g`"
            raise InputError(f"{subject} is not a Spark setting (`--conf`)", hint=hint)
        conf[name.strip()] = value.strip()
    return conf


def read_count(text: str, option: str, least: int = 1) -> int:
    """Return a number of things.

    >>> read_count("3", "--steps")
    3
    """
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise InputError(f"`{text}` is not a whole number, {least} or greater (`{option}`)")
    return int(text)


_BYTES: Final = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40,
}  # fmt: skip


def read_size(text: str, option: str) -> int:
    """Return a number of bytes.

    >>> read_size("10GB", "--max-bytes"), read_size("1.5 MiB", "--max-bytes")
    (10000000000, 1572864)
    """
    match = re.fullmatch(r"(?P<number>[0-9]+(?:\.[0-9]+)?) ?(?P<unit>[kmgt]?i?)b?", text.strip().lower())
    size = int(float(match["number"]) * _BYTES[match["unit"]]) if match and match["unit"] in _BYTES else 0
    if size < 1:
        raise InputError(f"`{text}` is not a size (`{option}`)", hint="write it like `500MB` or `10GB`")
    return size


def read_seconds(text: str, option: str) -> float:
    """Return a number of seconds.

    >>> read_seconds("1.5", "--lock-timeout")
    1.5
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"`{text}` is not a number of seconds (`{option}`)", hint="for example `30` or `0.5`")
    return seconds
