"""A review as text for a person: a tree of tables and columns with their findings.

No text is cut off. If a rule has very many findings, the first ones are shown and the rest are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from schemactl.render import review_words as words
from schemactl.render.changes import describe
from schemactl.render.console import (
    FAINT,
    MOST_ALIKE,
    NAME,
    Look,
    first_lines,
    indented,
    more,
    named,
    print_sections,
    warning,
)
from schemactl.render.escaping import escape, show_name, show_sources
from schemactl.render.selection import kind_of
from schemactl.review.report import Finding, Report, Review, Silence
from schemactl.review.rule import place_of
from schemactl.review.severity import Severity
from schemactl.schema.changes import (
    Change,
    ColumnAdded,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    NullabilityChanged,
    TableAdded,
    TableRemoved,
    TableRenamed,
)
from schemactl.schema.wording import describe_column

_VIOLATION = "contract violation"
_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARN: "yellow", Severity.INFO: "cyan"}
_SYMBOLS: Final = {Severity.ERROR: "✗", Severity.WARN: "!", Severity.INFO: "·"}
_MARKS: Final = {"+": "green", "-": "red", "~": "yellow"}
_LABELLED: Final = (
    TableAdded,
    TableRemoved,
    TableRenamed,
    ColumnAdded,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    NullabilityChanged,
)
"""Changes that are printed on the line of the changed name; other changes have a separate line, in verbose output."""


@dataclass(slots=True)
class _Node:
    """The changes and findings of a schema, a table, or a column."""

    changes: list[Change] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    columns: dict[str, _Node] = field(default_factory=dict)


def print_review(report: Report, look: Look, explains_mode: bool = False) -> str:
    """Return the text of ``schemactl diff``.

    Quiet: errors, warnings and silences that cover nothing, a line each, and the summary. Verbose: every change and
    every finding, even silenced and cosmetic findings, and whole hashes.
    """
    shown_report, more_lines = (report, []) if look.is_verbose else _shorten(report)
    unused = list(first_lines(words.unused_silences(report), _unused_silence, look, "silence"))
    if look.is_quiet:
        return print_sections([[*_flat(shown_report), *more_lines, *unused, _summary(report)]], look)
    unchanged_reviews = [review for review in shown_report.reviews if words.is_same(review)]
    lists_all = len(unchanged_reviews) == 1 or look.is_verbose
    listed_reviews = [review for review in shown_report.reviews if lists_all or review not in unchanged_reviews]
    sections: list[Sequence[RenderableType]] = [list(_review(review, look)) for review in listed_reviews]
    if len(listed_reviews) < len(shown_report.reviews):
        sections.append([Text(f"unchanged: {', '.join(show_name(review.name) for review in unchanged_reviews)}")])
    violations = [finding for finding in shown_report.findings if finding.is_violation]
    sections.append([line for finding in violations for line in _violation(finding, len(report.reviews) > 1)])
    sections.append([*_silenced(shown_report), *unused])
    sections.append(more_lines)
    sections.append(list(_fixes(report)))
    mode = words.explain_mode(report) if explains_mode else words.scope(report)
    sections.append([Text(escape(mode), style=FAINT), _summary(report)])
    return print_sections(sections, look)


def _shorten(report: Report) -> tuple[Report, list[Text]]:
    """Return the report with the first findings of each rule, and lines that count the omitted findings.

    Errors, warnings and notes of a rule count separately, and so do silenced findings: no kind hides another one.
    """
    counts_by_kind: Counter[tuple[str, Severity, bool]] = Counter()
    reviews, changed_count, dropped_count = [], 0, 0
    for review in report.reviews:
        listed_findings = []
        for finding in review.findings:
            kind = kind_of(finding)
            is_listed = words.is_shown(finding) or finding.silence is not None
            counts_by_kind[kind] += is_listed
            if not is_listed or counts_by_kind[kind] <= MOST_ALIKE:
                listed_findings.append(finding)
        has_changes_alone = not listed_findings and not words.is_same(review)
        changed_count += has_changes_alone
        if has_changes_alone and (review.findings or changed_count > MOST_ALIKE):
            dropped_count += 1
        else:
            reviews.append(replace(review, findings=tuple(listed_findings)))
    more_lines = [
        more(number - MOST_ALIKE, f"silenced {word}" if is_silenced else word, f" of {rule}")
        for (rule, severity, is_silenced), number in counts_by_kind.items()
        if number > MOST_ALIKE and (word := words.WORDS.get(severity, "note"))
    ]
    if dropped_count:
        more_lines.append(more(dropped_count, "schema", " with changes"))
    return replace(report, reviews=tuple(reviews)), more_lines


def _flat(report: Report) -> Iterator[Text]:
    """Yield errors and warnings as compilers print them."""
    for finding in sorted(report.findings, key=lambda finding: -finding.severity.rank):
        if finding.severity.rank >= Severity.WARN.rank:
            location = words.location(finding)
            subject = escape(str(location)) if location else _thing(finding, names_schema=True)
            yield Text(f"{subject}: ").append(_sentence(finding))


def _review(review: Review, look: Look) -> Iterator[RenderableType]:
    yield named(review.name, escape(words.headline(review, look.is_verbose)))
    if not words.is_same(review):
        origins = " to ".join(escape(side.origin) for side in (review.base, review.head) if side)
        direction = "from" if review.base and review.head else "in"
        if origins:
            yield indented(Text(f"{direction} {origins}", style=FAINT))
        more = " (--verbose lists all)" if review.content_changes and not look.is_verbose else ""
        yield indented(Text(escape(words.what_hash_says(review))).append(more, style=FAINT))
    yield from (indented(warning("warning", escape(sentence))) for sentence in words.edits(review))
    if tables := list(_tables(review, look)):
        tree = Tree("", hide_root=True, guide_style=FAINT)
        for table in tables:
            tree.children.append(table)
        yield from (Text(), tree)


def _tables(review: Review, look: Look) -> Iterator[Tree]:
    """Yield a branch for each table, by name; changes of the schema itself come first."""
    nodes = _nodes(review, look)
    quiet = 0
    for name in sorted(nodes, key=lambda table_name: (table_name is not None, table_name or "")):
        node = nodes[name]
        branch = Tree(_table_label(name, node, review), guide_style=FAINT)
        _fill(branch, node, look)
        for column, below in node.columns.items():
            if look.is_verbose or below.findings:
                _fill(branch.add(_label(column, below, review.sources.get((name or "", column), ()))), below, look)
        quiet += not branch.children and any(_labelled(node))
        if look.is_verbose or branch.children or (any(_labelled(node)) and quiet <= MOST_ALIKE):
            yield branch
    if quiet > MOST_ALIKE and not look.is_verbose:
        yield Tree(more(quiet - MOST_ALIKE, "changed table"), guide_style=FAINT)


def _nodes(review: Review, look: Look) -> dict[str | None, _Node]:
    nodes: dict[str | None, _Node] = {}
    for change in review.content_changes:
        _node(nodes, *place_of(change)).changes.append(change)
    for finding in review.findings:
        is_listed = finding.silence is None if look.is_verbose else words.is_shown(finding)
        if is_listed and not finding.is_violation:
            _node(nodes, finding.table, finding.column).findings.append(finding)
    return nodes


def _node(nodes: dict[str | None, _Node], table: str | None, column: str | None) -> _Node:
    node = nodes.setdefault(table, _Node())
    return node if column is None else node.columns.setdefault(column, _Node())


def _table_label(name: str | None, node: _Node, review: Review) -> Text:
    if name is None:
        return _mark("~").append("settings" if review.is_of_settings else "schema", style=NAME)
    if not any(_labelled(node)):
        return _mark("~").append(show_name(name), style=NAME)
    return _label(name, node, review.sources.get((name, None), ()))


def _label(name: str, node: _Node, sources: Sequence[str]) -> Text:
    changes = list(_labelled(node))
    label = _mark(next(map(_sign, changes), "~")).append(show_name(name), style=NAME)
    if changes:
        label.append(f": {escape('; '.join(map(describe, changes)))}")
    return label.append(f" from {show_sources(sources)}", style=FAINT) if sources else label


def _labelled(node: _Node) -> Iterator[Change]:
    return (change for change in node.changes if _is_labelled(change))


def _is_labelled(change: Change) -> bool:
    is_restated = isinstance(change, NullabilityChanged) and change.is_restated
    return isinstance(change, _LABELLED) and not is_restated


def _sign(change: Change) -> str:
    match change:
        case TableAdded() | ColumnAdded():
            return "+"
        case TableRemoved() | ColumnRemoved():
            return "-"
        case _:
            return "~"


def _mark(sign: str) -> Text:
    return Text().append(f"{sign} ", style=_MARKS[sign])


def _fill(branch: Tree, node: _Node, look: Look) -> None:
    if look.is_verbose:
        for change in node.changes:
            if not _is_labelled(change):
                branch.add(_mark("~").append(escape(describe(change))))
            elif isinstance(change, TableAdded | TableRemoved):
                for column in change.table.columns.values():
                    line = _mark(_sign(change)).append(show_name(column.name), style=NAME)
                    branch.add(line.append(f": {escape(describe_column(column))}"))
    is_listed = any(
        look.is_verbose or isinstance(change, ColumnRetyped | NullabilityChanged) for change in node.changes
    )
    for finding in node.findings:
        details = list(_details(finding, is_listed and finding.against is None))
        if look.is_verbose and finding.is_acceptable:
            details.append(Text(f"fingerprint {finding.fingerprint}", style=FAINT))
        branch.add(Group(_finding(finding), *map(indented, details)))


def _finding(finding: Finding) -> Text:
    style = _STYLES.get(finding.severity, FAINT)
    return Text().append(f"{_SYMBOLS.get(finding.severity, '·')} ", style=style).append(_sentence(finding))


def _sentence(finding: Finding, is_silenced: bool = False) -> Text:
    word = _VIOLATION if finding.is_violation else words.WORDS.get(finding.severity, "note")
    style = FAINT if is_silenced else _STYLES.get(finding.severity, FAINT)
    label = Text().append(f"{word} {escape(finding.rule)}", style=style)
    return label.append(f": {escape(finding.message)}").append(f" — {words.victims(finding)}", style=FAINT)


def _details(finding: Finding, shows_values: bool) -> Iterator[Text]:
    if not shows_values and (values := words.values(finding)):
        yield Text(escape(values))
    if readers := words.readers_sentence(finding):
        yield Text(escape(readers))
    if data := words.data_count(finding):
        yield Text(escape(data))
    if finding.advice:
        yield Text(escape(finding.advice))
    if finding.against is not None:
        yield Text(f"breaks {escape(finding.against)}")
    if location := words.location(finding):
        yield Text(f"at {escape(str(location))}", style=FAINT)


def _fixes(report: Report) -> Iterator[Text]:
    """Yield the fixes of errors and warnings, each once."""
    serious = (finding for finding in report.findings if finding.severity.rank >= Severity.WARN.rank)
    for rule, fix in sorted({(finding.rule, finding.fix) for finding in serious}):
        yield warning(f"fix {escape(rule)}", escape(fix), NAME)


def _violation(finding: Finding, names_schema: bool) -> Iterator[RenderableType]:
    yield _finding(finding)
    yield indented(Text(f"in {_thing(finding, names_schema)}"))
    yield from map(indented, _details(finding, shows_values=False))


def _silenced(report: Report) -> Iterator[RenderableType]:
    """Yield the silenced findings with reason and last day: a change must not hide its own silences."""
    for review in report.reviews:
        for finding in review.findings:
            if finding.silence is not None:
                yield Text("silenced ", style=FAINT).append(_sentence(finding, is_silenced=True))
                yield indented(Text(f"in {_thing(finding, len(report.reviews) > 1)}"))
                yield indented(Text(escape(words.silenced(finding.silence)), style=FAINT))


def _unused_silence(unused: tuple[Silence, str]) -> Text:
    silence, message = unused
    location = f"{escape(str(silence.at))}: " if silence.at else ""
    return warning("warning", f"{location}{escape(message)}")


def _thing(finding: Finding, names_schema: bool) -> str:
    name = ".".join(show_name(word) for word in (finding.table, finding.column) if word is not None)
    schema = f"schema {show_name(finding.schema)}"
    return f"{schema}, {name}" if name and names_schema else name or schema


def _summary(report: Report) -> Text:
    worst = max((finding.severity.rank for finding in report.findings), default=0)
    style = {Severity.ERROR.rank: "bold red", Severity.WARN.rank: "yellow"}.get(worst, "")
    return Text(words.summary(report), style=style)
