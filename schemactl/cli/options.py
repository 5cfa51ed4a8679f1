"""What a command can be told, as dataclasses: the options that all share, and how a field declares one.

A field ``Annotated[TYPE, typer.Option(...)] = DEFAULT`` is one option. Annotated with a `Setting` as well, it
can also be stated in a settings file and in the environment (`schemactl.cli.settings`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import get_annotations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from schemactl.cli.completing import complete_input_formats, complete_namings, complete_normalizers
from schemactl.errors import InputError, Location

if TYPE_CHECKING:
    from schemactl.engine.settings import SparkOptions


@dataclass(frozen=True, slots=True)
class Setting:
    """Marks an option that may stand in a settings file, and in the environment as ``SCHEMACTL_NAME``.

    Attributes:
        is_path: whether a relative value in a file is relative to the file's folder.
        in_environment: False for lists, which have no agreed spelling in one variable.
        in_file_only: whether only a settings file can state it: a list of tables, as ``StatedTable``.
    """

    is_path: bool = False
    in_environment: bool = True
    in_file_only: bool = False


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
        Setting(is_path=True),
    ] = "schemas"
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="How the result is printed."), Setting()] = (
        "text"
    )
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what needs attention."), Setting()] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print all the evidence as well."), Setting()] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and Spark's log."), Setting()] = False
    color: Annotated[
        Literal["auto", "always", "never"], typer.Option("--color", help="When to use colors."), Setting()
    ] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCommandOptions(CommonOptions):
    """The options of a command that works with Spark."""

    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master: `local[*]`, `spark://HOST:PORT`, `yarn` ..."),
        Setting(),
    ] = None
    remote: Annotated[
        str | None,
        typer.Option("--remote", metavar="URL", help="A Spark Connect server, `sc://HOST:PORT`."),
        Setting(),
    ] = None
    conf: Annotated[
        list[str],
        typer.Option("--conf", metavar="K=V", help="A setting of Spark; may be given more than once."),
        Setting(in_environment=False),
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
    ] = None

    def spark(self) -> SparkOptions:
        """Return which Spark to use.

        Raises:
            InputError: a ``--conf`` is not ``K=V``.
        """
        from schemactl.engine.settings import SparkOptions

        return SparkOptions(
            master=self.master,
            remote=self.remote,
            conf=parse_conf(self.conf),
            debug=self.debug,
            java_cache=Path(self.java_cache) if self.java_cache else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions(SparkCommandOptions):
    """Options of the commands by which data evolves a schema."""

    contract: Annotated[
        str | None,
        typer.Option(
            "--contract",
            metavar="C",
            help="What data may change: `evolve`, `freeze`, `discard_row`, `discard_value`, or "
            "`tables=M,columns=M,data_type=M`; it goes before the schema's own.",
        ),
        Setting(),
    ] = None
    on_bad_record: Annotated[
        Literal["stop", "skip"],
        typer.Option("--on-bad-record", help="What a record that cannot be read does."),
        Setting(),
    ] = "stop"
    input_format: Annotated[
        str | None,
        typer.Option(
            "--input-format",
            metavar="FORMAT",
            help="The sources' format, where it is not seen right.",
            autocompletion=complete_input_formats,
        ),
        Setting(),
    ] = None
    naming: Annotated[
        str | None,
        typer.Option(
            "--naming",
            metavar="NAME",
            autocompletion=complete_namings,
            help="How a new schema's tables and columns are named: `snake_case`, `duck_case`, `direct`, `sql_ci_v1`, "
            "`sql_cs_v1`, `s3_tables`, or a module of your own.",
        ),
        Setting(),
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
    ] = None
    resolve_collisions: Annotated[
        bool,
        typer.Option("--resolve-collisions", help="Give keys that become one column a column each."),
        Setting(),
    ] = False


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
            raise InputError(
                f"`{pair}` is not a setting of Spark (`--conf`)",
                hint="write it like `spark.driver.memory=2g`",
            )
        conf[name.strip()] = value.strip()
    return conf


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option as its field declares it.

    Attributes:
        key: its name in settings files, for example ``on-bad-record``.
        kind: ``str``, ``bool`` or ``list``.
        choices: the values it can have; empty where it can have any.
        is_required: whether it has no default.
    """

    name: str
    key: str
    annotation: Any
    kind: type
    choices: tuple[str, ...]
    default: Any
    is_required: bool
    setting: Setting | None

    @property
    def is_in_file_only(self) -> bool:
        return self.setting is not None and self.setting.in_file_only

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return "SCHEMACTL_" + self.name.upper()


def option_specs(options: type[CommonOptions]) -> tuple[OptionSpec, ...]:
    """Return the options that a dataclass declares: its own first, then those that it shares with others."""
    hints = get_type_hints(options, include_extras=True)
    ordered = sorted(fields(options), key=lambda declared: _distance(options, declared.name))
    return tuple(_spec(declared, hints[declared.name]) for declared in ordered)


def _distance(options: type[CommonOptions], name: str) -> int:
    """Return how many classes up an option was first declared."""
    return max(up for up, each in enumerate(options.__mro__) if name in get_annotations(each))


def _spec(declared: Field[Any], annotation: Any) -> OptionSpec:
    plain, *extras = get_args(annotation)
    plain = next((part for part in get_args(plain) if part is not type(None)), plain) if _is_optional(plain) else plain
    choices = get_args(plain) if get_origin(plain) is Literal else ()
    return OptionSpec(
        name=declared.name,
        key=declared.name.replace("_", "-"),
        annotation=annotation,
        kind=str if choices else get_origin(plain) or plain,
        choices=choices,
        default=_default(declared),
        is_required=declared.default is MISSING and declared.default_factory is MISSING,
        setting=next((extra for extra in extras if isinstance(extra, Setting)), None),
    )


def _default(declared: Field[Any]) -> Any:
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return None if declared.default is MISSING else declared.default


def _is_optional(annotation: Any) -> bool:
    return type(None) in get_args(annotation)
