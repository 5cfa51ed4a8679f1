"""JSON normalizers: one module each, named as in a schema's ``normalizers.json.module`` (docs/dlt.md §5).

To add one, add a module ``NAME.py`` with a function ``plan(request) -> Plan``. A third party's module may live
anywhere: name it in the schema and admit it (`schemactl.registry`), or register an entry point of the group
``schemactl.normalizer``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Protocol, cast

from schemactl.errors import InputError
from schemactl.normalization.plan import Plan
from schemactl.normalization.request import PlanRequest
from schemactl.registry import Registry, import_module_if_exists, is_admitted, optional_attribute
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.templates import DLT_NORMALIZERS, OWN_NORMALIZERS
from schemactl.schema.types import Schema


class Normalizer(Protocol):
    """The module of a normalizer."""

    def plan(self, request: PlanRequest, /) -> Plan:
        """Return the plan that maps the documents of a load to rows."""


NORMALIZERS: Registry[Normalizer] = Registry("normalizer", "schemactl.normalization.normalizers")


def make_plan(request: PlanRequest) -> Plan:
    """Return the plan of a load, made by the normalizer that the schema names."""
    return normalizer_of(request.resolution.schema).plan(request)


def normalizer_of(schema: Schema) -> Normalizer:
    """Return the normalizer that a schema names: a built-in one, also by dlt's path, or an admitted module."""
    module_path = NormalizerConfig.of(schema.normalizers).module or "relational"
    name = _short(module_path)
    if name in NORMALIZERS:
        return NORMALIZERS[name]
    module = _admitted_module(module_path)
    if not callable(optional_attribute(module, "plan")):
        hint = "it needs a function `plan(request)`; classes in dlt's manner are not run"
        raise InputError(f"the module `{module_path}` contains no normalizer", hint=hint)
    return cast(Normalizer, module)


def module_of(name: str) -> str:
    """Return the module of a normalizer as schemas name it, which dlt finds too.

    >>> module_of("nested"), module_of("relational")
    ('schemactl.normalization.normalizers.nested', 'dlt.common.normalizers.json.relational')
    """
    short = _short(name)
    if short in NORMALIZERS:
        return OWN_NORMALIZERS.get(short, f"{DLT_NORMALIZERS}{short}")
    _admitted_module(name)
    return name


def _short(path: str) -> str:
    """Return the short name of a built-in normalizer, whose path may be ours or dlt's."""
    return path.removeprefix(DLT_NORMALIZERS).removeprefix(f"{NORMALIZERS.package}.")


def _admitted_module(path: str) -> ModuleType:
    module = import_module_if_exists(path, NORMALIZERS.kind) if is_admitted(path) else None
    if module is None:
        raise NORMALIZERS.refused(path.removeprefix(DLT_NORMALIZERS))
    return module
