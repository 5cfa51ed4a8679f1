"""A review as Markdown, made for a comment on a pull request: short on top, all changes in folded sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from schemactl.render import review_words as words
from schemactl.render import selection
from schemactl.render.changes import describe
from schemactl.render.escaping import escape, show_name
from schemactl.review.report import Finding, Report, Review, Version
from schemactl.review.rule import place_of
from schemactl.review.severity import Severity
from schemactl.schema.changes import Change
from schemactl.schema.wording import counted, show_value

Item = TypeVar("Item")

LIMIT: Final = 65_000
"""Characters at most; GitHub refuses comments of more than 65,536."""

_HEAD: Final = "| Severity | Rule | Where | What |\n|---|---|---|---|\n"
_READERS_HEAD: Final = "| Severity | Rule | Change | Breaks | Owner |\n|---|---|---|---|---|\n"
"""The header of the table of a review that knows readers."""
_LONGEST_TEXT: Final = 600
_RESERVE: Final = 500
"""Characters reserved for the sentence that counts omitted details."""
_SYMBOLS: Final = {Severity.ERROR: ":x:", Severity.WARN: ":warning:", Severity.INFO: ":information_source:"}
_CLOSE: Final = "\n</details>\n\n"
_MARKUP: Final = re.compile(r"[\\`*_\[\]<#|~&$]")
_PLAIN_CODE: Final = re.compile(r"[^`|\\<>&\s]([^`|\\<>&\n]*[^`|\\<>&\s])?")


def render(report: Report) -> str:
    """Return the comment: counts, a table of findings, and a folded section for each schema.

    It has at most ``LIMIT`` characters: details go first, then findings, of which the first of each rule and severity
    are the last to go; a line counts the omitted findings by rule. Names and values appear literally, and never act as
    Markdown, HTML, mention or link.
    """
    worst = max((finding.severity for finding in report.findings), key=lambda severity: severity.rank, default=None)
    parts = [heading(report, worst, f"Schema review: {words.summary(report)}"), f"{prose(words.scope(report))}\n\n"]
    shown_findings = list(filter(words.is_shown, report.findings))
    has_readers = any(finding.answer is not None for finding in shown_findings)
    head, show = (_READERS_HEAD, _readers_row) if has_readers else (_HEAD, _row)
    parts += fitting_table(finding_table(head, partial(show, report=report)), shown_findings, parts)
    silenced = (finding for review in report.reviews for finding in review.findings if finding.silence is not None)
    silenced_rules = _plain(selection.count_labels(map(selection.label, silenced)))
    notes = [partial(str, f"{note}\n\n") for note in _notes(report)]
    fitting_notes, hidden = _fitting(notes, room_left((*parts, silenced_rules)))
    parts.extend(fitting_notes)
    for review in report.reviews:
        if words.is_same(review):
            continue
        headline = _plain(words.headline(review, is_whole=False))
        opening = f"<details><summary><code>{_html(show_name(_short(review.name)))}</code>: {headline}</summary>\n\n"
        details, unfitting = _fitting(list(_details(review)), room_left((*parts, silenced_rules, opening, _CLOSE)))
        hidden += unfitting
        if details:
            parts.extend((opening, *details, _CLOSE))
    if hidden:
        count = counted(hidden, "detail")
        parts.append(f"{count} did not fit into this comment; `schemactl diff --verbose` has all.\n")
        parts.append(f"\nSilenced: {silenced_rules}.\n" if silenced_rules else "")
    return "".join(parts).rstrip("\n") + "\n"


def _fitting(makers: Sequence[Callable[[], str]], room: int) -> tuple[list[str], int]:
    """Return the first of some texts, as far as there is room, and how many more there are: these are not made."""
    texts: list[str] = []
    for make in makers:
        text = make()
        room -= len(text)
        if room < 0:
            break
        texts.append(text)
    return texts, len(makers) - len(texts)


def room_left(parts: Iterable[str]) -> int:
    """Return how many characters remain for a comment after some parts and the sentence at its end."""
    return LIMIT - _RESERVE - sum(map(len, parts))


def heading(report: Report, worst: Severity | None, text: str) -> str:
    """Return the first line of a comment, by which a bot finds it again, and the heading below it."""
    symbol = _SYMBOLS.get(worst, ":white_check_mark:") if worst else ":white_check_mark:"
    return f"<!-- {report.command} -->\n\n### {symbol} {text}\n\n"


@dataclass(frozen=True, slots=True)
class Table(Generic[Item]):
    """A table of a comment that shows as many items as there is room for.

    Attributes:
        head: the lines of its header.
        show: returns the line of an item.
        thing: the word for an item, in the singular.
        kind: of which the first item is shown before second ones of other kinds.
        label: the words by which items that do not fit are counted.
        order: the key that sorts the items.
    """

    head: str
    show: Callable[[Item], str]
    thing: str
    kind: Callable[[Item], Hashable]
    label: Callable[[Item], str]
    order: Callable[[Item], Any]


def finding_table(head: str, show: Callable[[Finding], str]) -> Table[Finding]:
    """Return a table of findings, worst first."""
    return Table(head, show, "finding", selection.kind_of, selection.label, selection.worst_first)


def fitting_table(table: Table[Item], items: Iterable[Item], before: Iterable[str]) -> list[str]:
    """Return a table of as many items as there is room for behind ``before``, and counts of the items left out.

    If not all fit, the first item of each kind gets room before the rest, and comes first among items of its order.
    """
    ordered = sorted(items, key=table.order)
    firsts, followers = selection.first_of_each_kind(range(len(ordered)), lambda index: table.kind(ordered[index]))
    room = room_left(before) - len(table.head) - len(_left_out(table, ordered))
    lines: dict[int, str] = {}
    for index in firsts:
        line = table.show(ordered[index])
        if len(line) <= room:
            room -= len(line)
            lines[index] = line
    following_lines = _fitting([partial(table.show, ordered[index]) for index in followers], room)[0]
    lines |= zip(followers, following_lines, strict=False)
    omitted_items = [item for index, item in enumerate(ordered) if index not in lines]
    shown_indexes = sorted(lines, key=lambda index: table.order(ordered[index])) if omitted_items else sorted(lines)
    parts = [table.head, *(lines[index] for index in shown_indexes), "\n"] if shown_indexes else []
    return [*parts, _left_out(table, omitted_items)] if omitted_items else parts


def _left_out(table: Table[Item], items: Sequence[Item]) -> str:
    which = _plain(selection.count_labels(map(table.label, items)))
    return f"{counted(len(items), f'more {table.thing}')} did not fit into this comment: {which}.\n\n"


def _row(finding: Finding, report: Report) -> str:
    readers = words.readers_sentence(finding)
    facts = "<br>".join(_facts(finding, readers or ""))
    return f"| {word(finding)} | {code(finding.rule)} | {_where(finding, report)} | {facts} |\n"


def _readers_row(finding: Finding, report: Report) -> str:
    """Return the row of a finding with columns for the readers that it breaks and for their owners."""
    change = "<br>".join((_where(finding, report), *_facts(finding)))
    sentences = (
        words.broken_names(finding.readers),
        words.unbroken_sentence(finding) if finding.answer is not None else "",
        words.describe_repaired(finding.repaired),
    )
    breaks = "<br>".join(map(prose, filter(None, sentences)))
    owners = "<br>".join(map(code, words.broken_owners(finding.readers)))
    return f"| {word(finding)} | {code(finding.rule)} | {change} | {breaks} | {owners} |\n"


def word(finding: Finding) -> str:
    """Return the severity of a finding, with its symbol."""
    name = "contract violation" if finding.is_violation else words.WORDS.get(finding.severity, "note")
    return f"{_SYMBOLS.get(finding.severity, _SYMBOLS[Severity.INFO])} {name}"


def _where(finding: Finding, report: Report) -> str:
    thing = _thing(finding.table, finding.column)
    schema = code(show_name(_short(finding.schema)))
    return f"{schema}: {thing}" if thing and len(report.reviews) > 1 else thing or schema


def _facts(finding: Finding, readers: str = "") -> Iterator[str]:
    yield prose(finding.message)
    if readers:
        yield prose(readers)
    if data := words.data_count(finding):
        yield prose(data)
    if finding.advice:
        yield prose(finding.advice)
    if finding.against is not None:
        yield f"breaks {code(finding.against)}"
    if location := words.location(finding):
        yield code(str(location))


def _notes(report: Report) -> Iterator[str]:
    number = sum(finding.silence is not None for review in report.reviews for finding in review.findings)
    if number:
        yield f"{counted(number, 'finding')} silenced."
    for silence, message in words.unused_silences(report):
        location = f"{code(str(silence.at))}: " if silence.at else ""
        yield f":warning: {location}{prose(message)}"


def _details(review: Review) -> Iterator[Callable[[], str]]:
    for side, version in (("Before", review.base), ("After", review.head)):
        if version is not None:
            yield partial(_version, side, version)
    for mark, sentence in (("", words.what_hash_says(review)), *((":warning: ", edit) for edit in words.edits(review))):
        yield partial("- {}{}\n".format, mark, prose(sentence))
    findings = [finding for finding in review.findings if words.is_shown(finding)]
    silenced = [finding for finding in review.findings if finding.silence]
    yield from _item_makers("Findings", partial(_in_full, review), findings)
    yield from _item_makers("Silenced", _silenced, silenced)
    yield from _item_makers("All changes", partial(_change, review), review.content_changes)


def _item_makers(title: str, show: Callable[[Item], str], items: Iterable[Item]) -> Iterator[Callable[[], str]]:
    """Yield makers of list items, the first with a title above it: no title is the last line of a shortened comment."""
    for number, item in enumerate(items):
        yield partial(_item, "" if number else f"\n**{title}**\n\n", show, item)


def _item(title: str, show: Callable[[Item], str], item: Item) -> str:
    return f"{title}- {show(item)}\n"


def _version(side: str, version: Version) -> str:
    return f"- {side}: {code(version.origin)}, version {version.number}, hash {code(version.hash)}\n"


def _change(review: Review, change: Change) -> str:
    return f"{_label(*place_of(change))}: {prose(describe(change))}{_sources(review, *place_of(change))}"


def _sources(review: Review, table: str | None, column: str | None) -> str:
    paths = review.sources.get((table, column), ()) if table is not None else ()
    return f" from {', '.join(map(code, paths))}" if paths else ""


def _in_full(review: Review, finding: Finding) -> str:
    sources = _sources(review, finding.table, finding.column)
    lines = [f"{code(finding.rule)} {_label(finding.table, finding.column)}: {prose(finding.title)}{sources}"]
    sides = (("before", finding.before), ("after", finding.after))
    lines += [f"{name}: {code(show_value(value))}" for name, value in sides if value is not None]
    impact = finding.impact
    lines.append(f"readers: {impact.readers}, writers: {impact.writers}, stored data: {impact.data}")
    if finding.severity.rank >= Severity.WARN.rank:
        lines.append(f"fix: {prose(finding.fix)}")
    return "<br>".join(lines)


def _silenced(finding: Finding) -> str:
    reason = f"<br>{prose(words.silenced(finding.silence))}" if finding.silence else ""
    return f"{code(finding.rule)} {_label(finding.table, finding.column)}: {prose(finding.message)}{reason}"


def _label(table: str | None, column: str | None) -> str:
    return _thing(table, column) or "schema"


def _thing(table: str | None, column: str | None) -> str:
    names = [show_name(_short(name)) for name in (table, column) if name is not None]
    return code(".".join(names)) if names else ""


def prose(text: str) -> str:
    """Return a sentence as Markdown, with code for names in backquotes."""
    *pieces, tail = re.split(r"`([^`]*)`", _short(text))
    return "".join(code(piece) if number % 2 else _plain(piece) for number, piece in enumerate(pieces)) + _plain(tail)


def _plain(text: str) -> str:
    """Return text that no Markdown, HTML, mention, issue number or link is found in."""
    safe = _MARKUP.sub(_entity, escape(text))
    safe = re.sub(r"@|&#35;", lambda mark: f"{'&#64;' if mark[0] == '@' else mark[0]}&#8203;", safe)
    return re.sub(r"://|(?i:(?<=www)\.)", lambda mark: f"{_entity(mark)}{mark[0][1:]}", safe)


def code(text: str) -> str:
    """Return text on one line as code; in backquotes if the text permits them, else in the HTML for code."""
    short = escape(_short(text))
    return f"`{short}`" if _PLAIN_CODE.fullmatch(short) else f"<code>{_html(short)}</code>"


def _html(text: str) -> str:
    return _plain(text).replace("&#8203;", "")


def _entity(mark: re.Match[str]) -> str:
    return f"&#{ord(mark[0][0])};"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
