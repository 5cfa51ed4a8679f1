"""Texts typed by one field, for the tests of columns."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from schemactl.arc.date_texts import days_of
from schemactl.arc.fields import Field
from schemactl.arc.text_columns import ColumnTyper, TypedColumn
from schemactl.arc.typing_file import read_typing


def field_of(**attributes: Any) -> Field:
    (field,) = read_typing(json.dumps([{"name": "a", "nullable": True, **attributes}]), "test").fields
    return field


def typed(texts: list[str | None], **attributes: Any) -> TypedColumn:
    return ColumnTyper(field_of(**attributes)).run(pa.array(texts, pa.string()))


def values(texts: list[str | None], **attributes: Any) -> list[Any]:
    return typed(texts, **attributes).values.to_pylist()


def day_of(text: str) -> int:
    year, month, day = text.removeprefix("+").rsplit("-", 2)
    return days_of(int(year), int(month), int(day))


def micros_of(text: str) -> int:
    date, _, clock = text.removesuffix("Z").partition("T")
    hour, minute, second = clock.split(":")
    whole, _, fraction = second.partition(".")
    seconds = day_of(date) * 86_400 + int(hour) * 3600 + int(minute) * 60 + int(whole)
    return seconds * 10**6 + int(fraction.ljust(9, "0")[:6] or 0)
