"""Types and patterns that columns of texts are seen to have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from schemactl.arc.fields import Boolean, Date, Decimal, Long, String, Timestamp, Typing
from schemactl.arc.proposal import propose
from schemactl.arc.text_columns import TextTyper


@pytest.mark.parametrize(
    ("texts", "of"),
    [
        (["1", " 2", "-3"], Long()),
        (["1,234", "7"], Long(("#,##0.###",))),
        (["1.5", "2.25", "3"], Decimal(38, 2)),
        (["1,234.50", "7.1"], Decimal(38, 2, ("#,##0.###",))),
        (["1,234.50", "(7.1)"], Decimal(38, 2, ("#,##0.###;(#,##0.###)",))),
        (["007", "12"], String()),
        (["-007", "12"], String()),
        (["+4750539173", "12"], String()),
        (["4750539173", " +1.5"], String()),
        (["0", "-0.5"], Decimal(38, 1)),
        (["true", "false"], Boolean(("true",), ("false",))),
        (["Y", "N", "Y"], Boolean(("Y",), ("N",))),
        (["2020-01-02", "1999-12-31"], Date(("uuuu-MM-dd",))),
        (["31/12/1999", "01/02/2020"], Date(("dd/MM/uuuu",))),
        (["12/31/1999", "01/02/2020"], Date(("MM/dd/uuuu",))),
        (["2020-01-02", "31/12/1999", "2020-05-05"], Date(("uuuu-MM-dd", "dd/MM/uuuu"))),
        (["2020-01-02T03:04:05Z", "2020-01-02T03:04:05+01:00"], Timestamp(("uuuu-MM-dd'T'HH:mm:ssXXX",), "UTC")),
        (["31.12.2020 03:04", "01.12.2020 23:59"], Timestamp(("dd.MM.uuuu HH:mm",), "UTC")),
        (["ann", "2020-01-01"], String()),
        (["", "N/A"], String()),
        ([], String()),
    ],
)
def test_types_of_texts(texts, of):
    field = propose("c", pa.array(texts, pa.string()))
    assert field.type == of
    _, errors = TextTyper(Typing((field,))).run([pa.array(texts, pa.string())])
    assert not len(errors.flatten())


def test_texts_for_null_are_named_and_make_a_column_nullable():
    field = propose("c", pa.array(["1", "", "N/A ", "2"]))
    assert (field.type, field.nullable, field.nullable_values, field.trim) == (Long(), True, ("", "N/A"), True)
    assert not propose("c", pa.array(["1", "2"])).nullable
    assert propose("c", pa.array(["a", "N/A"])).nullable_values == ()
