"""Set up a project: schemas folder, settings, git, CI, editor.

Works in the current folder. SOURCE provides the first schemas: a dlt pipeline folder (copies its schema files), a
dataset that dlt loads, or a database (imports its tables). Overwrites no file: the report shows lines to add to an
existing file, and `.gitattributes` gets its lines at the end.

On a terminal, `init` asks for each part that no option decides. Without a terminal, and with --yes, it sets up git if
the folder is in a repository, CI and pre-commit if the repository uses them already, and the editor if VS Code has
settings there.

Examples:
    # Set up a project, and answer questions
    schemactl init

    # Start with the tables of a database, and review changes in GitHub Actions
    schemactl init duckdb:///data.duckdb --git --ci github --yes
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from schemactl.cli.declarations import CommandGroup, argument, flag, option
from schemactl.cli.options import CommonOptions, text_or_json
from schemactl.cli.terminal import Terminal, can_ask, choose, read_answer, write_report
from schemactl.errors import ExitCode

if TYPE_CHECKING:
    from schemactl.flows.init import ProjectParts


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.SETTINGS

    source: str | None = argument(
        "[SOURCE]",
        "A folder of a dlt pipeline, or the address of a dataset or database, whose schemas to start with.",
        is_destination=True,
    )
    name: str | None = option("The schema's name; by default that of the source.", metavar="NAME")
    git: bool | None = option(
        "Let git merge schema files by column, and show columns in `git diff`; create a repository if needed.",
        word="--git/--no-git",
    )
    ci: Literal["github", "gitlab", "none"] | None = option(
        "Write the workflow that reviews changes of schemas in GitHub Actions or GitLab CI."
    )
    pre_commit: bool | None = option("Write hooks for pre-commit.", word="--pre-commit/--no-pre-commit")
    editor: bool | None = option(
        "Write the JSON Schemas by which editors complete and check schema files and settings.",
        word="--editor/--no-editor",
    )
    yes: bool = flag("Ask nothing.", short="-y")
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Set up the working folder, and print the files and the next commands."""
    from schemactl.cli.commands import all_options
    from schemactl.cli.settings import find_file
    from schemactl.cli.settings_schema import settings_schema
    from schemactl.flows.init import InitRequest, default_parts, init_project
    from schemactl.render.init import init_document, print_init
    from schemactl.render.json import render_document
    from schemactl.schema.json_schema import file_schema
    from schemactl.store.links import repository_top
    from schemactl.store.project_files import SCHEMA_FILE_SCHEMA, SETTINGS_SCHEMA

    project = Path.cwd()
    settings = find_file(project)
    if settings and not settings.path.is_relative_to(repository_top(project) or project):
        settings = None  # of a folder above, which a file here overrides
    schemas = {SCHEMA_FILE_SCHEMA: file_schema(), SETTINGS_SCHEMA: settings_schema(all_options())}
    is_asking = can_ask() and not options.yes
    source = options.source
    if source is None and is_asking and not options.schemas_folder.names:
        terminal.report("Import schemas from a dlt pipeline's folder, or the address of a dataset or database [none]: ")
        source = read_answer() or None
    request = InitRequest(
        schemas=options.schemas_folder,
        parts=_choose_parts(options, default_parts(project), terminal if is_asking else None),
        source=source,
        name=options.name,
        settings=settings.path if settings else None,
        settings_table=settings.table if settings else {},
        editor_schemas={file: render_document(schema) for file, schema in schemas.items()},
    )
    return write_report(terminal, options, init_project(request), init_document, print_init)


def _choose_parts(options: Options, defaults: ProjectParts, terminal: Terminal | None) -> ProjectParts:
    """Return the parts that the options name; ask for the remaining parts at a terminal, or use the defaults."""
    from schemactl.flows.init import ProjectParts

    def wants(chosen: bool | None, question: str, default: bool) -> bool:
        if chosen is not None or terminal is None:
            return default if chosen is None else chosen
        return choose(question, ("yes", "no"), "yes" if default else "no", terminal) == "yes"

    ci = options.ci
    git = wants(options.git, "Set up git?", defaults.git)
    if ci is None:
        ci = defaults.ci or "none"
        if terminal is not None:
            chosen_ci = choose("Review changes in CI?", ("github", "gitlab", "none"), ci, terminal)
            ci = next(system for system in ("github", "gitlab", "none") if system == chosen_ci)
    return ProjectParts(
        git=git,
        ci=None if ci == "none" else ci,
        pre_commit=wants(options.pre_commit, "Write hooks for pre-commit?", defaults.pre_commit),
        editor=wants(options.editor, "Write JSON Schemas for your editor?", defaults.editor),
    )
