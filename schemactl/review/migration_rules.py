"""Declare the rules about migrations and data, and make their findings, which are printed like findings of a review."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from schemactl.errors import Location
from schemactl.review.report import Finding
from schemactl.review.rule import Rule
from schemactl.review.severity import Impact, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationRule(Rule):
    """A rule about migrations or data, whose code makes the findings."""

    severity: Severity


UNSOUND: Final = MigrationRule(
    id="M001",
    title="migrations folder is invalid",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="The reviewed migrations are not the ones that would run, or two branches added the same number.",
    fix="Restore changed files from git; `schemactl migrate rebase` renumbers migrations.",
)
CHANGED: Final = MigrationRule(
    id="M002",
    title="earlier migration changed",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="Destinations that have the migration reject the folder; other destinations would run something else.",
    fix="Leave the migration unchanged, and write the change as a new migration.",
)
IMPOSSIBLE: Final = MigrationRule(
    id="M101",
    title="step is not possible",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="The destination does not support the step, so the migration does not run.",
    fix="Change the schema, or make the change in another way.",
)
LOSES: Final = MigrationRule(
    id="M102",
    title="step loses data",
    severity=Severity.ERROR,
    impact=Impact(readers=Severity.ERROR, data=Severity.ERROR),
    why="The step deletes values. It runs only with `--allow-destructive`.",
    fix="Keep the dropped table or column until no one reads it, and keep a copy.",
)
FINAL: Final = MigrationRule(
    id="M103",
    title="step cannot be undone",
    severity=Severity.WARN,
    impact=Impact(data=Severity.WARN),
    why="`schemactl migrate rollback` cannot restore the tables.",
    fix="Make a backup, or split the migration so that its other steps can be undone.",
)
BLOCKS_READERS: Final = MigrationRule(
    id="M104",
    title="step blocks readers",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    why="Queries of the table wait while all its rows are read or written.",
    fix="Run the step outside working hours, or change a new column instead of the old one.",
)
BLOCKS_WRITERS: Final = MigrationRule(
    id="M105",
    title="step blocks writers",
    severity=Severity.WARN,
    impact=Impact(writers=Severity.WARN),
    why="Loads into the table wait while all its rows are read or written.",
    fix="Run the step while no load is running.",
)
COUNTS: Final = MigrationRule(
    id="M106",
    title="step depends on stored values",
    severity=Severity.INFO,
    impact=Impact(data=Severity.DEPENDS),
    why="`apply` checks each destination before the step runs, and stops if a value would not survive.",
    fix="Run `schemactl migrate apply --dir DIR --to DEST`: it counts such values, and asks before it changes "
    "anything.",
)
OWN: Final = MigrationRule(
    id="M107",
    title="step runs custom SQL",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    why="schemactl cannot tell which locks custom SQL takes, how long it runs and which values it loses, so a "
    "reviewer must check it.",
    fix="Read the file, and try it on a copy of the data: `schemactl migrate apply --dir DIR --to DEST`.",
)


REFUSED: Final = MigrationRule(
    id="M201",
    title="plan refused",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="A problem blocks the plan, so `apply` does not run it.",
    fix="Read the message, and change the schema, the data or the command.",
)
PENDING: Final = MigrationRule(
    id="M202",
    title="changes are pending",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN),
    why="The destination does not match the schema yet.",
    fix="Run `schemactl migrate apply` to apply the changes.",
)
DRIFT: Final = MigrationRule(
    id="M203",
    title="destination drifted",
    severity=Severity.ERROR,
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    why="Someone changed the tables by hand or with another tool: loads and migrations may fail.",
    fix="Add the change to the schema, or undo it at the destination.",
)
UNFINISHED: Final = MigrationRule(
    id="M204",
    title="run is unfinished",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="A migration was interrupted: the tables are between two schemas.",
    fix="Finish it with `schemactl migrate apply`, or undo it with `schemactl migrate rollback`.",
)
FOLDED: Final = MigrationRule(
    id="M206",
    title="variant folds",
    severity=Severity.INFO,
    impact=Impact(readers=Severity.INFO),
    why="The migration moves the values of a variant column into its column. All of them were counted, and survive.",
    fix="Let readers use the column. `schemactl migrate rollback` moves the values back.",
)
WIDENED: Final = MigrationRule(
    id="M208",
    title="column becomes wider",
    severity=Severity.INFO,
    impact=Impact(readers=Severity.INFO),
    why="The migration gives a column a wider type. All values of the column were counted, and survive exactly.",
    fix="Warn readers: they get values of another type. `schemactl migrate rollback` restores the type.",
)
VALUES: Final = MigrationRule(
    id="M205",
    title="values do not match the schema",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="The tables hold values that the schema forbids, or hold them under other names.",
    fix="Fix the values, or change the schema to allow them.",
)
BREAKS_READERS: Final = MigrationRule(
    id="M207",
    title="step breaks readers",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN),
    why="Declared readers use a table or column in a way that the step breaks: queries fail or return other values.",
    fix="Change the readers before the step runs, or keep the old table or column until they are changed.",
)
EVOLVES: Final = MigrationRule(
    id="M301",
    title="data changes the schema",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN),
    why="The data has tables, columns or types that the schema does not have.",
    fix="Run `schemactl infer` to add them, or reject them with a contract (`--contract freeze`).",
)
VIOLATES: Final = MigrationRule(
    id="M302",
    title="data violates the contract",
    severity=Severity.ERROR,
    impact=Impact(writers=Severity.ERROR, data=Severity.ERROR),
    why="The schema's contract does not allow the data: nothing is written, or rows or values are left out.",
    fix="Fix the data, or change the contract to allow it.",
)
UNREAD: Final = MigrationRule(
    id="M303",
    title="records cannot be loaded",
    severity=Severity.WARN,
    impact=Impact(data=Severity.WARN),
    why="Records that cannot be read or typed, or that have a null in a required column, are not loaded.",
    fix="Fix the data; the message gives the position of the first such record.",
)


def migration_rules() -> tuple[MigrationRule, ...]:
    """Return all rules of this module, by id."""
    return tuple(rule for rule in globals().values() if isinstance(rule, MigrationRule))


def finding_of(
    rule: MigrationRule,
    message: str,
    name: str,
    *,
    location: Location | None = None,
    table: str | None = None,
    column: str | None = None,
) -> Finding:
    """Return a finding of a rule about migrations."""
    digest = hashlib.sha256("\x1f".join((rule.id, name, message)).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=rule.severity,
        direction=rule.direction,
        impact=rule.impact,
        message=message,
        why=rule.why,
        fix=rule.fix,
        schema=name,
        fingerprint=digest,
        table=table,
        column=column,
        location=location,
    )
