"""Documents that a model validates: what it makes of them, what it rejects and why; dlt's validator beside it."""

from __future__ import annotations

import copy
import json
import math
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from dlt.extract.validation import PydanticValidator
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError, field_validator

from schemactl.inference.evidence import Position
from schemactl.kernel.dispatch import Dispatch, Piece
from schemactl.kernel.models import ModelSource, ModelTask, RejectedDocuments, Validator
from schemactl.schema.contract import Mode


class Part(BaseModel):
    name: str
    size: int = 1


class Order(BaseModel):
    id: int
    at: datetime | None = None
    price: Decimal | None = None
    part: Part | None = None
    parts: list[Part] = []
    note: Any = None

    @field_validator("id")
    @classmethod
    def _is_positive(cls, value: int) -> int:
        if value == 13:
            raise KeyError("unlucky")
        if value < 0:
            raise ValueError("must not be negative")
        return value


class Open(Order):
    model_config = ConfigDict(extra="allow")


class Click(BaseModel):
    kind: Literal["click"]
    x: int


class Buy(BaseModel):
    kind: Literal["buy"]
    total: float


class Event(RootModel[Annotated[Click | Buy, Field(discriminator="kind")]]):
    dlt_config: ClassVar[Any] = {}


class Keyed(BaseModel):
    blob: bytes
    when: datetime = Field(alias="whenMade")
    big: int = 0


def run(model: type[BaseModel], documents: list[Any], columns="discard_value", data_type="freeze", dispatch=None):
    """Return the documents by table, and the errors by the number of the document."""
    source = ModelSource(model.__module__, model.__name__)
    validator = Validator(ModelTask(source, Mode(columns), Mode(data_type)))
    texts = [json.dumps(document).replace("Infinity", "1e400").encode() for document in documents]
    piece = Piece(copy.deepcopy(documents), [Position("f", at) for at in range(len(documents))], texts)
    good: dict[str | None, list[Any]] = {}
    bad: dict[int, list[str]] = {}
    for each in validator.sort(piece, dispatch):
        if isinstance(each, RejectedDocuments):
            for position, errors in zip(each.piece.positions, each.errors, strict=True):
                bad[position.number] = [f"{each.piece.table}|{e.path}|{e.entity}={e.mode}|{e.message}" for e in errors]
        else:
            good.setdefault(each.table, []).extend(each.documents)
    return good, bad


def test_what_a_model_makes_of_documents():
    good, bad = run(Order, [{"id": "1", "at": "2024-01-01T05:00:00+02:00", "price": 1.5, "more": 1}, {"id": 2}])
    assert bad == {}
    rest = {"at": None, "price": None, "part": None, "parts": [], "note": None}
    assert good == {"": [{**rest, "id": 1, "at": "2024-01-01T05:00:00+02:00", "price": "1.5"}, {**rest, "id": 2}]}
    assert list(good[""][0]) == ["id", "at", "price", "part", "parts", "note"]


def test_reasons_are_those_of_pydantic_with_their_places():
    documents = [{"id": 1}, {"id": "x", "parts": [{"name": "a"}, {"size": []}]}, {"id": -1}, {"id": 13}, 3]
    good, bad = run(Order, documents, data_type="discard_row")
    assert [document["id"] for document in good[""]] == [1]
    freeze = "data_type=discard_row"
    assert bad == {
        1: [
            f"|$.id|{freeze}|Input should be a valid integer, unable to parse string as an integer",
            f"|$.parts[1].name|{freeze}|Field required",
            f"|$.parts[1].size|{freeze}|Input should be a valid integer",
        ],
        2: [f"|$.id|{freeze}|Value error, must not be negative"],
        3: [f"|$|{freeze}|KeyError: 'unlucky'"],
        4: [f"|$|{freeze}|Input should be a valid dictionary or instance of Order"],
    }


def test_unknown_keys_go_by_the_contract_at_all_levels():
    document = {"id": 1, "more": {"a": [1]}, "part": {"name": "n", "extra": 1}, "parts": [{"name": "m", "z": None}]}
    (dropped,) = run(Order, [document])[0][""]
    assert dropped["part"] == {"name": "n", "size": 1}
    (kept,) = run(Order, [document], columns="evolve")[0][""]
    assert kept["more"] == {"a": [1]}
    assert kept["part"] == {"name": "n", "size": 1, "extra": 1}
    assert kept["parts"] == [{"name": "m", "size": 1, "z": None}]
    good, bad = run(Order, [document], columns="discard_row")
    assert good == {}
    assert [text.split("|")[1:3] for text in bad[0]] == [
        [path, "columns=discard_row"] for path in ("$.part.extra", "$.parts[0].z", "$.more")
    ]


def test_values_that_json_has_no_form_for_come_through():
    (made,) = run(Keyed, [{"blob": "é", "whenMade": "2024-01-01T00:00:00Z", "big": 2**70}])[0][""]
    assert made == {"blob": "w6k=", "whenMade": "2024-01-01T00:00:00+00:00", "big": 2**70}


def test_a_union_sorts_documents_to_tables():
    events = [
        {"kind": "click", "x": 1},
        {"kind": "buy", "total": "3"},
        {"kind": "view"},
        {"kind": "click", "x": "a"},
        {},
    ]
    dispatch = Dispatch(("kind",), {"buy": "purchases"})
    good, bad = run(Event, events, data_type="discard_row", dispatch=dispatch)
    assert good == {"click": [{"kind": "click", "x": 1}], "purchases": [{"kind": "buy", "total": 3.0}]}
    assert {at: text[0].split("|")[:2] for at, text in bad.items()} == {
        2: ["None", "$"], 3: ["click", "$.x"], 4: ["None", "$"]
    }  # fmt: skip
    lenient, none = run(Event, events, data_type="evolve", dispatch=dispatch)
    assert none == {}
    assert lenient == {
        "click": [events[0], events[3]], "purchases": [events[1]], "view": [events[2]], None: [events[4]]
    }  # fmt: skip


def test_a_lenient_model_takes_all_values_of_known_keys():
    documents = [{"id": "x", "part": 3, "more": 1}]
    rest = {"at": None, "price": None, "parts": None, "note": None}
    assert run(Order, documents, data_type="evolve")[0][""] == [{**rest, "id": "x", "part": 3}]
    assert run(Order, documents, "evolve", "evolve")[0][""] == [{**rest, "id": "x", "part": 3, "more": 1}]
    good, bad = run(Order, documents, "freeze", "evolve")
    assert (good, [text.split("|")[1:3] for text in bad[0]]) == ({}, [["$.more", "columns=freeze"]])


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.just(1.5), st.sampled_from(["", "1", "x", "2024-01-01"])
)
parts = st.dictionaries(st.sampled_from(["name", "size", "extra"]), scalars)
orders = st.dictionaries(
    st.sampled_from(["id", "at", "price", "part", "parts", "note", "more"]),
    scalars | parts | st.lists(parts, max_size=2),
)


COLUMNS = ["evolve", "discard_value", "discard_row"]


@given(st.lists(orders, max_size=6), st.sampled_from([Order, Open]), st.sampled_from(COLUMNS))
def test_rows_are_kept_as_dlts_validator_keeps_them(documents, model, columns):
    validator = PydanticValidator(model, columns, "discard_row")
    validator.table_name = "orders"
    try:
        expected = validator(copy.deepcopy(documents)) or []
    except ValidationError:
        assume(False)  # dlt stops where another thing stands in place of an object
    good, _ = run(model, documents, columns, "discard_row")
    made = [json.loads(json.dumps(document, default=_plain)) for document in expected]
    assert good.get("", []) == made


def _plain(value):
    return value.isoformat() if isinstance(value, datetime) else str(value)


def test_source_of_a_module_goes_to_workers_that_lack_it():
    before = ModelSource(
        "sent_models", "A", {"sent_models.py": b"from pydantic import BaseModel\nclass A(BaseModel):\n    x: int\n"}
    )
    assert list(before.load().model_fields) == ["x"]
    files = {
        "sent_models/__init__.py": b"",
        "sent_models/a.py": b"from sent_models.base import Base\nclass A(Base):\n    y: int\n",
        "sent_models/base.py": b"from pydantic import BaseModel\nclass Base(BaseModel):\n    x: int\n",
    }
    assert list(ModelSource("sent_models.a", "A", files).load().model_fields) == ["x", "y"]
    assert list(before.load().model_fields) == ["x"]


class Reading(BaseModel):
    value: float
    peaks: dict[int, tuple[float, ...]] = {}
    before: Reading | None = None


def test_infinities_and_nan_come_through_beside_nulls():
    documents = [
        {"value": float("inf"), "peaks": {"1": [0.5, float("-inf")]}, "before": {"value": "nan"}},
        {"value": 1.5},
    ]
    endless, plain = run(Reading, documents)[0][""]
    assert math.isnan(endless["before"].pop("value"))
    assert endless == {"value": math.inf, "peaks": {"1": [0.5, -math.inf]}, "before": {"peaks": {}, "before": None}}
    assert plain == {"value": 1.5, "peaks": {}, "before": None}
