"""From what the engine has made of a load to its report, and to the package that a destination takes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.errors import EngineError, InputError
from schemactl.examples import mask_examples
from schemactl.flows.evidence import shown_records
from schemactl.flows.evolution import Evolution
from schemactl.inference.report import InferenceReport, ViolationFinding
from schemactl.normalization.package import LoadedInput, LoadPackage, StagedTable
from schemactl.normalization.plan import Plan
from schemactl.normalization.report import NormalizeReport, TableCounts
from schemactl.normalization.tally import REJECTS_COLUMNS, REJECTS_TABLE, LoadTime, Rejected, Tally
from schemactl.schema.contract import Mode
from schemactl.schema.naming import naming_of
from schemactl.schema.personal import is_personal
from schemactl.schema.types import Schema, Table, ancestors, root_of
from schemactl.store.links import check_file, check_link

if TYPE_CHECKING:
    from schemactl.engine.package import WrittenRejects, WrittenRows


def report_of(report: NormalizeReport, evolution: Evolution, plan: Plan, made: WrittenRows) -> NormalizeReport:
    """Return ``report`` with what became of the rows of one root table's data."""
    tally = made.tally
    violations = counted(evolution.report.violations, made.rejected, evolution.resolution.schema)
    return replace(
        report,
        inference=replace(evolution.report, violations=violations),
        tables=tuple(_counts(tally, evolution.resolution.schema, plan, evolution.report)),
        unfit=tuple(
            replace(each, example=_shown(each.example, evolution.resolution.schema, each.table, each.column))
            for each in tally.unfit
        ),
        overwrites=tally.overwrites,
    )


def check_balance(report: NormalizeReport, tally: Tally) -> None:
    """Refuse a load whose rows do not add up.

    Raises:
        EngineError: there are not as many rows of documents as documents.
    """
    files = report.inference.files if report.inference else ()
    documents = sum(file.documents for file in files if file.table)
    if tally.documents != documents:
        hint = "files that others write to meanwhile cannot be loaded: run the command again"
        raise EngineError(f"{documents:,} documents were read, but {tally.documents:,} when rows were made", hint=hint)


def counted(
    findings: Sequence[ViolationFinding], rejected: Sequence[Rejected], schema: Schema
) -> tuple[ViolationFinding, ...]:
    """Return the violations with what they have kept out, where something was; ``schema`` marks personal columns."""
    kept_out = {(each.violation.table, each.violation.column): each for each in rejected}
    records = shown_records({each.first: each.record for each in rejected}, schema)
    described: list[ViolationFinding] = []
    for finding in findings:
        found = kept_out.get((finding.table, finding.column))
        if found is not None:
            finding = replace(finding, data_item=records[found.first])
        elif finding.values and finding.mode != Mode.FREEZE:
            finding = replace(finding, goes_with_row=True)
        if found is not None and finding.column is not None:
            example = _shown(found.example, schema, finding.table, finding.variant_of or finding.column)
            finding = replace(finding, values=found.count, first=found.first, example=example)
        described.append(finding)
    return tuple(described)


def _counts(tally: Tally, asked: Schema, plan: Plan, report: InferenceReport) -> Iterator[TableCounts]:
    # Of refused tables only the schema that the data asks for knows.
    found = (
        TableCounts(
            name=name,
            parent=asked.tables[name].parent,
            # Its root table's write disposition holds for a nested table (docs/dlt.md §1.2).
            disposition=str(asked.tables[root_of(asked, name)].properties.get("write_disposition", "append")),
            read=rows.read,
            loaded=rows.written,
            rejected=rows.rejected,
            rejected_with_parent=rows.rejected_above,
            values_rejected=rows.values_rejected,
            superseded=rows.superseded,
            is_written=name in plan.tables,
        )
        for name, rows in tally.tables.items()
        if rows.read or name == plan.rows.table
    )
    yield from sorted(found, key=lambda table: len(ancestors(asked, table.name)))
    # Records that a model rejects and that are of no table have a line of their own.
    count = sum(file.documents for file in report.files if not file.table)
    if count:
        yield TableCounts("", None, "append", read=count, loaded=0, rejected=count, is_written=False)


def _shown(example: str | None, schema: Schema, table: str, column: str | None) -> str | None:
    return next(iter(mask_examples((example,), is_personal(schema, table, column))), None)


def package_of(
    schema: Schema,
    parts: Sequence[tuple[Plan, WrittenRows]],
    rejects: WrittenRejects | None,
    load: LoadTime,
    inputs: tuple[LoadedInput, ...],
) -> LoadPackage:
    """Return what the destination takes.

    Raises:
        InputError: the schema has a table of the name of that one.
    """
    tables = tuple(
        StagedTable(plan.tables[name], made.folders[name], counts.written)
        for plan, made in parts
        for name, counts in made.tally.tables.items()
        # A root table without rows is reported as well: where rows are replaced, those there are go all the same. One
        # whose rows all gave way is made: the schema that is stored with the load has it.
        if name in plan.tables and (counts.written or counts.superseded or name == plan.rows.table)
    )
    return LoadPackage(
        load_id=load.id,
        schema=schema,
        tables=tuple(sorted(tables, key=lambda staged: len(ancestors(schema, staged.table.name)))),
        inserted_at=load.inserted_at,
        rejects=StagedTable(rejects_table(schema), rejects.folder, rejects.rows) if rejects else None,
        inputs=inputs,
    )


def rejects_together(found: Sequence[WrittenRejects], folder: Path) -> WrittenRejects | None:
    """Return the rejects of all parts of a load in one folder; None where there are none."""
    if len(found) < 2:
        return found[0] if found else None
    folder.mkdir(parents=True)
    files = (file for each in found for file in sorted(each.folder.glob("*.parquet")))
    for number, file in enumerate(files):
        file.rename(folder / f"part-{number:05}.parquet")
    return replace(found[0], folder=folder, rows=sum(each.rows for each in found))


def rejects_table(schema: Schema) -> Table:
    """Return the table of rejects beside those of ``schema``.

    Raises:
        InputError: the schema has a table of this name.
    """
    naming = naming_of(schema)
    name = naming.normalize_table_identifier(REJECTS_TABLE)
    if name in schema.tables:
        hint = "keep rejects as files: `--rejects DIR`"
        raise InputError(f"the schema has a table `{name}`, so rejects cannot be kept in one", hint=hint)
    return Table(name, {column.name: column for column in REJECTS_COLUMNS}, {"write_disposition": "append"})


def check_rejects_folder(folder: Path | None) -> None:
    """Refuse a folder for rejects that cannot be one; nothing is made yet.

    Raises:
        InputError: it is a file, may not be made or written to, or a link leads it out of its repository.
    """
    if folder is None:
        return
    check_link(folder)
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        reason = "it may not be written to" if there.is_dir() else f"`{there}` is a file"
        raise InputError(f"cannot keep rejects in `{folder}`: {reason}", hint="name another folder with `--rejects`")


@contextmanager
def kept_rejects(folder: Path | None, rejects: WrittenRejects | None, load_id: str) -> Iterator[None]:
    """Put the rejects of a load as files into ``folder``; they go again if the block fails.

    A load that is repeated under the same id replaces them.

    Raises:
        InputError: they cannot be written.
    """
    kept: list[Path] = []
    try:
        if folder is not None and rejects is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for number, file in enumerate(sorted(rejects.folder.glob("*.parquet"))):
                    to = folder / f"{load_id}.{number}.parquet"
                    # A reader of `*.parquet` does not see a part of it.
                    part = to.with_name(f".{to.name}.part")
                    check_file(part)
                    kept.append(part)
                    shutil.copyfile(file, part)
                    part.replace(to)
                    kept.append(to)
            except OSError as error:
                raise InputError(f"cannot keep rejects in `{folder}`: {error.strerror or error}") from error
        yield
    except BaseException:
        for path in kept:
            path.unlink(missing_ok=True)
        raise
