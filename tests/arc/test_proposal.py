"""Types and patterns that columns of texts are seen to have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from schemactl.arc.fields import Boolean, Date, Decimal, Long, String, Timestamp, Typing
from schemactl.arc.proposal import DateOrder, draft, draft_with_decimal_comma, has_ambiguous_dates, propose
from schemactl.arc.text_columns import ColumnTyper, TextTyper


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
        (["$1,234.50", "-$5"], Decimal(38, 2, ("$#,##0.###",))),
        (["($3.25)", "$1"], Decimal(38, 2, ("$#,##0.###;($#,##0.###)", "$#,##0.###"))),
        (["EUR 12", "EUR 1,234"], Decimal(38, 2, ("'EUR' #,##0.###",))),
        (["1.234,56 €", "12,50 €"], Decimal(38, 2, ("#,##0.### €",), ",")),
        (["12,5", "3"], Decimal(38, 2, ("#,##0.###",), ",")),
        (["1'234.50", "7"], Decimal(38, 2, ("#,##0.###",), ".")),
        (["12%", "7.5%"], Decimal(38, 3, ("#,##0.###%",))),
        (["1.5 kg", "2 kg"], String()),
        (["1,234.5", "1.234,5"], String()),
        (["5 Jan 2020", "15 Jan 2020"], Date(("d MMM uuuu",))),
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


@pytest.mark.parametrize(
    ("texts", "is_ambiguous"),
    [
        (["01/02/2020", "03/04/2020"], True),
        (["01/02/2020 10:00", "03/04/2020 10:00"], True),
        (["01/01/2020"], False),
        (["13/02/2020", "03/04/2020"], False),
        (["2020-01-02"], False),
        (["01.02.2020"], False),
        (["1,234"], False),
    ],
)
def test_dates_are_ambiguous_if_day_and_month_could_change_places(texts: list[str], is_ambiguous: bool):
    column = pa.array(texts)
    assert has_ambiguous_dates(column, propose("c", column)) is is_ambiguous


def test_the_order_of_day_and_month_decides():
    column = pa.array(["01/02/2020"])
    assert propose("c", column, DateOrder.MONTH_FIRST).type == Date(("MM/dd/uuuu",))
    assert propose("c", column, DateOrder.DAY_FIRST).type == Date(("dd/MM/uuuu",))
    assert propose("c", pa.array(["31/12/2020"]), DateOrder.MONTH_FIRST).type == String()


def test_a_draft_leaves_few_exceptions_and_names_the_first():
    drafted = draft("c", pa.array(["$1,234.50", "$5", None, "free", "$7", "$8", "$9"]))
    assert drafted.field.type == Decimal(38, 2, ("$#,##0.###",))
    assert (drafted.texts, drafted.exceptions, drafted.first_exception) == (6, 1, "free")
    assert drafted.field.nullable


def test_a_draft_types_no_column_of_mixed_texts():
    drafted = draft("c", pa.array(["$5", "free", "gift", "$6"]))
    assert (drafted.field.type, drafted.exceptions) == (String(), 0)
    assert draft("house", pa.array(["12", "14a", "15", "16", "17", "18"])).field.type == Long()


def test_points_divide_thousands_in_a_file_with_decimal_commas() -> None:
    texts = pa.array(["1.234", "2.500"])
    drafted = draft_with_decimal_comma(draft("n", texts), texts)
    assert ColumnTyper(drafted.field).run(texts).values.to_pylist() == [1234, 2500]
    other = pa.array(["1.25", "2.500"])
    assert draft_with_decimal_comma(draft("n", other), other) == draft("n", other)
