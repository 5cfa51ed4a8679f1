"""Schemas that were made without a destination, and names that it does not keep."""

from __future__ import annotations

from loading_shop import Shop

from schemactl.cli.app import run
from schemactl.flows.schemas import open_schemas
from schemactl.normalization.report import Outcome
from schemactl.schema.naming import load_naming
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder

KEY = "Was der Kunde bei der Bestellung im Feld für Bemerkungen angegeben hat"
LONG = load_naming("snake_case").normalize_identifier(KEY)
DOCUMENTS = (
    {"id": 1, KEY: "x", f"{KEY} (Liste)": [{"n": 1}]},
    {"id": 2, KEY: {"inside": 2}},
)


def schema_of(shop: Shop) -> Schema:
    found = open_schemas(SchemasFolder.at(shop.folder / "schemas"), "shop").schema
    assert found is not None
    return found


def test_a_load_makes_names_that_fit_from_the_keys_and_migrate_renames_what_is_there(
    shop: Shop, postgres_database: str
) -> None:
    import duckdb
    import psycopg

    source = shop.write("orders.jsonl", *DOCUMENTS)
    lake = "duckdb:///lake.duckdb"
    assert shop.load(source, to=lake).outcome is Outcome.LOADED
    long = schema_of(shop)
    assert LONG in long.tables["orders"].columns

    # As if the same data had been inferred for this destination first.
    anew = shop.load(source, to=f"{postgres_database}?dataset=anew", schemas=shop.folder / "other")
    loaded = shop.load(source, to=f"{postgres_database}?dataset=shop")

    assert (anew.outcome, loaded.outcome) == (Outcome.LOADED, Outcome.LOADED)
    assert loaded.inference is not None
    assert any("cuts names to 63 characters" in hint for hint in loaded.inference.hints)
    with psycopg.connect(postgres_database) as connection:
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '{}' ORDER BY 1, 2"
        there, expected = (connection.execute(query.format(name)).fetchall() for name in ("shop", "anew"))
    assert there == expected
    assert not [each for each in there if len(each[1]) > 63 or len(each[0]) > 63]

    # Nothing more is asked for by the same data, and the first destination takes over the names.
    assert run(["migrate", "apply", "shop", "--to", f"{lake}?dataset=shop", "--yes", "--quiet"]) == 0
    with duckdb.connect("lake.duckdb", read_only=True) as database:
        columns = [name for name, *_ in database.execute("DESCRIBE shop.orders").fetchall()]
        [new] = [name for name in columns if name.startswith("was_") and "__" not in name]
        assert LONG not in columns
        assert database.execute(f"SELECT id, {new} FROM shop.orders ORDER BY id").fetchall() == [(1, "x"), (2, None)]
    assert schema_of(shop).tables["orders"].columns[new].properties["x-renamed-from"] == LONG
    assert shop.load(source, to=f"{postgres_database}?dataset=shop", load_id="again").inference.tables == ()  # type: ignore[union-attr]

    # Neither by a load into a destination that keeps longer names.
    other = shop.load(source, to="duckdb:///other.duckdb", schemas=shop.folder / "other", load_id="longer")
    assert other.outcome is Outcome.LOADED
    assert other.inference is not None
    assert other.inference.tables == ()
