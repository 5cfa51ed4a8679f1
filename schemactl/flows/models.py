"""Imports the Pydantic models of a call (``--model``) and turns them into columns and contracts of tables."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from schemactl.errors import CommandWarning, InputError, nearest_or_all
from schemactl.installation import install_command
from schemactl.registry import import_module_if_exists
from schemactl.schema.contract import Contract, ContractValue, Entity, Mode, system_prefix
from schemactl.schema.hints import ColumnHint, Hints, with_hints
from schemactl.schema.judgment import Violation, judge
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Properties, Schema, Table

if TYPE_CHECKING:
    from schemactl.kernel.dispatch import Dispatch
    from schemactl.kernel.models import ModelTask
    from schemactl.type_systems.pydantic_models import ModelField


@dataclass(frozen=True, slots=True)
class TableModel:
    """The columns and the contract that a model gives one root table.

    Attributes:
        fields: the columns of the table and of its nested tables.
        is_authoritative: whether its columns override the contract (dlt's ``is_authoritative_model``).
    """

    fields: tuple[ModelField, ...]
    contract: Mapping[str, str]
    is_authoritative: bool


@dataclass(frozen=True, slots=True)
class CallModel:
    """The model that a call names.

    Attributes:
        reference: ``MODULE:CLASS``.
        table: its only table; None for a union, which has a table for each variant.
        variants: the tables of a union, by the value that names them.
        key: the key of the field that has these values.
    """

    reference: str
    task: ModelTask
    table: TableModel | None
    variants: Mapping[str, TableModel] = field(default_factory=dict)
    key: str | None = None

    def of_table(self, dispatch: Dispatch | None, table: str | None) -> TableModel | None:
        """Return the model of a table; None for values without a variant."""
        if self.table is not None or dispatch is None:
            return self.table
        table_models = (
            variant for value, variant in self.variants.items() if dispatch.names.get(value, value) == table
        )
        return next(table_models, None)


def find_model(reference: str, contract: str | None) -> CallModel:
    """Import the model that a call names; this runs the user's code.

    Args:
        reference: ``MODULE:CLASS``; the module is installed, or a file or package in the working folder.
        contract: the contract of the call, which overrides the contract of the model.
    """
    if find_spec("pydantic") is None:
        raise InputError(f"Pydantic is not installed: {install_command('model')}")
    from schemactl.kernel.models import ModelSource, ModelTask
    from schemactl.type_systems.pydantic_models import as_model, contract_of, extra_of, variants_of

    module_name, _, name = reference.partition(":")
    module = _import(module_name, reference)
    if not name or not hasattr(module, name):
        hint = nearest_or_all(name, _models_in(module)) if name else f"for example `{module_name}:Order`"
        raise InputError(f"`{reference}` does not name a model (`--model MODULE:CLASS`)", hint=hint)
    try:
        model = as_model(getattr(module, name))
    except Exception as error:  # Pydantic's errors for invalid models have no common class
        # Further sentences are for authors of types.
        reason = str(error).partition("\n")[0].partition(". ")[0]
        hint = nearest_or_all(name, _models_in(module))
        raise InputError(f"`{reference}` is not a Pydantic model: {reason}", hint=hint) from error
    variants = variants_of(model)
    default = contract_of(model)
    full = _in_full(contract, default)
    overrides_models = contract is not None and "columns" in _named(contract, default)
    modes_by_extra = {
        "forbid": (Mode.FREEZE, Mode.DISCARD_ROW),
        "allow": (Mode.EVOLVE,),
        "ignore": (Mode.DISCARD_VALUE,),
    }
    for checked_model in (model, *(dict.fromkeys(variants.models.values()) if variants else ())):
        extra, location = extra_of(checked_model), reference if checked_model is model else checked_model.__name__
        if overrides_models and extra and full["columns"] not in modes_by_extra[extra]:
            message = f"the contract `columns={full['columns']}` overrides `extra={extra!r}` of `{location}`"
            warnings.warn(CommandWarning(message), stacklevel=2)
    if full["data_type"] == Mode.DISCARD_VALUE:
        hint = "use `data_type=discard_row` to reject such rows, or `data_type=evolve` to load them unchanged"
        raise InputError("a model cannot discard single values (`data_type=discard_value`)", hint=hint)
    source = ModelSource(module.__name__, name, _source_of(module))
    task = ModelTask(source, Mode(full["columns"]), Mode(full["data_type"]), overrides_models)
    if variants is None:
        return CallModel(reference, task, _table_model(model, full))
    tables = {
        value: _table_model(checked_model, _in_full(contract, contract_of(checked_model)))
        for value, checked_model in variants.models.items()
    }
    return CallModel(reference, task, None, tables, variants.key)


def _table_model(model: Any, contract: Mapping[str, str]) -> TableModel:
    from schemactl.type_systems.pydantic_models import config, fields_of

    return TableModel(fields_of(model), contract, bool(config(model, "is_authoritative_model")))


def _import(name: str, reference: str) -> ModuleType:
    # Modules of the working folder can be imported as well, after all that is installed.
    working_folder = str(Path.cwd())
    sys.path.append(working_folder)
    try:
        module = import_module_if_exists(name, "model")
    finally:
        sys.path.remove(working_folder)
    if module is None:
        hint = "MODULE is installed, or a Python file or package in this folder: `app.models:Order`"
        raise InputError(f"there is no module `{name}` (`--model {reference}`)", hint=hint)
    return module


def _models_in(module: ModuleType) -> list[str]:
    from pydantic import BaseModel

    classes = (
        (name, of) for name, of in vars(module).items() if isinstance(of, type) and of.__module__ == module.__name__
    )
    return [name for name, of in classes if issubclass(of, BaseModel)]


def _source_of(module: ModuleType) -> Mapping[str, bytes]:
    """Return the source of the package that a module belongs to, by path."""
    top = sys.modules[module.__name__.partition(".")[0]]
    folders = [Path(folder) for folder in getattr(top, "__path__", ())]
    if not folders:
        file = top.__file__
        return {f"{top.__name__}.py": Path(file).read_bytes()} if file and file.endswith(".py") else {}
    return {
        str(Path(top.__name__, file.relative_to(folder)).as_posix()): file.read_bytes()
        for folder in folders
        for file in sorted(folder.rglob("*.py"))
    }


def _in_full(contract: str | None, default: Mapping[str, str]) -> dict[str, str]:
    """Return the mode of each entity: the call's, or the model's if the call leaves it out."""
    if contract is None:
        return dict(default)
    call_contract, listed_entities = Contract.of(contract), _named(contract, default)
    return {
        entity: str(call_contract.mode_of(Entity(entity))) if entity in listed_entities else mode
        for entity, mode in default.items()
    }


def _named(contract: str, entities: Iterable[str]) -> set[str]:
    """Return the entities that a contract names; all if it is one mode."""
    return {clause.partition("=")[0].strip() for clause in contract.split(",")} if "=" in contract else set(entities)


# --- schemas ---


def hints_of(model: TableModel, schema: Schema, root: str) -> Hints:
    """Return a model's hints of columns, under the schema's names."""
    return Hints(tuple(hint for hint in _all_hints(model, schema, root) if hint.properties))


def _all_hints(model: TableModel, schema: Schema, root: str) -> Iterator[ColumnHint]:
    """Yield a hint for each field, without properties if its values may have any type."""
    naming = naming_of(schema)
    for model_field in model.fields:
        keys = [step for step in model_field.path if step is not None]
        last = max((index for index, step in enumerate(model_field.path) if step is None), default=-1)
        above = [step for step in model_field.path[: max(last, 0)] if step is not None]
        column = naming.shorten_fragments(*(naming.normalize_identifier(key) for key in keys[len(above) :]))
        table = naming.shorten_fragments(root, *(naming.normalize_table_identifier(key) for key in above))
        yield ColumnHint(table if above else None, column, model_field.properties)


def with_model(
    schema: Schema, model: TableModel, root: str, contract: ContractValue
) -> tuple[Schema, tuple[Violation, ...]]:
    """Return a schema with a model's columns of a root table, and the violations of the contract.

    A new table evolves once, as in dlt; if the contract refuses new tables, only the data may create it. The
    model's contract is stored in the table unless the call has one.
    """
    stored_table = schema.tables.get(root)
    hinted = with_hints(schema, hints_of(model, schema, root), root)
    implied: Properties = {} if contract else {"schema_contract": dict(model.contract)}
    table = _with(_table(hinted, root), implied)
    if stored_table is None or stored_table.is_new:
        marks = {**(table.properties.get("x-normalizer") or {}), "evolve-columns-once": True}
        marked = hinted.with_table(_with(table, {"x-normalizer": marks}))
        violations = judge(schema, marked, contract).violations
        is_refused = any(violation.entity is Entity.TABLES and violation.table == root for violation in violations)
        return (schema if is_refused else marked), ()
    if model.is_authoritative:
        return hinted.with_table(table), ()
    judgment = judge(schema.with_table(_with(stored_table, implied)), hinted.with_table(table), contract)
    return judgment.schema, judgment.violations


def _table(schema: Schema, root: str) -> Table:
    return schema.tables.get(root) or Table(root, {}, {"write_disposition": "append", "resource": root})


def _with(table: Table, properties: Properties) -> Table:
    return replace(table, properties={**table.properties, **properties})


def schema_of(model: CallModel, schema: Schema, table: str | None) -> Schema:
    """Return a schema with the tables of a model, without regard to contracts."""
    for root, table_model in _tables_of(model, schema, table):
        schema = with_hints(schema, hints_of(table_model, schema, root), root)
        schema = schema.with_table(_with(_table(schema, root), {"schema_contract": dict(table_model.contract)}))
    return schema


def unfilled_columns(model: CallModel, schema: Schema, table: str | None) -> tuple[tuple[str, str], ...]:
    """Return the tables and columns that are required and get no value from any load with a model.

    If the model accepts other keys (``columns`` evolves), data may fill them.
    """
    naming = naming_of(schema)
    prefix = system_prefix(naming)
    unfilled = []
    for root, table_model in _tables_of(model, schema, table):
        hints = [] if table_model.contract["columns"] == Mode.EVOLVE else list(_all_hints(table_model, schema, root))
        for name in dict.fromkeys(hint.table or root for hint in hints):
            fields = {hint.name: hint for hint in hints if (hint.table or root) == name}
            # A value of any type may be an object, which fills further columns.
            objects = tuple(f"{key}{naming.path_separator}" for key, hint in fields.items() if not hint.properties)
            columns = schema.tables[name].columns.values() if name in schema.tables else ()
            unfilled += [
                (name, column.name)
                for column in columns
                if column.is_complete and not column.nullable and column.name not in fields
                if not column.name.startswith((prefix, *objects))
            ]
    return tuple(unfilled)


def _tables_of(model: CallModel, schema: Schema, table: str | None) -> Iterator[tuple[str, TableModel]]:
    """Yield the root tables of a model, under the schema's names."""
    naming = naming_of(schema)
    tables = {table or model.reference.partition(":")[2]: model.table} if model.table else model.variants
    yield from ((naming.normalize_table_identifier(name), table_model) for name, table_model in tables.items())
