"""Evolves a schema by evidence: dlt's inference, decided by first witnesses.

A schema changes only when a document has the first value of a class at a path (``classes``), so folding dlt's
row-by-row inference over the witnesses, in input order, gives the same schema as folding over all documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from schemactl.inference import relational
from schemactl.inference.classes import NULL, classify, kind_of
from schemactl.inference.evidence import Evidence, PathEvidence, Position
from schemactl.inference.relational import NO_PATH, Cell, Filters, Propagation, RelationalNormalizer, Row
from schemactl.inference.table_drafts import RootKeys, TableDraft, add_history_columns
from schemactl.inference.values import DECLARED, DeclaredValue, bits_for, fits, is_integer_beyond_dlt, kind, room_of
from schemactl.inference.widening import MAPS, with_room
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.full_types import FullType
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.nested_types import NestedType
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.settings import NormalizerConfig, Settings
from schemactl.schema.types import MICROSECOND_DIGITS, VARIANT_ENDINGS, DataType, Properties, Schema, Table
from schemactl.schema.widening import type_properties, widened_column

DETECTIONS: Final = "x-detections"
"""Property of a root table: the detectors for its data, which run before the detectors of the schema's ``settings``."""

_MOST_DIGITS: Final = 18
"""Longer integers may not fit into 64 bits."""

_TOGETHER: Final[Mapping[frozenset[DataType], DataType]] = {
    frozenset((DataType.BIGINT, DataType.DOUBLE)): DataType.DOUBLE,
    frozenset((DataType.DATE, DataType.TIMESTAMP)): DataType.TIMESTAMP,
}


def type_of_texts(classes: PathEvidence, detectors: Sequence[str]) -> tuple[DataType, str]:
    """Return the type that all texts at one path have, ``text`` if they differ, and the detectors that decided."""
    detectors_by_type = dict(_detected(name, classes, detectors) for name in classes if kind_of(name) == DataType.TEXT)
    data_type = _TOGETHER.get(frozenset(detectors_by_type), DataType.TEXT)
    if len(detectors_by_type) == 1:
        (data_type,) = detectors_by_type
    return data_type, "" if data_type is DataType.TEXT else ", ".join(sorted(detectors_by_type.values()))


def _detected(name: str, classes: PathEvidence, detectors: Sequence[str]) -> tuple[DataType, str]:
    answers = dict(answer.split("=") for answer in name.partition(":")[2].split(",") if "=" in answer)
    detector = next((detector for detector in detectors if detector in answers), None)
    detected_type = DataType(answers[detector]) if detector else DataType.TEXT
    is_long = detected_type is DataType.BIGINT and (classes[name].longest or 0) > _MOST_DIGITS
    return (DataType.TEXT, "") if detector is None or is_long else (detected_type, detector)


def documents_of_declared(evidence: Evidence) -> list[dict[str, Any]]:
    """Return documents with a ``DeclaredValue`` for each column whose type sources declare.

    One document is enough unless one source has a scalar and another an object or a list at the same path. The types
    that a column is widened from come after its own: they may need variants if the schema has another type.
    """
    documents: list[dict[str, Any]] = []
    declared = []
    for path, declared_column in evidence.declared.items():
        column, counted = _of_column(declared_column), evidence.counted.get(path, {})
        first_null = counted[NULL].first if NULL in counted else None
        declared.append((path, DeclaredValue(column, room=_room(column, counted), first_null=first_null)))
    narrower = [
        (path, DeclaredValue({"data_type": str(data_type)}))
        for path, declared_types in evidence.conflicting_types.items()
        for data_type in sorted(declared_types - {DataType(evidence.declared[path]["data_type"])})
    ]
    for path, value in (*declared, *narrower):
        if not any(_plant(document, path, value) for document in documents):
            documents.append({})
            _plant(documents[-1], path, value)
    return documents


def _room(column: Mapping[str, Any], counted: PathEvidence) -> Mapping[str, Any]:
    """Return the properties that a column needs for all values of a source.

    Many programs write every integer with 64 bits, so such a column needs only the bits of its largest value.
    """
    integers = counted.get(DataType.BIGINT)
    if column["data_type"] != DataType.BIGINT or "precision" in column:
        return column
    if integers is None or integers.least is None or integers.greatest is None:
        return {}
    return {**column, "precision": bits_for(integers.least, integers.greatest)}


def _of_column(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that dlt's extractors keep: for times, neither zone nor precision beyond microseconds."""
    extracted = {key: value for key, value in properties.items() if key != MAPS}
    if extracted["data_type"] in (DataType.TIMESTAMP, DataType.TIME):
        extracted.pop("timezone", None)
        if extracted.get("precision", MICROSECOND_DIGITS) >= MICROSECOND_DIGITS:
            extracted.pop("precision", None)
    return extracted


def _plant(container: Any, path: Path, value: DeclaredValue) -> bool:
    """Put ``value`` at ``path``; return whether the path was free."""
    step, remainder = path[0], path[1:]
    new: Any = value if not remainder else [] if remainder[0] is ELEMENT else {}
    if step is ELEMENT and isinstance(container, list):
        is_free = not container
        if is_free:
            container.append(new)
        inner = container[0]
    elif step is not ELEMENT and isinstance(container, dict):
        is_free = step not in container
        inner = container.setdefault(step, new)
    else:
        return False
    return _plant(inner, remainder, value) if remainder else is_free


Origin = tuple[str, str]
"""A table and one of its columns."""

TakenClass = tuple[Path, str]
"""A source path and a class of the values there."""


@dataclass(frozen=True, slots=True)
class NullConflict:
    """A null in a required column; dlt refuses such a load."""

    table: str
    column: str
    path: Path
    first: Position


@dataclass(frozen=True, slots=True)
class Resolution:
    """The decisions of inference, and their reasons.

    Attributes:
        schema: the evolved schema; it still has the version and hash of the base.
        taken: the paths and classes of values that each column takes, in order of the data.
        rows: by table, the paths whose values make its rows.
        renamed: names for source paths whose normalized names collide.
        propagation: the columns that rows of this load copy down; the propagation of ``schema`` may apply from the next
            load on.
        reasons: the pattern or detectors that decided the type of a new column, if the type differs from its first
            value.
        refused: the kinds of values that go to a variant column, by column, although the column takes them rounded.
    """

    schema: Schema
    taken: Mapping[Origin, tuple[TakenClass, ...]]
    nulls: tuple[NullConflict, ...] = ()
    rows: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    root: str = ""
    renamed: Mapping[Path, str] = field(default_factory=dict)
    max_identifier_length: int | None = None
    propagation: Propagation = field(default_factory=Propagation)
    reasons: Mapping[Origin, str] = field(default_factory=dict)
    refused: Mapping[Origin, frozenset[DataType]] = field(default_factory=dict)

    def sources(self, origin: Origin) -> tuple[Path, ...]:
        """Return the source paths that feed a column, in order of the data."""
        return tuple(dict.fromkeys(path for path, _ in self.taken.get(origin, ())))


def variant_bases(schema: Schema) -> dict[Origin, str]:
    """Return the base column of each variant column (docs/dlt.md §6.5)."""
    naming = naming_of(schema)
    bases: dict[Origin, str] = {}
    for table in schema.tables.values():
        extended = _extended_columns(table, naming)
        for variant in extended:
            base = variant
            while base in extended:
                base = extended[base]
            bases[table.name, variant] = base
    return bases


def _extended_columns(table: Table, naming: Naming) -> dict[str, str]:
    """Return for each variant of a table the column, or variant, whose name it extends."""
    variants = {column.name for column in table.columns.values() if column.is_variant}
    if not variants:
        return {}
    extended: dict[str, str] = {}
    for name in table.columns:
        for variant in {naming.shorten_fragments(name, ending) for ending in VARIANT_ENDINGS} & variants - {name}:
            extended.setdefault(variant, name)
    return extended


@dataclass(frozen=True, slots=True)
class ResolveOptions:
    """The conditions under which evidence evolves a schema.

    Attributes:
        renamed: names for source paths whose normalized names collide.
        max_identifier_length: the longest identifier; None for the limit of the naming convention.
        is_loaded: whether the data is loaded, so that nested tables of merges need the key of their root row.
        wider: columns that become wider, or begin so.
        refused: the kinds of values that go to a variant column, by column, although the column takes them rounded.
        wider_fields: fields that become wider in columns that keep structure, by the paths of their values.
    """

    renamed: Mapping[Path, str] = field(default_factory=dict)
    max_identifier_length: int | None = None
    is_loaded: bool = False
    wider: Mapping[Origin, FullType] = field(default_factory=dict)
    refused: Mapping[Origin, frozenset[DataType]] = field(default_factory=dict)
    wider_fields: Mapping[Path, NestedType] = field(default_factory=dict)


AS_IT_IS: Final = ResolveOptions()


def resolve(evidence: Evidence, schema: Schema, table: str, options: ResolveOptions = AS_IT_IS) -> Resolution:
    """Evolve ``schema`` by ``evidence``; contracts are checked on the result, not here."""
    fold = _Fold(schema, evidence.paths, options)
    root = fold.add_root_table(table)
    for document in documents_of_declared(evidence):
        fold.add_document(document, root, None)
    for position in sorted(evidence.witnesses):
        fold.add_document(evidence.witnesses[position], root, position)
    return replace(
        fold.finish(evidence.room),
        root=root,
        renamed=options.renamed,
        max_identifier_length=options.max_identifier_length,
        refused=options.refused,
    )


def with_wider(schema: Schema, wider: Mapping[Origin, FullType]) -> Schema:
    """Return a schema with the wider types of its complete columns."""
    for (table, name), wider_type in wider.items():
        column = schema.column(table, name)
        if column is not None and column.is_complete:
            columns = {**schema.tables[table].columns, name: widened_column(column, wider_type)}
            schema = schema.with_table(replace(schema.tables[table], columns=columns))
    return schema


def _data_path(cell: Cell) -> Path | None:
    return None if cell.path is NO_PATH else cell.path


class _Fold:
    """Applies documents to a draft of the schema, one after the other."""

    def __init__(self, schema: Schema, evidence_by_path: Mapping[Path, PathEvidence], options: ResolveOptions) -> None:
        self._schema = schema
        self._wider, self._refused = options.wider, options.refused
        self._evidence_by_path = evidence_by_path
        self._naming = naming = naming_of(schema, options.max_identifier_length)
        self._settings = Settings.of(schema.settings)
        hints = schema.settings.get("default_hints") or {}
        # A `nullable` hint makes other columns not nullable, yet dlt ignores it when it meets a null.
        self._not_null = Settings.of({"default_hints": {"not_null": hints.get("not_null") or ()}})
        self._config = NormalizerConfig.of(schema.normalizers)
        wider_tables = with_wider(schema, options.wider).tables
        self._drafts = {name: TableDraft.of(table) for name, table in wider_tables.items()}
        filters = Filters.of(schema, naming)
        self._normalizer = RelationalNormalizer(naming, self._config, self, options.renamed, filters)
        self._coerces = relational.coerces_values(schema.normalizers)
        self._detections: tuple[str, ...] = self._settings.detections or self._config.detections
        self._reads_columns = False
        self._own_names = self._normalizer.names.all()
        self._preferred, self._column_hints = cache(self._settings.preferred), cache(self._settings.column_hints)
        self._reasons: dict[Origin, str] = {}
        self._taken: dict[Origin, dict[TakenClass, None]] = {}
        self._nulls: dict[Origin, NullConflict] = {}
        self._rows: dict[str, dict[Path, None]] = {}
        system_prefix = naming.normalize_identifier("_dlt")
        names = self._normalizer.names
        self._root_keys = RootKeys(self._drafts, self._config, names, system_prefix, options.is_loaded)
        self._reads_propagation = False

    # data that rows depend on (relational.TableView)

    def is_root(self, table: str) -> bool:
        draft = self._drafts.get(table)
        return draft is not None and not draft.properties.get("parent")

    def keeps_json(self, table: str, column: str, path: Path) -> bool:
        draft = self._drafts.get(table)
        column_properties = draft.columns.get(column) if draft else None
        if column_properties is None or "data_type" not in column_properties:
            preferred = self._preferred_by(column, path)
            return preferred is not None and preferred[1] is DataType.JSON
        return bool(column_properties["data_type"] == DataType.JSON)

    # the fold

    def add_root_table(self, source: str) -> str:
        name = self._normalizer.table_name(source)
        if name not in self._drafts:
            self._drafts[name] = TableDraft(name, {}, {"write_disposition": "append", "resource": source})
        # dlt stores the root table and reloads the schema before it reads the data.
        self._reads_propagation = True
        add_history_columns(self._drafts[name], self._naming)
        self._pass_on_root_key(self._drafts[name])
        table_detections = self._drafts[name].properties.get(DETECTIONS) or ()
        self._reads_columns = bool(table_detections)
        self._detections = tuple(dict.fromkeys((*table_detections, *self._detections)))
        config = self._config
        root_keys = self._root_keys.propagated
        self._reads_propagation = bool(config.propagation_root or config.propagation_tables or root_keys)
        return name

    def add_document(self, document: Any, root: str, position: Position | None) -> None:
        nesting = (self._drafts[root].properties.get("x-normalizer") or {}).get("max_nesting")
        limit = self._config.max_nesting if nesting is None else nesting
        for row in self._normalizer.rows(document, root, limit):
            self._add_row(row, position)

    def finish(self, needed_room: Mapping[Origin, Properties]) -> Resolution:
        """Return the resolution, with columns widened to the room that they need."""
        for (table, column), room in needed_room.items():
            columns = self._drafts[table].columns
            columns[column] = with_room(columns[column], room)
        tables = {name: draft.to_table() for name, draft in self._drafts.items()}
        schema = replace(self._schema, tables=tables, normalizers=self._root_keys.add_to(self._schema.normalizers))
        taken_classes = {origin: tuple(values) for origin, values in self._taken.items()}
        rows = {table: tuple(values) for table, values in self._rows.items()}
        nulls = tuple(self._nulls.values())
        reasons = {origin: reason for origin, reason in self._reasons.items() if reason}
        return Resolution(schema, taken_classes, nulls, rows, propagation=self._normalizer.propagation, reasons=reasons)

    def _pass_on_root_key(self, changed: TableDraft) -> None:
        """Make the root table of a changed table pass its row key on (docs/dlt.md §5.5).

        dlt checks this after each change of a table. If the schema had no propagation when it was loaded, dlt applies
        the new one from the next load on only.
        """
        if (propagated := self._root_keys.update(changed)) is not None and self._reads_propagation:
            self._normalizer.propagate(*propagated)

    def _add_row(self, row: Row, position: Position | None) -> None:
        if row.table not in self._drafts:
            # Root tables exist before their rows.
            self._drafts[row.table] = TableDraft(row.table, {}, {"parent": row.parent}, is_changed=True)
        draft = self._drafts[row.table]
        draft.has_data = True
        self._rows.setdefault(row.table, {}).setdefault(row.path)
        for cell in row.cells:
            if cell.value is None:
                self._check_null(draft, cell, position)
            else:
                if isinstance(cell.value, DeclaredValue):
                    self._check_null(draft, cell, cell.value.first_null)
                self._add_value(draft, cell, position)
        if draft.is_changed:
            draft.is_changed = False
            self._pass_on_root_key(draft)

    def _check_null(self, draft: TableDraft, cell: Cell, position: Position | None) -> None:
        column_properties = draft.columns.get(cell.column)
        if column_properties is None:
            refused = self._not_null.column_hints(cell.column, _data_path(cell))["nullable"] is False
        else:
            refused = bool(column_properties.get("data_type")) and column_properties.get("nullable") is False
        if refused and position is not None:
            origin = (draft.name, cell.column)
            self._nulls.setdefault(origin, NullConflict(*origin, cell.path, position))

    def _add_value(self, draft: TableDraft, cell: Cell, position: Position | None) -> None:
        column, value = cell.column, cell.value
        column_properties = draft.columns.get(column)
        declared_type = column_properties.get("data_type") if column_properties else None
        wider_type = self._wider.get((draft.name, column))
        if declared_type:
            data_type, reason = DataType(declared_type), ""
        elif wider_type is not None:
            data_type, reason = wider_type.data_type, "holds all values"
        else:
            data_type, reason = self._type_of(cell)
        is_refused = kind(value) in self._refused.get((draft.name, column), ())
        if is_refused and not declared_type:
            # The first value of the column does not survive in its type: the column begins without it.
            self._complete(draft, column, self._inferred(column, value, data_type, _data_path(cell)))
        if is_refused or not self._fits(value, data_type):
            column = self._add_variant(draft, column, value)
        elif not declared_type:
            inferred = self._inferred(column, value, data_type, _data_path(cell))
            self._complete(draft, column, inferred | (type_properties(wider_type) if wider_type else {}))
            self._reasons[draft.name, column] = reason
        if cell.path is not NO_PATH:
            name = DECLARED if isinstance(value, DeclaredValue) else self._class_of(cell, position)
            self._taken.setdefault((draft.name, column), {}).setdefault((cell.path, name))
            if room := room_of(value, draft.columns[column], self._evidence_by_path.get(cell.path, {}).get(name)):
                draft.columns[column] = with_room(draft.columns[column], room)

    def _class_of(self, cell: Cell, position: Position | None) -> str:
        """Return the class of a value; outside lists the evidence already names it."""
        if ELEMENT not in cell.path:
            for name, class_evidence in self._evidence_by_path.get(cell.path, {}).items():
                if class_evidence.first == position:
                    return name
        # This takes a hundred times as long.
        return classify(cell.value)

    def _add_variant(self, draft: TableDraft, column: str, value: Any) -> str:
        """Return the variant of ``column`` that takes ``value``; create it if needed (docs/dlt.md §6.5)."""
        name = self._naming.shorten_fragments(column, f"v_{kind(value)}")
        if kind(value) is DataType.JSON:
            legacy_name = self._naming.shorten_fragments(column, "v_complex")
            name = legacy_name if draft.columns.get(legacy_name, {}).get("variant") else name
        variant_properties = draft.columns.get(name)
        if variant_properties is None or not variant_properties.get("data_type"):
            data_type, _ = (kind(value), "") if self._reads_columns else self._detected_by_value(value)
            wider_type = self._wider.get((draft.name, name))
            inferred = self._inferred(name, value, data_type, None, is_variant=True)
            self._complete(draft, name, inferred | (type_properties(wider_type) if wider_type else {}))
        elif not self._fits(value, DataType(variant_properties["data_type"])):
            # dlt gives up here; a variant of the variant takes the value as it is.
            while (declared_type := draft.columns.get(name, {}).get("data_type")) and not self._fits(
                value, DataType(declared_type)
            ):
                name = self._naming.shorten_fragments(name, f"v_{kind(value)}")
            if not declared_type:
                self._complete(draft, name, self._inferred(name, value, kind(value), None, is_variant=True))
        return name

    def _complete(self, draft: TableDraft, name: str, inferred: dict[str, Any]) -> None:
        """Add a column at the end; hints of an incomplete column stay (docs/dlt.md §8, merge_columns)."""
        draft.is_changed = True
        existing = draft.columns.pop(name, None)
        if existing is None:
            draft.columns[name] = inferred
            return
        merged = {**existing, **{key: value for key, value in inferred.items() if key not in existing}}
        if not merged.get("data_type"):
            merged["data_type"] = inferred["data_type"]
        draft.columns[name] = merged

    def _inferred(
        self, name: str, value: Any, data_type: DataType, path: Path | None, *, is_variant: bool = False
    ) -> dict[str, Any]:
        column: dict[str, Any] = {"data_type": str(data_type), **self._column_hints(name, path)}
        if isinstance(value, DeclaredValue) and value.data_type is data_type:
            column.update(value.properties)
        if is_variant:
            column |= {"variant": True, "description": f"Variant of column {name} generated by dlt"}
        return column

    def _preferred_by(self, name: str, path: Path | None) -> tuple[str, DataType] | None:
        return None if name in self._own_names else self._preferred(name, path)

    def _fits(self, value: Any, data_type: DataType) -> bool:
        return fits(value, data_type) if self._coerces else kind(value) is data_type

    def _type_of(self, cell: Cell) -> tuple[DataType, str]:
        """Return the type of a new column and the reason for it, empty if it is the value's own type."""
        if preferred := self._preferred_by(cell.column, _data_path(cell)):
            return preferred[1], f"preferred_types {preferred[0]}"
        if self._reads_columns and isinstance(cell.value, str):
            return type_of_texts(self._evidence_by_path.get(cell.path, {}), self._detections)
        return self._detected_by_value(cell.value)

    def _detected_by_value(self, value: Any) -> tuple[DataType, str]:
        natural_type = kind(value)
        # Without coercion no value can become the detected type; dlt fails in that case.
        if not self._coerces or isinstance(value, DeclaredValue) or is_integer_beyond_dlt(value):
            return natural_type, ""
        detected = ((answer, name) for name in self._detections if (answer := DETECTORS[name].detect(value)))
        return next(detected, (natural_type, ""))
