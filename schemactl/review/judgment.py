"""Rules about migrations and destinations, and their findings, which are printed as those of a review are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from schemactl.errors import Location
from schemactl.review.report import Finding
from schemactl.review.severity import Direction, Impact, Severity


@dataclass(frozen=True, slots=True)
class Judgment:
    """A rule about migrations.

    Attributes:
        id: never used again for anything else.
        title: in a few words, lower case.
        why: whom it hurts and how.
        fix: what to do instead.
    """

    id: str
    title: str
    severity: Severity
    impact: Impact
    why: str
    fix: str


UNSOUND: Final = Judgment(
    "M001",
    "folder of migrations is not sound",
    Severity.ERROR,
    Impact(data=Severity.ERROR),
    "What was reviewed is not what would run, or two branches have added one number.",
    "Take changed files from git as they were; `schemactl migrate rebase` renumbers.",
)
CHANGED: Final = Judgment(
    "M002",
    "earlier migration changed",
    Severity.ERROR,
    Impact(data=Severity.ERROR),
    "Destinations that have the migration refuse the folder; others would get something else.",
    "Leave it as it was, and write the change as a migration of its own.",
)
IMPOSSIBLE: Final = Judgment(
    "M101",
    "step is not possible",
    Severity.ERROR,
    Impact(data=Severity.ERROR),
    "The destination cannot take the step, so the migration does not run.",
    "Change the schema, or go another way.",
)
LOSES: Final = Judgment(
    "M102",
    "step loses data",
    Severity.ERROR,
    Impact(readers=Severity.ERROR, data=Severity.ERROR),
    "Values are gone afterwards. It runs only with `--allow-destructive`.",
    "Keep what is dropped until nobody reads it, and keep a copy.",
)
FINAL: Final = Judgment(
    "M103",
    "step cannot be undone",
    Severity.WARN,
    Impact(data=Severity.WARN),
    "`schemactl migrate rollback` cannot bring the tables back to what they were.",
    "Have a backup, or split the migration so that the rest of it can be undone.",
)
BLOCKS_READERS: Final = Judgment(
    "M104",
    "step blocks readers",
    Severity.WARN,
    Impact(readers=Severity.WARN, writers=Severity.WARN),
    "Queries of the table wait as long as all its rows are read or written.",
    "Run it when nobody works, or change a new column in place of the old one.",
)
BLOCKS_WRITERS: Final = Judgment(
    "M105",
    "step blocks writers",
    Severity.WARN,
    Impact(writers=Severity.WARN),
    "Loads into the table wait as long as all its rows are read or written.",
    "Run it when nothing is loaded.",
)
COUNTS: Final = Judgment(
    "M106",
    "step depends on stored values",
    Severity.INFO,
    Impact(data=Severity.DEPENDS),
    "Each destination is looked at before the step runs; one with a value that does not survive refuses it.",
    "`schemactl migrate plan REF --dir DIR --to DEST` counts such values before the migration is written.",
)
OWN: Final = Judgment(
    "M107",
    "step has SQL of its own",
    Severity.WARN,
    Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    "Nothing says which locks it takes, how long it runs and which values it loses: that is for who reviews it.",
    "Read the file, and try it on a copy of the data: `schemactl migrate apply --dir DIR --to DEST`.",
)


REFUSED: Final = Judgment(
    "M201",
    "plan is refused",
    Severity.ERROR,
    Impact(data=Severity.ERROR),
    "Something stands against the plan: it is not applied.",
    "The message says what; change the schema, the data or the call.",
)
PENDING: Final = Judgment(
    "M202",
    "changes are pending",
    Severity.WARN,
    Impact(readers=Severity.WARN),
    "The destination does not have what the schema says.",
    "`schemactl migrate apply` brings it there.",
)
DRIFT: Final = Judgment(
    "M203",
    "destination drifted",
    Severity.ERROR,
    Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    "Somebody has changed the tables by hand, or with another tool: loads and migrations may fail on it.",
    "Take the change over into the schema, or take it back.",
)
UNFINISHED: Final = Judgment(
    "M204",
    "run stands half done",
    Severity.ERROR,
    Impact(data=Severity.ERROR),
    "A migration was killed: the tables are between two schemas.",
    "`schemactl migrate apply` ends it, `schemactl migrate rollback` undoes it.",
)
VALUES: Final = Judgment(
    "M205",
    "values are not what the schema says",
    Severity.ERROR,
    Impact(data=Severity.ERROR),
    "The tables hold values that the schema forbids, or hold them under other names.",
    "Mend the values, or let the schema allow them.",
)
EVOLVES: Final = Judgment(
    "M301",
    "data changes the schema",
    Severity.WARN,
    Impact(readers=Severity.WARN),
    "The data has tables, columns or types that the schema does not have.",
    "`schemactl infer` takes them over; a contract (`--contract freeze`) refuses them.",
)
VIOLATES: Final = Judgment(
    "M302",
    "data violates the contract",
    Severity.ERROR,
    Impact(writers=Severity.ERROR, data=Severity.ERROR),
    "The schema's contract does not allow what the data has: nothing is written, or rows or values are left out.",
    "Mend the data, or let the contract allow it.",
)
UNREAD: Final = Judgment(
    "M303",
    "records cannot be loaded",
    Severity.WARN,
    Impact(data=Severity.WARN),
    "Records that cannot be read or typed, or that have a null where none is allowed, are not loaded.",
    "Mend the data; the message says where the first of them stands.",
)
JUDGMENTS: Final = (
    UNSOUND,
    CHANGED,
    IMPOSSIBLE,
    LOSES,
    FINAL,
    BLOCKS_READERS,
    BLOCKS_WRITERS,
    COUNTS,
    OWN,
    REFUSED,
    PENDING,
    DRIFT,
    UNFINISHED,
    VALUES,
    EVOLVES,
    VIOLATES,
    UNREAD,
)
"""All rules about migrations, destinations and data, by id."""


def finding_of(
    rule: Judgment,
    message: str,
    name: str,
    *,
    at: Location | None = None,
    table: str | None = None,
    column: str | None = None,
) -> Finding:
    """Return a finding of a rule about migrations."""
    mark = hashlib.sha256("\x1f".join((rule.id, name, message)).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=rule.severity,
        direction=Direction.NONE,
        impact=rule.impact,
        message=message,
        why=rule.why,
        fix=rule.fix,
        schema=name,
        fingerprint=mark,
        table=table,
        column=column,
        location=at,
    )
