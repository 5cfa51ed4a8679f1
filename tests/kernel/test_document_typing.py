"""Texts of JSON documents that a typing makes values of."""

from __future__ import annotations

from schemactl.arc.fields import Date, Decimal, Field, Long, String, Timestamp, Typing, TypingTask
from schemactl.kernel.document_typing import DocumentTyper

TYPING = Typing(
    (
        Field(name="day", type=Date(("dd/MM/uuuu",)), nullable=True),
        Field(name="paid", type=Decimal(38, 2, ("#,##0.###",), ","), nullable=True),
        Field(name="at", type=Timestamp(("dd/MM/uuuu HH:mm",), "UTC"), nullable=True),
        Field(name="units", type=Long(("#,##0",)), nullable=True),
        Field(name="name", type=String(), nullable=True),
    )
)


def test_texts_become_what_json_writes_for_their_values():
    document = {"day": "31/12/2020", "paid": "1.234,5", "at": "31/12/2020 10:20", "units": "1,234", "name": "ann"}
    assert DocumentTyper(TypingTask(TYPING)).type_documents([document]) == [
        {
            "day": "2020-12-31",
            "paid": "1234.50",
            "at": "2020-12-31T10:20:00+00:00",
            "units": 1234,
            "name": "ann",
            "_errors": [],
        }
    ]


def test_errors_are_named_and_all_else_stays():
    documents = [{"day": "tomorrow", "units": 5, "lines": [{"day": "31/12/2020"}]}, ["31/12/2020"], None, {}]
    first, *others = DocumentTyper(TypingTask(TYPING)).type_documents(documents)
    assert (first["day"], first["units"], first["lines"]) == (None, 5, [{"day": "31/12/2020"}])
    assert [error["field"] for error in first["_errors"]] == ["day"]
    assert "tomorrow" in first["_errors"][0]["message"]
    assert others == [["31/12/2020"], None, {"_errors": []}]
    assert documents[0]["day"] == "tomorrow", "the documents of the caller stay"
