"""Rules about contracts: X7xx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from schemactl.review.field_changes import FieldChange, FieldEvent
from schemactl.review.hints import is_unset
from schemactl.review.nested_fields import field_match, type_label
from schemactl.review.rule import (
    BREAKS_NOBODY,
    Comparison,
    Direction,
    Finder,
    Impact,
    Match,
    Matches,
    ReaderEffect,
    Rule,
    Severity,
)
from schemactl.review.wording import from_to, quote_value
from schemactl.schema.changes import (
    ColumnPropertyChanged,
    ColumnRetyped,
    NullabilityChanged,
    SettingChanged,
    TablePropertyChanged,
)
from schemactl.schema.contract import CONTRACT, Contract, Entity, Mode, contract_for, system_prefix
from schemactl.schema.judgment import Violation, judge_edit
from schemactl.schema.naming import naming_of
from schemactl.schema.nested_types import SPARK_TYPE, keeps_structure
from schemactl.schema.types import Schema, chain_of

_STRICTNESS: Final = {Mode.EVOLVE: 0, Mode.DISCARD_VALUE: 1, Mode.DISCARD_ROW: 2, Mode.FREEZE: 3}


@dataclass(frozen=True, slots=True)
class Shift:
    """A mode that changed.

    Attributes:
        table: the table whose contract it is, also for nested tables that inherit it before and after; None for the
            contract of the whole schema.
    """

    table: str | None
    entity: Entity
    before: Mode
    after: Mode

    def is_muted(self) -> bool:
        """Return whether violations that failed loudly are dropped silently now."""
        return self.before is Mode.FREEZE and self.after in (Mode.DISCARD_ROW, Mode.DISCARD_VALUE)

    def is_loosened(self) -> bool:
        return not self.is_muted() and _STRICTNESS[self.after] < _STRICTNESS[self.before]

    def is_tightened(self) -> bool:
        return _STRICTNESS[self.after] > _STRICTNESS[self.before]


def _owner_and_keys(table: str | None) -> tuple[str, tuple[str, ...]]:
    """Return a table, None for the schema, for a sentence, and the place of its contract."""
    return ("the schema", ("settings", CONTRACT)) if table is None else (f"`{table}`", ("tables", table, CONTRACT))


def shift_rule(applies: Callable[[Shift], bool]) -> Finder:
    """Return the finder of the modes that changed in one direction, wherever they are inherited from."""

    def find(comparison: Comparison) -> Iterator[Match]:
        for shift in filter(applies, shifts(comparison)):
            owner, keys = _owner_and_keys(shift.table)
            sentence = f"the contract on `{shift.entity}` of {owner} changes {from_to(shift.before, shift.after)}"
            # They name the entity, so that no two matches of a table are equal.
            before, after = ({str(shift.entity): str(mode)} for mode in (shift.before, shift.after))
            yield Match(sentence=sentence, table=shift.table, keys=keys, before=before, after=after)

    return find


def states_contract(schema: Schema) -> bool:
    """Return whether the settings or a table declare a contract; else everything evolves."""
    return bool(schema.settings.get(CONTRACT)) or any(CONTRACT in table.properties for table in schema.tables.values())


def shifts(comparison: Comparison) -> Iterator[Shift]:
    """Yield the modes that changed, without tables that inherit the change."""
    base, head = comparison.base.schema, comparison.head.schema
    is_of_settings = any(comparison.of(SettingChanged, CONTRACT))
    if not is_of_settings and not any(comparison.of(TablePropertyChanged, CONTRACT, "parent")):
        return
    owners = _owners(comparison)
    if is_of_settings:
        # If every table has a contract, the schema's contract only applies to new tables.
        is_inherited = not owners or any(pair == (None, None) for pair in owners.values())
        before, after = (Contract.of(schema.settings.get(CONTRACT)) for schema in (base, head))
        yield from _shifts(None, before, after, Entity if is_inherited else (Entity.TABLES,))
    for name, pair in owners.items():
        parent = head.tables[name].parent
        follows_parent = parent is not None and owners.get(parent) == pair and parent != name
        if pair != (None, None) and not follows_parent:
            before = contract_for(base, comparison.base_tables.get(name, name))
            yield from _shifts(name, before, contract_for(head, name), Entity)


def _shifts(table: str | None, before: Contract, after: Contract, entities: Iterable[Entity]) -> Iterator[Shift]:
    for entity in entities:
        old, new = before.mode_of(entity), after.mode_of(entity)
        if old is not new:
            yield Shift(table, entity, old, new)


def restated(comparison: Comparison) -> Iterator[str | None]:
    """Yield the tables, None for the whole schema, whose contract is written differently and has the same modes."""
    base, head = comparison.base.schema, comparison.head.schema
    schema_modes_changed = any(shift.table is None for shift in shifts(comparison))
    if not schema_modes_changed and any(comparison.of(SettingChanged, CONTRACT)):
        yield None
    for change in comparison.of(TablePropertyChanged, CONTRACT):
        old_name = comparison.base_tables.get(change.table, change.table)
        if contract_for(base, old_name) == contract_for(head, change.table):
            yield change.table


def _owners(comparison: Comparison) -> dict[str, tuple[str | None, str | None]]:
    """Return the tables that declare the contract of each shared table, before and after; without dlt's own tables."""
    base, head = comparison.base.schema, comparison.head.schema
    prefix = system_prefix(naming_of(head))
    owners: dict[str, tuple[str | None, str | None]] = {}
    for name in head.tables:
        old_name = comparison.base_tables.get(name, name)
        if not name.startswith(prefix) and old_name in base.tables:
            owners[name] = (_owner(base, old_name), _owner(head, name))
    return owners


def _owner(schema: Schema, name: str | None) -> str | None:
    """Return the nearest table up to the root that has a contract, None if the settings decide."""
    tables = (schema.tables[ancestor] for ancestor in chain_of(schema, name) if ancestor in schema.tables)
    return next((table.name for table in tables if CONTRACT in table.properties), None)


def broken_by_fields(comparison: Comparison, violation: Violation) -> tuple[FieldChange, ...] | None:
    """Return the field changes that violate a contract; None if the violation is about more than fields.

    As with columns, removing or reordering fields violates no contract, since data does neither.
    """
    column = violation.table, violation.column
    structure_changes = comparison.of(ColumnPropertyChanged, SPARK_TYPE)
    other_changes: list[ColumnRetyped | NullabilityChanged] = [*comparison.of(ColumnRetyped)]
    other_changes += comparison.of(NullabilityChanged)
    is_of_structure = any((change.table, change.column) == column for change in structure_changes)
    is_of_type = violation.entity is Entity.DATA_TYPE and violation.variant_of is None
    if (
        not is_of_structure
        or not is_of_type
        or any((change.table, change.column) == column for change in other_changes)
    ):
        return None
    if not any(keeps_structure(side.schema.normalizers) for side in (comparison.base, comparison.head)):
        return ()  # loads of such schemas ignore the declared structure
    changes = comparison.fields.get((violation.table, violation.column or ""))
    if changes is None:
        return None
    of_fields = (change for change in changes if isinstance(change, FieldChange))
    new_names = (FieldEvent.ADDED, FieldEvent.RENAMED)
    return tuple(
        change
        for change in of_fields
        if change.event in new_names or (change.event is FieldEvent.RETYPED and change.before != change.after)
    )


X701 = Rule(
    title="contract loosened",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Loads can now change parts of the schema that the contract protected: new tables, columns or variant columns "
    "appear without a review, and readers that rely on a fixed schema get them without notice.",
    fix="Loosen only the parts that must change, for example `columns` of one table, and freeze them again afterwards.",
    find=shift_rule(Shift.is_loosened),
    effect=ReaderEffect.NONE,
)


X702 = Rule(
    title="contract tightened",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="The contract used to accept new data from a pipeline, and now does not: under `freeze`, the load fails with "
    "`DataValidationError`; under `discard_row` and `discard_value`, dlt silently drops rows or values.",
    fix="First run every pipeline against the new contract, for example with `schemactl infer --check` on its data. "
    "Add missing tables and columns to the schema before you freeze it.",
    find=shift_rule(Shift.is_tightened),
    effect=ReaderEffect.NONE,
)


def find_contract_violated(comparison: Comparison) -> Matches:
    """Yield each change that dlt would not let data make; a renamed table, column or field counts as new."""
    base, head = comparison.base.schema, comparison.head.schema
    if not comparison.changes or not (states_contract(base) or states_contract(head)):
        return
    for violation in judge_edit(base, head):
        fields = broken_by_fields(comparison, violation)
        if fields is None:
            sentence, before, after = _violation_sentence(violation), violation.expected, violation.found
            yield Match(sentence=sentence, table=violation.table, column=violation.column, before=before, after=after)
        else:
            yield from (field_match(change, _field_violation_sentence(violation, change)) for change in fields)


def _field_violation_sentence(violation: Violation, field: FieldChange) -> str:
    """Return the sentence of a field that is new, under a new name, or of another type."""
    rule = f"the contract `{violation.entity}: {violation.mode}` of `{violation.table}`"
    now = type_label(field.after) if field.after else None
    if field.event is FieldEvent.RETYPED and field.before:
        return f"{rule} requires `{type_label(field.before)}` for `{field.name}`, but it is now `{now}`"
    return f"{rule} allows no new fields, but `{field.name}` (`{now}`) is new"


def _violation_sentence(violation: Violation) -> str:
    table, column = f"`{violation.table}`", f"`{violation.column}`"
    rule = f"the contract `{violation.entity}: {violation.mode}`"
    if violation.entity is Entity.TABLES:
        return f"{rule} allows no new tables, but {table} is new"
    if violation.entity is Entity.COLUMNS:
        return f"{rule} of {table} allows no new columns, but {column} (`{violation.found}`) is new"
    requires = f"{rule} of {table} requires `{violation.expected}` for"
    if violation.variant_of is not None:
        return f"{requires} `{violation.variant_of}`, but the variant column {column} allows `{violation.found}`"
    return f"{requires} {column}, but it is now `{violation.found}`"


X703 = Rule(
    title="contract violated",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="The `schema_contract` of the schema forbids this change. dlt would reject or drop data that requires it, so "
    "the finding counts in every compatibility mode.",
    fix="Revert the change, or first change the contract in a separate review, so that its users can object. The "
    "contract of the base schema decides, so changing both at once does not help.",
    find=find_contract_violated,
    is_contract=True,
    effect=ReaderEffect.NONE,
)


X704 = Rule(
    title="contract drops data silently",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.LOOSENS,
    why="Under `freeze`, a load with unexpected data fails, and someone looks at it. Under `discard_row` and "
    "`discard_value`, dlt drops the row or the value, and neither logs nor stores it.",
    fix="Keep `freeze`, and fix the source or extend the schema. If loads must not fail, let the contract evolve, and "
    "review the resulting schema.",
    find=shift_rule(Shift.is_muted),
    effect=ReaderEffect.NONE,
)


def find_contract_restated(comparison: Comparison) -> Matches:
    """Yield each table, or the schema, whose ``schema_contract`` changed without any effect."""
    for table in restated(comparison):
        owner, keys = _owner_and_keys(table)
        sentence = f"the contract of {owner} is written in another way or place, but means the same"
        yield Match(sentence=sentence, table=table, keys=keys)


X705 = Rule(
    title="same contract, written differently",
    impact=BREAKS_NOBODY,
    why="A table without its own contract inherits the contract of its parent, or else of the schema's settings. The "
    "tables have the same contract as before; only the hash changes.",
    fix="No action needed. Note that only the nearest contract applies: entities that it leaves out evolve.",
    find=find_contract_restated,
)


def find_contract_removed(comparison: Comparison) -> Matches:
    """Yield the schema, and each table, whose contract was taken out, where that lets everything in somewhere."""
    freed = {shift.table for shift in shifts(comparison) if shift.after is Mode.EVOLVE}
    changes: list[SettingChanged | TablePropertyChanged] = [*comparison.of(SettingChanged, CONTRACT)]
    for change in [*changes, *comparison.of(TablePropertyChanged, CONTRACT)]:
        table = change.table if isinstance(change, TablePropertyChanged) else None
        is_freed = table in freed if table is not None else bool(freed)
        if is_unset(change.after) and not is_unset(change.before) and is_freed:
            owner, before = _owner_and_keys(table)[0], quote_value(change.before)
            yield Match.of(change, f"{owner} no longer has a contract; it was {before}", after=None)


X706 = Rule(
    title="contract removed",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Rule X703 checks later changes against the contract. Without it, new tables, columns and variant columns are "
    "added automatically, and no review fails for them. Rule X701 lists the changes that are now allowed.",
    fix="Keep the contract, and loosen only the parts that must change, by name: `schema_contract: {columns: evolve}` "
    "shows that the change is intended.",
    find=find_contract_removed,
    effect=ReaderEffect.NONE,
)
