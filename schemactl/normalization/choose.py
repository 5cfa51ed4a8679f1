"""From a schema's ``normalizers.json.module`` to the normaliser, and from a load to its plan."""

from __future__ import annotations

from typing import Final, cast

from schemactl.errors import InputError
from schemactl.normalization.normalizers import NORMALIZERS, Normalizer
from schemactl.normalization.plan import Plan
from schemactl.normalization.request import PlanRequest
from schemactl.registry import import_if_there
from schemactl.schema.templates import DLT_NORMALIZERS, OWN_NORMALIZERS
from schemactl.schema.types import Schema

_DEFAULT: Final = "relational"
_KIND: Final = "normaliser"


def make_plan(request: PlanRequest) -> Plan:
    """Return what a load makes of its documents, by the normaliser that the schema names.

    Raises:
        InputError: there is no such normaliser, or it refuses the schema.
    """
    return normalizer_of(request.resolution.schema).plan(request)


def goes_by_kinds(schema: Schema) -> bool:
    """Return whether plans for the schema depend on no more than which kinds of values stand where.

    Raises:
        InputError: as ``normalizer_of``.
    """
    return bool(getattr(normalizer_of(schema), "GOES_BY_KINDS", False))


def normalizer_of(schema: Schema) -> Normalizer:
    """Return the normaliser that a schema names: one of ours, by dlt's path of it, too, or a module with ``plan``.

    Raises:
        InputError: there is none of that name, or it does not import.
    """
    stated = (schema.normalizers.get("json") or {}).get("module") or _DEFAULT
    name = stated.removeprefix(DLT_NORMALIZERS)
    if name in NORMALIZERS:
        return NORMALIZERS[name]
    module = import_if_there(stated, _KIND)
    if module is None:
        raise NORMALIZERS.unknown(name)
    if not callable(getattr(module, "plan", None)):
        hint = "it needs a function `plan(request)`; classes in dlt's manner are not run"
        raise InputError(f"the module `{stated}` holds no normaliser", hint=hint)
    return cast(Normalizer, module)


def module_of(name: str) -> str:
    """Return a normaliser's module as schemas name it, so that dlt finds it too.

    >>> module_of("nested"), module_of("relational")
    ('schemactl.normalization.normalizers.nested', 'dlt.common.normalizers.json.relational')

    Raises:
        InputError: there is no normaliser of that name.
    """
    short = name.removeprefix(DLT_NORMALIZERS)
    if short in NORMALIZERS:
        return OWN_NORMALIZERS.get(short, f"{DLT_NORMALIZERS}{short}")
    if import_if_there(name, _KIND) is None:
        raise NORMALIZERS.unknown(short)
    return name
