"""Find the variant columns of tables, and the types by which their columns could hold the values.

dlt puts a value that a column cannot hold into a variant column: a double of ``score`` into ``score__v_double``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from schemactl.grouping import group_by
from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.judgment import base_of
from schemactl.schema.naming import Naming
from schemactl.schema.types import Column, Properties, Table
from schemactl.schema.widening import type_properties, widened_types


def home_of(variant: Column, table: Table, naming: Naming) -> Column | None:
    """Return the column that a variant was made for, also by way of another variant; None for other names."""
    passed_names = {variant.name}
    column, home = base_of(variant, table, naming), None
    while column is not None and column.name not in passed_names:
        passed_names.add(column.name)
        home, column = column, base_of(column, table, naming)
    return home


@dataclass(frozen=True, slots=True)
class VariantGroup:
    """A column with all of its variants.

    Attributes:
        foldable: the variants whose values fit a type that also holds the column's.
        type: the properties of the narrowest such type.
        unfoldable: the variants that no such type holds, and the variants whose names their own variants extend.
    """

    table: str
    column: Column
    foldable: tuple[Column, ...]
    type: Properties
    unfoldable: tuple[Column, ...] = ()


def find_variants(table: Table, naming: Naming) -> Iterator[VariantGroup]:
    """Yield the columns of a table that have variants, with types; a variant counts if it is marked as one."""
    variants = (column for column in table.columns.values() if column.is_variant and column.is_complete)
    homes = ((variant, home_of(variant, table, naming)) for variant in variants)
    home_names = {variant.name: home.name for variant, home in homes if home is not None and home.is_complete}
    for name, of_home in group_by(home_names, home_names.__getitem__).items():
        yield _group(table, table.columns[name], [table.columns[variant] for variant in of_home], naming)


def _group(table: Table, column: Column, variants: Sequence[Column], naming: Naming) -> VariantGroup:
    left_out: list[Column] = []
    while True:
        foldable: list[Column] = []
        for variant in variants:
            if variant not in left_out and folded_type(column, (*foldable, variant)) is not None:
                foldable.append(variant)
        unfoldable = [variant for variant in variants if variant not in foldable]
        # A variant of a variant finds its column only by the name of that variant.
        needed = [base for variant in unfoldable if (base := base_of(variant, table, naming)) in foldable]
        if not needed:
            folded = folded_type(column, foldable) or column.properties
            return VariantGroup(table.name, column, tuple(foldable), folded, tuple(unfoldable))
        left_out += [base for base in needed if base is not None]


def folded_type(column: Column, variants: Iterable[Column], *, allow_text: bool = False) -> dict[str, Any] | None:
    """Return the properties of the narrowest type that holds the values of a column and of variants; None if none does.

    Of a bigint and a double it is the double: whether all integers are within 2^53 is for stored values to say.

    Args:
        column: the column, with a type.
        variants: the variant columns, with types.
        allow_text: whether it may be a text of values in dlt's spelling.
    """
    wider: FullType | None = full_type(column.properties)
    for variant in variants:
        variant_type = full_type(variant.properties)
        if wider is None or variant_type is None:
            return None
        wider = next(iter(widened_types(wider, variant_type, allow_text=allow_text)), None)
    return None if wider is None else type_properties(wider)
