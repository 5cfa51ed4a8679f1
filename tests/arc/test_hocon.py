from __future__ import annotations

from typing import Any

import pytest

from schemactl.arc.hocon import parse_hocon
from schemactl.errors import InputError
from schemactl.trees.nodes import Source, value_of


def values_of(text: str) -> Any:
    return value_of(parse_hocon(Source("f", text)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{n: 1} {t: 2}", {"n": 1, "t": 2}),
        ("{n: {x: 1, y: 2}}{n.x: 5, t: [\n]}", {"n": {"x": 5, "y": 2}, "t": []}),
        ("${base} { name: city }", {"trim": True, "name": "city"}),
        ("{ trim: false } ${base}", {"trim": True, "name": "?"}),
        ("${base} ${other} {}", {"trim": True, "name": "o"}),
        ("${?nobody} {n: 1}", {"n": 1}),
        ("[1, 2] [3]", [1, 2, 3]),
        ("${list} [c] ${list}", ["a", "b", "c", "a", "b"]),
        ("[${base.name} ${list}[c]]", None),
        ("[${list} [c], d]", [["a", "b", "c"], "d"]),
        ("[[1] [2]\n [3]]", [[1, 2], [3]]),
        ("[${?nobody}, 1]", [1]),
        ("${?nobody}[1]", [1]),
        ("one ${base.name}  two", "one ?  two"),
        ('"a" b 1.50 1e3 010 null true', "a b 1.50 1e3 010 null true"),
        ("${?nobody}x", "x"),
        ("${?nobody}true", True),
        ("${base.trim}", True),
        ('"x"${number}', "x1.50"),
        ('"""q""" // a comment', "q"),
    ],
)
def test_values_next_to_each_other_are_one(text: str, value: Any):
    shared = "base {trim: true, name: ?}\nother: {name: o}\nlist: [a, b]\nnumber: 1.50\n".replace("?}", '"?"}')
    if value is None:
        with pytest.raises(InputError, match="a list cannot follow a text"):
            values_of(f"{shared}v: {text}")
    else:
        assert values_of(f"{shared}v: {text}")["v"] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("v += 1", [1]),
        ("v += [1]\nv += {n: 2}", [[1], {"n": 2}]),
        ("v = [1]\nv += 2, v += ${w}\nw: [3]", [1, 2, [3]]),
        ("v = ${w}\nv += 2\nw: [1]", [1, 2]),
        ("v.a.b += 1\nv { a { b += 2 } }\nv.a.b = ${v.a.b} [3]", {"a": {"b": [1, 2, 3]}}),
        ("v = [1]\nv = [2]\nv += 3", [2, 3]),
        ("v = [1]\nv = ${?w} [2]\nv += 3\nw = [0]", [0, 2, 3]),
        ("v = ${w}\nv += 2\nv += 3\nw: [1]", [1, 2, 3]),
    ],
)
def test_a_value_is_appended_to_the_list_before_it_or_to_none(text: str, value: Any):
    assert values_of(text)["v"] == value


def test_a_list_may_be_appended_to_many_times():
    assert values_of("\n".join(f"v += {number}" for number in range(500)))["v"] == list(range(500))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # What refers to itself takes the value before.
        ('v: "a:b"\nv: ${v}":c"', "a:b:c"),
        ("v = ${?v}x", "x"),
        ("v: {a: {c: 1}}\nv: ${v.a}\nv: {a: 2}", {"a": 2, "c": 1}),
        ("v: {p: [1]}\nv: {p: ${v.p} [2]}\nv: {p: ${v.p} [3]}", {"p": [1, 2, 3]}),
        # All others take the last value.
        ("v: ${w}\nw: 1\nw: 2", 2),
        ("v: {a: 1, b: ${v.a}}\nv: {a: 3}", {"a": 3, "b": 3}),
        ("v: {a: ${w.d}, b: 1}\nv.b = 3\nw: {c: ${v.b}, d: 2}\nw.d = 4", {"a": 4, "b": 3}),
        ("v: ${w} {c: 1}\nw: {b: 2}\nw: {d: 3}", {"b": 2, "d": 3, "c": 1}),
        # Objects are merged over substitutions that are objects.
        ("w: {x: 1}\nv: {x: 5, z: 1}\nv: ${w}\nv: {y: 2}", {"x": 1, "z": 1, "y": 2}),
        ("w: {x: 1}\nv: ${w}\nv: 5\nv: {z: 1}", {"z": 1}),
        ("v: {a: 1}\nv: null\nv: {b: 2}", {"b": 2}),
        # What another value replaces is never looked for.
        ("v: ${nobody}\nv: 42", 42),
        ("v: {a: ${nobody}}\nv: {a: 1}", {"a": 1}),
        # What is optional and undefined is not there.
        ("v: 1\nv: ${?nobody}", 1),
        ("v: {a: ${?v}}", {}),
        ("v: [${?v}]", []),
        # Paths.
        ('v."a.b"c.d e : 1', {"a.bc": {"d e": 1}}),
        ('w."x.y": 1\nv: ${w."x.y"}', 1),
        ("v.1.5: 2", {"1": {"5": 2}}),
    ],
)
def test_substitutions_take_the_last_value_or_the_one_before_themselves(text: str, value: Any):
    assert values_of(text)["v"] == value


def test_a_field_that_is_undefined_is_left_out():
    assert values_of("v: ${?nobody}\nw: ${?nobody}${?nothing}\nx: ${?x}") == {}


@pytest.mark.parametrize(
    ("text", "location", "reported"),
    [
        ("v: {a: 1} [2]", "f:1:11", "a list cannot follow an object"),
        ("v: [1] {a: 1}", "f:1:8", "an object cannot follow a list"),
        ("v: [1]\nw: ${v}\n  ${v} x", "f:3:3", "expected a key"),
        ("7", "f:1:2", r"expected `:`, `=` or `\+=`"),
        ("v: [1]\nw: ${v} x", "f:2:9", "a text cannot follow a list"),
        ('v: [1] " " [2]', "f:1:8", "a text cannot follow a list"),
        ("v: {a: 1}\nv += 2", "f:2:6", "a list cannot follow an object"),
        ("v: {a: ${v}}", "f:1:8", "refers to itself"),
        ("v: [1]\nv: [${v}]", "f:2:5", "refers to itself"),
        ("v: ${v}\nv: {a: 1}\nw: ${v}", "f:1:4", "refers to itself"),
        ("a: ${b}\nb: ${c}\nc: ${a}", "f:1:4", "refers to itself"),
        ("l: [{a += 1}]", "f:1:8", "`\\+=` is not allowed in a list"),
        ("l: {a: 1, ${b}: 1}", "f:1:11", "expected a key"),
        ("a..b: 1", "f:1:3", "expected a key"),
        ("a: ${b\n}", "f:1:4", "a substitution such as"),
        ("x: 1\ninclude file(other)", "f:2:1", "`include` is not supported"),
        ("x { include required(a) }", "f:1:5", "`include` is not supported"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(text: str, location: str, reported: str):
    with pytest.raises(InputError, match=reported) as caught:
        values_of(text)
    assert str(caught.value.at) == location


def test_the_hint_for_include_says_what_to_do():
    with pytest.raises(InputError) as caught:
        values_of('include "other.conf"')
    assert caught.value.hint == "copy the content of the other file to the top of this file"


def test_include_is_a_plain_word_elsewhere():
    assert values_of('"include": include\na include: [include]\nincluded: 1') == {
        "include": "include",
        "a include": ["include"],
        "included": 1,
    }


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(["v0: x", *(f"v{number + 1}: [${{v{number}}}, ${{v{number}}}]" for number in range(60))]),
        "\n".join(["v0: x", *(f"v{number + 1}: ${{v{number}}}${{v{number}}}" for number in range(60))]),
    ],
)
def test_a_small_file_cannot_become_a_huge_one(text: str):
    with pytest.raises(InputError, match="too large"):
        values_of(text)


def test_substitutions_that_wait_for_thousands_of_others_are_refused():
    with pytest.raises(InputError, match="too deep"):
        values_of("\n".join(f"v{number}: ${{v{number + 1}}}" for number in range(5000)))


def test_a_value_of_a_substitution_has_the_place_where_it_is_asked_for():
    source = Source("f", "base: {a: 1}\nv: ${base} {b: 2}\nw: ${base}")
    tree = parse_hocon(source)
    assert [str(source.locate(entry.value.start)) for entry in tree.entries] == ["f:1:7", "f:2:4", "f:3:4"]  # type: ignore[union-attr]
