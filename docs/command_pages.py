"""Writes ``docs/commands/``, a page for each command, from the code that makes ``--help``.

``uv run python docs/command_pages.py``; a test holds that the pages are up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc, get_annotations
from pathlib import Path

from schemactl.cli.app import PROGRAM
from schemactl.cli.commands import command_names, is_group, load_command
from schemactl.cli.declarations import CommandGroup, Group, OptionSpec, option_specs
from schemactl.cli.options import CommonOptions, SparkCommandOptions
from schemactl.cli.parsing import split_examples

FOLDER = Path(__file__).parent / "commands"
GUIDES = {
    "accept": "review",
    "diff": "review",
    "edit": "schema-files",
    "export": "schema-files",
    "files": "new-files",
    "fmt": "schema-files",
    "import": "schema-files",
    "infer": "infer",
    "init": "start-project",
    "merge": "two-branches",
    "merge-driver": "two-branches",
    "migrate": "migrate",
    "normalize": "normalize",
    "rejects": "rejects",
    "rules": "review",
    "schema": "schema-files",
    "sync": "review",
    "typing": "arc",
}
"""The page that explains what a command is about."""

SHARED = {CommonOptions: "Options of all commands", SparkCommandOptions: "Spark options"}


def main() -> None:
    """Write the pages, and remove those of commands that are gone."""
    FOLDER.mkdir(exist_ok=True)
    written = pages()
    for file in FOLDER.glob("*.md"):
        if file.name not in written:
            file.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    made = {f"{name}.md": page(name) for name in command_names()}
    return {"README.md": index(made), **made}


def index(names: Iterable[str]) -> str:
    """Return the page that lists the commands, and the options that they share."""
    lines = ["# Commands", "", "`docs/command_pages.py` writes these pages from the code behind `--help`."]
    lines += [f"`{PROGRAM} help COMMAND [SUBCOMMAND]` prints the same as `{PROGRAM} COMMAND [SUBCOMMAND] --help`.", ""]
    commands = {file: load_command(file.removesuffix(".md")) for file in names}
    for group in (*CommandGroup, None):
        lines += [f"## {group or 'Called by git'}", "", "| command | |", "| --- | --- |"]
        lines += [
            f"| [`{PROGRAM} {file.removesuffix('.md')}`]({file}) | {_escaped(_paragraphs(command.__doc__)[0])} |"
            for file, command in commands.items()
            if command.Options.command_group is group
        ]
        lines.append("")
    lines += ["## Settings of options", ""]
    lines += [
        "Set an option with a setting in [a settings file](../settings.md) by that name, or in the environment as"
    ]
    lines += [
        "`SCHEMACTL_NAME` (`on-bad-record`: `SCHEMACTL_ON_BAD_RECORD`), unless its table gives another variable.",
        "",
    ]
    for cls, title in SHARED.items():
        own = [each for each in option_specs(cls) if _declaring(cls, each) is cls]
        lines += [f"## {title}", "", *_table(own)]
    return "\n".join([*lines, ""]).rstrip("\n") + "\n"


def page(name: str) -> str:
    """Return the page of a command, or of a group and its commands."""
    module = load_command(name)
    lines = [f"# {PROGRAM} {name}", ""]
    if is_group(module):
        lines += _about(module.__doc__)
        for each in command_names(module):
            command = load_command(each, module)
            lines += [f"## {PROGRAM} {name} {each}", "", *_command(f"{name} {each}", command.__doc__, command.Options)]
    else:
        lines += _command(name, module.__doc__, module.Options)
    links = "[Settings, references and exit codes](../settings.md) · [all commands](README.md)"
    if name in GUIDES:
        title = (FOLDER.parent / f"{GUIDES[name]}.md").read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        links = f"[{title}](../{GUIDES[name]}.md) · {links}"
    return "\n".join([*lines, links, ""])


def _command(words: str, text: str | None, options: type[CommonOptions]) -> Iterator[str]:
    """Yield the lines about one command: how it is called, its help and examples, its own options by their groups."""
    specs = [each for each in option_specs(options) if not each.setting.in_file_only]
    arguments = [each for each in specs if each.is_argument]
    usage = " ".join([PROGRAM, words, *(_metavar(each) for each in arguments), "[OPTIONS]"])
    yield from ("```text", usage, "```", "", *_about(text))
    if arguments:
        yield from ("| argument | |", "| --- | --- |")
        yield from (f"| `{_cell(_metavar(each))}` | {_help(each)} |" for each in arguments)
        yield ""
    own = [each for each in specs if each not in arguments and _declaring(options, each) not in SHARED]
    grouped = {group: [each for each in own if each.group is group] for group in Group}
    for group, members in grouped.items():
        if members and len(members) < len(own):
            yield from (f"**{group}**", "")
        if members:
            yield from _table(members)
    shared = [
        f"[{title[0].lower()}{title[1:]}](README.md#{title.lower().replace(' ', '-')})"
        for cls, title in SHARED.items()
        if issubclass(options, cls)
    ]
    yield from (f"Also: {', '.join(shared)}.", "")


def _about(text: str | None) -> Iterator[str]:
    """Yield the lines of a help text and its examples."""
    about, examples = split_examples(text or "")
    yield from _described(about)
    if examples:
        yield from ("```sh", *examples, "```", "")


def _table(specs: Iterable[OptionSpec]) -> Iterator[str]:
    yield from ("| option | | setting |", "| --- | --- | --- |")
    yield from (f"| {_names(each)} | {_help(each)} | {_setting(each)} |" for each in specs)
    yield ""


def _declaring(options: type[CommonOptions], spec: OptionSpec) -> type:
    """Return the class that declares an option last: a command may state other values of a shared one."""
    return next(cls for cls in options.__mro__ if spec.name in get_annotations(cls))


def _metavar(spec: OptionSpec) -> str:
    if spec.metavar:
        return spec.metavar
    return "" if spec.kind is bool else "|".join(spec.choices) or "TEXT"


def _names(spec: OptionSpec) -> str:
    value = f" {_metavar(spec)}".rstrip()
    return ", ".join(f"`{_cell(each + (value if each.startswith('--') else ''))}`" for each in spec.words)


def _help(spec: OptionSpec) -> str:
    text = spec.help
    if not spec.is_required and spec.default and spec.kind is not list:
        text += f" Default: `{spec.default}`."
    return _escaped(text)


def _setting(spec: OptionSpec) -> str:
    if not (spec.setting.in_file or spec.setting.in_environment):
        return ""
    if not spec.setting.in_file:
        return f"`{spec.variable}` only"
    section, key = spec.setting.section or (None, spec.key)
    stated = f"`{key}`" if section is None else f"`{key}` in `[{section}]`"
    return stated if spec.setting.in_environment else f"{stated}, no variable"


def _described(text: str | None) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        yield from (_escaped(paragraph), "")


def _paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text, each as one line."""
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n", cleandoc(text or ""))]


def _escaped(text: str) -> str:
    """Return prose in which Markdown finds no markup but code, and no end of a table's cell."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(_cell(each) if each.startswith("`") else re.sub(r"([*_<|\[\]])", r"\\\1", each) for each in parts)


def _cell(code: str) -> str:
    return code.replace("|", "\\|")


if __name__ == "__main__":
    main()
