"""Columns that Pydantic models state: dlt's for the same models, and what is said beyond them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, ClassVar, Literal, NewType, Optional, Union

import pytest
from dlt.common.libs.pydantic import pydantic_to_table_schema_columns
from pydantic import BaseModel, ConfigDict, Field, Json, RootModel, computed_field
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

from schemactl.errors import InputError
from schemactl.type_systems.pydantic_models import as_model, contract_of, fields_of, variants_of


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Shade(str, Enum):  # noqa: UP042 - as models are written
    DARK = "dark"


class Point(TypedDict):
    x: int


@dataclass
class Pair:
    a: int


UserId = NewType("UserId", int)


class Line(BaseModel):
    sku: str
    qty: int | None = None
    at: datetime


class Customer(BaseModel):
    name: str
    since: date | None = None
    tags: list[str] = []
    home: Line | None = None


class Order(BaseModel):
    id: int
    user: UserId
    text: str
    ratio: float
    flag: bool
    raw: bytes
    at: datetime
    day: date
    hour: time
    amount: Decimal
    span: timedelta
    key: uuid.UUID
    color: Color
    level: Level
    shade: Shade
    kind: Literal["a", "b"]
    either: int | str
    old: Optional[int]  # noqa: UP045 - as models are written
    union: Union[str, int, None]  # noqa: UP007
    anything: Any
    perhaps: Any | None = None
    json_text: Json[list[int]]
    numbers: list[int]
    pairs: dict[str, int]
    mapping: Mapping[str, int]
    point: Point
    pair: Pair
    customer: Customer
    lines: list[Line]
    noted: Annotated[int, Field(gt=0)] | None
    named: int = Field(alias="Renamed Key")


class Skipping(Order):
    dlt_config: ClassVar[Any] = {"skip_nested_types": True}


class Click(BaseModel):
    kind: Literal["click"]
    at: datetime
    x: int


class Purchase(BaseModel):
    kind: Literal["purchase", "refund"]
    at: datetime
    total: float


class Event(RootModel[Annotated[Click | Purchase, Field(discriminator="kind")]]):
    pass


def stated(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    return {"__".join(map(str, each.path)): dict(each.properties) for each in fields_of(model) if each.properties}


def by_dlt(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    columns = pydantic_to_table_schema_columns(model)
    return {name: {key: of for key, of in column.items() if key != "name"} for name, column in columns.items()}


@pytest.mark.parametrize("model", [Order, Line, Customer, Click, Event])
def test_columns_are_those_of_dlt(model: type[BaseModel]) -> None:
    assert stated(model) == by_dlt(model)
    assert list(stated(model)) == list(by_dlt(model))


def test_skipped_models_are_columns_as_with_dlt_and_nested_tables() -> None:
    found, theirs = stated(Skipping), by_dlt(Skipping)
    assert {name: of for name, of in found.items() if "None" not in name} == theirs
    assert {name: of for name, of in found.items() if "None" in name} == {
        "json_text__None__value": {"data_type": "bigint", "nullable": True},
        "numbers__None__value": {"data_type": "bigint", "nullable": True},
        "lines__None__sku": {"data_type": "text", "nullable": True},
        "lines__None__qty": {"data_type": "bigint", "nullable": True},
        "lines__None__at": {"data_type": "timestamp", "nullable": True},
    }


def test_sizes_computed_fields_and_names_of_what_is_written() -> None:
    class Priced(BaseModel):
        word: Literal["a", None]  # dlt allows no null there
        price: Decimal = Field(max_digits=10, decimal_places=2)
        most: Annotated[Decimal, Field(max_digits=5)] | None = None
        net: int = Field(serialization_alias="netto")

        @computed_field
        @property
        def gross(self) -> float:
            return float(self.price)

    assert stated(Priced) == {
        "word": {"data_type": "text", "nullable": True},
        "price": {"data_type": "decimal", "nullable": False, "precision": 10, "scale": 2},
        "most": {"data_type": "decimal", "nullable": True, "precision": 5, "scale": 0},
        "netto": {"data_type": "bigint", "nullable": False},
        "gross": {"data_type": "double", "nullable": True},
    }


@pytest.mark.parametrize(
    ("extra", "columns"),
    [(None, "discard_value"), ("ignore", "discard_value"), ("forbid", "freeze"), ("allow", "evolve")],
)
def test_the_contract_of_a_model_is_dlts(extra: Any, columns: str) -> None:
    import dlt

    class Model(BaseModel):
        model_config = ConfigDict() if extra is None else ConfigDict(extra=extra)
        id: int

    theirs = dlt.resource([], name="r", columns=Model).compute_table_schema()["schema_contract"]
    assert contract_of(Model) == theirs
    assert theirs["columns"] == columns


class Early(BaseModel):
    one: Late
    many: list[Late] = []


class Late(BaseModel):
    name: str


def test_types_that_are_defined_later_are_known() -> None:
    json_column = {"data_type": "json", "nullable": False}
    assert stated(Early) == {"one": json_column, "many": json_column}


def test_variants_of_a_union() -> None:
    found = variants_of(Event)
    assert found is not None
    assert (found.key, found.models) == ("kind", {"click": Click, "purchase": Purchase, "refund": Purchase})
    assert variants_of(as_model(Annotated[Click | Purchase, Field(discriminator="kind")])) == found
    assert variants_of(Click) is None
    assert variants_of(RootModel[Click | Purchase]) is None
    assert stated(RootModel[Click]) == stated(Click)


@pydantic_dataclass
class Validated:
    id: int


@pytest.mark.parametrize("of", [Pair, Validated])
def test_a_dataclass_is_not_a_model(of: type) -> None:
    with pytest.raises(ValueError, match="it is a dataclass"):
        as_model(of)


@pytest.mark.parametrize("of", [list[Pair], Pair | Validated, dict[str, BaseModel]])
def test_a_root_that_is_not_a_model_states_no_columns(of: Any) -> None:
    assert fields_of(as_model(of)) == ()


def test_models_that_hold_each_other_twice_have_too_many_columns() -> None:
    config = {"skip_nested_types": True}
    model: type[BaseModel] = type(
        "M0", (BaseModel,), {"__annotations__": {"a": int, "dlt_config": ClassVar[dict]}, "dlt_config": config}
    )
    for number in range(1, 24):
        fields = {"__annotations__": {"a": model, "b": model, "dlt_config": ClassVar[dict]}, "dlt_config": config}
        model = type(f"M{number}", (BaseModel,), fields)

    with pytest.raises(InputError, match="the models within `M23` have too many columns: more than 10,000"):
        fields_of(model)


class Chain(BaseModel):
    dlt_config: ClassVar[dict] = {"skip_nested_types": True}
    next: Chain | None = None


def test_a_model_that_holds_itself_has_too_many_levels() -> None:
    with pytest.raises(InputError, match="the models within `Chain` have too many columns: more than 45 levels"):
        fields_of(Chain)
