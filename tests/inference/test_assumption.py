"""What is said of data whose values were not looked at."""

from __future__ import annotations

from hypothesis import event, given, settings
from hypothesis import strategies as st

from schemactl.inference.assumption import Kinds, assume
from schemactl.inference.evidence import FileEvidence, Position, observe
from schemactl.inference.paths import ELEMENT
from schemactl.inference.resolve import resolve
from schemactl.inference.values import fits, kind
from schemactl.normalization.choose import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.schema.judgement import judge
from schemactl.schema.templates import new_schema
from schemactl.schema.types import DataType, Schema

FILES = {"a.jsonl": FileEvidence(documents=2, records=2)}


def numbered(documents):
    return observe((Position("a.jsonl", at), each) for at, each in enumerate(documents, 1))


def learned(*documents) -> Schema:
    return resolve(numbered(documents), new_schema("shop"), "orders").schema


def kinds_of(documents):
    """Return the kinds of values as Spark's shapes tell them."""
    found: dict = {}
    for document in documents:
        for path, value in values_in(document, ()):
            before = found.get(path, Kinds())
            found[path] = Kinds(
                before.scalars | own_kinds(value),
                before.is_object or isinstance(value, dict),
                before.is_list or isinstance(value, list),
            )
    return found


def values_in(value, path):
    """Yield all values with their paths, parents first."""
    yield path, value
    inner = list(value.items()) if isinstance(value, dict) else []
    inner += [(ELEMENT, each) for each in value] if isinstance(value, list) else []
    for step, each in inner:
        yield from values_in(each, (*path, step))


def own_kinds(value):
    if value is None or isinstance(value, dict | list):
        return frozenset()
    return frozenset({DataType.DOUBLE, DataType.BIGINT} if isinstance(value, float) else {kind(value)})


def assumed(documents, schema: Schema):
    evidence = assume(kinds_of(documents), FILES, {}, {})
    return evidence, resolve(evidence, schema, "orders")


def is_unchanged(documents, schema: Schema) -> bool:
    return assumed(documents, schema)[1].schema.to_dict() == schema.to_dict()


ORDERS = (
    {"id": 1, "at": "2026-01-31T10:00:00Z", "lines": [{"n": 1, "tags": ["a"]}], "price": 1.5, "who": {"name": "x"}},
    {"id": "idx-2", "note": None},
)


def test_data_like_that_of_before_changes_nothing():
    assert is_unchanged(ORDERS, learned(*ORDERS))
    assert is_unchanged([{"id": 7, "at": "2026-02-01T00:00:00Z"}, {"price": 2}], learned(*ORDERS))


def test_a_key_a_kind_or_a_list_that_is_new_changes_the_schema():
    schema = learned(*ORDERS)
    for new in ({"sku": 1}, {"who": {"age": 1}}, {"lines": [{"m": 1}]}, {"who": [1]}, {"at": {"day": 1}}, {"note": 1}):
        assert not is_unchanged([new], schema), new
    assert not is_unchanged([{"lines": [{"tags": [{"deep": True}]}]}], schema)


def test_files_and_stated_types_are_passed_on():
    stated = {("id",): {"data_type": "bigint"}}
    evidence = assume({}, FILES, stated, {})
    assert (evidence.documents, evidence.typed) == (2, stated)


def test_elements_of_all_kinds_stand_beside_one_another():
    kinds = {
        (): Kinds(is_object=True),
        ("a",): Kinds(is_list=True),
        ("a", ELEMENT): Kinds(frozenset({DataType.TEXT}), is_object=True, is_list=True),
        ("a", ELEMENT, "b"): Kinds(frozenset({DataType.BIGINT})),
        ("a", ELEMENT, ELEMENT): Kinds(),
    }
    (document,) = assume(kinds, FILES, {}, {}).witnesses.values()
    text, inner, listed = document["a"]
    assert (kind(text), kind(inner["b"]), listed) == (DataType.TEXT, DataType.BIGINT, [None])


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**62, 1_700_000_000, 20260131]),
    st.sampled_from([1.0, 1.5, -0.0, 1e10]),
    st.sampled_from(["", "x", "1", "1.5", "true", "2026-01-31", "2026-01-31T10:00:00Z", "{}", "2026-13-01"]),
)
KEYS = st.sampled_from(["a", "b", "A"])
INNER = st.one_of(VALUES, st.lists(VALUES, max_size=2), st.dictionaries(KEYS, VALUES, max_size=2))
DOCUMENTS = st.one_of(VALUES, INNER, st.lists(INNER, max_size=2), st.dictionaries(KEYS, INNER, max_size=2))
ROWS = st.lists(st.dictionaries(KEYS, DOCUMENTS, max_size=2), min_size=1, max_size=5)


def targets_of(plan):
    found: dict = {}
    for rows in plan.rows.walk():
        for cell in rows.cells:
            for name, targets in cell.targets.items():
                found.setdefault((cell.path, name), []).append([each.column.data_type for each in targets])
    return found


def all_fit(documents, targets) -> bool:
    """Return whether every scalar goes into a column that the plan has for it, as the engine finds out."""
    found = (pair for document in documents for pair in values_in(document, ()))
    return all(
        any(fits(value, data_type) for data_type in chain)
        for path, value in found
        if own_kinds(value)
        # What is kept whole has no cell of its own.
        for chain in targets.get((path, str(kind(value))), [])
    )


@settings(max_examples=400, deadline=None)
@given(ROWS, ROWS)
def test_where_the_assumption_holds_the_schema_stays(first, second):
    schema = learned(*first, *second[:1])
    evidence, resolution = assumed(second, schema)
    if resolution.nulls or resolution.schema.to_dict() != schema.to_dict():
        event("changes")
        return
    plan = make_plan(PlanRequest(evidence, resolution, judge(schema, resolution.schema)))
    if not all_fit(second, targets_of(plan)):
        event("does not fit")
        return
    event("holds")
    assert resolve(numbered(second), schema, "orders").schema.to_dict() == schema.to_dict()
