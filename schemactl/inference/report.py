"""The report of an inference as data, made from evidence and the schemas before and after; rendered elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schemactl.field_values import field_values
from schemactl.inference.evidence import Position
from schemactl.schema.types import Schema


@dataclass(frozen=True, slots=True)
class ColumnFinding:
    """A column that is new or changed, with its evidence.

    Attributes:
        before: its data type in the earlier schema, None if it was missing or incomplete.
        is_new: whether the earlier schema lacks it; False for a column that only waited for its type.
        precision, scale, timezone: the properties of its type that the schema sets.
        variant_of: the column whose values of other types this variant takes, None for other columns.
        sources: the paths in the data that fill it, formatted; empty for columns that dlt adds, and for declared
            columns that the data lacks.
        values: number of values (nulls excluded) that this column takes.
        total: number of values (nulls excluded) at its source paths, including values that go to variants.
        nulls: number of nulls at its source paths; None if values were not counted before the load.
        absences: number of objects that could have the key and do not; None as for nulls.
        kinds: the kinds of values in the data, with counts: ``{"text": 45_999}``.
        first: position of the first value that this column takes.
        examples: a few values from the data; the first value comes first.
        lengths: shortest and longest text in characters, None without texts.
        range: least and greatest number, None without numbers.
        reason: why it has its type, if that is not plain: a pattern, detectors, the first value, or the call.
    """

    name: str
    before: str | None
    data_type: str
    is_new: bool = True
    precision: int | None = None
    scale: int | None = None
    timezone: bool | None = None
    variant_of: str | None = None
    sources: tuple[str, ...] = ()
    values: int = 0
    total: int = 0
    nulls: int | None = 0
    absences: int | None = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    first: Position | None = None
    examples: tuple[str, ...] = ()
    lengths: tuple[int, int] | None = None
    range: tuple[float, float] | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TableFinding:
    """A table that is new or has new or changed columns."""

    name: str
    parent: str | None
    is_new: bool
    columns: tuple[ColumnFinding, ...]


@dataclass(frozen=True, slots=True)
class CollisionFinding:
    """Source paths whose names become one column, or one table (column None): dlt would keep the last value only."""

    table: str
    column: str | None
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NullFinding:
    """Nulls in a column that the schema requires: dlt refuses to load such rows.

    Attributes:
        variant: the column that takes the values which leave this one null; None if the data has nulls.
    """

    table: str
    column: str
    source: str
    count: int
    first: Position
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class ViolationFinding:
    """Something in the data that the contract does not allow.

    Attributes:
        entity: ``tables``, ``columns`` or ``data_type``.
        mode: ``freeze``, ``discard_row`` or ``discard_value``.
        column: None for a violation of ``tables``.
        expected, found: data types (or "no new column" ...), for people.
        variant_of: the column whose values of another type the contract refuses; None for other violations.
        table_schema: the stored table; None if it is new.
        schema_contract: mode and level by entity; a level is ``call``, ``settings``, ``table NAME`` or ``default``.
        data_item: the record with the first such value, as JSON of a thousand characters at most; None for samples and
            saved evidence. ``_rejects`` has whole rejected rows.
        goes_with_row: whether all such values are in rows that a load rejects for another reason; ``_rejects`` has no
            rows for them.
    """

    table: str
    column: str | None
    entity: str
    mode: str
    expected: str
    found: str
    values: int
    first: Position | None
    example: str | None
    variant_of: str | None = None
    schema_name: str = ""
    table_schema: Mapping[str, Any] | None = None
    schema_contract: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    data_item: str | None = None
    goes_with_row: bool = False


@dataclass(frozen=True, slots=True)
class TypingFinding:
    """Values that could not be typed (``--typing``), or that a model rejects or has no field for (``--model``).

    Attributes:
        column: the field, as the typing names it; with a model the location of the value, as Pydantic names it, empty
            for whole documents.
        first: the first row with such a value.
        message: the reason for that row, in Arc's words or Pydantic's.
        mode: the treatment of such rows: ``column``, ``reject`` or ``fail``; ``discard`` loads them without the value.
        nullable: False if the typing allows no null, and so no error: nothing is written then.
        contract: with a model, the contract for such values, as ``data_type=freeze``; None for a typing.
        converted: with a typing, the number of texts of the field that became values; None for a model.
    """

    column: str
    count: int
    first: Position
    message: str
    mode: str
    nullable: bool
    contract: str | None = None
    converted: int | None = None

    @property
    def stops(self) -> bool:
        """Return whether nothing is written."""
        return self.mode == "fail" or not self.nullable


@dataclass(frozen=True, slots=True)
class PromotionFinding:
    """A column that became wider, or that a contract with ``promote`` could not make wider.

    Attributes:
        before: its type in the earlier schema, or of its first value if it is new.
        after: its wider type; None if values go to a variant column, or the field becomes JSON texts.
        variant: the variant column that takes the values; None if the column became wider, and for fields.
        values: the number of values in the data that the column takes.
        rows: the number of stored rows that were counted; None if no destination was asked.
        reason: why the column became wider, or why it did not.
        field: the path of the field in a column of structs, lists or maps, such as ``.price`` or ``[]``; before and
            after are its types.
    """

    table: str
    column: str
    before: str
    after: str | None
    variant: str | None
    values: int
    rows: int | None
    reason: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class FileFinding:
    """One input of a root table: its records, the documents read (fewer in a sample), bad records."""

    path: str
    records: int
    documents: int
    bad: int
    first_bad: int | None
    table: str


@dataclass(frozen=True, slots=True)
class SourceWarning:
    """A warning about the sources, which stops nothing; ``files`` are the sources concerned."""

    message: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DataReading:
    """How data was read.

    Attributes:
        engine: ``spark`` or ``local``.
        reason: why that engine, for people.
        bytes: the size of the stored files; None if some are not on this machine.
        start_seconds: until the engine was ready.
        seconds: until all data was read, the start included.
    """

    engine: str
    reason: str
    bytes: int | None
    start_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class InferenceReport:
    """The result of ``schemactl infer``.

    Attributes:
        table: the root table of the data; None if files go to several.
        sample: the requested sample: ``full``, ``10%``, ``100000``.
        before_hash, before_version: hash and version of the stored schema; None for a new schema.
        after_hash, after_version: hash and version of the new schema; with ``--check``, of the schema that would be
            saved.
        saved: whether the schema was written; never under ``--check``, nor if a frozen contract is violated.
        import_adopted: hash of the import file, if a user's edit of it was applied first.
        dropped: tables and columns (``table.column``) from earlier data that such an edit removed.
        export_edited: whether the export file's hash is not that of its content; a run rewrites the file.
        reading: how the data was read; None for saved evidence and documents in memory.
        schema: the new schema; with ``--check``, the schema that would be saved. ``to_dict`` omits it.
    """

    name: str
    table: str | None
    sample: str
    files: tuple[FileFinding, ...]
    tables: tuple[TableFinding, ...]
    collisions: tuple[CollisionFinding, ...]
    nulls: tuple[NullFinding, ...]
    violations: tuple[ViolationFinding, ...]
    before_hash: str | None
    before_version: int | None
    after_hash: str
    after_version: int
    is_check: bool
    saved: bool
    written: tuple[str, ...] = ()
    import_adopted: str | None = None
    dropped: tuple[str, ...] = ()
    export_edited: bool = False
    warnings: tuple[SourceWarning, ...] = ()
    hints: tuple[str, ...] = ()
    typing: tuple[TypingFinding, ...] = ()
    promotions: tuple[PromotionFinding, ...] = ()
    reading: DataReading | None = field(default=None, compare=False)
    schema: Schema | None = None

    @property
    def changes_schema(self) -> bool:
        """Return whether the schema changes, or would change without ``--check``."""
        is_other = self.before_hash != self.after_hash or self.import_adopted is not None
        return not self.is_refused and (is_other or self.export_edited)

    @property
    def is_refused(self) -> bool:
        """Return whether a frozen contract forbids the new schema, or texts could not be typed that have to be."""
        return self.is_frozen or any(finding.stops for finding in self.typing)

    @property
    def is_frozen(self) -> bool:
        """Return whether a frozen contract forbids the new schema."""
        return any(violation.mode == "freeze" for violation in self.violations)

    @property
    def documents(self) -> int:
        return sum(file.documents for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        from dataclasses import asdict

        document = asdict(replace(self, schema=None))
        del document["schema"]
        return {**document, "changes_schema": self.changes_schema}


def merge_reports(reports: Sequence[InferenceReport]) -> InferenceReport:
    """Return the report of one call whose data went to several root tables, each evolving the schema of the last."""
    first, last = reports[0], reports[-1]
    if first is last:
        return first
    lists = ("files", "tables", "collisions", "nulls", "violations", "typing", "promotions", "hints")
    report_values = [field_values(report) for report in reports]
    joined: dict[str, Any] = {name: tuple(item for values in report_values for item in values[name]) for name in lists}
    return replace(last, table=None, **{**joined, "hints": tuple(dict.fromkeys(joined["hints"]))})


def follow_reports(reports: Sequence[InferenceReport]) -> InferenceReport:
    """Return the report of several loads; each load evolves the schema of the load before it."""
    first, last = reports[0], reports[-1]
    tables: dict[str, TableFinding] = {}
    for table in (table for report in reports for table in report.tables):
        earlier = tables.get(table.name)
        if earlier is not None:
            table = replace(table, is_new=earlier.is_new or table.is_new, columns=(*earlier.columns, *table.columns))
        tables[table.name] = table
    written = tuple(dict.fromkeys(path for report in reports for path in report.written))
    return replace(
        merge_reports(reports),
        table=last.table if all(report.table == last.table for report in reports) else None,
        tables=tuple(tables.values()),
        before_hash=first.before_hash,
        before_version=first.before_version,
        saved=any(report.saved for report in reports),
        written=written,
        reading=_sum_readings([report.reading for report in reports if report.reading is not None]),
    )


def _sum_readings(readings: Sequence[DataReading]) -> DataReading | None:
    if not readings:
        return None
    sizes = [reading.bytes for reading in readings]
    return replace(
        readings[0],
        bytes=None if None in sizes else sum(size or 0 for size in sizes),
        start_seconds=sum(reading.start_seconds for reading in readings),
        seconds=sum(reading.seconds for reading in readings),
    )
