"""Declare the rules about migrations and data, and make their findings, which are printed as those of a review are."""

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
    """A rule about migrations or data, whose findings are made where these are looked at."""

    severity: Severity


UNSOUND: Final = MigrationRule(
    id="M001",
    title="folder of migrations is not sound",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="What was reviewed is not what would run, or two branches have added one number.",
    fix="Take changed files from git as they were; `schemactl migrate rebase` renumbers.",
)
CHANGED: Final = MigrationRule(
    id="M002",
    title="earlier migration changed",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="Destinations that have the migration refuse the folder; others would get something else.",
    fix="Leave it as it was, and write the change as a migration of its own.",
)
IMPOSSIBLE: Final = MigrationRule(
    id="M101",
    title="step is not possible",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="The destination cannot take the step, so the migration does not run.",
    fix="Change the schema, or go another way.",
)
LOSES: Final = MigrationRule(
    id="M102",
    title="step loses data",
    severity=Severity.ERROR,
    impact=Impact(readers=Severity.ERROR, data=Severity.ERROR),
    why="Values are gone afterwards. It runs only with `--allow-destructive`.",
    fix="Keep what is dropped until nobody reads it, and keep a copy.",
)
FINAL: Final = MigrationRule(
    id="M103",
    title="step cannot be undone",
    severity=Severity.WARN,
    impact=Impact(data=Severity.WARN),
    why="`schemactl migrate rollback` cannot bring the tables back to what they were.",
    fix="Have a backup, or split the migration so that the rest of it can be undone.",
)
BLOCKS_READERS: Final = MigrationRule(
    id="M104",
    title="step blocks readers",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    why="Queries of the table wait as long as all its rows are read or written.",
    fix="Run it when nobody works, or change a new column in place of the old one.",
)
BLOCKS_WRITERS: Final = MigrationRule(
    id="M105",
    title="step blocks writers",
    severity=Severity.WARN,
    impact=Impact(writers=Severity.WARN),
    why="Loads into the table wait as long as all its rows are read or written.",
    fix="Run it when nothing is loaded.",
)
COUNTS: Final = MigrationRule(
    id="M106",
    title="step depends on stored values",
    severity=Severity.INFO,
    impact=Impact(data=Severity.DEPENDS),
    why="Each destination is looked at before the step runs; one with a value that does not survive refuses it.",
    fix="`schemactl migrate apply --dir DIR --to DEST` counts such values, and asks before it changes anything.",
)
OWN: Final = MigrationRule(
    id="M107",
    title="step has SQL of its own",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    why="Nothing says which locks it takes, how long it runs and which values it loses: that is for who reviews it.",
    fix="Read the file, and try it on a copy of the data: `schemactl migrate apply --dir DIR --to DEST`.",
)


REFUSED: Final = MigrationRule(
    id="M201",
    title="plan is refused",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="Something stands against the plan: it is not applied.",
    fix="The message says what; change the schema, the data or the call.",
)
PENDING: Final = MigrationRule(
    id="M202",
    title="changes are pending",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN),
    why="The destination does not have what the schema says.",
    fix="`schemactl migrate apply` brings it there.",
)
DRIFT: Final = MigrationRule(
    id="M203",
    title="destination drifted",
    severity=Severity.ERROR,
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    why="Somebody has changed the tables by hand, or with another tool: loads and migrations may fail on it.",
    fix="Take the change over into the schema, or take it back.",
)
UNFINISHED: Final = MigrationRule(
    id="M204",
    title="run stands half done",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="A migration was killed: the tables are between two schemas.",
    fix="`schemactl migrate apply` ends it, `schemactl migrate rollback` undoes it.",
)
VALUES: Final = MigrationRule(
    id="M205",
    title="values are not what the schema says",
    severity=Severity.ERROR,
    impact=Impact(data=Severity.ERROR),
    why="The tables hold values that the schema forbids, or hold them under other names.",
    fix="Mend the values, or let the schema allow them.",
)
EVOLVES: Final = MigrationRule(
    id="M301",
    title="data changes the schema",
    severity=Severity.WARN,
    impact=Impact(readers=Severity.WARN),
    why="The data has tables, columns or types that the schema does not have.",
    fix="`schemactl infer` takes them over; a contract (`--contract freeze`) refuses them.",
)
VIOLATES: Final = MigrationRule(
    id="M302",
    title="data violates the contract",
    severity=Severity.ERROR,
    impact=Impact(writers=Severity.ERROR, data=Severity.ERROR),
    why="The schema's contract does not allow what the data has: nothing is written, or rows or values are left out.",
    fix="Mend the data, or let the contract allow it.",
)
UNREAD: Final = MigrationRule(
    id="M303",
    title="records cannot be loaded",
    severity=Severity.WARN,
    impact=Impact(data=Severity.WARN),
    why="Records that cannot be read or typed, or that have a null where none is allowed, are not loaded.",
    fix="Mend the data; the message says where the first of them stands.",
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
