"""Evidence and the schema as it was -> the schema as it will be: dlt's inference, decided by first witnesses.

A schema changes only where a document brings the first value of a class at a path (``classes``), so folding dlt's
row-by-row inference over the witnesses, in input order, gives what folding over all documents would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from schemactl.inference import relational
from schemactl.inference.classes import NULL, classify, kind_of
from schemactl.inference.draft import RootKeys, TableDraft, add_history_columns
from schemactl.inference.evidence import Evidence, PathEvidence, Position
from schemactl.inference.relational import NO_PATH, Cell, Filters, Propagation, RelationalNormalizer, Row
from schemactl.inference.values import TYPED, TypedValue, bits_for, fits, is_integer_beyond_dlt, kind, room_of
from schemactl.inference.widening import MAPS, with_room
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.settings import NormalizerConfig, Settings
from schemactl.schema.types import MICROSECOND_DIGITS, VARIANT_ENDINGS, DataType, Properties, Schema, Table

DETECTIONS: Final = "x-detections"
"""Property of a root table: the detectors for its data, asked before those of the schema's ``settings``."""

_MOST_DIGITS: Final = 18
"""Longer integers may not fit into 64 bits."""

_TOGETHER: Final[Mapping[frozenset[DataType], DataType]] = {
    frozenset((DataType.BIGINT, DataType.DOUBLE)): DataType.DOUBLE,
    frozenset((DataType.DATE, DataType.TIMESTAMP)): DataType.TIMESTAMP,
}


def type_of_texts(seen: PathEvidence, detectors: Sequence[str]) -> tuple[DataType, str]:
    """Return the type that all texts at one path have, ``text`` where they have none together, and who says so."""
    found = dict(_detected(name, seen, detectors) for name in seen if kind_of(name) == DataType.TEXT)
    data_type = next(iter(found)) if len(found) == 1 else _TOGETHER.get(frozenset(found), DataType.TEXT)
    return data_type, "" if data_type is DataType.TEXT else ", ".join(sorted(found.values()))


def _detected(name: str, seen: PathEvidence, detectors: Sequence[str]) -> tuple[DataType, str]:
    answers = dict(answer.split("=") for answer in name.partition(":")[2].split(",") if "=" in answer)
    asked = next((detector for detector in detectors if detector in answers), None)
    found = DataType(answers[asked]) if asked else DataType.TEXT
    is_long = found is DataType.BIGINT and (seen[name].longest or 0) > _MOST_DIGITS
    return (DataType.TEXT, "") if asked is None or is_long else (found, asked)


def stated_documents(evidence: Evidence) -> list[dict[str, Any]]:
    """Return documents whose values stand for the columns that sources state the types of.

    One will do, unless there is a scalar in one source where another has an object or a list. The types that a column
    is widened from come after its own: they may need variants where the schema has another type.
    """
    documents: list[dict[str, Any]] = []
    typed = []
    for path, stated_column in evidence.typed.items():
        column, counted = _of_column(stated_column), evidence.counted.get(path, {})
        first_null = counted[NULL].first if NULL in counted else None
        typed.append((path, TypedValue(column, room=_room(column, counted), first_null=first_null)))
    narrower = [
        (path, TypedValue({"data_type": str(data_type)}))
        for path, stated in evidence.stated.items()
        for data_type in sorted(stated - {DataType(evidence.typed[path]["data_type"])})
    ]
    for path, value in (*typed, *narrower):
        if not any(_plant(document, path, value) for document in documents):
            documents.append({})
            _plant(documents[-1], path, value)
    return documents


def _room(column: Mapping[str, Any], counted: PathEvidence) -> Mapping[str, Any]:
    """Return what a column needs that takes all values.

    Integers of 64 bits are what many programs write of any integer: these ask for as many bits as were seen.
    """
    seen = counted.get(DataType.BIGINT)
    if column["data_type"] != DataType.BIGINT or "precision" in column:
        return column
    if seen is None or seen.least is None or seen.greatest is None:
        return {}
    return {**column, "precision": bits_for(seen.least, seen.greatest)}


def _of_column(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that dlt's extractors keep: of times neither zone nor a default or finer precision."""
    kept = {key: value for key, value in properties.items() if key != MAPS}
    if kept["data_type"] in (DataType.TIMESTAMP, DataType.TIME):
        kept.pop("timezone", None)
        if kept.get("precision", MICROSECOND_DIGITS) >= MICROSECOND_DIGITS:
            kept.pop("precision", None)
    return kept


def _plant(container: Any, path: Path, value: TypedValue) -> bool:
    """Put ``value`` at ``path``; return whether there was room."""
    step, rest = path[0], path[1:]
    new: Any = value if not rest else [] if rest[0] is ELEMENT else {}
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
    return _plant(inner, rest, value) if rest else is_free


Origin = tuple[str, str]
"""A table and one of its columns."""

Taken = tuple[Path, str]
"""A source path and a class of the values there."""


@dataclass(frozen=True, slots=True)
class NullConflict:
    """A null where the schema allows none; dlt refuses such a load."""

    table: str
    column: str
    path: Path
    first: Position


@dataclass(frozen=True, slots=True)
class Resolution:
    """The decisions of inference, and their reasons.

    Attributes:
        schema: the evolved schema; its version and hash are still those of the base.
        taken: for each column what it takes of the data, paths with classes of values, the first one first.
        rows: for each table the paths whose values make its rows.
        renamed: names for source paths whose own names collide.
        propagation: what rows of this load copy down; what ``schema`` states may hold from the next load on only.
        reasons: for new columns whose type is not their first value's own: the pattern or the detectors it is by.
    """

    schema: Schema
    taken: Mapping[Origin, tuple[Taken, ...]]
    nulls: tuple[NullConflict, ...] = ()
    rows: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    root: str = ""
    renamed: Mapping[Path, str] = field(default_factory=dict)
    max_identifier_length: int | None = None
    propagation: Propagation = field(default_factory=Propagation)
    reasons: Mapping[Origin, str] = field(default_factory=dict)

    def sources(self, origin: Origin) -> tuple[Path, ...]:
        """Return the source paths that feed a column, the first one first."""
        return tuple(dict.fromkeys(path for path, _ in self.taken.get(origin, ())))


def variant_bases(schema: Schema) -> dict[Origin, str]:
    """Return for each variant column the column whose values of other types it takes (docs/dlt.md §6.5)."""
    naming = naming_of(schema)
    bases: dict[Origin, str] = {}
    for table in schema.tables.values():
        beside = _variants_beside(table, naming)
        for variant in beside:
            base = variant
            while base in beside:
                base = beside[base]
            bases[table.name, variant] = base
    return bases


def _variants_beside(table: Table, naming: Naming) -> dict[str, str]:
    """Return the variants of a table, each with the column that its name starts from; that may be a variant too."""
    variants = {column.name for column in table.columns.values() if column.is_variant}
    if not variants:
        return {}
    beside: dict[str, str] = {}
    for name in table.columns:
        for variant in {naming.shorten_fragments(name, ending) for ending in VARIANT_ENDINGS} & variants - {name}:
            beside.setdefault(variant, name)
    return beside


def resolve(
    evidence: Evidence,
    schema: Schema,
    table: str,
    *,
    renamed: Mapping[Path, str] | None = None,
    max_identifier_length: int | None = None,
    is_loaded: bool = False,
) -> Resolution:
    """Evolve ``schema`` by all that ``evidence`` holds; contracts are judged on the result, not here.

    ``renamed`` has names for source paths whose own names collide. Where the data is loaded (``is_loaded``), nested
    tables of merges need the key of their root row.
    """
    fold = _Fold(schema, naming_of(schema, max_identifier_length), renamed or {}, evidence.paths, is_loaded)
    root = fold.add_root_table(table)
    for document in stated_documents(evidence):
        fold.add_document(document, root, None)
    for position in sorted(evidence.witnesses):
        fold.add_document(evidence.witnesses[position], root, position)
    found = fold.finish(evidence.room)
    return replace(found, root=root, renamed=dict(renamed or {}), max_identifier_length=max_identifier_length)


def _data_path(cell: Cell) -> Path | None:
    return None if cell.path is NO_PATH else cell.path


class _Fold:
    """Applies documents to a draft of the schema, one after the other."""

    def __init__(
        self,
        schema: Schema,
        naming: Naming,
        renamed: Mapping[Path, str],
        seen: Mapping[Path, PathEvidence],
        is_loaded: bool,
    ) -> None:
        self._schema = schema
        self._seen = seen
        self._naming = naming
        self._settings = Settings.of(schema.settings)
        hints = schema.settings.get("default_hints") or {}
        # A `nullable` hint makes other columns not nullable, yet dlt does not ask it when it meets a null.
        self._not_null = Settings.of({"default_hints": {"not_null": hints.get("not_null") or ()}})
        self._config = NormalizerConfig.of(schema.normalizers)
        self._drafts = {name: TableDraft.of(table) for name, table in schema.tables.items()}
        filters = Filters.of(schema, naming)
        self._normalizer = RelationalNormalizer(naming, self._config, self, renamed, filters)
        self._coerces = relational.coerces_values(schema.normalizers)
        self._detections: tuple[str, ...] = self._settings.detections or self._config.detections
        self._reads_columns = False
        self._own_names = self._normalizer.names.all()
        self._preferred, self._column_hints = cache(self._settings.preferred), cache(self._settings.column_hints)
        self._reasons: dict[Origin, str] = {}
        self._taken: dict[Origin, dict[Taken, None]] = {}
        self._nulls: dict[Origin, NullConflict] = {}
        self._rows: dict[str, dict[Path, None]] = {}
        system_prefix = naming.normalize_identifier("_dlt")
        self._root_keys = RootKeys(self._drafts, self._config, self._normalizer.names, system_prefix, is_loaded)
        self._reads_propagation = False

    # what rows depend on (relational.TableView)

    def is_root(self, table: str) -> bool:
        draft = self._drafts.get(table)
        return draft is not None and not draft.properties.get("parent")

    def keeps_json(self, table: str, column: str, path: Path) -> bool:
        draft = self._drafts.get(table)
        known = draft.columns.get(column) if draft else None
        if known is None or "data_type" not in known:
            preferred = self._preferred_by(column, path)
            return preferred is not None and preferred[1] is DataType.JSON
        return bool(known["data_type"] == DataType.JSON)

    # the fold

    def add_root_table(self, source: str) -> str:
        name = self._normalizer.table_name(source)
        if name not in self._drafts:
            self._drafts[name] = TableDraft(name, {}, {"write_disposition": "append", "resource": source})
        # dlt writes the root table down and loads the schema anew before it looks at the data.
        self._reads_propagation = True
        add_history_columns(self._drafts[name], self._naming)
        self._pass_on_root_key(self._drafts[name])
        own = self._drafts[name].properties.get(DETECTIONS) or ()
        self._reads_columns = bool(own)
        self._detections = tuple(dict.fromkeys((*own, *self._detections)))
        config = self._config
        self._reads_propagation = bool(config.propagation_root or config.propagation_tables or self._root_keys.found)
        return name

    def add_document(self, document: Any, root: str, position: Position | None) -> None:
        nesting = (self._drafts[root].properties.get("x-normalizer") or {}).get("max_nesting")
        limit = self._config.max_nesting if nesting is None else nesting
        for row in self._normalizer.rows(document, root, limit):
            self._add_row(row, position)

    def finish(self, needed: Mapping[Origin, Properties]) -> Resolution:
        """Return what was found, columns with the room that they need."""
        for (table, column), room in needed.items():
            columns = self._drafts[table].columns
            columns[column] = with_room(columns[column], room)
        tables = {name: draft.to_table() for name, draft in self._drafts.items()}
        schema = replace(self._schema, tables=tables, normalizers=self._root_keys.write_down(self._schema.normalizers))
        taken = {origin: tuple(found) for origin, found in self._taken.items()}
        rows = {table: tuple(found) for table, found in self._rows.items()}
        nulls = tuple(self._nulls.values())
        reasons = {origin: reason for origin, reason in self._reasons.items() if reason}
        return Resolution(schema, taken, nulls, rows, propagation=self._normalizer.propagation, reasons=reasons)

    def _pass_on_root_key(self, changed: TableDraft) -> None:
        """Let the root table of a changed one pass its row key on (docs/dlt.md §5.5).

        dlt asks after each change of a table. Where there was nothing to propagate when the schema was loaded, what it
        writes down holds from the next load on only.
        """
        if (found := self._root_keys.ask(changed)) is not None and self._reads_propagation:
            self._normalizer.propagate(*found)

    def _add_row(self, row: Row, position: Position | None) -> None:
        if row.table not in self._drafts:
            # Root tables are there before their rows.
            self._drafts[row.table] = TableDraft(row.table, {}, {"parent": row.parent}, is_changed=True)
        draft = self._drafts[row.table]
        draft.has_data = True
        self._rows.setdefault(row.table, {}).setdefault(row.path)
        for cell in row.cells:
            if cell.value is None:
                self._check_null(draft, cell, position)
            else:
                if isinstance(cell.value, TypedValue):
                    self._check_null(draft, cell, cell.value.first_null)
                self._add_value(draft, cell, position)
        if draft.is_changed:
            draft.is_changed = False
            self._pass_on_root_key(draft)

    def _check_null(self, draft: TableDraft, cell: Cell, position: Position | None) -> None:
        known = draft.columns.get(cell.column)
        if known is None:
            refused = self._not_null.column_hints(cell.column, _data_path(cell))["nullable"] is False
        else:
            refused = bool(known.get("data_type")) and known.get("nullable") is False
        if refused and position is not None:
            origin = (draft.name, cell.column)
            self._nulls.setdefault(origin, NullConflict(*origin, cell.path, position))

    def _add_value(self, draft: TableDraft, cell: Cell, position: Position | None) -> None:
        column, value = cell.column, cell.value
        known = draft.columns.get(column)
        stated = known.get("data_type") if known else None
        data_type, reason = (DataType(stated), "") if stated else self._type_of(cell)
        if not self._fits(value, data_type):
            column = self._add_variant(draft, column, value)
        elif not stated:
            self._complete(draft, column, self._inferred(column, value, data_type, _data_path(cell)))
            self._reasons[draft.name, column] = reason
        if cell.path is not NO_PATH:
            name = TYPED if isinstance(value, TypedValue) else self._class_of(cell, position)
            self._taken.setdefault((draft.name, column), {}).setdefault((cell.path, name))
            if room := room_of(value, draft.columns[column], self._seen.get(cell.path, {}).get(name)):
                draft.columns[column] = with_room(draft.columns[column], room)

    def _class_of(self, cell: Cell, position: Position | None) -> str:
        """Return the class of a value of a document; where that has no other value at the path, it is known."""
        if ELEMENT not in cell.path:
            for name, seen in self._seen.get(cell.path, {}).items():
                if seen.first == position:
                    return name
        # This takes a hundred times as long.
        return classify(cell.value)

    def _add_variant(self, draft: TableDraft, column: str, value: Any) -> str:
        """Return the column beside ``column`` that takes ``value``, made where there is none (docs/dlt.md §6.5)."""
        name = self._naming.shorten_fragments(column, f"v_{kind(value)}")
        if kind(value) is DataType.JSON:
            old = self._naming.shorten_fragments(column, "v_complex")
            name = old if draft.columns.get(old, {}).get("variant") else name
        known = draft.columns.get(name)
        if known is None or not known.get("data_type"):
            data_type, _ = (kind(value), "") if self._reads_columns else self._detected_by_value(value)
            self._complete(draft, name, self._inferred(name, value, data_type, None, is_variant=True))
        elif not self._fits(value, DataType(known["data_type"])):
            # dlt gives up here; a variant of the variant takes the value as it is.
            while (stated := draft.columns.get(name, {}).get("data_type")) and not self._fits(value, DataType(stated)):
                name = self._naming.shorten_fragments(name, f"v_{kind(value)}")
            if not stated:
                self._complete(draft, name, self._inferred(name, value, kind(value), None, is_variant=True))
        return name

    def _complete(self, draft: TableDraft, name: str, inferred: dict[str, Any]) -> None:
        """Add a column at the end; what an incomplete column already states stays (docs/dlt.md §8, merge_columns)."""
        draft.is_changed = True
        stated = draft.columns.pop(name, None)
        if stated is None:
            draft.columns[name] = inferred
            return
        merged = {**stated, **{key: value for key, value in inferred.items() if key not in stated}}
        if not merged.get("data_type"):
            merged["data_type"] = inferred["data_type"]
        draft.columns[name] = merged

    def _inferred(
        self, name: str, value: Any, data_type: DataType, path: Path | None, *, is_variant: bool = False
    ) -> dict[str, Any]:
        column: dict[str, Any] = {"data_type": str(data_type), **self._column_hints(name, path)}
        if isinstance(value, TypedValue) and value.data_type is data_type:
            column.update(value.properties)
        if is_variant:
            column |= {"variant": True, "description": f"Variant of column {name} generated by dlt"}
        return column

    def _preferred_by(self, name: str, path: Path | None) -> tuple[str, DataType] | None:
        return None if name in self._own_names else self._preferred(name, path)

    def _fits(self, value: Any, data_type: DataType) -> bool:
        return fits(value, data_type) if self._coerces else kind(value) is data_type

    def _type_of(self, cell: Cell) -> tuple[DataType, str]:
        """Return the type of a new column, and what it is by, nothing where it is the value's own."""
        if preferred := self._preferred_by(cell.column, _data_path(cell)):
            return preferred[1], f"preferred_types {preferred[0]}"
        if self._reads_columns and isinstance(cell.value, str):
            return type_of_texts(self._seen.get(cell.path, {}), self._detections)
        return self._detected_by_value(cell.value)

    def _detected_by_value(self, value: Any) -> tuple[DataType, str]:
        own = kind(value)
        # Without coercion no value could become what a detector says; dlt fails there.
        if not self._coerces or isinstance(value, TypedValue) or is_integer_beyond_dlt(value):
            return own, ""
        found = ((answer, name) for name in self._detections if (answer := DETECTORS[name].detect(value)))
        return next(found, (own, ""))
