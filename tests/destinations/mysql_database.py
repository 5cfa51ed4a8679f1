"""What the tests of MySQL share: a way past schemactl to a server's tables."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import mysql_server


def connect(url: str) -> Any:
    import pymysql

    found = dict(parse_qsl(url.partition("?")[2]))
    return pymysql.connect(
        user="loader", password=mysql_server.PASSWORD, unix_socket=found["unix_socket"], charset="utf8mb4"
    )


def ask(url: str, query: str, dataset: str = "sales") -> list[tuple[Any, ...]]:
    with connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"use {dataset}")
        cursor.execute(query)
        return list(cursor.fetchall())


def run(url: str, *statements: str) -> None:
    with connect(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()
