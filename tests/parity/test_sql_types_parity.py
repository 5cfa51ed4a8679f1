"""Types of columns in SQL's dialects: those of dlt's type mappers."""

from __future__ import annotations

import re
from typing import Any

import dlt.destinations
import pytest
from dlt.common.exceptions import TerminalValueError

from schemactl.schema.types import Column
from schemactl.type_systems.sql_types import DIALECTS, type_in

pytestmark = pytest.mark.parity

NAMES = {"tsql": "mssql", "fabric": "synapse"}
STATED: list[dict[str, Any]] = [
    *({"data_type": of} for of in ("text", "double", "bool", "bigint", "timestamp", "date", "time", "binary", "json")),
    {"data_type": "decimal"}, {"data_type": "wei"}, {"data_type": "text", "precision": 20},
    {"data_type": "binary", "precision": 8},
    *({"data_type": "bigint", "precision": bits} for bits in (8, 16, 32, 64, 128)),
    *({"data_type": "timestamp", "precision": size} for size in (0, 3, 6, 9)),
    *({"data_type": "timestamp", "timezone": False, "precision": size} for size in (0, 2, 3, 5, 6, 8, 9)),
    {"data_type": "timestamp", "timezone": False}, {"data_type": "time", "precision": 3},
    *({"data_type": "decimal", "precision": size, "scale": scale} for size, scale in ((10, 2), (38, 18), (38, 0))),
    {"data_type": "decimal", "precision": 10}, {"data_type": "decimal", "scale": 9},
    {"data_type": "wei", "precision": 30}, {"data_type": "wei", "precision": 30, "scale": 2},
]  # fmt: skip


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in ("spark", "mysql", "sqlite")])
def test_types_are_those_of_dlt(dialect: str) -> None:
    factory = getattr(dlt.destinations, NAMES.get(dialect, dialect))
    capabilities = factory()._raw_capabilities()
    mapper = capabilities.type_mapper(capabilities)

    def by_dlt(stated: dict[str, Any]) -> str | None:
        try:
            found: str = mapper.to_destination_type({"name": "c", **stated}, {"name": "t", "columns": {}})
        except TerminalValueError:
            return None
        return found

    ours = {str(stated): type_in(Column("c", stated), dialect) for stated in STATED}
    assert ours == {str(stated): by_dlt(stated) for stated in STATED}


@pytest.mark.parametrize(
    "stated", [{}, {"precision": 10}, {"precision": 10, "scale": 2}, {"precision": 38, "scale": 0}], ids=str
)
@pytest.mark.parametrize("dialect", ["mysql", "sqlite"])
def test_decimals_are_those_that_dlt_makes_by_sqlalchemy(dialect: str, stated: dict[str, int]) -> None:
    from dlt.destinations.impl.sqlalchemy.type_mapper import SqlalchemyTypeMapper
    from sqlalchemy.dialects import registry

    engine = registry.load(dialect)()
    mapper = SqlalchemyTypeMapper(dlt.destinations.sqlalchemy()._raw_capabilities(), engine)
    made = mapper.to_destination_type({"name": "c", "data_type": "decimal", **stated}).compile(dialect=engine)
    ours = type_in(Column("c", {"data_type": "decimal", **stated}), dialect)
    assert ours is not None
    assert spelled(ours) == spelled(made)


def spelled(decimal: str) -> str:
    """Return a decimal as MySQL's catalog writes it, which says a scale of 0 where none is stated."""
    word = decimal.lower().replace("numeric", "decimal").replace(" ", "")
    return re.sub(r"\((\d+)\)", r"(\1,0)", word)
