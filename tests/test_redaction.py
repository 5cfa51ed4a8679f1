"""Addresses and texts without their secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.errors import InputError, Location, Problem
from schemactl.redaction import redact, redact_text, secrets_of

SECRET = "s3cret"


@pytest.mark.parametrize(("address", "shown"), [
    ("postgresql://ann:s3cret@db:5432/shop", "postgresql://ann@db:5432/shop"),
    ("postgres://ann:s3cret/@?#:x@db/shop", "postgres://ann@db/shop"),
    (" PostgreSQL://ann:s3cret@db/shop", " PostgreSQL://ann@db/shop"),
    ("mysql+pymysql://ann:s3cret with blanks`@db/shop", "mysql+pymysql://ann@db/shop"),
    ("postgresql://ann@db/shop?sslpassword=s3cret&dataset=raw", "postgresql://ann@db/shop?sslpassword=***&dataset=raw"),
    ("postgresql:ann:s3cret@db/shop", "postgresql:ann@db/shop"),
    ("ann:s3cret@db/shop", "ann@db/shop"),
    ("host=db user=ann password='s3cret more'", "host=db user=ann password=***"),
    ("sc://spark:15002/;user_id=ann@corp;token=s3cret", "sc://spark:15002/;user_id=ann@corp;token=***"),
    ("jdbc:postgresql://db/shop?user=ann&password=s3cret", "jdbc:postgresql://db/shop?user=ann&password=***"),
    ("jdbc:sqlserver://db;user=sa;password=s3cret&x", "jdbc:sqlserver://db;user=sa;password=***"),
    ("s3a://AKIA:s3cret/+x@bucket/path", "s3a://AKIA@bucket/path"),
    ("https://a.blob.core.windows.net/c/x.csv?sv=1&sig=s3cret", "https://a.blob.core.windows.net/c/x.csv?sv=1&sig=***"),
    ("https://b/x?X-Amz-Signature=s3cret&y=1", "https://b/x?X-Amz-Signature=***&y=1"),
    ("spark.hadoop.fs.s3a.secret.key=s3cret", "spark.hadoop.fs.s3a.secret.key=***"),
])  # fmt: skip
def test_address_is_shown_without_its_secrets(address: str, shown: str) -> None:
    assert redact(address) == shown
    assert SECRET not in str(InputError(f"cannot read {redact(address)}"))
    assert any(SECRET in found for found in secrets_of(address)) or "ann:s3" in address


@pytest.mark.parametrize("address", [
    "git:main@{1}", "git:HEAD:schemas@2", "duckdb:///a/b@c:d.duckdb", "parquet:folder@v1",
    "hdfs://namenode:8020/data/x@y.json", "sc://spark:15002/;user_id=ann@corp", "shop", "warehouse?dataset=raw",
])  # fmt: skip
def test_address_without_secrets_stays(address: str) -> None:
    assert redact(address) == address
    assert not secrets_of(address)


def test_error_loses_the_secrets_of_all_of_its_parts() -> None:
    address = "ftp://ann:s3cret@host/x.csv"

    error = InputError(
        f"`{address}` is odd",
        at=Location(address, 3),
        hint=f"use {address}?token=s3cret",
        problems=(Problem(f"see {address}", Location(address), address),),
    )

    assert SECRET not in "".join(map(str, (error, error.args, error.at, error.hint, *error.problems)))
    assert error.at == Location("ftp://ann@host/x.csv", 3)
    assert error.problems[0].hint == "ftp://ann@host/x.csv"


def test_password_that_the_address_shows_elsewhere_is_not_taken_out_of_texts() -> None:
    assert not secrets_of("postgresql://postgres:postgres@localhost/postgres")
    assert redact_text('role "postgres" is missing', secrets_of("postgresql://postgres:postgres@h/d")) == (
        'role "postgres" is missing'
    )


@given(st.text(min_size=3))
def test_no_password_survives_whatever_it_is_made_of(password: str) -> None:
    address = f"postgresql://ann:{password}@db/shop"

    assert redact(address) == "postgresql://ann@db/shop"
    assert redact_text(f"`{address}` is odd", secrets_of(address)).startswith("`postgresql://ann")
