"""Rules about a schema's name, version and history: V0xx."""

from __future__ import annotations

from schemactl.review.cosmetic import cosmetic_kind, is_content
from schemactl.review.rule import (
    BREAKS_ALL,
    BREAKS_NOBODY,
    Comparison,
    Direction,
    Impact,
    Match,
    Matches,
    ReaderEffect,
    Rule,
    Severity,
)
from schemactl.review.wording import joined
from schemactl.schema.changes import HeaderChanged
from schemactl.schema.hash import MAX_PREVIOUS_HASHES
from schemactl.schema.renames import is_related


def _hash_match(comparison: Comparison, sentence: str) -> Match:
    before, after = comparison.base.stated_hash, comparison.head.stated_hash
    return Match(sentence=sentence, keys=("version_hash",), before=before, after=after)


def find_hash_not_restamped(comparison: Comparison) -> Matches:
    """Yield a match if the head was edited since its hash was made; an old edit in both is reported only once."""
    if comparison.head.is_edited and comparison.changes:
        sentence = "the content was edited, but `version`, `version_hash` and `previous_hashes` were not"
        yield _hash_match(comparison, sentence)


V001 = Rule(
    title="version hash not updated",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    why="The version and the hash in the file belong to earlier content. Tools that identify schemas by their hash, "
    "as dlt does in `_dlt_version`, mistake the edited schema for the earlier one. dlt itself notices the edit when "
    "it loads the file, and gives the schema a new version that is not in this file.",
    fix="After an edit, let dlt or schemactl write the file, so that `version`, `version_hash` and `previous_hashes` "
    "match the content. Edit the import file instead; `schemactl sync` applies its edits.",
    find=find_hash_not_restamped,
    is_about_file=True,
    is_cosmetic=True,  # the review says in one line that the file was edited
    effect=ReaderEffect.NONE,
)


def find_cosmetic_change(comparison: Comparison) -> Matches:
    """Yield a match if all changes are cosmetic."""
    kinds = [cosmetic_kind(change) for change in comparison.changes if is_content(change)]
    phrases = [kind for kind in dict.fromkeys(kinds) if kind is not None]
    if kinds and None not in kinds:
        yield _hash_match(comparison, f"the hash changed, but only {joined(phrases)} changed")


V002 = Rule(
    title="only hints, wording or order changed",
    impact=BREAKS_NOBODY,
    why="dlt's hash covers the whole schema, including descriptions, hints and the order of columns. So the hash and "
    "the version change, although tables, columns and types stay the same.",
    fix="No action needed. The next load stores a new version in `_dlt_version`.",
    find=find_cosmetic_change,
    is_about_file=True,
)


def find_history_broken(comparison: Comparison) -> Matches:
    """Yield a match if two contents have one version, or neither the head's hashes nor git lead to the base."""
    if sentence := _history_fault(comparison):
        sides = (comparison.base, comparison.head)
        before, after = ({"version": side.schema.version, "version_hash": side.stated_hash} for side in sides)
        yield Match(sentence=sentence, keys=("version",), before=before, after=after)


def _history_fault(comparison: Comparison) -> str | None:
    base, head = comparison.base, comparison.head
    old, new = base.stated_hash, head.stated_hash
    head_ancestors = head.schema.previous_hashes
    if not old or not new or old == new or old in head_ancestors or base.schema.name != head.schema.name:
        return None
    versions = f"version {head.schema.version}", f"version {base.schema.version}"
    if new in base.schema.previous_hashes:
        return f"the schema goes back to {versions[0]}, which is in the history of the base ({versions[1]})"
    # dlt forgets the stored schema's ancestors with each edit of the import file. What git has on one line is no fork,
    # unless the file was created again: then the two share no ancestor.
    is_continued = not {new, *head_ancestors}.isdisjoint((old, *base.schema.previous_hashes))
    if is_continued and comparison.is_descendant():
        return None
    if base.schema.version == head.schema.version:
        return f"both schemas are {versions[0]}, with different contents"
    # dlt keeps ten hashes: a missing older hash proves nothing.
    if len(head_ancestors) >= MAX_PREVIOUS_HASHES:
        return None
    return f"{versions[0]} does not come from the base: the hash of {versions[1]} is not in `previous_hashes`"


V003 = Rule(
    title="history broken",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.UNDETERMINED,
    why="Two branches continued from one version, or the file was created again. Each branch may lack changes of the "
    "other, and dlt continues with the schema that is loaded last. A base in the git history of the head is not such "
    "a branch, even if dlt has dropped its hash from `previous_hashes`.",
    fix="Merge the base first, and make the change again on top of it: then `version` increases, and "
    "`previous_hashes` contains the base's hash. If the schema was inferred from scratch, infer it again from the "
    "stored schema.",
    find=find_history_broken,
    is_about_file=True,
    effect=ReaderEffect.NONE,
)


def find_engine_version_changed(comparison: Comparison) -> Matches:
    """Yield a match if the engine versions of the two files differ."""
    before, after = comparison.base.stated_engine_version, comparison.head.stated_engine_version
    if before != after:
        sentence = f"`engine_version` changes from {before} to {after}; both schemas were upgraded to compare them"
        yield Match(sentence=sentence, keys=("engine_version",), before=before, after=after)


V004 = Rule(
    title="engine version changed",
    impact=BREAKS_NOBODY,
    why="dlt upgrades an older file when it loads it, but cannot load a file with a newer engine version: pipelines "
    "with an older dlt stop with an error.",
    fix="Upgrade dlt in every pipeline that shares the schema before you use the new file.",
    find=find_engine_version_changed,
    is_about_file=True,
)


def find_destination_unknown(comparison: Comparison) -> Matches:
    """Yield a match if the file's history lacks the schema that the destination was last loaded with."""
    sides = comparison.base, comparison.head
    for catalogue, file in (sides, sides[::-1]):
        if catalogue.destination is None or file.destination is not None or not catalogue.hashes or not file.hashes:
            continue
        loaded = catalogue.hashes[0]
        # dlt keeps ten hashes: a missing older hash proves nothing.
        if loaded not in file.hashes and len(file.hashes) <= MAX_PREVIOUS_HASHES:
            phrase = f"was loaded with the schema of hash `{loaded}`, which is not in the history of this file"
            sentence = f"the destination {phrase}"
            yield Match(sentence=sentence, keys=("version_hash",), before=loaded, after=file.hashes[0])


V005 = Rule(
    title="destination unknown to the schema",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.UNDETERMINED,
    why="dlt writes the hash of each schema that it loads with to `_dlt_version`. The last hash there is neither the "
    "hash of this file nor one of its `previous_hashes`: someone loads with another version of the schema, or with a "
    "branch that was never merged. The file lacks the changes of that version.",
    fix="Find the pipeline that wrote the last row of `_dlt_version`, and start the next change from its export file. "
    "If this file is only older than the destination, commit the newer file to git.",
    find=find_destination_unknown,
    effect=ReaderEffect.NONE,
)


def find_schema_renamed(comparison: Comparison) -> Matches:
    """Yield a match if the schema's name changed, unless it is another schema."""
    for change in comparison.of(HeaderChanged, "name"):
        if is_related(comparison.base.schema, comparison.head.schema):
            yield Match.of(change, f"the schema `{change.before}` was renamed to `{change.after}`")


V006 = Rule(
    title="schema renamed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt cannot rename a schema: a new name is a new schema with its own history, and often its own dataset. "
    "Readers of the old dataset get no new rows, and pipelines start without their previous state.",
    fix="Keep the name. If it must change, load into both schemas for a while, and move readers before you drop the "
    "old one.",
    find=find_schema_renamed,
)


def find_import_not_taken_over(comparison: Comparison) -> Matches:
    """Yield a match for each question that only data can answer; one that the base had already is old."""
    for question in comparison.head.open_questions:
        if question not in comparison.base.open_questions:
            sentence = f"import edit not applied: {question}"
            yield Match(sentence=sentence, keys=("version_hash",), aspect=question)


V007 = Rule(
    title="import edit not applied",
    impact=BREAKS_ALL,
    direction=Direction.UNDETERMINED,
    why="An edit of the import file changes how data becomes tables: the types of columns that no file declares, or "
    "all names. The export file does not show the result, so no one can review it.",
    fix="Apply the edit with data, `schemactl infer SOURCE --name NAME`, and commit the export file too. Or declare "
    "the result in the import file, such as the type of the column.",
    find=find_import_not_taken_over,
)
