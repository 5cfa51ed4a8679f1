"""Compare two schemas: what changed, who it breaks, how to fix it.

BASE and HEAD are REFs: NAME, import:NAME, export:NAME, a file, a folder, git:REV, git:REV:PATH, or - for standard
input; git:REV... is the merge base of this branch and REV. A folder or a revision means its export files plus
unapplied import edits. Without references, `diff` previews what your import edits will do; with only a NAME, it
previews the edit of that schema. Any other BASE without HEAD is compared with the schemas folder.

If BASE is a git revision, the review settings of BASE apply; a change of these settings is a finding.

Exits with 1 if a finding reaches the severity of --fail-on. `schemactl rules ID` explains a rule.

Examples:
    # Preview the edit of an import file
    schemactl diff

    # Review this branch, for a Markdown comment
    schemactl diff git:main... --format markdown
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from schemactl.cli.completing import complete_input_formats, complete_outputs, complete_severities
from schemactl.cli.declarations import CommandGroup, Group, Setting, SettingsTable, flag, option, option_specs
from schemactl.cli.options import (
    DEFAULT_LIMITS,
    FindingsOptions,
    ReadersOptions,
    ReviewOptions,
    SparkCommandOptions,
    check_output,
    output_file,
    ref,
)
from schemactl.cli.settings import Call, Surroundings, check_keys, resolve, setting_text
from schemactl.cli.terminal import Terminal, write_in_formats
from schemactl.errors import ExitCode, InputError
from schemactl.redaction import redact

if TYPE_CHECKING:
    from schemactl.flows.diff import DiffRequest
    from schemactl.flows.survival import DataRequest
    from schemactl.review.report import Report
    from schemactl.review.severity import Severity


NEVER = "0"
"""As a limit: unlimited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, ReviewOptions, ReadersOptions, SparkCommandOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.REVIEW

    references: Sequence[str] = ref(
        "[BASE [HEAD]]", "The schemas to compare. Default: preview import edits.", default=[]
    )
    compat: Literal["readers", "writers", "full", "none"] = option(
        "Who a change must not break. Stored rows are protected too, except with `none`.",
        setting=Setting(),
        default="full",
    )
    transitive: bool = flag("Also compare HEAD with all older versions of BASE in git.", setting=Setting())
    explain: bool = flag(
        "Print the compatibility mode under its Confluent Schema Registry name, with its meaning.", Group.OUTPUT
    )
    fail_on: Literal["error", "warn", "never"] = option(
        "The lowest severity that makes `diff` exit with 1.", setting=Setting(), default="error"
    )
    severity: Sequence[str] = option(
        "Set the severity of a rule: `error`, `warn`, `info` or `none`.",
        setting=Setting(in_environment=False),
        metavar="RULE=LEVEL",
        completes=complete_severities,
        default=[],
    )
    silence: Sequence[SettingsTable] = option("", setting=Setting(in_file_only=True), default=[])
    policy: str | None = option(
        "Read review settings from this file or revision. Default: BASE, if it is a git revision.",
        setting=Setting(in_file=False),
        metavar="FILE|git:REV",
    )
    data: Sequence[str] = option(
        "Count the values in this data that a change would lose, with Spark.", Group.INPUT, metavar="SOURCE", default=[]
    )
    model: str | None = option(
        "Compare BASE with the schema that a load with this Pydantic model would produce. Importing the "
        "module runs its code.",
        Group.INPUT,
        Setting(in_file=False),
        metavar="MODULE:CLASS",
    )
    table: str | None = option(
        "The root table. Default: named after the source of `--data`, or the only root table for `--model`.",
        Group.INPUT,
        metavar="TABLE",
    )
    sample: str = option("How much of the data to read.", Group.INPUT, metavar="10%|ROWS|full", default="full")
    input_format: str | None = option(
        "The format of the data, if detection fails. `xml:TAG` also sets the record element.",
        Group.INPUT,
        metavar="FORMAT",
        completes=complete_input_formats,
    )
    format: str = option(
        "The output format: text, json, markdown, github, gitlab, sarif or junit.",
        Group.OUTPUT,
        Setting(),
        metavar="FORMAT",
        completes=complete_outputs,
        default="text",
        check=check_output,
    )
    timeout: str | None = option(
        "Stop with exit code 2 after this time; `0` for no limit. Default: 300, or no limit with `--data`.",
        setting=Setting(),
        metavar="SECONDS",
    )
    max_memory: str | None = option(
        "Stop with exit code 2 above this memory (Linux); `0` for no limit. Default: 4096, or no limit with `--data`.",
        setting=Setting(),
        metavar="MB",
    )
    output: str | None = output_file()
    git: bool = flag("Read the arguments that git passes to an external diff; always exit with 0.", Group.OUTPUT)

    def surround(self, read: Callable[[], Surroundings]) -> Surroundings:
        """Return the settings that decide the review: of a git base or a policy, if one is named, never of the head."""
        from schemactl.cli.policy import files_for
        from schemactl.store.git import revision_of

        base = None if self.git else next(iter(self.references), None)
        if self.policy is None and revision_of(base) is None:
            return read()
        return Surroundings(os.environ, files_for(base, self.policy))

    @property
    def default_limits(self) -> tuple[str, str]:
        """The seconds and the MB in which the review has to end; counting in data ends when it ends."""
        return (NEVER, NEVER) if self.data else DEFAULT_LIMITS


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Compare, print the report, and return 1 if a finding reaches ``--fail-on``."""
    from schemactl.flows.diff import diff_schemas
    from schemactl.render.progress import show_progress

    if options.git:
        return run_for_git(options, terminal)
    if len(options.references) > 2:
        raise InputError(f"`{options.references[2]}` is an extra reference", hint="pass BASE and HEAD only")
    with show_progress(terminal.progress if options.data else None) as progress:
        report = diff_schemas(make_request(options), progress)
    write_in_formats(terminal, options, partial(render, report, options), options.output)
    return exit_code_of(report, options.fail_on)


_UNMERGED, _PLAIN, _RENAMED = 1, 7, 9
"""The number of arguments that git gives (gitattributes, "Defining an external diff driver")."""


def run_for_git(options: Options, terminal: Terminal) -> ExitCode:
    """Print the changes of one file as ``git diff`` hands it over: path, old file, hex, mode, new file, hex, mode.

    For a renamed file, the new path and git's description of the rename follow.
    """
    from schemactl.flows.diff import diff_files
    from schemactl.render.escaping import escape
    from schemactl.store.git import colors_diffs, text_diff

    if len(options.references) not in (_UNMERGED, _PLAIN, _RENAMED):
        message = "`--git` needs 7 arguments from git, or 9 for a renamed file"
        raise InputError(message, hint="docs/ci.md shows the set-up")
    if len(options.references) == _UNMERGED:
        terminal.write(f"{escape(options.references[0])}: not merged yet\n")
        return ExitCode.DONE
    if options.color == "auto" and terminal.color:
        terminal = replace(terminal, color=colors_diffs(Path.cwd()))
    path, old, _, _, new = options.references[:5]
    new_path = options.references[7] if len(options.references) == _RENAMED else path
    if new_path != path:
        terminal.write(f"{escape(path)} -> {escape(new_path)}\n")
    try:
        report = diff_files((path, new_path), _state(old), _state(new), make_request(replace(options, references=[])))
    except InputError as error:
        diff = text_diff(_state(old), _state(new))
        terminal.write(f"{escape(new_path)}: no typed changes: {escape(error.message)}\n{diff}")
    else:
        terminal.write(render(report, options, options.format, terminal))
    return ExitCode.DONE


def _state(file: str) -> Path | None:
    """Return the file that git names, None for ``/dev/null``."""
    return None if file == os.devnull else Path(file)


def make_request(options: Options) -> DiffRequest:
    """Return the options as the flow takes them."""
    from schemactl.cli.commands import all_options
    from schemactl.cli.policy import JUDGING, files_of
    from schemactl.flows.diff import DiffRequest
    from schemactl.review.comparison import SettingChange
    from schemactl.review.report import Compatibility
    from schemactl.review.silences import parse_silences
    from schemactl.store.git import revision_of

    base, head, *_ = (*options.references, None, None)
    # Of the base and of the head; empty unless the base is a git revision.
    is_of_git = not options.git and revision_of(base) is not None
    files = (files_of(base), files_of(head)) if is_of_git else ((), ())
    for file in files[1]:  # after the merge they hold for every command
        check_keys(file, all_options())
    data: DataRequest | None = None
    if options.data:
        from schemactl.flows.survival import DataRequest

        sources = tuple(options.data)
        data = DataRequest(sources, options.table, options.input_format, options.sample, options.engine_options())
    before, after = (resolve(Options, Call("diff", (), Surroundings({}, side_files))) for side_files in files)
    if after.readers:  # after the merge they hold for every command
        from schemactl.cli.reader_tables import check_reader_tables

        check_reader_tables(after.readers)
    # The head's own silences that have a fingerprint are its purpose.
    silences = [table.values for table in options.silence]
    head_silences = (table for table in after.silence if "fingerprint" in table.values and table.values not in silences)
    specs = {spec.key: spec for spec in option_specs(Options)}
    changed_settings = []
    for key in ("schemas",) if options.policy else ("schemas", *JUDGING):
        base_value, head_value = (_plain(specs[key].value_in(side)) for side in (before, after))
        if base_value != head_value:
            base_location, location = (next((file.locate(key) for file in side_files), None) for side_files in files)
            changed_settings.append(SettingChange(key, base_value, head_value, location, base_location))
    return DiffRequest(
        base=base,
        head=head,
        schemas=options.schemas_folder,
        today=date.today(),
        compatibility=Compatibility(options.compat),
        is_transitive=options.transitive,
        severities=parse_severities(options.severity),
        silences=parse_silences([(table.values, table.at) for table in (*options.silence, *head_silences)]),
        settings=tuple(changed_settings),
        data=data,
        model=options.model,
        table=options.table,
        readers=options.reader_sources(),
    )


def _plain(value: Any) -> Any:
    """Return the value of a setting as JSON data."""
    if not isinstance(value, list):
        return value
    # A silence of a finding is part of the change that it accepts.
    items = [item for item in value if not isinstance(item, SettingsTable) or "fingerprint" not in item.values]
    return [
        {key: redact(setting_text(value)) for key, value in item.values.items()}
        if isinstance(item, SettingsTable)
        else item
        for item in items
    ]


def parse_severities(pairs: Iterable[str]) -> Mapping[str, Severity]:
    """Return severities by rule; the last one of a rule counts."""
    from schemactl.review.severities import parse_severity

    severities = {}
    for pair in pairs:
        rule, _, level = (piece.strip() for piece in pair.partition("="))
        severities[rule] = parse_severity(rule, level)
    return severities


def render(report: Report, options: Options, name: str, terminal: Terminal) -> str:
    """Return the report in the format of this name."""
    if name != "text":
        from schemactl.render.reviews import OUTPUTS

        return OUTPUTS[name].render(report)
    from schemactl.render.review_text import print_review

    return print_review(report, terminal.look(options), explains_mode=options.explain)


def exit_code_of(report: Report, fail_on: str) -> ExitCode:
    """Return 1 if a finding that counts is as bad as ``fail_on``: ``error``, ``warn``, or ``never``."""
    from schemactl.review.severity import Severity

    if fail_on == "never":
        return ExitCode.DONE
    is_bad = any(finding.severity.rank >= Severity(fail_on).rank for finding in report.findings)
    return ExitCode.FINDINGS if is_bad else ExitCode.DONE
