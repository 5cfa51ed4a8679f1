"""The ports of Spark's Java process refuse other users of the machine, who lack the secret."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

pytestmark = pytest.mark.spark

LIMIT_SECONDS = 20


def reply(port: int, message: bytes) -> bytes:
    """Return the beginning of the answer of a port to a message."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECONDS) as connection:
        connection.sendall(message)
        return connection.recv(4096)


def test_ports_refuse_calls_without_the_secret(spark: Any) -> None:
    rpc_port = int(spark.conf.get("spark.driver.port"))
    (driver,) = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    # A call in Spark's network protocol: length of the frame, kind, number, length and bytes of the body.
    body = b"stranger"
    call = struct.pack(">qbqi", 21 + len(body), 3, 1, len(body)) + body

    for port in (rpc_port, driver.port()):
        assert b"Expected SaslMessage" in reply(port, call)


def test_the_gateway_refuses_commands_without_the_secret(spark: Any) -> None:
    port = spark.sparkContext._gateway.gateway_parameters.port

    assert b"Authentication error" in reply(port, b"r\nu\njava.lang.System\nrj\ne\n")
