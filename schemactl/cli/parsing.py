"""Makes a typer command of a dataclass of options; missing options stay None: `settings` fills them in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from inspect import cleandoc
from itertools import zip_longest
from textwrap import dedent
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from schemactl.cli.completing import without_shell_syntax
from schemactl.cli.declarations import Group, OptionSpec, option_specs


class _AsTyped:
    """Takes the place of typer's conversions, which import pydantic; ours are in `settings`."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002 - typer's names
        return () if value is None and (param.multiple or param.nargs == -1) else value


_NAME_WIDTH = 30
"""How wide the column of names is at most in help (the default of typer's ``write_dl``)."""


def _format_groups(params: Sequence[Any], ctx: Any, formatter: Any) -> None:
    """Write arguments and options below the headings of their groups, all in the same two columns."""
    groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{group: [] for group in Group}}
    for param in params:
        record = param.get_help_record(ctx)
        if record is not None:
            is_argument = param.param_type_name == "argument"
            groups["Arguments" if is_argument else param.rich_help_panel or Group.GLOBAL].append(record)
    names = [name for rows in groups.values() for name, _ in rows]
    width = max((len(name) for name in names if len(name) <= _NAME_WIDTH), default=0)
    for title, rows in groups.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=_NAME_WIDTH)


class _Plain:
    """What commands and groups share: values stay the texts that were typed, and help ends with examples."""

    examples: ClassVar[Sequence[str]] = ()

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of a command or a group
        for param in params:
            # A later typer without these attributes converts the values itself: slower, but correct.
            param._runtime_param = _AsTyped()
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: None  # noqa: ARG005 - typer's name; `<list[str]>` says nothing
        return params

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}".rstrip() + "\n" for line in self.examples))


class PlainCommand(_Plain, TyperCommand):
    """A command whose values stay the texts that were typed."""

    specs: ClassVar[Sequence[OptionSpec]] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_omitted_values(args, self.specs)))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [argument for argument in self.get_params(ctx) if argument.param_type_name == "argument"]
        return ["[OPTIONS]", *(argument.metavar or argument.name.upper() for argument in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _format_groups(self.get_params(ctx), ctx, formatter)


def _with_omitted_values(words: Sequence[str], specs: Sequence[OptionSpec]) -> Iterator[str]:
    """Yield the words of a call with an empty text after each option whose value is omitted."""
    value_checks = {word: spec.is_value for spec in specs if spec.is_value for word in spec.words}
    for word, next_word in zip_longest(words, words[1:], fillvalue=""):
        yield word
        is_value = value_checks.get(word)
        if is_value is not None and not is_value(next_word):
            yield ""


def split_examples(text: str) -> tuple[str, tuple[str, ...]]:
    r"""Return a command's docstring without its examples, and the lines of these.

    >>> split_examples("Show it.\n\nExamples:\n    # All\n    schemactl show\n")
    ('Show it.', ('# All', 'schemactl show'))
    """
    about, _, examples = cleandoc(text).partition("\n\nExamples:\n")
    return about, tuple(dedent(examples).strip().splitlines())


class PlainGroup(_Plain, TyperGroup):
    """A group whose values stay the texts that were typed."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        _format_groups(self.get_params(ctx), ctx, formatter)


def make_command(name: str, options: type[Any], callback: Callable[..., object], text: str) -> Any:
    """Return the typer command ``name``, which passes its context and the given options to ``callback``."""
    joined = [spec.name for spec in option_specs(options) if spec.is_joined]

    def invoke(context: typer.Context, **values: Any) -> None:
        callback(context, {**values, **{name: ",".join(values[name] or ()) or None for name in joined}})

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    about, examples = split_examples(text)
    cls = type("Command", (PlainCommand,), {"examples": examples, "specs": option_specs(options)})
    command = app.command(name=name, cls=cls, help=about, short_help=about.partition("\n")[0])
    command(with_signature(invoke, options))
    return get_command(app)


def with_signature(function: Callable[..., Any], options: type[Any]) -> Callable[..., Any]:
    """Set the signature of ``function(context, **values)`` from which typer derives the options."""
    parameters = [_parameter(spec) for spec in option_specs(options) if not spec.setting.in_file_only]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    function.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


def _parameter(spec: OptionSpec) -> inspect.Parameter:
    details: dict[str, Any] = {"help": spec.help, "metavar": spec.metavar}
    if spec.completes is not None:
        details["autocompletion"] = without_shell_syntax(spec.completes)
    if spec.is_argument:
        info: Any = typer.Argument(**details)
    else:
        if not spec.is_required and spec.default and spec.kind is not list:
            details["help"] = f"{spec.help}  [default: {spec.default}]"
        if spec.callback is not None:
            details |= {"callback": spec.callback, "is_eager": True}
        info = typer.Option(*spec.words, rich_help_panel=spec.group, show_default=False, **details)
    kind: Any = Annotated[list[str] if spec.kind is list or spec.is_joined else spec.annotation, info]
    default = inspect.Parameter.empty if spec.is_required else None
    return inspect.Parameter(spec.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
