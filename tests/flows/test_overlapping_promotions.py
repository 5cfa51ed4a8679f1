"""Two loads that widen the same column at the same time; hooks decide which of them goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from loading_shop import Shop
from test_promotion_loads import PROMOTE, load, stored, stored_types

from schemactl.engine.protocol import Engine
from schemactl.flows.infer import InferRequest
from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.flows.schemas import open_schemas
from schemactl.flows.target import find_destination
from schemactl.migration.options import PlanOptions
from schemactl.store.folder import SchemasFolder

LIMIT_SECONDS = 60
LOADING = "loading into"
"""The begin of the stage at which the schema is saved, and the destination has not changed yet."""


def overlapping_load(
    shop: Shop, to: str, source: str, before_reading: Callable[[], Any], before_loading: Callable[[], Any]
) -> None:
    """Load a file; call functions after the checks of the call, and before the destination changes."""

    @contextmanager
    def open_engine(*_: Any) -> Iterator[Engine]:
        before_reading()
        yield shop.engine

    def progress(stage: str, _share: float | None) -> None:
        if stage.startswith(LOADING):
            before_loading()

    inference = InferRequest((source,), "shop", table="orders", schemas=Path("schemas"), contract=PROMOTE)
    normalize(NormalizeRequest(inference, to), progress, open_engine)


def nothing() -> None:
    pass


def check_newest_schema(shop: Shop, to: str) -> None:
    target = find_destination(to)
    saved_schema = open_schemas(SchemasFolder.at(Path("schemas")), "shop").schema
    assert saved_schema is not None
    assert target.destination.read_catalogue(target.url).hashes[0] == saved_schema.version_hash
    is_folder = ":" not in to
    address = f"parquet:{to}" if is_folder else to
    assert find_status("shop", address, Path("schemas"), PlanOptions()).is_settled
    assert verify(VerifyRequest("shop", address, Path("schemas"))).is_clean
    assert stored_types(to)["x"] == "double"
    assert stored(to, "x") == [1, 1.5, 2.5]
    # The catalogue of a folder has the columns of its last file, by name.
    notes = [note for (note,) in shop.rows("orders", "note") if note] if is_folder else stored(to, "note")
    assert notes == ["late"]


@pytest.fixture
def sources(shop: Shop, any_destination: str) -> tuple[str, str]:
    load(shop, any_destination, 1)
    return shop.write("plain.jsonl", {"x": 1.5}), shop.write("noted.jsonl", {"x": 2.5, "note": "late"})


def test_a_load_that_began_first_and_ends_last_makes_its_schema_the_newest(
    shop: Shop, any_destination: str, sources: tuple[str, str]
) -> None:
    plain, noted = sources

    def whole_load() -> None:
        overlapping_load(shop, any_destination, plain, nothing, nothing)

    overlapping_load(shop, any_destination, noted, whole_load, nothing)

    check_newest_schema(shop, any_destination)


def test_a_load_that_ends_after_a_load_with_a_later_schema_leaves_this_the_newest(
    shop: Shop, any_destination: str, sources: tuple[str, str]
) -> None:
    if any_destination.startswith("spark:"):
        pytest.skip("a Spark session belongs to one thread of the process")
    plain, noted = sources
    is_saved, is_loaded = Event(), Event()

    def wait_for_noted() -> None:
        is_saved.set()
        assert is_loaded.wait(LIMIT_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        plain_loads: list[Future[None]] = []

        def begin_plain() -> None:
            plain_loads.append(pool.submit(overlapping_load, shop, any_destination, plain, nothing, wait_for_noted))
            assert is_saved.wait(LIMIT_SECONDS)

        overlapping_load(shop, any_destination, noted, begin_plain, nothing)
        is_loaded.set()
        plain_loads[0].result()

    check_newest_schema(shop, any_destination)
