from __future__ import annotations

import pytest

from schemactl.schema.conversions import Conversion
from schemactl.schema.fit import fit
from schemactl.schema.types import Column


def column(kind: str, precision: int | None = None, scale: int | None = None) -> Column:
    stated = {"data_type": kind, "precision": precision, "scale": scale}
    return Column("x", {name: value for name, value in stated.items() if value is not None})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (column("bigint", 32), column("bigint")),
        (column("bigint"), column("decimal")),
        (column("bigint", 32), column("double")),
        (column("bigint", 53), column("double")),
        (column("bigint", 32), column("decimal", 10, 0)),
        (column("text", 10), column("text")),
        (column("text", 10), column("text", 10)),
        (column("decimal", 10, 2), column("decimal", 12, 4)),
        (column("wei", 20), column("wei")),
        (column("wei", 29), column("decimal")),
        (column("timestamp"), column("timestamp", 9)),
        (column("date"), column("date")),
    ],
)
def test_all_values_fit_a_type_with_room_for_them(before: Column, after: Column) -> None:
    found = fit(before, after)

    assert (found.conversion, found.lost) == (Conversion.WHOLE, "")


@pytest.mark.parametrize(("before", "after", "conversion", "lost"), [
    (column("bigint"), column("bigint", 32), Conversion.DEPENDS, "integers of more than 32 bits would not survive"),
    (column("bigint", 54), column("double"), Conversion.LOSES, "integers above 2^53 lose their last digits"),
    (column("text"), column("text", 5), Conversion.DEPENDS, "values of more than 5 characters would not survive"),
    (column("binary", 9), column("binary", 1), Conversion.DEPENDS, "values of more than 1 byte would not survive"),
    (column("bigint"), column("text", 5), Conversion.DEPENDS, "values that do not fit text(5) would not survive"),
    (column("bigint"), column("decimal", 10, 0), Conversion.DEPENDS,
     "values that do not fit decimal(10, 0) would not survive"),
    # 18 digits before the point are left where the scale alone is stated.
    (column("bigint"), column("decimal", scale=20), Conversion.DEPENDS,
     "values that do not fit decimal(38, 20) would not survive"),
    (column("wei"), column("decimal"), Conversion.DEPENDS, "values that do not fit decimal(38, 9) would not survive"),
    (column("decimal", 12, 2), column("decimal", 10, 2), Conversion.DEPENDS,
     "numbers of more than 8 digits before the point would not survive"),
    (column("decimal", 12, 4), column("decimal", 12, 2), Conversion.LOSES, "decimal places after the first 2 are lost"),
    (column("timestamp"), column("timestamp", 3), Conversion.LOSES, "fractional seconds are cut to 3 digits"),
    (column("json"), column("bool"), Conversion.REFUSED, "dlt does not convert json to bool"),
    (Column("x", {"x-database-type": "point"}), column("text"), Conversion.REFUSED, "dlt has no type `point`"),
])  # fmt: skip
def test_what_does_not_fit_is_reported(before: Column, after: Column, conversion: Conversion, lost: str) -> None:
    found = fit(before, after)

    assert (found.conversion, found.lost) == (conversion, lost)
