"""Documents whose row keys are texts."""

from __future__ import annotations

from typing import Any


def with_keys_of_one_kind(value: Any) -> Any:
    """Make texts of row keys.

    What nested rows get from keys of several kinds differs from dlt on purpose (tests/parity/test_inference_parity.py).
    """
    match value:
        case dict():
            return {
                key: (item and "key") if key == "_dlt_id" else with_keys_of_one_kind(item)
                for key, item in value.items()
            }
        case list():
            return [with_keys_of_one_kind(item) for item in value]
        case _:
            return value
