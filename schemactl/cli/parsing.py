"""Makes a typer command of a dataclass of options; what is not stated stays None: `settings` fills it in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Annotated, Any, ClassVar, get_args

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import OptionInfo, ParameterInfo

from schemactl.cli.options import Bare, CommonOptions, OptionSpec, option_specs

Stated = Mapping[str, Any]
"""Options by name as they stand on the command line; None where they do not."""


class _AsTyped:
    """Takes the place of typer's conversions, which import pydantic; ours are in `settings`."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002 - typer's names
        return () if value is None and (param.multiple or param.nargs == -1) else value


_AS_TYPED = _AsTyped()


def _show_no_type(ctx: Any) -> None:
    """Stand in for ``<list[str]>``, which tells a reader of the help nothing."""


def _leave_as_typed(params: list[Any]) -> list[Any]:
    for param in params:
        # Where a later typer has no such attributes, its own conversions apply: slower, and right as well.
        param._runtime_param = _AS_TYPED
        if param.param_type_name == "argument":
            param.display_type_rich = _show_no_type
    return params


class PlainCommand(TyperCommand):
    """A command whose values stay the texts that were typed, with options that may stand without a value."""

    bare: ClassVar[Mapping[str, Bare]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, fill_bare(args, self.bare))

    def get_params(self, ctx: Any) -> list[Any]:
        return _leave_as_typed(super().get_params(ctx))


def fill_bare(args: Sequence[str], bare: Mapping[str, Bare]) -> list[str]:
    r"""Return the arguments, with the value of each option that stands without one.

    >>> fill_bare(["--keep", "a.csv", "--keep", "5m"], {"--keep": Bare("15m", r"\d+m")})
    ['--keep=15m', 'a.csv', '--keep', '5m']
    """
    end = args.index("--") if "--" in args else len(args)
    following = (*args[1:], "")
    return [
        f"{arg}={bare[arg].value}"
        if arg in bare and place < end and not re.fullmatch(bare[arg].looks_like_value, following[place])
        else arg
        for place, arg in enumerate(args)
    ]


class PlainGroup(TyperGroup):
    """A group whose values stay the texts that were typed."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _leave_as_typed(super().get_params(ctx))


def make_command(name: str, options: type[CommonOptions], callback: Callable[..., object], text: str) -> Any:
    """Return the typer command ``name``, which hands its context and what was stated to ``callback``.

    Args:
        name: the command's name.
        options: the dataclass whose fields are its arguments and options.
        callback: is called with ``(context, stated)``.
        text: its help.
    """

    def invoke(context: typer.Context, **stated: Any) -> None:
        callback(context, stated)

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    first_line = text.strip().partition("\n")[0]
    bare = {f"--{spec.key}": spec.bare for spec in option_specs(options) if spec.bare is not None}
    cls = type("Command", (PlainCommand,), {"bare": bare})
    command = app.command(name=name, cls=cls, help=text, short_help=first_line)
    command(with_signature(invoke, options))
    return get_command(app)


def with_signature(function: Callable[..., Any], options: type[CommonOptions]) -> Callable[..., Any]:
    """Give ``function(context, **stated)`` the signature that makes typer ask for the options."""
    specs = [spec for spec in option_specs(options) if not spec.is_in_file_only]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [_parameter(spec) for spec in specs]
    function.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    function.__annotations__ = {spec.name: spec.annotation for spec in specs}
    return function


def _parameter(spec: OptionSpec) -> inspect.Parameter:
    kind, *extras = get_args(spec.annotation)
    info = next(copy(extra) for extra in extras if isinstance(extra, ParameterInfo))
    if isinstance(info, OptionInfo):
        info.show_default = False
        if not spec.is_required and spec.default and spec.kind is not list:
            info.help = f"{info.help}  [default: {spec.default}]"
    default = inspect.Parameter.empty if spec.is_required else None
    return inspect.Parameter(
        spec.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )
