"""Objects with many keys, folded: one shape for the values of all of them."""

from __future__ import annotations

from schemactl.engine.shapes import ANY_KEY, Shape, parse_shape
from schemactl.engine.siblings import MANY_KEYS, fold_keys, fold_path, unfold_path
from schemactl.inference.paths import ELEMENT


def wide(of: str, more: str = "", keys: int = MANY_KEYS) -> Shape:
    fields = [f"k{number}: {of}" for number in range(keys)]
    return parse_shape(f"OBJECT<a: OBJECT<{', '.join([*fields, *([more] if more else [])])}>>")


def entry_of(shape: Shape) -> Shape:
    entry = shape.children["a"].entry
    assert entry is not None
    return entry


def test_one_shape_stands_for_all_keys_and_holds_what_any_of_them_holds() -> None:
    folded = fold_keys(wide("OBJECT<n: BIGINT>", "last: OBJECT<n: STRING, m: ARRAY<BOOLEAN>>"))

    assert folded.children["a"].children == {}
    assert entry_of(folded).is_object
    assert entry_of(folded).children["n"].scalars == {"BIGINT", "STRING"}
    assert entry_of(folded).children["m"].is_list


def test_keys_that_are_not_many_stay_as_they_are() -> None:
    shape = wide("BIGINT", keys=MANY_KEYS - 1)

    assert fold_keys(shape) == shape


def test_objects_above_what_is_told_apart_and_those_with_row_keys_stay_as_they_are() -> None:
    shape, keyed = wide("ARRAY<BIGINT>"), wide("BIGINT", "_dlt_id: STRING")

    assert fold_keys(shape, {("a", "k7")}) == shape
    assert fold_keys(keyed) == keyed


def test_keys_within_keys_are_folded_together() -> None:
    fields = ", ".join(f"u{number}: OBJECT<d{number}: BIGINT>" for number in range(MANY_KEYS))

    folded = fold_keys(parse_shape(f"OBJECT<a: OBJECT<{fields}>>"))

    assert entry_of(folded).entry == Shape(scalars={"BIGINT"})


def test_objects_and_lists_are_not_read_alone_where_another_key_has_nothing_but_nulls() -> None:
    """As structs and lists, nulls are not told; of that key they are all there is."""
    nulls = fold_keys(wide("OBJECT<n: OBJECT<x: BIGINT>>", "last: OBJECT<n: VOID>"))
    scalars = fold_keys(wide("OBJECT<n: BIGINT>", "last: OBJECT<n: VOID>"))
    empty_list = fold_keys(wide("ARRAY<OBJECT<x: BIGINT>>", "last: ARRAY<VOID>"))

    assert not entry_of(nulls).children["n"].is_object
    assert entry_of(scalars).children["n"].scalars == {"BIGINT"}
    element = entry_of(empty_list).element
    assert element is not None
    assert element.is_object


def test_paths_lead_into_the_folded_shape_and_back() -> None:
    folded = fold_keys(wide("ARRAY<OBJECT<n: BIGINT>>"))
    path = ("a", "k7", ELEMENT, "n")

    inside = fold_path(folded, path)

    assert inside == ("a", ANY_KEY, ELEMENT, "n")
    assert unfold_path(inside, ["k7"]) == path
    assert fold_path(folded, ("a", "k7", "n")) is None
    assert fold_path(folded, ()) == ()


def test_a_shape_that_would_go_too_deep_when_folded_stays_as_it_is() -> None:
    deep = "OBJECT<b: " * 60 + "BIGINT" + ">" * 60
    shape = wide(deep, "last: STRING")

    assert fold_keys(shape) == shape
