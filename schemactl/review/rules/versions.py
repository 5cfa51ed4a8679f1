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
    Rule,
    Severity,
)
from schemactl.review.wording import joined
from schemactl.schema.changes import HeaderChanged
from schemactl.schema.hash import MAX_PREVIOUS_HASHES
from schemactl.schema.renames import is_related


def find_hash_not_restamped(comparison: Comparison) -> Matches:
    """Yield a match where the head was edited since its hash was made; an old edit in both is reported only once."""
    head = comparison.head
    if head.is_edited and comparison.changes:
        yield Match(
            sentence="the content was edited, but `version`, `version_hash` and `previous_hashes` were not",
            keys=("version_hash",),
            before=comparison.base.stated_hash,
            after=head.stated_hash,
        )


V001 = Rule(
    title="hash not restamped",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    why="The version and the hash of the file are those of another content. Whoever distinguishes schemas by their "
    "hash, as dlt does in `_dlt_version`, takes the edited schema for the one before. dlt itself notices the edit "
    "when it loads the file, and gives the schema a new version that is not the one in this file.",
    fix="Let dlt or schemactl write the file after an edit, so that `version`, `version_hash` and `previous_hashes` "
    "fit the content. Edits by hand belong into the import file; `schemactl sync` takes them over.",
    find=find_hash_not_restamped,
    is_about_file=True,
    is_cosmetic=True,  # the review says in one line that the file was edited
)


def find_cosmetic_change(comparison: Comparison) -> Matches:
    """Yield a match where all that changed is cosmetic."""
    kinds = [cosmetic_kind(change) for change in comparison.changes if is_content(change)]
    phrases = [kind for kind in dict.fromkeys(kinds) if kind is not None]
    if kinds and None not in kinds:
        yield Match(
            sentence=f"the hash is another, but only {joined(phrases)} changed",
            keys=("version_hash",),
            before=comparison.base.stated_hash,
            after=comparison.head.stated_hash,
        )


V002 = Rule(
    title="only hints, wording or order changed",
    impact=BREAKS_NOBODY,
    why="dlt's hash is made of all that a schema states: descriptions, hints and the order of columns as well. So "
    "the hash, and with it the version, changes although tables, columns and types are the same.",
    fix="Nothing has to be done. A new version is stored in `_dlt_version` with the next load.",
    find=find_cosmetic_change,
    is_about_file=True,
)


def find_history_broken(comparison: Comparison) -> Matches:
    """Yield a match where two contents have one version, or neither the head's hashes nor git lead to the base."""
    sentence = _history_fault(comparison)
    if sentence:
        yield Match(
            sentence=sentence,
            keys=("version",),
            before={"version": comparison.base.schema.version, "version_hash": comparison.base.stated_hash},
            after={"version": comparison.head.schema.version, "version_hash": comparison.head.stated_hash},
        )


def _history_fault(comparison: Comparison) -> str | None:
    base, head = comparison.base, comparison.head
    old, new = base.stated_hash, head.stated_hash
    head_ancestors = head.schema.previous_hashes
    if not old or not new or old == new or old in head_ancestors or base.schema.name != head.schema.name:
        return None
    versions = f"version {head.schema.version}", f"version {base.schema.version}"
    if new in base.schema.previous_hashes:
        return f"the schema goes back to {versions[0]}, which the base ({versions[1]}) has left behind"
    # dlt forgets the stored schema's ancestors with each edit of the import file. What git has on one line is no fork,
    # unless the file was created again: then the two share no ancestor.
    is_continued = not {new, *head_ancestors}.isdisjoint((old, *base.schema.previous_hashes))
    if is_continued and comparison.is_descendant():
        return None
    if base.schema.version == head.schema.version:
        return f"both schemas are {versions[0]}, with different contents"
    # dlt keeps ten hashes; older ones are no proof of anything.
    if len(head_ancestors) >= MAX_PREVIOUS_HASHES:
        return None
    return f"{versions[0]} does not come from the base: the hash of {versions[1]} is not in `previous_hashes`"


V003 = Rule(
    title="history broken",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.UNDETERMINED,
    why="Two branches went on from one version, or the file was made anew. What one of them added is missing in the "
    "other, and whichever is loaded last is the schema that dlt goes on with. A base in the git history of "
    "the head is no such branch, even if dlt has dropped its hash from `previous_hashes`.",
    fix="Merge the base first, and make the change again on top of it: then `version` counts on, and "
    "`previous_hashes` holds the base's hash. A schema that was inferred from nothing should start from the stored "
    "one.",
    find=find_history_broken,
    is_about_file=True,
)


def find_engine_version_changed(comparison: Comparison) -> Matches:
    """Yield a match where the stated engine versions differ."""
    before, after = comparison.base.stated_engine_version, comparison.head.stated_engine_version
    if before != after:
        yield Match(
            sentence=f"`engine_version` goes from {before} to {after}; both were brought up to date and then compared",
            keys=("engine_version",),
            before=before,
            after=after,
        )


V004 = Rule(
    title="engine version changed",
    impact=BREAKS_NOBODY,
    why="dlt upgrades an older file when it loads it, and cannot load a newer one than it knows: pipelines with an "
    "older dlt stop with an error when they meet the new file.",
    fix="Upgrade dlt in every pipeline that shares the schema before the new file is put to use.",
    find=find_engine_version_changed,
    is_about_file=True,
)


def find_destination_unknown(comparison: Comparison) -> Matches:
    """Yield a match where the file knows nothing of the schema that the destination was loaded with last."""
    sides = comparison.base, comparison.head
    for catalogue, file in (sides, sides[::-1]):
        if catalogue.destination is None or file.destination is not None or not catalogue.hashes or not file.hashes:
            continue
        loaded = catalogue.hashes[0]
        # dlt keeps ten hashes; older ones are no proof of anything.
        if loaded not in file.hashes and len(file.hashes) <= MAX_PREVIOUS_HASHES:
            yield Match(
                sentence=f"the destination was loaded with the schema of hash `{loaded}`, which this file does not "
                "come from",
                keys=("version_hash",),
                before=catalogue.hashes[0],
                after=file.hashes[0],
            )


V005 = Rule(
    title="destination unknown to the schema",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    direction=Direction.UNDETERMINED,
    why="dlt writes the hash of each schema that it loads with to `_dlt_version`. The last one there is neither the "
    "hash of this file nor one of its `previous_hashes`: somebody loads with another version of the schema, or with a "
    "branch that was never merged. What that version added is missing in the file.",
    fix="Find the pipeline that wrote the last row of `_dlt_version`, and take its export file as the start of the "
    "next change. Where the file is only older than the destination, bring the newer one into git.",
    find=find_destination_unknown,
)


def find_schema_renamed(comparison: Comparison) -> Matches:
    """Yield a match if the schema's name changed, unless it is another schema."""
    for change in comparison.of(HeaderChanged, "name"):
        if is_related(comparison.base.schema, comparison.head.schema):
            yield Match.of(change, f"the schema `{change.before}` is called `{change.after}` now")


V006 = Rule(
    title="schema renamed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt cannot rename a schema: a new name is a new schema with a history of its own, in many set-ups with a "
    "dataset of its own. Readers of the old dataset get no new rows, and pipelines start without the state they had.",
    fix="Keep the name. Where it has to change, load into both for a while, and move the readers before the old "
    "schema is dropped.",
    find=find_schema_renamed,
)


def find_import_not_taken_over(comparison: Comparison) -> Matches:
    """Yield a match for each question that only data can answer; one that the base had already is old."""
    for question in comparison.head.open_questions:
        if question not in comparison.base.open_questions:
            sentence = f"import edited, not taken over: {question}"
            yield Match(sentence=sentence, keys=("version_hash",), aspect=question)


V007 = Rule(
    title="import edited, not taken over",
    impact=BREAKS_ALL,
    direction=Direction.UNDETERMINED,
    why="The import file was edited in a way that changes how data becomes tables: the types of columns that no file "
    "states, or all names. The export file does not show the result, so nobody can review it.",
    fix="Take the edit over with data, `schemactl infer SOURCE --name NAME`, and commit the export file as well. Or "
    "state in the import file what should come of it, such as the type of the column.",
    find=find_import_not_taken_over,
)
