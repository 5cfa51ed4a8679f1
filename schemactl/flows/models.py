"""Pydantic models of a call (``--model``): found, sent to the workers, and made columns and contracts of tables."""

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
from schemactl.registry import import_if_there
from schemactl.schema.contract import Contract, Entity, Mode, Stated, system_prefix
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
    """The statement of a model about one root table.

    Attributes:
        fields: its columns, and those of what is nested in it.
        is_authoritative: whether its columns come about whatever the contract says (dlt's ``is_authoritative_model``).
    """

    fields: tuple[ModelField, ...]
    contract: Mapping[str, str]
    is_authoritative: bool


@dataclass(frozen=True, slots=True)
class ModelOfCall:
    """The model that a call names.

    Attributes:
        stated: ``MODULE:CLASS``.
        own: what it says of its only table; None for a union, which has a table for each variant.
        variants: what a union says of its tables, by the value that names them.
        key: of the field that has these values.
    """

    stated: str
    task: ModelTask
    own: TableModel | None
    variants: Mapping[str, TableModel] = field(default_factory=dict)
    key: str | None = None

    def of_table(self, dispatch: Dispatch | None, table: str | None) -> TableModel | None:
        """Return what the model says of a table; None for one of values that are no variant's."""
        if self.own is not None or dispatch is None:
            return self.own
        named = (each for value, each in self.variants.items() if dispatch.names.get(value, value) == table)
        return next(named, None)


def find_model(stated: str, contract: str | None) -> ModelOfCall:
    """Import the model that a call names; code of the user runs.

    Args:
        stated: ``MODULE:CLASS``; the module is installed, or a file or package in the working folder.
        contract: of the call, which goes before that of the model.

    Raises:
        InputError: there is no such model, it does not import, or the contract cannot be kept.
    """
    if find_spec("pydantic") is None:
        raise InputError(f"Pydantic is not installed: {install_command('model')}")
    from schemactl.kernel.models import ModelSource, ModelTask
    from schemactl.type_systems.pydantic_models import as_model, contract_of, extra_of, variants_of

    module_name, _, name = stated.partition(":")
    module = _import(module_name, stated)
    if not name or not hasattr(module, name):
        hint = nearest_or_all(name, _models_in(module)) if name else f"for example `{module_name}:Order`"
        raise InputError(f"`{stated}` does not name a model (`--model MODULE:CLASS`)", hint=hint)
    try:
        model = as_model(getattr(module, name))
    except Exception as error:  # Pydantic says in ways of its own that it cannot make a model of something
        # Further sentences tell authors of types how to teach them to Pydantic.
        reason = str(error).partition("\n")[0].partition(". ")[0]
        hint = nearest_or_all(name, _models_in(module))
        raise InputError(f"`{stated}` is not a Pydantic model: {reason}", hint=hint) from error
    variants = variants_of(model)
    default = contract_of(model)
    full = _in_full(contract, default)
    is_stated = contract is not None and "columns" in _named(contract, default)
    meant = {"forbid": (Mode.FREEZE, Mode.DISCARD_ROW), "allow": (Mode.EVOLVE,), "ignore": (Mode.DISCARD_VALUE,)}
    for each in (model, *(dict.fromkeys(variants.models.values()) if variants else ())):
        extra, place = extra_of(each), stated if each is model else each.__name__
        if is_stated and extra and full["columns"] not in meant[extra]:
            message = f"the contract `columns={full['columns']}` goes before `extra={extra!r}` of `{place}`"
            warnings.warn(CommandWarning(message), stacklevel=2)
    if full["data_type"] == Mode.DISCARD_VALUE:
        hint = "`data_type=discard_row` leaves out such rows, `data_type=evolve` takes them as they are"
        raise InputError("a model cannot leave out single values (`data_type=discard_value`)", hint=hint)
    source = ModelSource(module.__name__, name, _source_of(module))
    task = ModelTask(source, Mode(full["columns"]), Mode(full["data_type"]), is_stated)
    if variants is None:
        return ModelOfCall(stated, task, _table_model(model, full))
    tables = {
        value: _table_model(each, _in_full(contract, contract_of(each))) for value, each in variants.models.items()
    }
    return ModelOfCall(stated, task, None, tables, variants.key)


def _table_model(model: Any, contract: Mapping[str, str]) -> TableModel:
    from schemactl.type_systems.pydantic_models import config, fields_of

    return TableModel(fields_of(model), contract, bool(config(model, "is_authoritative_model")))


def _import(name: str, stated: str) -> ModuleType:
    # Modules of the working folder can be imported as well, after all that is installed.
    place = str(Path.cwd())
    sys.path.append(place)
    try:
        module = import_if_there(name, "model")
    finally:
        sys.path.remove(place)
    if module is None:
        hint = "MODULE is installed, or a Python file or package in this folder: `app.models:Order`"
        raise InputError(f"there is no module `{name}` (`--model {stated}`)", hint=hint)
    return module


def _models_in(module: ModuleType) -> list[str]:
    from pydantic import BaseModel

    own = ((name, of) for name, of in vars(module).items() if isinstance(of, type) and of.__module__ == module.__name__)
    return [name for name, of in own if issubclass(of, BaseModel)]


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
    """Return the mode of each entity: the call's, and for those that it leaves out the model's."""
    if contract is None:
        return dict(default)
    stated, named = Contract.of(contract), _named(contract, default)
    return {
        entity: str(stated.mode_of(Entity(entity))) if entity in named else mode for entity, mode in default.items()
    }


def _named(contract: str, entities: Iterable[str]) -> set[str]:
    """Return the entities that a contract names; all of them where it is one mode."""
    return {part.partition("=")[0].strip() for part in contract.split(",")} if "=" in contract else set(entities)


# --- schemas ---


def hints_of(model: TableModel, schema: Schema, root: str) -> Hints:
    """Return what a model says of columns, under the names that a schema gives them."""
    return Hints(tuple(each for each in _all_hints(model, schema, root) if each.properties))


def _all_hints(model: TableModel, schema: Schema, root: str) -> Iterator[ColumnHint]:
    """Yield a hint for each field; it states nothing of one whose values may be anything."""
    naming = naming_of(schema)
    for each in model.fields:
        keys = [step for step in each.path if step is not None]
        last = max((at for at, step in enumerate(each.path) if step is None), default=-1)
        above = [step for step in each.path[: max(last, 0)] if step is not None]
        column = naming.shorten_fragments(*(naming.normalize_identifier(key) for key in keys[len(above) :]))
        table = naming.shorten_fragments(root, *(naming.normalize_table_identifier(key) for key in above))
        yield ColumnHint(table if above else None, column, each.properties)


def with_model(schema: Schema, model: TableModel, root: str, contract: Stated) -> tuple[Schema, tuple[Violation, ...]]:
    """Return a schema with what a model says of a root table, and what the contract does not let it say.

    A table that is new evolves once, as dlt has it, and is left to the data where the contract refuses new tables. The
    contract that the model implies is written into the table, unless the call states one.
    """
    known = schema.tables.get(root)
    stated = with_hints(schema, hints_of(model, schema, root), root)
    implied: Properties = {} if contract else {"schema_contract": dict(model.contract)}
    table = _with(_table(stated, root), implied)
    if known is None or known.is_new:
        marks = {**(table.properties.get("x-normalizer") or {}), "evolve-columns-once": True}
        marked = stated.with_table(_with(table, {"x-normalizer": marks}))
        violations = judge(schema, marked, contract).violations
        is_refused = any(each.entity is Entity.TABLES and each.table == root for each in violations)
        return (schema if is_refused else marked), ()
    if model.is_authoritative:
        return stated.with_table(table), ()
    judgment = judge(schema.with_table(_with(known, implied)), stated.with_table(table), contract)
    return judgment.schema, judgment.violations


def _table(schema: Schema, root: str) -> Table:
    return schema.tables.get(root) or Table(root, {}, {"write_disposition": "append", "resource": root})


def _with(table: Table, properties: Properties) -> Table:
    return replace(table, properties={**table.properties, **properties})


def schema_of(model: ModelOfCall, schema: Schema, table: str | None) -> Schema:
    """Return a schema with the tables of a model, whatever a contract says."""
    for root, each in _tables_of(model, schema, table):
        schema = with_hints(schema, hints_of(each, schema, root), root)
        schema = schema.with_table(_with(_table(schema, root), {"schema_contract": dict(each.contract)}))
    return schema


def unfilled_columns(model: ModelOfCall, schema: Schema, table: str | None) -> tuple[tuple[str, str], ...]:
    """Return the columns, after their tables, that may not be null and get no value from any load with a model.

    Where the model lets other keys in (``columns`` evolves), data may bring them.
    """
    naming = naming_of(schema)
    prefix = system_prefix(naming)
    found = []
    for root, each in _tables_of(model, schema, table):
        hints = [] if each.contract["columns"] == Mode.EVOLVE else list(_all_hints(each, schema, root))
        for name in dict.fromkeys(hint.table or root for hint in hints):
            fields = {hint.name: hint for hint in hints if (hint.table or root) == name}
            # A value that may be anything may be an object, which fills columns of its own.
            objects = tuple(f"{key}{naming.path_separator}" for key, hint in fields.items() if not hint.properties)
            columns = schema.tables[name].columns.values() if name in schema.tables else ()
            found += [
                (name, column.name)
                for column in columns
                if column.is_complete and not column.nullable and column.name not in fields
                if not column.name.startswith((prefix, *objects))
            ]
    return tuple(found)


def _tables_of(model: ModelOfCall, schema: Schema, table: str | None) -> Iterator[tuple[str, TableModel]]:
    """Yield the root tables of a model, under the names that a schema gives them."""
    naming = naming_of(schema)
    tables = {table or model.stated.partition(":")[2]: model.own} if model.own else model.variants
    yield from ((naming.normalize_table_identifier(name), each) for name, each in tables.items())
