"""Silence specific `diff` findings until a date.

Each silence covers one finding, by its fingerprint and severity: a later change or a worse finding is not covered.
The silences go into the settings file; `schemactl diff` reports the expired ones. `schemactl diff --verbose` and
`--format json` show the fingerprints.

Examples:
    # Silence the findings of this branch until its readers are updated
    schemactl accept --all --base git:main... --until 2030-06-30 --reason "agreed"

    # Silence the findings of an import file edit
    schemactl accept --all --until 2030-06-30 --reason "no readers yet"
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schemactl.cli import settings
from schemactl.cli.declarations import CommandGroup, argument, flag, option
from schemactl.cli.options import ReviewOptions, complete_references, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError, did_you_mean

if TYPE_CHECKING:
    from schemactl.review.report import Finding, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ReviewOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.REVIEW

    format: str = text_or_json()
    fingerprints: Sequence[str] = argument(
        "FINGERPRINT...", "Fingerprints of findings, as `schemactl diff --verbose` prints them.", default=[]
    )
    all: bool = flag("Silence all errors and warnings.")
    until: str | None = option("The last day of the silence: `2030-06-30`.", metavar="DATE")
    reason: str | None = option("Why the findings are acceptable. Saved with each silence.", metavar="TEXT")
    base: str | None = option(
        "Same as BASE in `schemactl diff`.", metavar="REF", completes=complete_references, is_reference=True
    )
    head: str | None = option(
        "Same as HEAD in `schemactl diff`.", metavar="REF", completes=complete_references, is_reference=True
    )


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Compare as ``diff`` does, and write the silences."""
    from schemactl.cli.commands import diff
    from schemactl.flows.diff import diff_schemas
    from schemactl.render.files import Accepted, print_accepted, report_document

    until, reason = _until(options.until), (options.reason or "").strip()
    if not reason:
        raise InputError("`--reason` is missing", hint='add a reason: `--reason "..."`')
    if bool(options.fingerprints) is options.all:
        raise InputError("name the fingerprints of findings, or `--all`", hint="`schemactl diff --verbose` shows them")
    if options.head is not None and options.base is None:
        raise InputError("`--head` needs `--base`")
    references = [reference for reference in (options.base, options.head) if reference is not None]
    values = {
        "references": references or None,
        "schemas": options.schemas,
        "import_schemas": options.import_schemas,
        "export_schemas": options.export_schemas,
    }
    call = settings.Call("diff", (values,), settings.Surroundings(os.environ))
    surroundings = settings.resolve(diff.Options, call).surround(settings.find_surroundings)
    report = diff_schemas(diff.make_request(settings.resolve(diff.Options, replace(call, surroundings=surroundings))))
    findings = _chosen(report, options.fingerprints, has_base=options.base is not None)
    path = str(_save(findings, until, reason)) if findings else None
    accepted = Accepted(path, until, reason, tuple(findings))
    return write_report(terminal, options, accepted, report_document, print_accepted)


def _until(text: str | None) -> date:
    if text is None:
        raise InputError("`--until` is missing", hint="add the last day of the silence: `--until 2030-06-30`")
    try:
        until = date.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"`{text}` is not a date (`--until`)", hint="write a date like `2030-06-30`") from error
    if until < date.today():
        raise InputError(f"`--until {text}` is in the past")
    return until


def _chosen(report: Report, fingerprints: Sequence[str], *, has_base: bool) -> list[Finding]:
    from schemactl.review.severity import Severity

    all_findings = {finding.fingerprint: finding for review in report.reviews for finding in review.findings}
    active_findings = (finding for finding in all_findings.values() if finding.silence is None)
    findings = {finding.fingerprint: finding for finding in active_findings if finding.is_acceptable}
    if not fingerprints:
        return [finding for finding in findings.values() if finding.severity.rank >= Severity.WARN.rank]
    for fingerprint in fingerprints:
        refused_finding = all_findings.get(fingerprint)
        if refused_finding is not None and refused_finding.is_gate:
            message = f"{refused_finding.rule} changes the review itself, so no single finding of it can be accepted"
            raise InputError(message, hint="silence the rule in the settings that the base of the review has")
        if fingerprint not in findings:
            shows = "`schemactl diff --verbose` shows the fingerprints of findings"
            shows += "" if has_base else "; of a review against another base: `--base git:main...`"
            hint = did_you_mean(fingerprint, findings) or shows
            raise InputError(f"no finding has the fingerprint `{fingerprint}`", hint=hint)
    return [findings[fingerprint] for fingerprint in dict.fromkeys(fingerprints)]


def _save(findings: Sequence[Finding], until: date, reason: str) -> Path:
    """Append the silences to the settings file, creating it if necessary; return its path.

    A new file goes to the top of the repository, where reviews started in any folder find it.
    """
    import tomllib

    from schemactl.review.silences import write_silence
    from schemactl.store.links import repository_top
    from schemactl.store.text import replace_file

    file = settings.find_file(Path.cwd())
    line_end = "\r\n" if file and "\r\n" in file.text else "\n"
    file = file and replace(file, text=file.text.replace("\r\n", "\n"))
    path = file.path if file else (repository_top(Path.cwd()) or Path.cwd()) / settings.FILE_NAME
    name = "tool.schemactl.diff.silence" if path.name == settings.PROJECT_FILE_NAME else "diff.silence"
    silences = "\n".join(write_silence(finding, until, reason, name) for finding in findings)
    text = f"{_without_empty_list(file).rstrip()}\n\n{silences}" if file else silences
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        tables = f"`[{name.removesuffix('.silence')}]` and `[[{name}]]`"
        hint = f"write its `diff` settings and silences as tables ({tables}), then run `accept` again"
        raise InputError(f"cannot add a silence to `{path}`: {error}", hint=hint) from error
    replace_file(path, text.replace("\n", line_end))
    return path


_EMPTY_LIST = re.compile(r"""^[ \t]*[\w."'-]*\bsilence["']?[ \t]*=[ \t]*\[\s*\][ \t]*(#.*)?$\n?""", re.MULTILINE)


def _without_empty_list(file: settings.SettingsFile) -> str:
    """Return the text of a settings file without ``silence = []``, which TOML does not let a table extend."""
    other_settings = {**file.table.get("diff", {})}
    if other_settings.pop("silence", None) != []:
        return file.text
    for empty_list in _EMPTY_LIST.finditer(file.text):
        text = file.text[: empty_list.start()] + file.text[empty_list.end() :]
        # Another table may have such a key, too, and a text may look like one.
        reduced_file = settings.parse_file(text, file.path, file.folder)
        if reduced_file is not None and {**reduced_file.table.get("diff", {})} == other_settings:
            return text
    return file.text
