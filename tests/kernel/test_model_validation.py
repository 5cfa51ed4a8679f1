"""Documents that a model validates: what it makes of them, what it rejects and why; dlt's validator beside it."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import pyarrow as pa
import pytest
from dlt.extract.validation import PydanticValidator
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    computed_field,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from schemactl.inference.evidence import Position
from schemactl.kernel.columnar import ColumnarSource, documents_of
from schemactl.kernel.dispatch import Dispatch, Piece, Positions
from schemactl.kernel.models import ModelSource, ModelTask, RejectedDocuments, Validator
from schemactl.kernel.outcome import path_of
from schemactl.kernel.partitions import observe_partition
from schemactl.kernel.reading import ReadOptions
from schemactl.kernel.sampling import RowSample
from schemactl.normalization.tally import LoadTime
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


class Return(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["return"]


class Mixed(RootModel[Annotated[Click | Return, Field(discriminator="kind")]]):
    pass


class Keyed(BaseModel):
    blob: bytes
    when: datetime = Field(alias="whenMade")
    big: int = 0


def run(
    model: type[BaseModel],
    documents: list[Any],
    columns="discard_value",
    data_type="freeze",
    dispatch=None,
    is_stated=False,
):
    """Return the documents by table, and the errors by the number of the document."""
    texts = [json.dumps(document).replace("Infinity", "1e400").encode() for document in documents]
    piece = Piece(copy.deepcopy(documents), Positions("f", 0, range(len(documents))), texts)
    return sorted_by(model, piece, columns, data_type, dispatch, is_stated)


def run_rows(model: type[BaseModel], rows: pa.Table, columns="discard_value", data_type="freeze", dispatch=None):
    """Return the same of rows whose source states types; what a model lacks stands in the documents as Arrow has it."""
    stated = {name: column.combine_chunks() for name, column in zip(rows.column_names, rows.columns, strict=True)}
    positions = Positions("f", 0, range(len(rows)))
    piece = Piece(documents_of(stated, frozenset()), positions, None, columns=stated)
    return sorted_by(model, piece, columns, data_type, dispatch)


def sorted_by(
    model: type[BaseModel],
    piece: Piece,
    columns: str,
    data_type: str,
    dispatch: Dispatch | None,
    is_stated: bool = False,
):
    source = ModelSource(model.__module__, model.__name__)
    validator = Validator(ModelTask(source, Mode(columns), Mode(data_type), is_stated))
    good: dict[str | None, list[Any]] = {}
    bad: dict[int, list[str]] = {}
    for each in validator.sort(piece, dispatch):
        if isinstance(each, RejectedDocuments):
            for position, errors in zip(each.piece.positions, each.errors, strict=True):
                bad[position.number] = [f"{each.piece.table}|{e.path}|{e.entity}={e.mode}|{e.message}" for e in errors]
        else:
            stated = {name: column.to_pylist() for name, column in each.columns.items()}
            for at, document in enumerate(each.documents):
                beside = {name: values[at] for name, values in stated.items() if values[at] is not None}
                assert not beside.keys() & document.keys()
                good.setdefault(each.table, []).append(document | beside)
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


class Parts(RootModel[list[Part]]):
    pass


class Tree(BaseModel):
    root: Part
    size: int
    parts: Parts


def test_unknown_keys_are_kept_in_root_models_and_beside_a_field_of_that_name():
    tree = {"root": {"name": "a", "x": 1}, "size": 1, "y": 2, "parts": [{"name": "b", "z": 3}]}
    (kept,) = run(Tree, [tree], columns="evolve")[0][""]
    assert kept == {
        "root": {"name": "a", "size": 1, "x": 1}, "size": 1, "parts": [{"name": "b", "size": 1, "z": 3}], "y": 2
    }  # fmt: skip


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


def test_a_variant_that_forbids_unknown_keys_freezes_them_unless_the_call_states_otherwise():
    events = [{"kind": "click", "x": 1, "y": 2}, {"kind": "return", "y": 2}]
    good, bad = run(Mixed, events)
    assert (good, [text.split("|")[1:3] for text in bad[1]]) == (
        {"": [{"kind": "click", "x": 1}]},
        [["$.y", "columns=freeze"]],
    )
    assert run(Mixed, events, is_stated=True) == ({"": [{"kind": "click", "x": 1}, {"kind": "return"}]}, {})
    assert run(Mixed, events, "evolve", is_stated=True) == ({"": events}, {})


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


class Decoded(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def _as_ascii(cls, value: str) -> str:
        return value.encode().decode("ascii", "surrogateescape")


def test_halves_of_surrogate_pairs_that_a_model_makes_are_replaced_as_in_rows():
    assert run(Decoded, [{"text": "a"}, {"text": "\u00e9"}]) == ({"": [{"text": "a"}, {"text": "??"}]}, {})


ROWS = pa.table(
    {
        "id": pa.array([1, 2, None, 13]),
        "at": pa.array(
            [datetime(2024, 1, 1), None, datetime(2024, 1, 2), datetime(2024, 1, 3)], pa.timestamp("us", "UTC")
        ),
        "price": pa.array([Decimal("1.50"), None, Decimal("2.25"), None], pa.decimal128(10, 2)),
        "part": pa.array([{"name": "a", "size": 2, "odd": 1}, None, {"name": None}, None]),
        "parts": pa.array([[{"name": "b", "size": 3}], [], [], []]),
        "note": pa.array([[1.5], None, None, None]),
        "since": pa.array([date(2024, 5, 6), None, None, None]),
        "blob": pa.array([b"\xff", None, b"a", b"b"]),
        "more": pa.array([{"z": Decimal("1.1")}, {"z": None}, None, None]),
    }
)


def test_rows_that_state_types_are_judged_as_documents():
    good, bad = run_rows(Order, ROWS, data_type="discard_row")
    assert good == {
        "": [
            {
                "id": 1, "at": "2024-01-01T00:00:00+00:00", "price": "1.50", "part": {"name": "a", "size": 2},
                "parts": [{"name": "b", "size": 3}], "note": [1.5],
            },
            {"id": 2, "at": None, "price": None, "part": None, "parts": [], "note": None},
        ]
    }  # fmt: skip
    assert bad == {
        2: [
            "|$.id|data_type=discard_row|Input should be a valid integer",
            "|$.part.name|data_type=discard_row|Input should be a valid string",
            "|$.part.size|data_type=discard_row|Input should be a valid integer",
        ],
        3: ["|$|data_type=discard_row|KeyError: 'unlucky'"],
    }


def test_columns_that_a_model_lacks_keep_what_their_source_states():
    first, second = run_rows(Order, ROWS.slice(0, 2), columns="evolve")[0][""]
    assert {key: first[key] for key in ("since", "blob", "more")} == {
        "since": date(2024, 5, 6), "blob": b"\xff", "more": {"z": Decimal("1.1")}
    }  # fmt: skip
    assert first["part"] == {"name": "a", "size": 2, "odd": 1}
    assert {"since", "blob"}.isdisjoint(second)
    assert second["more"] == {"z": None}


def test_a_null_is_no_key_where_the_model_has_no_such_field():
    _, bad = run_rows(
        Order, ROWS.select(["id", "since", "blob"]).slice(0, 3), columns="discard_row", data_type="discard_row"
    )
    assert [(at, [error.split("|")[1] for error in errors]) for at, errors in bad.items()] == [
        (0, ["$.since", "$.blob"]), (2, ["$.id", "$.blob"])
    ]  # fmt: skip


def test_rows_of_a_union_go_to_the_tables_of_their_variants():
    events = pa.table(
        {
            "kind": ["click", "buy", "view", "buy"], "x": [1, None, None, 7], "total": [None, 2.5, None, float("nan")],
            "seen": [date(2024, 1, 1), None, None, None],
        }
    )  # fmt: skip
    good, bad = run_rows(Event, events, data_type="discard_row", dispatch=Dispatch(("kind",)))
    assert good["click"] == [{"kind": "click", "x": 1}]
    assert good["buy"][0] == {"kind": "buy", "total": 2.5}
    assert math.isnan(good["buy"][1]["total"])
    assert list(bad) == [2]
    kept, _ = run_rows(Event, events, columns="evolve", data_type="discard_row", dispatch=Dispatch(("kind",)))
    assert kept["click"] == [{"kind": "click", "x": 1, "seen": date(2024, 1, 1)}]
    assert [each.get("x") for each in kept["buy"]] == [None, 7]
    _, refused = run_rows(Event, events, columns="discard_row", data_type="discard_row", dispatch=Dispatch(("kind",)))
    assert [each for each in refused if each != 2] == [0, 3]


def test_a_lenient_model_takes_rows_as_they_are_stated():
    rows = pa.table(
        {"id": ["a", "2"], "at": [date(2024, 1, 1), None], "since": [date(2024, 5, 6), None], "price": [b"1", None]}
    )
    nothing = {"part": None, "parts": None, "note": None}
    good, bad = run_rows(Order, rows, data_type="evolve")
    assert (good[""], bad) == (
        [
            {**nothing, "id": "a", "at": "2024-01-01", "price": "MQ=="},
            {**nothing, "id": "2", "at": None, "price": None},
        ],
        {},
    )
    evolving, _ = run_rows(Order, rows, columns="evolve", data_type="evolve")
    assert [each.get("since") for each in evolving[""]] == [date(2024, 5, 6), None]


def test_rows_out_of_the_sample_are_counted_and_not_validated():
    rows = {"c0": pa.array([1, -1, 2, 3]), "c1": pa.array([None, None, None, date(2024, 1, 1)])}
    places = {"file": ["file:/data/a.parquet"] * 4, "block": [0] * 4}
    sample = RowSample(0.6, {("a.parquet", 0): 1})
    assert sample.mask("a.parquet", 0, 0, 4).to_pylist() == [True, False, True, True]
    source = ColumnarSource(("id", "since"), types={("id",): "bigint", ("since",): "date"}, sample=sample)
    task = ModelTask(ModelSource(__name__, "Order"), Mode.EVOLVE, Mode.FREEZE)
    batch = pa.RecordBatch.from_pydict(rows | places)
    part = observe_partition([batch], "/data", options=ReadOptions(model=task), source=source)
    counts = part.blocks["a.parquet", 0]
    assert (counts.lines, counts.records, counts.documents, part.errors) == (4, 4, 3, {})
    evidence = part.result[""].evidence
    assert [(seen.count, seen.first) for seen in evidence.paths["id",].values()] == [(3, Position("a.parquet", 0))]
    assert {name: (seen.count, seen.first.number) for name, seen in evidence.counted["since",].items()} == {
        "null": (2, 0), "date": (1, 3)
    }  # fmt: skip
    assert ("since",) not in evidence.paths
    # Nulls count in batches without a value, too: how rows are parted makes no difference.
    parted = [batch.slice(at, 1) for at in range(4)]
    again = observe_partition(parted, "/data", options=ReadOptions(model=task), source=source)
    assert again.result[""].evidence == evidence


class Renamed(BaseModel):
    size: int = Field(validation_alias=AliasChoices("width", AliasPath("box", 0)))
    colour: str = Field(default="", alias="color")

    @model_validator(mode="before")
    @classmethod
    def _without_the_old(cls, found: Any) -> Any:
        return {key: value for key, value in found.items() if key != "old"}


def test_keys_are_known_under_all_names_of_a_field_and_gone_where_a_validator_takes_them():
    rows = pa.table({"width": [1, 2], "box": [[3], [4]], "color": ["r", "g"], "old": [1, 2], "new": [3, 4]})
    good, bad = run_rows(Renamed, rows, columns="evolve")
    assert bad == {}
    assert [{key: each[key] for key in ("size", "color", "new")} for each in good[""]] == [
        {"size": 1, "color": "r", "new": 3}, {"size": 2, "color": "g", "new": 4}
    ]  # fmt: skip
    assert all("old" not in each for each in good[""])


def test_rejected_rows_are_described_whole():
    validator = Validator(ModelTask(ModelSource(__name__, "Order"), Mode.DISCARD_VALUE, Mode.DISCARD_ROW))
    stated = {name: column.combine_chunks() for name, column in zip(ROWS.column_names, ROWS.columns, strict=True)}
    piece = Piece(documents_of(stated, frozenset()), Positions("f", 0, range(4)), None, columns=stated)
    rejected = next(each for each in validator.sort(piece, None) if isinstance(each, RejectedDocuments))
    described = dataclasses.replace(rejected, numbers=[3, 4]).describe(
        "orders", {}, LoadTime("1", datetime(2024, 1, 1, tzinfo=UTC))
    )
    found = described.to_pylist()
    assert next((each["column_name"], each["line"], each["value"]) for each in found) == ("id", 3, None)
    assert json.loads(found[0]["row"]) == {
        "id": None, "at": "2024-01-02T00:00:00+00:00", "price": "2.25", "parts": [], "note": None, "blob": "YQ==",
        "part": {"name": None, "odd": None, "size": None},
    }  # fmt: skip


class Sizes(TypedDict):
    width: int


@dataclasses.dataclass
class Place:
    town: str


class Aliased(BaseModel):
    by_alias: int = Field(default=0, alias="byAlias")
    inner: Part | None = Field(default=None, validation_alias=AliasPath("box", "inner"))


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    by_alias: int = Field(default=0, alias="byAlias")


class Everything(BaseModel):
    root: Parts | None = None
    by_key: dict[int, Part] = {}
    sizes: Sizes | None = None
    place: Place | None = None
    either: int | Part = 0
    aliased: Aliased | None = None
    by_name: ByName | None = None

    @computed_field
    def total(self) -> int:
        return 1


def ignored(model: type[BaseModel], *documents: Any, columns="discard_value", data_type="freeze", **options: Any):
    """Return the ignored keys of each valid document as path and value, by table."""
    texts = [json.dumps(document).encode() for document in documents]
    piece = Piece(copy.deepcopy(documents), Positions("f", 0, range(len(documents))), texts)
    return ignored_in(model, piece, columns, data_type, **options)


def ignored_in(model: type[BaseModel], piece: Piece, columns: str, data_type="freeze", is_stated=False, dispatch=None):
    task = ModelTask(ModelSource(model.__module__, model.__name__), Mode(columns), Mode(data_type), is_stated)
    pieces = [each for each in Validator(task).sort(piece, dispatch) if isinstance(each, Piece)]
    return {each.table: [[(path_of(key.loc), key.value) for key in keys] for keys in each.ignored] for each in pieces}


@pytest.mark.parametrize(
    ("document", "lost"),
    [
        ({"root": [{"name": "a", "x": 1}]}, [("$.root[0].x", 1)]),
        ({"by_key": {"01": {"name": "a", "x": 1}}}, [("$.by_key['01'].x", 1)]),
        ({"by_key": {"1": {"name": "a", "x": 1}}}, [("$.by_key['1'].x", 1)]),
        ({"sizes": {"width": 1, "height": 2}}, [("$.sizes.height", 2)]),
        ({"place": {"town": "a", "zip": "1"}}, [("$.place.zip", "1")]),
        ({"either": {"name": "a", "x": [1]}, "b": {}}, [("$.b", {}), ("$.either.x", [1])]),
        ({"aliased": {"byAlias": 1, "by_alias": 2}}, [("$.aliased.by_alias", 2)]),
        ({"aliased": {"box": {"inner": {"name": "a", "x": 1}}}}, [("$.aliased.box.inner.x", 1)]),
        ({"by_name": {"by_alias": 2}}, []),
        ({"total": 1}, []),
        ({"x": None, "sizes": {"width": 1, "height": None}, "aliased": {"z": None}}, []),
    ],
)
def test_keys_that_a_model_ignores_are_named_at_all_levels(document, lost):
    assert ignored(Everything, {}, document) == {"": [[], lost] if lost else []}


def test_ignored_keys_are_those_of_the_models_that_ignore_them():
    document = {"id": 1, "more": 1, "part": {"name": "n", "extra": 2}}
    assert ignored(Order, document, columns="evolve", is_stated=True) == {"": []}
    assert ignored(Open, document, columns="evolve") == {"": [[("$.part.extra", 2)]]}
    assert ignored(Order, document, data_type="evolve") == {"": [[("$.more", 1)]]}
    click, buy = {"kind": "click", "x": 1, "y": 2}, {"kind": "buy", "total": 3}
    by_variant = {"click": [[("$.y", 2)]], "buy": [[]]}
    assert ignored(Event, click, buy, dispatch=Dispatch(("kind",))) == by_variant


def test_keys_that_a_validator_uses_are_not_ignored():
    assert ignored(Renamed, {"width": 1, "old": 2, "new": 3}) == {"": [[("$.new", 3)]]}


def test_values_of_columns_that_a_model_lacks_are_ignored_keys_unless_they_are_null():
    rows = {"id": pa.array([1, 2]), "more": pa.array([None, datetime(2024, 1, 2, tzinfo=UTC)])}
    piece = Piece(documents_of(rows, frozenset()), Positions("f", 0, range(2)), None, columns=rows)
    assert ignored_in(Order, piece, "discard_value") == {"": [[], [("$.more", datetime(2024, 1, 2, tzinfo=UTC))]]}


def test_ignored_keys_are_counted_by_field():
    texts = [b'{"id": 1, "a": 1, "parts": [{"name": "n", "b": 1}, {"name": "n", "b": 2}]}', b'{"id": "x", "a": 1}']
    batch = pa.record_batch({"file": ["f"] * 2, "block": [0, 0], "text": pa.array(texts, pa.binary())})
    task = ModelTask(ModelSource(__name__, "Order"), Mode.DISCARD_VALUE, Mode.DISCARD_ROW)
    (errors,) = observe_partition([batch], "", options=ReadOptions(model=task)).errors.values()
    assert {key: error.count for key, error in errors.items()} == {
        ("a", "columns=discard_value"): 1, ("parts.b", "columns=discard_value"): 2, ("id", "data_type=discard_row"): 1
    }  # fmt: skip
