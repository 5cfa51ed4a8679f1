"""The command ``schemactl``: finds the subcommand, runs it, reports errors, and sets the exit code.

Nothing heavy is imported here: ``schemactl --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NoReturn

import typer
from typer.main import get_command

from schemactl import __version__
from schemactl.cli import commands, settings
from schemactl.cli.commands import CommandModule, all_options, command_names, is_group, load_command
from schemactl.cli.declarations import CommandGroup, Group, OptionValues, flag, option_specs
from schemactl.cli.environments import at_environment, at_references
from schemactl.cli.options import CommonOptions, SparkCommandOptions
from schemactl.cli.parsing import PlainGroup, make_command, split_examples, with_signature
from schemactl.cli.removed import check_removed_command, check_removed_option
from schemactl.cli.terminal import (
    Terminal,
    describe_terminal,
    forget_output,
    is_stdout_gone,
    make_streams_safe,
    wants_color,
)
from schemactl.errors import CommandWarning, ExitCode, InputError, SchemactlError, did_you_mean, missing_package
from schemactl.examples import Examples, show_examples
from schemactl.redaction import redact_text, secrets_of
from schemactl.registry import admit_modules
from schemactl.render.failure import render_failure, render_traceback, render_warning
from schemactl.store.git import one_look

PROGRAM = "schemactl"

_WITH_ADDRESSES = ("SCHEMACTL_", "SPARK_", "PG")
"""The prefixes of variables that may hold addresses or their parts."""

HELP_COMMAND = "help"
"""``help COMMAND`` prints the output of ``COMMAND --help``; it is not listed, so that the list fits on a screen."""

HELP = "Infer dlt schemas, catch breaking changes, and migrate destinations."

FOOTER = """\
Options:     --help, --version, --install-completion; help COMMAND lists more
Exit codes:  0 done, 1 findings, 2 bad input, 3 Spark or destination failed
"""


_ENDINGS = (SystemExit, GeneratorExit, typer.Exit, typer.Abort)
"""Exceptions that would end the process, or parsing of the command line, with an exit code that no command has set."""


class UnfinishedCommand(SchemactlError):
    """A function that a command called wanted the process to end, so the command has no result."""


@dataclass(slots=True)
class Invocation:
    """One call of the command line. Errors can be reported with it before all options are parsed.

    Attributes:
        code: the exit code; FAILED while a command runs, until the command returns its code.
    """

    args: Sequence[str]
    debug: bool
    color: str = "auto"
    code: ExitCode = ExitCode.DONE
    options: CommonOptions | None = None

    def redact(self, text: str) -> str:
        """Return text without the secrets of addresses from any source of the call."""
        texts = list(self.args)
        texts += [f"{name}={value}" for name, value in os.environ.items() if name.startswith(_WITH_ADDRESSES)]
        if self.options is not None:
            option_values = [spec.value_in(self.options) for spec in option_specs(type(self.options))]
            texts += [item for value in option_values for item in (value if isinstance(value, list) else [value])]
        strings = (value for value in texts if isinstance(value, str))
        return redact_text(text, {secret for value in strings for secret in secrets_of(value)})


class LazyGroup(PlainGroup):
    """A group that imports a subcommand on demand."""

    package: ClassVar[ModuleType] = commands
    words: ClassVar[tuple[str, ...]] = ()
    """The words on the command line between the program and the names of the group's commands."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        return list(command_names(self.package))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - typer's signature
        return _subcommand(self.package, self.words, cmd_name) if cmd_name in command_names(self.package) else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        # Typer would make all commands, with all their options, for a line of each.
        with formatter.section("Commands"):
            modules = ((name, load_command(name, self.package)) for name in self.list_commands(ctx))
            formatter.write_dl([(name, _first_line(module)) for name, module in modules])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not args[0].startswith("-") and not ctx.resilient_parsing:
            _check_command(self.package, self.words, args[0])
        return super().resolve_command(ctx, args)


class RootGroup(LazyGroup):
    """The group of all commands: its help fits on 30 lines of 80 columns, and leaves options to the commands."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name == HELP_COMMAND and ctx.resilient_parsing:
            return self  # so that shells complete the names of commands after it
        return super().get_command(ctx, cmd_name)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        formatter.write(f"{HELP}\n")  # with blank lines the commands would not fit

    def format_options(self, ctx: Any, formatter: Any) -> None:
        modules = ((name, load_command(name, self.package)) for name in self.list_commands(ctx))
        lines = [(module.Options.command_group, name, _first_line(module)) for name, module in modules]
        width = max(len(name) for group, name, _ in lines if group is not None)
        for heading in CommandGroup:
            formatter.write_heading(heading)
            formatter.indent()
            formatter.write_dl([(name.ljust(width), line) for group, name, line in lines if group is heading])
            formatter.dedent()
        formatter.write(FOOTER)


def _check_command(package: ModuleType, words: Sequence[str], name: str) -> None:
    """Raise an error if no command of a package has this name; ``words`` precede it on the command line."""
    names = command_names(package)
    if name not in names:
        if not words:
            check_removed_command(name)
        hint = did_you_mean(name, names) or f"`{' '.join((PROGRAM, *words))} --help` lists the commands"
        raise InputError(f"there is no command `{' '.join((*words, name))}`", hint=hint)


def _without_help_command(args: list[str]) -> list[str]:
    """Return the arguments of ``help COMMAND SUBCOMMAND`` in their usual form: ``COMMAND SUBCOMMAND --help``."""
    if args[:1] != [HELP_COMMAND]:
        return args
    words = [arg for arg in args[1:] if not arg.startswith("-")]
    package: CommandModule | ModuleType = commands
    for index, word in enumerate(words):
        if not is_group(package):
            command = " ".join(words[:index])
            raise InputError(f"`{command}` has no command `{word}`", hint=f"`{PROGRAM} help {command}` explains it")
        _check_command(package, words[:index], word)
        package = load_command(word, package)
    return [*words, "--help"]


@cache
def _subcommand(package: ModuleType, words: tuple[str, ...], name: str) -> Any:
    """Return a command or a group of a package, cached because creating it takes typer milliseconds."""
    module = load_command(name, package)
    if is_group(module):
        return _make_group((*words, name), module)
    table_name = (*words, name)[0]

    def invoke(context: typer.Context, values: OptionValues) -> None:
        with one_look():
            _run_command(context, table_name, module, values)

    return make_command(name, module.Options, invoke, module.__doc__ or "")


def _first_line(module: CommandModule | ModuleType) -> str:
    return (module.__doc__ or "").strip().partition("\n")[0]


def _make_group(words: tuple[str, ...], package: ModuleType) -> Any:
    """Return the commands of a package as one command."""
    about, examples = split_examples(package.__doc__ or "")
    app = typer.Typer(
        name=words[-1],
        cls=type("Group", (LazyGroup,), {"package": package, "words": words, "examples": examples}),
        help=about,
        short_help=_first_line(package),
        invoke_without_command=True,
        rich_markup_mode=None,
        add_completion=False,
    )
    app.callback()(_ask_for_command)
    return get_command(app)


def _ask_for_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(ExitCode.BAD_INPUT)


def _run_command(context: typer.Context, name: str, module: CommandModule, values: OptionValues) -> None:
    invocation: Invocation = context.obj
    call = settings.Call(name, (values, context.find_root().params), settings.Surroundings(os.environ))
    # Settings may come from a stranger: the limits start before settings are read, and no setting can change them.
    call_options = settings.resolve(module.Options, call)
    with call_options.limits():
        surroundings = call_options.surround(settings.find_surroundings)
        for file in surroundings.files:
            settings.check_keys(file, all_options())
        call = at_environment(module.Options, replace(call, surroundings=surroundings))
        options = at_references(settings.resolve(module.Options, call), call.surroundings)
    invocation.options, invocation.debug, invocation.color = options, options.debug, options.color
    terminal = describe_terminal(options.color, options.quiet, os.environ)
    invocation.code = ExitCode.FAILED
    example_style = options.examples if isinstance(options, SparkCommandOptions) else None
    # If no style is set, each column decides how its examples are shown.
    examples = Examples(example_style) if example_style else Examples.MASKED if os.environ.get("CI") else None
    with (
        redirect_stdout(sys.stderr),  # a user's modules may print, and `--format json` is one document
        _reported_warnings(invocation, terminal),
        admit_modules(options.naming_module),
        show_examples(examples),
    ):
        settings.warn_of_misspelt(os.environ, module.Options, all_options)
        settings.warn_of_removed(surroundings)
        try:
            with options.limits():
                invocation.code = module.run(options, terminal)
        except InputError as error:
            error.at = error.at or settings.find_place(error.message, module.Options, call)
            raise
        except _ENDINGS as error:
            raise UnfinishedCommand(f"the command was ended by {type(error).__name__}") from error
        finally:
            _remove_left()


def _remove_left() -> None:
    """Remove the temporary folders that killed commands have left, because the next command may be of another kind."""
    import tempfile

    folder = Path(tempfile.gettempdir())
    if any(folder.glob(".schemactl-*.lock")):  # a look costs less than the imports for locks
        from schemactl.store.temporary_folders import remove_left

        remove_left(folder)


@contextmanager
def _reported_warnings(invocation: Invocation, terminal: Terminal) -> Iterator[None]:
    """Report each warning once at the end: a line in between would break the progress bar."""
    messages: dict[str, None] = {}
    show = warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *position: Any, **more: Any) -> None:
        if issubclass(category, CommandWarning):
            messages[str(message)] = None
        else:
            show(message, category, *position, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", CommandWarning)
        warnings.showwarning = keep
        try:
            yield
        finally:
            for message in messages:
                color = wants_color(invocation.color, sys.stderr, os.environ)
                terminal.report(render_warning(invocation.redact(message), color))


def _print_version(is_set: bool) -> None:
    if is_set:
        from schemactl.engine.spark.session.java import describe_java
        from schemactl.installation import describe_installation

        typer.echo(f"{PROGRAM} {__version__}")
        for name, version in {**describe_installation(), "Java": describe_java()}.items():
            typer.echo(f"{name:<13} {version}")
        raise typer.Exit()


@dataclass(frozen=True, slots=True, kw_only=True)
class RootOptions(CommonOptions):
    """The options that are also allowed before the command's name."""

    version: bool = flag(
        "Print the versions of schemactl, Python, Spark and Java.", Group.GLOBAL, short="-V", callback=_print_version
    )


@cache
def build() -> Any:
    """Return the command line as one typer command."""
    app = typer.Typer(
        name=PROGRAM,
        cls=RootGroup,
        help=HELP,
        invoke_without_command=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 120},
    )
    app.callback()(with_signature(lambda context, **_: _ask_for_command(context), RootOptions))
    return get_command(app)


def run(args: Sequence[str]) -> int:
    """Run the command line and return its exit code; errors are reported on standard error."""
    debug_variable = os.environ.get("SCHEMACTL_DEBUG", "").strip().lower()
    invocation = Invocation(args, debug="--debug" in args or debug_variable in settings.TRUE)
    try:
        code = _invoke(list(args), invocation)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = ExitCode.INTERRUPTED
    except BrokenPipeError as error:
        code = invocation.code if is_stdout_gone() else _report_error(error, invocation)
        forget_output(sys.stdout)
    except BaseException as error:  # if something ends a review early, its code differs from a finished one
        code = _report_error(error, invocation)
    return code


def _invoke(args: list[str], invocation: Invocation) -> int:
    command = build()
    args = _without_help_command(args)
    try:
        try:
            context = command.make_context(PROGRAM, args, obj=invocation)
        except SystemExit as stop:  # typer's options for shell completion
            return int(stop.code or 0)
        with context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except typer.TyperException as error:
        check_removed_option(getattr(error, "option_name", ""))
        near = getattr(error, "possibilities", None)
        message = (error.message if near else error.format_message()).strip().rstrip(".").replace("'", "`")
        context = getattr(error, "ctx", None)
        # The parser's own errors know of no command.
        command_name = next((f" {arg}" for arg in args if arg in command_names()), "")
        call = context.command_path if context else f"{PROGRAM}{command_name}"
        hint = f"did you mean `{near[0]}`?" if near else f"`{call} --help` shows its arguments and options"
        raise InputError(message[:1].lower() + message[1:], hint=hint) from error
    return invocation.code


def _report_error(error: BaseException, invocation: Invocation) -> ExitCode:
    """Print an error for the user and return the exit code."""
    if invocation.debug:
        sys.stderr.write(invocation.redact(render_traceback(error)))
    if isinstance(error, ModuleNotFoundError):
        error = missing_package(error.name) or error
    text = render_failure(error, wants_color(invocation.color, sys.stderr, os.environ))
    sys.stderr.write(invocation.redact(text))
    return error.code if isinstance(error, SchemactlError) else ExitCode.FAILED


def main() -> NoReturn:
    """Run the command line of this process."""
    make_streams_safe()
    if "_SCHEMACTL_COMPLETE" in os.environ:
        # typer breaks help at this width, and fish treats each line as a candidate.
        os.environ["TERMINAL_WIDTH"] = "10000"
        build().main(prog_name=PROGRAM)
    sys.exit(run(sys.argv[1:]))
