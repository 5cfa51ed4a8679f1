"""Describes reviews in the words that text and Markdown share: places, counts, hashes, silences; not yet escaped."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from schemactl.errors import Location
from schemactl.render.changes import what_changed
from schemactl.render.escaping import escape, show_name
from schemactl.review.readers import Answer, Broken, Reader
from schemactl.review.report import Compatibility, Finding, Report, Review, Silence, Version
from schemactl.review.review import explain
from schemactl.review.severity import Severity
from schemactl.review.wording import joined, short_hash
from schemactl.schema.wording import counted, describe_type, show_value, survival
from schemactl.store.links import repository_top

WORDS: Final = {Severity.ERROR: "error", Severity.WARN: "warning", Severity.INFO: "note"}
"""Severities as findings show them; findings of any other severity are details."""


def is_shown(finding: Finding) -> bool:
    """Return whether a finding is shown without being asked for."""
    return finding.silence is None and not finding.is_cosmetic and finding.severity in WORDS


def summary(report: Report) -> str:
    """Return the counts of findings, and who they break, in one line."""
    numbers = Counter(finding.severity for finding in report.findings)
    counts = ", ".join(counted(numbers[severity], word) for severity, word in WORDS.items() if numbers[severity])
    content = sum(len(review.content_changes) for review in report.reviews)
    has_changes = any(review.changes for review in report.reviews)
    if not counts:
        silenced = sum(finding.silence is not None for review in report.reviews for finding in review.findings)
        silenced_note = f"{counted(silenced, 'finding')} silenced" if silenced else "nothing to report"
        return f"{counted(content, 'change')}, {silenced_note}" if has_changes else "no changes"
    victims = list(_victims(report.findings))
    return f"{counts} — breaks {joined(victims)}" if victims else counts


def _victims(findings: Sequence[Finding]) -> Iterable[str]:
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    for axis in ("readers", "writers", "data"):
        if any(finding.impact.by_axis[axis] is Severity.ERROR for finding in errors):
            yield "stored data" if axis == "data" else axis
    if any(finding.is_violation for finding in findings):
        yield "the contract"


def victims(finding: Finding) -> str:
    """Return the victims of a finding: ``breaks readers, may break stored rows``.

    An error without victims, such as a change of the review settings, fails the review.
    """
    severities = {"stored rows" if axis == "data" else axis: level for axis, level in finding.impact.by_axis.items()}
    broken = [name for name, severity in severities.items() if severity is Severity.ERROR]
    if finding.is_violation:
        broken.append("the contract")
    doubtful = [name for name, severity in severities.items() if severity.rank == Severity.WARN.rank]
    parts = [f"{verb} {', '.join(names)}" for verb, names in (("breaks", broken), ("may break", doubtful)) if names]
    return ", ".join(parts) or ("fails the review" if finding.severity is Severity.ERROR else "breaks nothing")


def scope(report: Report) -> str:
    """Return the compatibility mode and the data of the review."""
    parts = [f"compatibility: {report.compatibility}"]
    if report.is_transitive:
        parts.append("older versions also compared")
    if report.data:
        parts.append(f"data counted: {', '.join(report.data)}")
    return "; ".join(parts)


def thing(finding: Finding | Silence) -> str | None:
    """Return ``orders.note``, ``orders``, or None for a schema as a whole."""
    return ".".join([name for name in (finding.table, finding.column) if name is not None]) or None


def headline(review: Review, is_whole: bool) -> str:
    """Return versions and hashes of both sides, without the schema's name; ``is_whole`` leaves hashes uncut."""
    base, head = review.base, review.head
    if review.is_of_settings:
        return "the settings of reviews change"
    if base is None or head is None:
        only, word = (head, "new schema") if base is None else (base, "schema removed")
        return f"{word}, version {only.number}, hash {_hash(only, is_whole)}" if only else word
    version = f"version {base.number}" + (f" -> {head.number}" if head.number != base.number else "")
    if base.hash == head.hash:
        return f"{version if review.changes else f'unchanged, {version}'}, hash {_hash(head, is_whole)} on both sides"
    return f"{version}, hash {_hash(base, is_whole)} -> {_hash(head, is_whole)}"


def _hash(version: Version, is_whole: bool) -> str:
    return version.hash if is_whole else short_hash(version.hash)


def what_hash_says(review: Review) -> str:
    """Return the origins of the two hashes."""
    if review.is_of_settings:
        return "the base decides this review, the head decides reviews after the merge"
    changes, content = counted(len(review.changes), "change"), review.content_changes
    if review.is_cosmetic and content:
        names = Counter(map(what_changed, content))
        change_list = ", ".join(name if number == 1 else f"{name} ({number} times)" for name, number in names.items())
        return f"only hints and descriptions changed: {change_list}"
    if review.base is None or review.head is None:
        return changes
    if review.base.hash == review.head.hash:
        return f"{changes} of keys that the hash omits" if review.changes else "no change"
    if content:
        return f"hash changed by {counted(len(content), 'change')}"
    return "only the hash changed"


def is_same(review: Review) -> bool:
    """Return whether there is nothing to report of a schema."""
    has_edits = any(side.is_edited for side in (review.base, review.head) if side)
    return not (review.changes or review.findings or has_edits) and None not in (review.base, review.head)


def edits(review: Review) -> Iterable[str]:
    """Yield a sentence for each file that was edited after its hash was made (docs/dlt.md §2), once for both sides."""
    for origin in dict.fromkeys(side.origin for side in (review.base, review.head) if side and side.is_edited):
        yield f"`{origin}` was edited by hand: dlt overwrites an export file, so edit the import file"


def values(finding: Finding) -> str | None:
    """Return ``before -> after``, None if one is missing, both are the same, or the message has both."""
    if finding.before is None or finding.after is None or finding.before == finding.after:
        return None
    if _contains(finding.message, finding.before) and _contains(finding.message, finding.after):
        return None
    before, after = _value(finding.before), _value(finding.after)
    sides = [sorted(map(str, side)) for side in (finding.before, finding.after) if isinstance(side, list)]
    if len(sides) == 2 and sides[0] == sides[1] and before.endswith("…") and after.endswith("…"):
        # The shown starts of two long lists are equal; the message names the first difference.
        return None
    return f"{before} -> {after}"


def _value(value: Any) -> str:
    return describe_type(value) if isinstance(value, dict) and value.get("data_type") else show_value(value)


def _contains(message: str, value: Any) -> bool:
    """Return whether a message holds a value, or, in backquotes, each part of a list or a mapping."""
    if _value(value).strip('"') in message:
        return True
    items = chain.from_iterable(value.items()) if isinstance(value, dict) else value
    return isinstance(value, list | dict) and all(f"`{item}`" in message for item in items)


def data_count(finding: Finding) -> str | None:
    """Return the counts from the data, None if nothing was counted."""
    data = finding.counted
    if data is None:
        return None
    if not data.bad:
        return f"data: {survival(data.values)}"
    examples = f", such as {', '.join(map(show_value, data.examples))}" if data.examples else ""
    first = f", first in {data.first}" if data.first else ""
    verb = "does" if data.bad == 1 else "do"
    return f"data: {data.bad:,} of {counted(data.values, 'value')} {verb} not survive{examples}{first}"


def location(finding: Finding) -> Location | None:
    """Return the location in the head's file, or in the base's if the head has no such key."""
    return finding.location or finding.base_location


def silenced(silence: Silence) -> str:
    """Return why a finding fails nothing, and until when."""
    until = f"until {silence.until}" if silence.until else "for good"
    return f"silenced {until}: {silence.reason}" + (f" ({silence.at})" if silence.at else "")


def unused_silences(report: Report) -> tuple[tuple[Silence, str], ...]:
    """Return the unused silences, each with its fix."""
    fixes = [(silence, "matches no finding; remove it") for silence in report.unmatched]
    fixes += [(silence, f"ended on {silence.until}; remove or renew it") for silence in report.expired]
    return tuple((silence, f"{_silence_of(silence)} {fix}") for silence, fix in fixes)


def _silence_of(silence: Silence) -> str:
    subject = thing(silence)
    return f"the silence of {silence.rule}" + (f" for `{subject}`" if subject else "")


def explain_mode(report: Report) -> str:
    """Return the meaning of the mode, with its name here and in Confluent's schema registry."""
    name = explain(report.compatibility, report.is_transitive)
    against = "every older version of the base" if report.is_transitive else "the base"
    return f"{report.compatibility} is {name} in Confluent's schema registry: {_MODES[report.compatibility]}{against}"


_MODES: Final = {
    Compatibility.READERS: "readers with the older schema can read data written with the head; compared with ",
    Compatibility.WRITERS: "readers with the head can read data written with the older schema; compared with ",
    Compatibility.FULL: "readers and writers with the older schema work with the head; compared with ",
    Compatibility.NONE: "only violations of the base's contract fail; compared with ",
}


MOST_READERS: Final = 3
"""How many readers are named in one sentence."""


def readers_sentence(finding: Finding) -> str | None:
    """Return the sentence about the declared readers of a finding; None without declared readers.

    It names the readers that the change breaks, then readers that may break, then readers that the change repairs.
    """
    if finding.answer is None:
        return None
    sentences = (describe_broken(finding.readers), unbroken_sentence(finding), describe_repaired(finding.repaired))
    return "; ".join(filter(None, sentences)) or None


def unbroken_sentence(finding: Finding) -> str:
    """Return whether further readers read the column or table; empty if the broken readers say it all."""
    noun = "column" if finding.column is not None else "table"
    broken = {item.reader.identity for item in finding.readers}
    doubts = [blindness for blindness in finding.blind if blindness.reader.identity not in broken]
    if doubts:
        readers = list(dict.fromkeys(blindness.reader for blindness in doubts))
        reasons = "; ".join(dict.fromkeys(blindness.reason for blindness in doubts))
        verb = "reads" if len(readers) == 1 else "read"
        return f"cannot tell whether {_first_names(readers)} {verb} the {noun}: {reasons}"
    if finding.answer is Answer.NOT_READ:
        return f"no declared reader reads the {noun}"
    if finding.answer is Answer.READ and not broken:
        return f"declared readers read the {noun}, in ways that this does not break"
    return ""


def describe_repaired(readers: Sequence[Reader]) -> str:
    """Return the readers that a change repairs and would break otherwise; empty without such readers."""
    return f"repaired in this change: {_first_names(readers)}" if readers else ""


def _first_names(readers: Iterable[Reader]) -> str:
    """Return the names of the first readers, and how many more there are."""
    names = list(dict.fromkeys(map(_quoted, readers)))
    more = f" and {len(names) - MOST_READERS:,} more" if len(names) > MOST_READERS else ""
    return ", ".join(names[:MOST_READERS]) + more


def describe_broken(readers: Sequence[Broken]) -> str:
    """Return the readers that a change breaks; empty if it breaks no reader.

    The first readers are named, each with the line of its first use; the rest are counted.
    """
    return f"breaks {counted(len(readers), 'reader')}: {broken_names(readers)}" if readers else ""


def broken_names(readers: Sequence[Broken]) -> str:
    """Return the names of the readers that a change breaks, each with the line of its first use."""
    names = [_broken_name(broken) for broken in readers[:MOST_READERS]]
    if len(readers) > MOST_READERS:
        names.append(f"{len(readers) - MOST_READERS:,} more")
    return ", ".join(names) + _describe_downstream(readers)


def broken_owners(readers: Sequence[Broken]) -> list[str]:
    """Return the owners of the readers that a change breaks, then the owners of the exposures behind them."""
    exposures = (reader for broken in readers for reader in broken.downstream if reader.kind == "exposure")
    owners = (reader.owner for reader in (*(broken.reader for broken in readers), *exposures))
    return list(dict.fromkeys(filter(None, owners)))


def _broken_name(broken: Broken) -> str:
    reader = broken.reader
    use = next((use for use in broken.uses if use.column is not None), broken.uses[0])
    location = use.location if use.location and use.location.path != reader.name else reader.location
    if location is None or location.path == reader.name:
        line = use.location.line if use.location else None
        where = f"line {line}" if line and reader.location else f"a {reader.kind}"
    else:
        where = str(location)
    return f"{_quoted(reader)} ({where})"


def _describe_downstream(readers: Sequence[Broken]) -> str:
    downstream = list(dict.fromkeys(reader for broken in readers for reader in broken.downstream))
    if not downstream:
        return ""
    exposures = [show_name(reader.name) for reader in downstream if reader.kind == "exposure"]
    through = ", ".join(_quoted(broken.reader) for broken in readers if broken.downstream)
    named_exposures = f"; exposures: {', '.join(exposures)}" if exposures else ""
    return f", and {len(downstream):,} more through {through}{named_exposures}"


def _quoted(reader: Reader) -> str:
    return f"`{show_name(reader.name)}`"


def finding_title(finding: Finding) -> str:
    """Return the rule's id and title; a broken contract is named so."""
    return ("contract violation: " if finding.is_violation else "") + f"{finding.rule} {finding.title}"


def finding_sentence(finding: Finding) -> str:
    """Return the sentence, and the older version that the change breaks, if it is not the base."""
    against = f" (breaks the older version {escape(finding.against)})" if finding.against else ""
    return escape(finding.message) + against


def finding_facts(finding: Finding) -> list[str]:
    """Return the lines of a finding: its sentence, the readers, the counts from the data, the advice about a guess."""
    facts = (readers_sentence(finding), data_count(finding), finding.advice)
    return [finding_sentence(finding), *(escape(sentence) for sentence in facts if sentence)]


def finding_details(finding: Finding) -> list[str]:
    """Return the facts, and the fix or why it is accepted: a line each."""
    last = f"fix: {escape(finding.fix)}" if finding.silence is None else silence_text(finding.silence)
    return [*finding_facts(finding), last]


def silence_text(silence: Silence) -> str:
    """Return why a finding is accepted, and until when."""
    return escape(silenced(silence))


# --- places as CI systems know files: relative to the top of the repository, absolute outside ---

_REVISION: Final = re.compile(r"(?!\.)(?:[^:{]|\{[^}]*\})*:(?:[0-3]:)?(?P<path>.*)", re.DOTALL)
"""git's ``REV:PATH``, ``:PATH`` and ``:STAGE:PATH``; a revision may hold colons in braces: ``main@{10:00}``."""


def file_name(path: str) -> str | None:
    """Return a ``Location.path`` as CI systems write it, None if it is no file.

    The top is the nearest folder above the working folder that holds ``.git``, else the working folder.

    Args:
        path: absolute, relative to the working folder, ``REV:PATH`` of git, ``<stdin>`` or a URL.
    """
    if path == "-" or (path.startswith("<") and path.endswith(">")):
        return None
    folder = Path.cwd()
    top = repository_top(folder) or folder
    if not Path(path).is_absolute() and (revision := _REVISION.fullmatch(path)):
        path = revision["path"].replace("\\", "/")
        if not path or path.startswith("/"):
            return None
        # git takes paths of a revision from the top, unless they begin with a dot.
        folder = folder if path.startswith(("./", "../")) else top
    file = Path(os.path.normpath(folder / path))
    return (file.relative_to(top) if file.is_relative_to(top) else file).as_posix()


def file_place(location: Location | None) -> Location | None:
    """Return a place as CI systems name the file, None if it is in no file."""
    file = file_name(location.path) if location else None
    return Location(file, location.line, location.column) if location and file else None


def stated_place(finding: Finding) -> Location | None:
    """Return the place of a finding in the head's file, None if the head is no file."""
    return file_place(finding.location)


def silence_place(silence: Silence) -> Location:
    """Return the place of a silence, for systems that demand a file."""
    return file_place(silence.at) or Location("schemactl.toml")


def nearest_place(finding: Finding, review: Review) -> Location:
    """Return the place of a finding, for systems that demand a file for each.

    It is the place in the head's file, else in the base's, else the file of either side, else dlt's name for the
    schema's file.
    """
    if location := stated_place(finding) or file_place(finding.base_location):
        return location
    for version in (review.head, review.base):
        if version and (file := file_name(version.origin)):
            return Location(file)
    return Location(re.sub(r"[^\w.-]", "_", finding.schema) + ".schema.yaml")
