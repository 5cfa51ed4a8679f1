"""What the rules ask of two sizes of one data type."""

from __future__ import annotations

from schemactl.schema.full_types import FullType
from schemactl.schema.types import DataType


def grows(before: FullType, after: FullType) -> bool | None:
    """Return whether one data type's values may be longer now; None where neither longer nor shorter ones fit.

    Other digits after the point are another matter, and so are fractions of seconds.
    """
    is_moment = after.data_type in (DataType.TIMESTAMP, DataType.TIME)
    if is_moment or before.scale != after.scale or before.precision == after.precision:
        return None
    return after.precision is None or (before.precision is not None and after.precision > before.precision)


def is_finer(before: FullType, after: FullType) -> bool:
    """Return whether a decimal or wei has more digits after the point."""
    return before.scale is not None and after.scale is not None and after.scale > before.scale


def keeps_integer_digits(before: FullType, after: FullType) -> bool:
    """Return whether a decimal or wei has as many digits before the point, or more."""
    if after.integer_digits is None:
        return True
    return before.integer_digits is not None and after.integer_digits >= before.integer_digits
