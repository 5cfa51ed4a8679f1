"""Arrow UDFs of plain Python functions that travel with all they need: Spark's workers have no schemactl."""

# No `from __future__ import annotations`: Spark evaluates the hints of a UDF, where its types are not known by name.

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from pyspark.sql import Column

import schemactl

_ARROW_TYPES: Final = {"string": "string", "binary": "binary", "bigint": "int64", "int": "int32", "double": "float64"}


def arrow_udf(
    function: Callable[[Any], Any], returns: str, *, are_distinct: bool = False
) -> Callable[[Column], Column]:
    """Return a UDF of one column. It calls the function once for each distinct value of a batch, never with null.

    Workers need Python and pyarrow, and what the function imports of others' packages.

    Args:
        function: it gets texts as bytes (UTF-8, unless the data is not), and may return None.
        returns: Spark's name of the type of results: string, binary, bigint, int or double.
        are_distinct: whether no value comes twice; to find that out takes as long as a hash of each.
    """
    import pyarrow as pa
    from pyspark.sql.pandas import functions

    def convert(values: pa.Array) -> pa.Array:
        arrow_type = pa.type_for_alias(_ARROW_TYPES[returns])
        if values.null_count == len(values):
            return pa.nulls(len(values), arrow_type)
        if not pa.types.is_floating(values.type):
            values = values.cast(pa.binary())
        encoded = None if are_distinct else values.dictionary_encode()
        asked = (values if encoded is None else encoded.dictionary).to_pylist()
        results = pa.array([None if value is None else function(value) for value in asked], arrow_type)
        return results if encoded is None else results.take(encoded.indices)

    _send_whole()
    # Spark's own hints know only UDFs whose kind is given, of which it warns.
    make: Callable[..., Callable[[Column], Column]] = functions.arrow_udf
    return make(convert, returns)


def _send_whole() -> None:
    """Have what is ours pickled by value, not by name."""
    from pyspark import cloudpickle

    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    register(schemactl)
