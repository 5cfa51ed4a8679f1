"""Conversions of texts, bytes and JSON, and what stays as it is."""

from __future__ import annotations

from schemactl.destinations._migration import forms
from schemactl.destinations._migration.words import TRUE, Converted, Retype, Words, by_cast, is_short


def unchanged(_: Retype, value: str, __: Words) -> Converted:
    """Return how a value stays as it is."""
    return by_cast(TRUE, TRUE, value)


def short_binary(retype: Retype, value: str, _: Words) -> Converted:
    """Return how a value stays as it is, if it is short enough."""
    return by_cast(TRUE, is_short(retype, value, "octet_length"), value)


def binary_of_text(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a binary."""
    marked = f"{value} LIKE '0x%'"
    form = (
        f"CASE WHEN {marked} THEN {words.matches(value, forms.HEX_BYTES)} ELSE {words.matches(value, forms.BASE64)} END"
    )
    found = f"CASE WHEN {marked} THEN {words.unhex(f'substr({value}, 3)')} ELSE {words.from_base64(value)} END"
    return by_cast(form, is_short(retype, found, "octet_length"), found)


def binary_of_bigint(retype: Retype, value: str, words: Words) -> Converted:
    """Return how a bigint becomes a binary."""
    found = words.to_little_endian(value)
    return by_cast(f"{value} >= 0", is_short(retype, found, "octet_length"), found)


def json_of_text(_: Retype, value: str, words: Words) -> Converted:
    """Return how a text becomes a json."""
    return by_cast(words.is_json(value), TRUE, words.to_json(value))


def text_of_plain(_: Retype, value: str, words: Words) -> Converted:
    """Return how a plain becomes a text."""
    return by_cast(TRUE, TRUE, f"CAST({value} AS {words.text})")


def text_of_bool(_: Retype, value: str, __: Words) -> Converted:
    """Return how a bool becomes a text."""
    return by_cast(TRUE, TRUE, f"CASE WHEN {value} THEN 'True' WHEN NOT {value} THEN 'False' END")


def text_of_binary(_: Retype, value: str, words: Words) -> Converted:
    """Return how a binary becomes a text."""
    return by_cast(TRUE, TRUE, words.to_base64(value))


def text_of_json(_: Retype, value: str, words: Words) -> Converted:
    """Return how a json becomes a text."""
    return by_cast(TRUE, TRUE, words.json_text(value))


def text_of_other(kind: str, value: str, words: Words) -> Converted:
    """Return how a value of a type that dlt does not know becomes a text."""
    return by_cast(TRUE, TRUE, words.other_text(value, kind))


def other_of_text(kind: str, value: str, words: Words) -> Converted:
    """Return how a text becomes again a value of a type that dlt does not know: where an undo brings that back."""
    return by_cast(words.is_other_text(value, kind), TRUE, f"CAST({value} AS {kind})")
