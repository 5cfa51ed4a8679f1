"""What contracts say of fields inside columns: to them, a new field is another type of its column (``data_type``)."""

from __future__ import annotations

from schemactl.review.comparison import Comparison
from schemactl.review.nested_fields import FieldChange, FieldEvent, fields_of
from schemactl.schema.changes import ColumnPropertyChanged, ColumnRetyped, NullabilityChanged
from schemactl.schema.contract import Entity, Mode, contract_for
from schemactl.schema.judgement import Violation
from schemactl.schema.nested_columns import SPARK_TYPE, keeps_structure
from schemactl.schema.types import Schema


def freezes_fields(schema: Schema, table: str) -> bool:
    """Return whether a load fails whose data asks for other fields, or other types of them."""
    return contract_for(schema, table).data_type is Mode.FREEZE


def broken_by_fields(comparison: Comparison, violation: Violation) -> tuple[FieldChange, ...] | None:
    """Return what of the fields violates a contract; None where the violation is about more than them.

    As with columns, what is gone violates none, and neither does another order: data asks for neither.
    """
    change = _only_change(comparison, violation)
    if change is None:
        return None
    if not any(keeps_structure(side.schema.normalizers) for side in (comparison.base, comparison.head)):
        # Loads of such schemas heed no structure that is stated.
        return ()
    found = fields_of(comparison, change)
    return found if found is None else tuple(each for each in found if each.event is not FieldEvent.REMOVED)


def _only_change(comparison: Comparison, violation: Violation) -> ColumnPropertyChanged | None:
    """Return the changed ``x-spark-type``, None where it is not the only one of the column's type."""
    if violation.entity is not Entity.DATA_TYPE or violation.variant_of is not None:
        return None
    place = violation.table, violation.column
    retyped = {(change.table, change.column) for change in comparison.of(ColumnRetyped)}
    required = {(change.table, change.column) for change in comparison.of(NullabilityChanged)}
    if place in retyped | required:
        return None
    stated = (change for change in comparison.of(ColumnPropertyChanged) if change.name == SPARK_TYPE)
    return next((change for change in stated if (change.table, change.column) == place), None)
