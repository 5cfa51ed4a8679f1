from __future__ import annotations

import pytest

from schemactl.errors import InputError
from schemactl.flows.normalize import choose_load_id
from schemactl.flows.target import loadable


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("duckdb:////data/shop.duckdb?dataset=raw", "duckdb:////data/shop.duckdb?dataset=raw"),
        ("postgresql://ann:secret@db:5432/shop", "postgresql://ann@db:5432/shop"),
        ("postgresql://ann:se?cr/e@t@db/shop", "postgresql://ann@db/shop"),
        ("postgresql://db/shop?password=secret&dataset=raw", "postgresql://db/shop?dataset=raw"),
        ("postgresql://db:5432/shop?user=ann", "postgresql://db:5432/shop"),
    ],
)
def test_shown_address_reports_no_password(url: str, shown: str) -> None:
    assert loadable(url).shown == shown


def test_load_id_is_the_time_as_in_dlt_unless_it_is_stated() -> None:
    assert float(choose_load_id(None)) > 1_700_000_000
    assert choose_load_id("2026-11-21_a.b") == "2026-11-21_a.b"


@pytest.mark.parametrize("stated", ["", "../a", "a/b", "a b", ".a", "é", "a" * 65, "a\n"])
def test_load_id_that_cannot_be_in_a_file_name_is_refused(stated: str) -> None:
    with pytest.raises(InputError, match="cannot be the id of a load"):
        choose_load_id(stated)
