"""Print a JSON Schema for editor completion and validation.

`file` describes schema files (`*.schema.yaml`), including the `x-` hints of schemactl. `config` describes
`schemactl.toml`, and `pyproject` describes `[tool.schemactl]` in a `pyproject.toml`. --output writes the JSON Schema
to a file, and --name-in adds a comment to YAML and TOML files that tells editors to use it.

Examples:
    # Print the JSON Schema of schema files
    schemactl schema file

    # Write it to a file, and validate an import file in an editor
    schemactl schema file -o file.json --name-in schemas/import/crm.schema.yaml
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from schemactl.cli.declarations import CommandGroup, Group, argument, option
from schemactl.cli.options import CommonOptions
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.SETTINGS

    kind: Literal["file", "config", "pyproject"] = argument("file|config|pyproject", "The kind of files to describe.")
    output: str | None = option("Write the JSON Schema to FILE.", Group.OUTPUT, metavar="FILE", short="-o")
    name_in: Sequence[str] = option(
        "Add a comment to a YAML or TOML file that tells editors to use the file of `--output`. Repeatable.",
        Group.OUTPUT,
        metavar="FILE",
        default=[],
    )
    format: Literal["text", "json"] = option("Has no effect: the output is JSON.", Group.OUTPUT, default="text")


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the JSON Schema, or write it and name it in files."""
    from schemactl.render.json import render_document

    if options.kind == "file":
        from schemactl.schema.json_schema import file_schema as schema
    else:
        from schemactl.cli.commands import all_options
        from schemactl.cli.settings_schema import project_schema, settings_schema

        schema = partial(settings_schema if options.kind == "config" else project_schema, all_options())
    text = render_document(schema())
    if options.output is None:
        if options.name_in:
            raise InputError("`--name-in` needs `--output`", hint="add `--output FILE`")
        terminal.write(text)
        return ExitCode.DONE
    from schemactl.flows.files import name_schema
    from schemactl.store.text import replace_file

    path = Path(options.output)
    replace_file(path, text)
    paths = [options.output, *(name for name in options.name_in if name_schema(Path(name), path))]
    if not options.quiet:
        terminal.report("".join(f"wrote {written_path}\n" for written_path in paths))
    return ExitCode.DONE
