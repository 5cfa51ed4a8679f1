"""Which columns may take the values of a source path: the column itself, and its variants (docs/dlt.md §6.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemactl.inference.values import ALWAYS_FITS, SOMETIMES_FITS
from schemactl.normalization.plan import TargetColumn
from schemactl.schema.judgement import Judgement, Violation
from schemactl.schema.naming import Naming
from schemactl.schema.types import Column, DataType, Schema


class Targets:
    """Finds the columns for values.

    Args:
        schema: with all that the data asks for.
        judgement: what the contract says of it.
        naming: the schema's naming convention.
        coerces: whether values may change their type.
    """

    def __init__(self, schema: Schema, judgement: Judgement, naming: Naming, *, coerces: bool) -> None:
        self._schema = schema
        self._allowed = judgement.schema
        self._naming = naming
        self._coerces = coerces
        self._refused = {(each.table, each.column): each for each in judgement.violations}

    def refusal_of(self, table: str) -> Violation | None:
        """Return what the contract has against the rows of ``table``."""
        return self._refused.get((table, None))

    def by_kind(self, table: str, column: str, kinds: Iterable[DataType]) -> dict[str, tuple[TargetColumn, ...]]:
        """Return the columns for each kind of value that stands where ``column`` is fed from, in a fixed order."""
        return {str(kind): tuple(self._chain(table, column, kind)) for kind in sorted(kinds)}

    def made(self, table: str, column: str, kind: DataType) -> TargetColumn | None:
        """Return the column for values of dlt's own making, which are not known yet: one that takes all of a kind."""
        return next((each for each in self._chain(table, column, kind) if self._is_total(each, kind)), None)

    def _chain(self, table: str, name: str, kind: DataType) -> Iterator[TargetColumn]:
        """Yield the columns that values of a kind are tried in; none is tried after one that takes them all."""
        for column in self._candidates(table, name, kind):
            target = TargetColumn(column, self._refused.get((table, column.name)))
            if self._may_take(target, kind):
                if (before := self._before(target, table)) is not None:
                    yield before
                yield target
                if self._is_total(target, kind):
                    return

    def _candidates(self, table: str, name: str, kind: DataType) -> Iterator[Column]:
        columns = self._schema.tables[table].columns if table in self._schema.tables else {}
        if name in columns and columns[name].is_complete:
            yield columns[name]
        variant = self._naming.shorten_fragments(name, f"v_{kind}")
        if kind is DataType.JSON:
            old = self._naming.shorten_fragments(name, "v_complex")
            variant = old if old in columns and columns[old].is_variant else variant
        met = {name}
        while variant in columns and columns[variant].is_complete and variant not in met:
            yield columns[variant]
            met.add(variant)
            variant = self._naming.shorten_fragments(variant, f"v_{kind}")

    def _before(self, asked: TargetColumn, table: str) -> TargetColumn | None:
        """Return the column as it was, where the contract refuses its new size or time zone: some values fit it."""
        known = self._allowed.tables[table].columns.get(asked.column.name) if table in self._allowed.tables else None
        if asked.refusal is None or known is None or known.data_type is DataType.JSON:
            return None
        return TargetColumn(known, is_exact=True) if known.data_type is asked.column.data_type else None

    def _may_take(self, target: TargetColumn, kind: DataType) -> bool:
        data_type = target.column.data_type
        if data_type is None or not self._coerces:
            return data_type is kind
        return data_type is kind or kind in SOMETIMES_FITS[data_type]

    def _is_total(self, target: TargetColumn, kind: DataType) -> bool:
        data_type = target.column.data_type
        if target.is_exact:
            return False
        if data_type is None or not self._coerces:
            return data_type is kind
        return data_type is kind or kind in ALWAYS_FITS.get(data_type, frozenset())
