"""Options of commands, as dataclasses: those that all share, and how a field declares one.

A field ``Annotated[TYPE, typer.Option(...)] = DEFAULT`` is one option. Annotated with a `Setting` as well, it
can also be stated in a settings file and in the environment (`schemactl.cli.settings`); with a `Group`, help shows it
below that heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from glob import has_magic
from inspect import get_annotations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import typer

from schemactl.cli.completing import (
    complete_contracts,
    complete_input_formats,
    complete_names,
    complete_namings,
    complete_normalizers,
    complete_references,
)
from schemactl.errors import InputError, Location
from schemactl.progress import no_progress
from schemactl.store.sources import is_local

if TYPE_CHECKING:
    from schemactl.cli.settings import Surroundings
    from schemactl.engine.session.settings import SparkOptions
    from schemactl.flows.request import InferRequest
    from schemactl.schema.hints import Hints


VARIABLE_PREFIX: Final = "SCHEMACTL_"
"""The prefix of all variables that state options."""

_SMALL_BYTES: Final = 64 << 20
"""Up to here a driver with one compiler takes less processor time, on every format that was measured."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Marks an option that may stand in a settings file, and in the environment as ``SCHEMACTL_NAME``.

    Attributes:
        is_path: whether a relative value in a file is relative to the file's folder.
        in_environment: False for lists whose items may hold commas, which part them in a variable.
        found_by: names of folders; its default is then looked up upward from the working folder, up to the top of the
            repository, as a folder that holds one of them.
        in_file_only: whether only a settings file can state it: a list of tables, as ``StatedTable``.
        in_file: False for what a file must not decide, as it may be a stranger's.
        section: the table of a file that it stands in, and its key there, where these are not a command's and its own.
    """

    is_path: bool = False
    in_environment: bool = True
    found_by: tuple[str, ...] = ()
    in_file: bool = True
    in_file_only: bool = False
    section: tuple[str, str] | None = None


_ON_COMMAND_LINE_ONLY: Final = Setting(in_environment=False, in_file=False)


class Group(StrEnum):
    """The heading below which help shows an option, in the order of the headings."""

    OPTIONS = "Options"
    INPUT = "Input"
    SCHEMA = "Schema"
    CONTRACT = "Contract"
    LOAD = "Load"
    PLAN = "Plan"
    SCRIPT = "Script"
    SPARK = "Spark"
    OUTPUT = "Output"
    GLOBAL = "Global options"


@dataclass(frozen=True, slots=True)
class Bare:
    """Marks an option that may stand without a value.

    Attributes:
        value: what it is then.
        looks_like_value: a pattern; what follows the option on the command line and is no such text is not its value.
    """

    value: str
    looks_like_value: str


@dataclass(frozen=True, slots=True)
class Dest:
    """Marks an option that takes the address of a destination, or the name that settings give one."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Marks an option that takes references to schemas, of which one may be the name of a destination."""


TextOrJson = Annotated[
    Literal["text", "json"],
    typer.Option("--format", help="How the result is printed."),
    Setting(),
    Group.OUTPUT,
]
"""The option ``--format`` of a command with these two."""


FindingsFormat = Annotated[
    Literal["text", "json", "markdown", "github", "gitlab", "sarif", "junit"],
    typer.Option("--format", help="How the result is printed."),
    Setting(),
    Group.OUTPUT,
]
"""The option ``--format`` of those whose result has findings."""


OptionalRef = Annotated[
    str | None,
    typer.Argument(metavar="[REF]", help="The schema; by default the ledger's.", autocompletion=complete_references),
    Ref(),
]
"""The schema that a destination is held against."""

MigrationFolder = Annotated[str, typer.Argument(metavar="DIR", help="The folder of the migrations.")]

SchemaFiles = Annotated[
    list[str], typer.Argument(metavar="[FILE...]", help="Schema files; by default all of the folder.")
]

OutputFile = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the result to a file instead."),
    Group.OUTPUT,
]
"""The option ``--output`` of those whose result may go to a file."""


@dataclass(frozen=True, slots=True)
class StatedTable:
    """A table of a settings file, and where it stands."""

    values: Mapping[str, Any]
    at: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The options of every command; they may stand before the command's name as well."""

    schemas: Annotated[
        str,
        typer.Option("--schemas", metavar="DIR", help="The folder that holds `import/` and `export/`."),
        Setting(is_path=True, found_by=("import", "export")),
        Group.GLOBAL,
    ] = "schemas"
    format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="How the result is printed."), Setting(), Group.OUTPUT
    ] = "text"
    naming_module: Annotated[
        list[str],
        typer.Option(
            "--naming-module",
            metavar="MODULE",
            help="Admit a module of your own as a naming convention or normalizer that schemas name; may be given more "
            "than once.",
        ),
        Setting(in_file=False),
        Group.GLOBAL,
    ] = field(default_factory=list)
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only what needs attention."), Setting(), Group.OUTPUT
    ] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all the evidence as well."), Setting(), Group.OUTPUT
    ] = False
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks and Spark's log."), Setting(), Group.GLOBAL
    ] = False
    color: Annotated[
        Literal["auto", "always", "never"], typer.Option("--color", help="When to use colors."), Setting(), Group.OUTPUT
    ] = "auto"

    @classmethod
    def surround(cls, stated: tuple[Mapping[str, Any], ...], here: Surroundings) -> Surroundings:  # noqa: ARG003
        """Return what decides the values that the call leaves open; a command may go by other files than those here."""
        return here


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCommandOptions(CommonOptions):
    """The options of a command that works with Spark."""

    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master: `local[*]`, `spark://HOST:PORT`, `yarn` ..."),
        Setting(),
        Group.SPARK,
    ] = None
    remote: Annotated[
        str | None,
        typer.Option("--remote", metavar="URL", help="A Spark Connect server, `sc://HOST:PORT`."),
        Setting(),
        Group.SPARK,
    ] = None
    conf: Annotated[
        list[str],
        typer.Option("--conf", metavar="K=V", help="A setting of Spark; may be given more than once."),
        Setting(in_environment=False),
        Group.SPARK,
    ] = field(default_factory=list)
    java_cache: Annotated[
        str | None,
        typer.Option(
            "--java-cache",
            metavar="DIR",
            help="Keep what Java learns of Spark there: the first command takes half a minute longer, later ones start "
            "faster; not with `--remote`.",
        ),
        Setting(is_path=True),
        Group.SPARK,
    ] = None
    keep_spark: Annotated[
        str | None,
        typer.Option(
            "--keep-spark",
            metavar="[15m]",
            help="Leave Spark running for later commands, for so long after the last one (`90s`, `15m`, `2h`; `off`); "
            "they start in seconds. `schemactl engine` shows and ends it; not with `--remote` or `--debug`.",
        ),
        Setting(),
        Bare("15m", r"\d+(\.\d+)?[smh]|off"),
        Group.SPARK,
    ] = None

    examples: Annotated[
        Literal["none", "masked", "plain"] | None,
        typer.Option(
            "--examples",
            help="How values of rows are shown and kept in evidence: not at all, by their shape, or as they are. By "
            "default masked where `CI` is set and for columns marked as personal (`x-annotation-pii` ...), else plain.",
        ),
        Setting(),
        Group.OUTPUT,
    ] = None

    def spark(self) -> SparkOptions:
        """Return which Spark to use.

        Raises:
            InputError: a ``--conf`` is not ``K=V``, or ``--keep-spark`` is no time.
        """
        from schemactl.engine.session.settings import SparkOptions

        return SparkOptions(
            master=self.master,
            remote=self.remote,
            conf=parse_conf(self.conf),
            debug=self.debug,
            java_cache=Path(self.java_cache) if self.java_cache else None,
            keep=parse_keep(self.keep_spark) if self.keep_spark else None,
        )

    @contextmanager
    def begun_spark(
        self, sources: Sequence[str], progress: Callable[[str, float | None], None] | None
    ) -> Iterator[SparkOptions]:
        """Start Java where the sources are data that are there, and return which Spark to use: it is used in the block.

        Java takes longer to come up than all else that a command does before it reads data.

        Raises:
            InputError: as `spark`.
            EngineError: Java cannot be started.
        """
        data = [source for source in sources if not source.endswith(".evidence.json")]
        if not data or not all(not is_local(each) or has_magic(each) or Path(each).exists() for each in data):
            yield self.spark()
            return
        from schemactl.engine.session import begun

        options = self.spark()
        is_own = bool(options.conf or options.java_cache or options.keep is not None)
        options = replace(options, is_brief=not is_own and is_small(data))
        with begun(options, progress or no_progress) as spark:
            yield spark


def is_small(sources: Sequence[str]) -> bool:
    """Return whether all sources are files of this machine, and so small that Spark mostly starts."""
    if not all(is_local(each) and Path(each).is_file() for each in sources):
        return False
    return sum(Path(each).stat().st_size for each in sources) <= _SMALL_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions(SparkCommandOptions):
    """Options of the commands by which data evolves a schema."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Files, globs, folders, object-store paths, `table:CATALOG.SCHEMA.TABLE`, or evidence that `infer "
            "--evidence` has saved (`*.evidence.json`), which stands for the data it was collected from.",
        ),
    ] = field(default_factory=list)
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The schema's name; by default the source's, and what `SOURCE.schema.yaml` beside it states holds as "
            "`--hints` does.",
            autocompletion=complete_names,
        ),
        Group.SCHEMA,
    ] = None
    table: Annotated[
        list[str],
        typer.Option(
            "--table",
            metavar="TABLE|TABLE=SOURCE",
            help="The root table; by default the schema's only one, or one named after the source. With a source, the "
            "table of that data; may be given more than once: `--table 'contacts=crm/*.csv'`.",
        ),
        Group.INPUT,
    ] = field(default_factory=list)
    table_per_file: Annotated[
        bool, typer.Option("--table-per-file", help="Give each file a root table, named after the file."), Group.INPUT
    ] = False
    table_by: Annotated[
        str | None,
        typer.Option(
            "--table-by",
            metavar="FIELD",
            help="Give each record the root table that this field of it names: `type`, `meta.kind`; records without "
            "such a text go to `--table`, if it is given.",
        ),
        Group.INPUT,
    ] = None
    dispatch: Annotated[
        list[str],
        typer.Option(
            "--dispatch",
            metavar="VALUE=TABLE,...",
            help="Tables of values of the field of `--table-by` that are not called after them: "
            "`click=click_events,purchase=purchase_events`.",
        ),
        Setting(in_environment=False),
        Group.INPUT,
    ] = field(default_factory=list)
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODULE:CLASS",
            help="A Pydantic model that states the columns and validates the data; a union with a discriminator "
            "names the table of each record. The module is imported: its code runs.",
        ),
        Setting(in_file=False),
        Group.INPUT,
    ] = None
    contract: Annotated[
        str | None,
        typer.Option(
            "--contract",
            metavar="C",
            help="What data may change: `evolve`, `freeze`, `discard_row`, `discard_value`, or "
            "`tables=M,columns=M,data_type=M`; it goes before the schema's own.",
            autocompletion=complete_contracts,
        ),
        Setting(),
        Group.CONTRACT,
    ] = None
    column: Annotated[
        list[str],
        typer.Option(
            "--column",
            metavar="NAME:TYPE,HINT",
            help="What a column is, whatever the data says: `id:bigint,primary_key`, `lines.price:decimal(10,2)`; may "
            "be given more than once.",
        ),
        Setting(in_environment=False),
        Group.SCHEMA,
    ] = field(default_factory=list)
    write_disposition: Annotated[
        Literal["append", "replace", "merge", "skip"] | None,
        typer.Option("--write-disposition", help="What a load does with the rows of the root table that are there."),
        Setting(),
        Group.SCHEMA,
    ] = None
    hints: Annotated[
        str | None,
        typer.Option(
            "--hints",
            metavar="FILE",
            help="A schema file with what tables, columns and settings are, whatever the data says; it may leave out "
            "all else.",
        ),
        Setting(is_path=True),
        Group.SCHEMA,
    ] = None
    on_bad_record: Annotated[
        Literal["stop", "skip"],
        typer.Option("--on-bad-record", help="What a record that cannot be read does."),
        Setting(),
        Group.CONTRACT,
    ] = "stop"
    input_format: Annotated[
        str | None,
        typer.Option(
            "--input-format",
            metavar="FORMAT",
            help="The sources' format, if it is misdetected.",
            autocompletion=complete_input_formats,
        ),
        Setting(),
        Group.INPUT,
    ] = None
    naming: Annotated[
        str | None,
        typer.Option(
            "--naming",
            metavar="NAME",
            autocompletion=complete_namings,
            help="How a new schema's tables and columns are named: `snake_case`, `duck_case`, `direct`, `sql_ci_v1`, "
            "`sql_cs_v1`, `s3_tables`, `hash_names`, or a module of your own.",
        ),
        Setting(),
        Group.SCHEMA,
    ] = None
    normalizer: Annotated[
        str | None,
        typer.Option(
            "--normalizer",
            metavar="NAME",
            autocompletion=complete_normalizers,
            help="How a new schema's data becomes tables: `relational`, `relational_no_coercion`, `nested` (it keeps "
            "structs and lists), or a module of your own.",
        ),
        Setting(),
        Group.SCHEMA,
    ] = None
    typing: Annotated[
        str | None,
        typer.Option(
            "--typing",
            metavar="FILE|NAME",
            help="How columns of texts become typed ones: an Arc schema file, or a schema that was imported from one.",
        ),
        Group.INPUT,
    ] = None
    typing_errors: Annotated[
        Literal["column", "reject", "fail"],
        typer.Option(
            "--typing-errors",
            help="What becomes of rows with texts that cannot be typed: nulls, with the reasons in the column "
            "`_errors`; rejects; or nothing is written. Where a field allows no null, nothing is written anyway.",
        ),
        Setting(),
        Group.CONTRACT,
    ] = "column"
    null_value: Annotated[
        list[str],
        typer.Option(
            "--null-value",
            metavar="TEXT",
            help="A text of CSV, TSV or XML that stands for null, as `N/A`; may be given more than once.",
        ),
        Setting(in_environment=False, section=("csv", "null-values")),
        Group.INPUT,
    ] = field(default_factory=list)
    detect: Annotated[
        str | None,
        typer.Option(
            "--detect",
            metavar="LIST",
            help="Detectors that give new columns types by their values: `digits,number,bool,iso_date` (the default of "
            "CSV, TSV and XML), `iso_timestamp`, `timestamp`, `large_integer`, `all_text`; `--detect=-NAME,+NAME` "
            "changes the list.",
        ),
        Setting(in_environment=False),
        Group.INPUT,
    ] = None
    resolve_collisions: Annotated[
        bool,
        typer.Option("--resolve-collisions", help="Give keys that become one column a column each."),
        Setting(),
        Group.SCHEMA,
    ] = False

    def all_sources(self) -> list[str]:
        """Return the sources, those of single tables too."""
        return [*self.sources, *(source for _, source in parse_tables(self.table)[1])]

    def make_inference(self, agrees: Callable[[str], bool] | None) -> InferRequest:
        """Return what ``infer`` and ``normalize`` are asked for alike, as the flows take it.

        Raises:
            InputError: an option is wrong, there is no source, or nothing names the schema.
        """
        from schemactl.flows.models import find_model
        from schemactl.flows.request import InferRequest, dispatch_by
        from schemactl.flows.typing import find_typing
        from schemactl.store.folder import SchemasFolder
        from schemactl.store.sources import file_beside, schema_for

        if not self.all_sources():
            hint = "name files, folders or patterns, or `--table TABLE=SOURCE`"
            raise InputError("there is no source", hint=hint)
        table, others = parse_tables(self.table)
        model = find_model(self.model, self.contract) if self.model else None
        is_named = self.name is not None
        return InferRequest(
            sources=tuple(self.sources),
            name=self.name if self.name is not None else schema_for(self.sources),
            table=table,
            others=others,
            table_per_file=self.table_per_file,
            agrees=agrees,
            schemas=Path(self.schemas),
            contract=self.contract,
            hints=parse_hints(self, None if is_named else file_beside(self.sources[0])),
            on_bad_record=self.on_bad_record,
            input_format=self.input_format,
            resolve_collisions=self.resolve_collisions,
            naming=self.naming,
            normalizer=self.normalizer,
            detect=self.detect,
            null_values=tuple(dict.fromkeys(self.null_value)),
            typing=find_typing(self.typing, self.typing_errors, SchemasFolder.at(Path(self.schemas)))
            if self.typing
            else None,
            dispatch=dispatch_by(self.table_by, parse_dispatch(self.dispatch), table, model.key if model else None),
            model=model,
            spark=self.spark(),
        )


def parse_dispatch(stated: Sequence[str]) -> dict[str, str]:
    """Return the tables by value that ``VALUE=TABLE,...`` states.

    >>> parse_dispatch(["click=clicks,view=views"])
    {'click': 'clicks', 'view': 'views'}

    Raises:
        InputError: a part is no ``VALUE=TABLE``, or a value is stated twice.
    """
    tables: dict[str, str] = {}
    for part in (part for text in stated for part in text.split(",")):
        value, _, table = (piece.strip() for piece in part.rpartition("="))
        if not value or not table:
            raise InputError(f"`{part}` names no value and table (`--dispatch`)", hint="for example `click=clicks`")
        if value in tables:
            raise InputError(f"`--dispatch` states `{value}` twice")
        tables[value] = table
    return tables


def parse_tables(stated: Sequence[str]) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Return the table of the sources, None where none is stated, and the tables that have sources of their own.

    >>> parse_tables(["orders", "contacts=crm/*.csv"])
    ('orders', (('contacts', 'crm/*.csv'),))

    Raises:
        InputError: two tables are stated for the same sources, or a table or its source is empty.
    """
    named = [(table, source) for table, equals, source in (each.partition("=") for each in stated) if equals]
    alone = [each for each in stated if "=" not in each]
    if len(alone) > 1:
        hint = f"write `--table {alone[1]}=SOURCE`"
        raise InputError(f"`--table {alone[0]}` and `--table {alone[1]}` are about the same sources", hint=hint)
    for table, source in named:
        if not table or not source:
            raise InputError(f"`--table {table}={source}` lacks a part", hint="write `--table 'contacts=crm/*.csv'`")
    return (alone[0] if alone else None), tuple(named)


def parse_hints(options: DataOptions, beside: Path | None = None) -> Hints | None:
    """Return what a call states of tables and columns, None where it states nothing.

    Raises:
        InputError: a hint or the file of hints is wrong.
    """
    from schemactl.flows.edit import read_hints
    from schemactl.schema.hints import Hints, parse_column

    file = Path(options.hints) if options.hints else beside
    if not (options.column or options.write_disposition or file):
        return None
    return Hints(
        columns=tuple(map(parse_column, options.column)),
        write_disposition=options.write_disposition,
        schema=read_hints(file) if file else None,
    )


def parse_conf(pairs: Iterable[str]) -> Mapping[str, str]:
    """Return Spark's settings; the last one of a name counts.

    >>> parse_conf(["spark.a=1", "spark.b=x=y", "spark.a=2"])
    {'spark.a': '2', 'spark.b': 'x=y'}

    Raises:
        InputError: one is not ``K=V``.
    """
    conf = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            # Its value may be a secret, with something else before it than `=`.
            said = f"`{name.split()[0]}`" if name.strip() and not equals else "what begins with `=`"
            raise InputError(
                f"{said} is not a setting of Spark (`--conf`)",
                hint="write it like `spark.driver.memory=2g`",
            )
        conf[name.strip()] = value.strip()
    return conf


def read_count(text: str, option: str, least: int = 1) -> int:
    """Return a number of things.

    >>> read_count("3", "--steps")
    3

    Raises:
        InputError: it is no such number.
    """
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise InputError(f"`{text}` is no number of {least} or more (`{option}`)")
    return int(text)


def read_seconds(text: str, option: str) -> float:
    """Return a number of seconds.

    >>> read_seconds("1.5", "--lock-timeout")
    1.5

    Raises:
        InputError: it is no number of seconds.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"`{text}` is no number of seconds (`{option}`)", hint=f"write it like `{option} 30`")
    return seconds


def parse_keep(text: str) -> float | None:
    """Return the seconds of a time such as ``15m``, None for ``off``.

    >>> [parse_keep(text) for text in ("90s", "15m", "1.5h", "off")]
    [90.0, 900.0, 5400.0, None]

    Raises:
        InputError: it is neither.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if match is not None:
        return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
    if text.strip() == "off":
        return None
    raise InputError(f"`{text}` is not a time (`--keep-spark`)", hint="write it like `90s`, `15m` or `2h`, or `off`")


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option as its field declares it.

    Attributes:
        key: its name in settings files, for example ``on-bad-record``.
        kind: ``str``, ``bool`` or ``list``.
        choices: the values it can have; empty where it can have any.
        is_required: whether it has no default.
        setting: where else it can be stated.
        bare: what it is where it stands without a value; None where it cannot.
        group: the heading below which help shows it.
        is_destination: whether it takes the address of a destination, or a name that settings give one.
        is_reference: whether it takes references to schemas.
    """

    name: str
    key: str
    annotation: Any
    kind: type
    choices: tuple[str, ...]
    default: Any
    is_required: bool
    setting: Setting
    bare: Bare | None
    group: Group
    is_destination: bool = False
    is_reference: bool = False

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return VARIABLE_PREFIX + self.name.upper()


def option_specs(options: type[CommonOptions]) -> tuple[OptionSpec, ...]:
    """Return the options that a dataclass declares: its own first, then those that it shares with others."""
    declared: Any = options  # mypy takes the hash of its objects for that of the class
    return _option_specs(declared)


@cache
def _option_specs(options: Any) -> tuple[OptionSpec, ...]:
    hints = get_type_hints(options, include_extras=True)
    # The last class of the order that declares an option is the one that declared it first.
    classes_up = {name: up for up, each in enumerate(options.__mro__) for name in get_annotations(each)}
    ordered = sorted(fields(options), key=lambda declared: classes_up[declared.name])
    return tuple(_spec(declared, hints[declared.name]) for declared in ordered)


def _spec(declared: Field[Any], annotation: Any) -> OptionSpec:
    plain, *extras = get_args(annotation)
    if type(None) in get_args(plain):  # it is optional
        plain = next((part for part in get_args(plain) if part is not type(None)), plain)
    choices = get_args(plain) if get_origin(plain) is Literal else ()
    return OptionSpec(
        name=declared.name,
        key=declared.name.replace("_", "-"),
        annotation=annotation,
        kind=str if choices else get_origin(plain) or plain,
        choices=choices,
        default=_default(declared),
        is_required=declared.default is MISSING and declared.default_factory is MISSING,
        setting=next((extra for extra in extras if isinstance(extra, Setting)), _ON_COMMAND_LINE_ONLY),
        bare=next((extra for extra in extras if isinstance(extra, Bare)), None),
        group=next((extra for extra in extras if isinstance(extra, Group)), Group.OPTIONS),
        is_destination=any(isinstance(extra, Dest) for extra in extras),
        is_reference=any(isinstance(extra, Ref) for extra in extras),
    )


def _default(declared: Field[Any]) -> Any:
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return None if declared.default is MISSING else declared.default
