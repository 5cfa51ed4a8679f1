"""Random data in all formats that both engines read, the same for the same seed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import string
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq

KEYS = ["id", "ID", "name", "at", "lines", "buyer", "A b", "größe", "a.b", "x__y", "value", "7"]
TEXTS = [
    "", " ", "x", "ann", "żółw", "🦊", "N/A", "null", "true", "NaN", "12", "-7", "007", "1.50", "1e5", "1,5", "0x1f",
    "2024-01-31", "2024-02-30", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00.123456+02:00", "10:30", "[1, 2]",
    '{"a": 1}', 'say "hi"', "a,b;c\td", "two\nlines", "cr\r\nlf", "back\\slash", "nul\x00", "\u2028", "=1+1",
    "9" * 20, "long " * 300,
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 7, 255, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 2**70,
    10**38,    0.0, -0.0, 1.5, 0.1, -2.25, 1e15, 1e16, 1e22, 1e300, 5e-324, 123456789.123456789,
]  # fmt: skip
XML_TEXTS = [
    "", "", "\n  ", " ann ", "12", "1.50", "2024-01-31", "true", "N/A", "&amp;&#233;", "<![CDATA[<z> ]]>", "🦊",
    "\u00a0", "a<!-- c -->b", "a<?p i?>b", 'say "hi"\\', "two\r\nlines",
]  # fmt: skip
CODECS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int8": (pa.int8(), [-128, 0, 127]),
    "int16": (pa.int16(), [-32768, 1]),
    "int32": (pa.int32(), [2**31 - 1, -5]),
    "int64": (pa.int64(), [2**63 - 1, -(2**63), 0]),
    "uint8": (pa.uint8(), [255, 0]),
    "uint16": (pa.uint16(), [65535]),
    "uint32": (pa.uint32(), [2**32 - 1, 3]),
    "uint64": (pa.uint64(), [2**64 - 1, 4]),
    "float32": (pa.float32(), [0.1, -0.0, float("nan"), float("inf"), 3.4e38]),
    "float64": (pa.float64(), [0.1, -0.0, float("nan"), float("-inf"), 1e300, 5e-324]),
    "bool": (pa.bool_(), [True, False]),
    "string": (pa.string(), TEXTS),
    "large_string": (pa.large_string(), TEXTS[:20]),
    "binary": (pa.binary(), [b"", b"\xff\x00", b"abc"]),
    "large_binary": (pa.large_binary(), [b"\xfe", b"z"]),
    "fixed_binary": (pa.binary(3), [b"abc", b"\x00\x01\x02"]),
    "decimal9": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-9999999.99")]),
    "decimal18": (pa.decimal128(18, 0), [Decimal(10**17), Decimal(-3)]),
    "decimal38": (pa.decimal128(38, 9), [Decimal("1.000000001"), Decimal(10**28)]),
    "date32": (pa.date32(), [date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
    "time_us": (pa.time64("us"), [time(0, 0), time(23, 59, 59, 999999)]),
    "moment_us": (pa.timestamp("us", "UTC"), [datetime(2024, 1, 2, 3, 4, 5, 6, UTC), datetime(1900, 1, 1, tzinfo=UTC)]),
    "moment_zone": (pa.timestamp("us", "Asia/Kolkata"), [datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)]),
    "moment_ms": (pa.timestamp("ms", "UTC"), [datetime(2024, 1, 2, 3, 4, 5, 7000, UTC)]),
    "naive_us": (pa.timestamp("us"), [datetime(2024, 1, 2, 3, 4, 5, 6), datetime(1, 1, 1)]),
    "naive_s": (pa.timestamp("s"), [datetime(2024, 1, 2, 3, 4, 5)]),
    "duration": (pa.duration("us"), [timedelta(days=1, microseconds=5)]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["red", "green"]),
    "null": (pa.null(), [None]),
    "list": (pa.list_(pa.int64()), [[1, None, 2], []]),
    "large_list": (pa.large_list(pa.string()), [["a", None], []]),
    "fixed_list": (pa.list_(pa.float64(), 2), [[1.0, 2.5]]),
    "lists": (pa.list_(pa.list_(pa.int32())), [[[1], None, []], []]),
    "struct": (
        pa.struct({"n": pa.int64(), "t": pa.string(), "d": pa.date32(), "m": pa.decimal128(5, 1)}),
        [{"n": 1, "t": "x", "d": date(2024, 1, 1), "m": Decimal("1.5")}, {"n": None, "t": "", "d": None, "m": None}],
    ),
    "structs": (
        pa.list_(pa.struct({"sku": pa.string(), "at": pa.timestamp("us", "UTC"), "tags": pa.list_(pa.string())})),
        [[{"sku": "a", "at": datetime(2024, 1, 1, tzinfo=UTC), "tags": ["p", "q"]}, None], []],
    ),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1), ("b", None)], []]),
    "map_structs": (pa.map_(pa.string(), pa.struct({"x": pa.float64()})), [[("k", {"x": 1.5})], [("k", None)]]),
    "map_ints": (pa.map_(pa.int32(), pa.date32()), [[(1, date(2024, 1, 1))]]),
}  # fmt: skip
AVRO_TYPES: dict[str, tuple[Any, list[Any]]] = {
    "null": ("null", [None]),
    "boolean": ("boolean", [True, False]),
    "int": ("int", [2**31 - 1, -5]),
    "long": ("long", [2**63 - 1, -(2**63), 0]),
    "float": ("float", [0.5, -0.0, float("nan")]),
    "double": ("double", [0.1, -0.0, 1e300]),
    "string": ("string", ["", "żółw", "🦊", "N/A", "12"]),
    "bytes": ("bytes", [b"", b"\xff\x00"]),
    "fixed": ({"type": "fixed", "name": "three", "size": 3}, [b"abc"]),
    "enum": ({"type": "enum", "name": "color", "symbols": ["red", "green"]}, ["red", "green"]),
    "date": ({"type": "int", "logicalType": "date"}, [0, -1, 19_000]),
    "time_ms": ({"type": "int", "logicalType": "time-millis"}, [5]),
    "time_us": ({"type": "long", "logicalType": "time-micros"}, [5, 86_399_999_999]),
    "moment_ms": ({"type": "long", "logicalType": "timestamp-millis"}, [1_700_000_000_123, -1]),
    "moment_us": ({"type": "long", "logicalType": "timestamp-micros"}, [1_700_000_000_123_456, -1]),
    "moment_ns": ({"type": "long", "logicalType": "timestamp-nanos"}, [1_700_000_000_123_456_789]),
    "naive_ms": ({"type": "long", "logicalType": "local-timestamp-millis"}, [1_700_000_000_123]),
    "naive_us": ({"type": "long", "logicalType": "local-timestamp-micros"}, [1_700_000_000_123_456]),
    "decimal": ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, [b"\x01\x00", b"\xff"]),
    "decimal_fixed": (
        {"type": "fixed", "name": "money", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 9},
        [(10**37 + 1).to_bytes(16, "big"), (-3).to_bytes(16, "big", signed=True)],
    ),
    "decimal_too_short": (
        {"type": "fixed", "name": "short", "size": 2, "logicalType": "decimal", "precision": 9, "scale": 1}, [b"ab"],
    ),
    "uuid": ({"type": "string", "logicalType": "uuid"}, ["8f1c2f0e-7e4b-4c57-9d6f-0f4f1d3d9f0a"]),
    "duration": ({"type": "fixed", "name": "span", "size": 12, "logicalType": "duration"}, [b"0123456789ab"]),
    "single": (["long"], [1]),
    "widened": (["int", "long"], [1, 2**40]),
    "widened_float": (["float", "double"], [1.5]),
    "union": (["int", "null", "string"], [1, "x", None]),
    "list": ({"type": "array", "items": ["null", "int"]}, [[1, None], []]),
    "map": ({"type": "map", "values": "long"}, [{"a": 1, "b": 2}, {}]),
    "record": (
        {
            "type": "record",
            "name": "line",
            "fields": [
                {"name": "sku", "type": "string"},
                {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
                {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 5}]},
                {"name": "tags", "type": {"type": "array", "items": "string"}},
            ],
        },
        [{"sku": "a", "at": 5, "price": b"\x02", "tags": ["p"]}, {"sku": "", "at": -5, "price": None, "tags": []}],
    ),
}  # fmt: skip
ORC_TYPES = [
    name
    for name in TYPES
    if not name.startswith(("uint", "time_", "duration", "dictionary", "null", "fixed_", "large_", "naive_us"))
]
"""The types that pyarrow writes to ORC and reads back: it has no timestamps of the year 1."""


def write_avro(path: Path, fields: list[dict[str, Any]], rows: list[dict[str, Any]], **options: Any) -> None:
    """Write values as Avro stores them: fastavro, which converts those of logical types, gets them to see later."""
    schema = json.dumps({"type": "record", "name": "row", "fields": fields}).replace("logicalType", "logicalKind")
    content = io.BytesIO()
    fastavro.writer(content, fastavro.parse_schema(json.loads(schema)), rows, **options)
    path.write_bytes(content.getvalue().replace(b"logicalKind", b"logicalType"))


class RandomData:
    """Random values, documents and files."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def scalar(self) -> Any:
        match self.random.randrange(6):
            case 0:
                return None
            case 1:
                return self.random.random() < 0.5
            case 2 | 3:
                return self.random.choice(NUMBERS)
            case _:
                return self.random.choice(TEXTS)

    def value(self, depth: int = 3) -> Any:
        shape = self.random.randrange(8)
        if depth and shape == 0:
            return [self.value(depth - 1) for _ in range(self.random.randrange(4))]
        if depth and shape == 1:
            return self.document(depth - 1)
        return self.scalar()

    def document(self, depth: int = 3) -> dict[str, Any]:
        keys = self.random.sample(KEYS, self.random.randrange(1, 7))
        return {key: self.value(depth) for key in keys}

    def json_text(self, value: Any) -> str:
        separators = self.random.choice([(",", ":"), (", ", ": ")])
        return json.dumps(value, ensure_ascii=self.random.random() < 0.5, separators=separators)

    def lines(self, count: int, bad_share: float = 0.0) -> bytes:
        """Lines of JSON: blank ones and several line ends among them, bad ones on request."""
        texts = []
        for _ in range(count):
            chance = self.random.random()
            document: Any = self.document() if chance > 0.05 else self.value()
            text = self.json_text(document)
            if chance < bad_share:
                text = text[: self.random.randrange(len(text) + 1)] + "]"
            texts.append(text + self.random.choice(["\n", "\n", "\n", "\r\n", "\n\n", " \n"]))
        return "".join(texts).encode()

    def json_list(self, count: int) -> bytes:
        elements = [self.document() for _ in range(count)]
        return json.dumps(elements, indent=self.random.choice([None, 2])).encode()

    def csv(self, count: int, separator: str = ",") -> bytes:
        """Rows whose quotes are right; some end early, and some have cells without a column."""
        width = self.random.randrange(2, 7)
        names = self.random.sample(["id", "name", "A b", "größe", "", "id", "at", "note", "x.y"], width)
        out = io.StringIO()
        line_end = self.random.choice(["\n", "\r\n"])
        writer = csv.writer(out, delimiter=separator, lineterminator=line_end, quoting=self.random.choice([0, 1]))
        writer.writerow(names)
        for _ in range(count):
            row_width = width if self.random.random() < 0.9 else self.random.randrange(1, width + 2)
            writer.writerow([str(self.scalar() or "").replace("\x00", "") for _ in range(row_width)])
        return out.getvalue().encode()

    def odd_csv(self, count: int) -> bytes:
        """Cells of random characters: quotes that do not close, blanks around them, several line ends."""
        alphabet = 'ab1 ,",\\\t;' + string.ascii_letters
        rows = ["id,name,note"]
        for _ in range(count):
            cells = ["".join(self.random.choices(alphabet, k=self.random.randrange(7))) for _ in range(3)]
            rows.append(",".join(cells))
        return "".join(row + self.random.choice(["\n", "\n", "\r\n"]) for row in rows).encode()

    def xml(self, count: int) -> bytes:
        """Records with attributes, repeated and nested elements, and mixed texts."""
        records = "\n".join(self._xml_object("record", 3) for _ in range(count))
        return f'<?xml version="1.0"?>\n<!-- all -->\n<data xmlns:n="urn:n" q="1">{records}</data>'.encode()

    def _xml_object(self, name: str, depth: int) -> str:
        """An element that has elements, at times attributes and texts."""
        parts = [self._xml_element(depth - 1) for _ in range(self.random.randrange(1, 5))]
        texts = [self.random.choice(XML_TEXTS) for _ in parts]
        return f"<{name}{self._xml_attributes()}>{''.join(map(''.join, zip(parts, texts, strict=True)))}</{name}>"

    def _xml_element(self, depth: int) -> str:
        text = self.random.choice(XML_TEXTS)
        match self.random.randrange(5 if depth else 4):
            case 0:
                return f"<empty{self._xml_attributes()}/>"
            case 1:
                return f"<v{self._xml_attributes()}>x{text}</v>"
            case 2 | 3:
                name = self.random.choice(["id", "ID", "größe", "n:name", "a.b"])
                return f"<{name}>{text}</{name}>"
            case _:
                return self._xml_object(self.random.choice(["s", "s-2"]), depth)

    def _xml_attributes(self) -> str:
        names = self.random.sample(["at", "n:k"], self.random.randrange(3))
        return "".join(f' {name}="{self.random.choice(["1", " x ", "", "&lt;a b&gt;"])}"' for name in names)

    def table(self, names: list[str], count: int, null_share: float = 0.3) -> pa.Table:
        columns = {"id": pa.array(range(count), pa.int64())}
        for name in names:
            kind, values = TYPES[name]
            cells = [None if self.random.random() < null_share else self.random.choice(values) for _ in range(count)]
            columns[name] = pa.array(cells, kind)
        return pa.table(columns)

    def write_parquet(self, path: Path, names: list[str], count: int) -> None:
        options = {
            "compression": self.random.choice(["snappy", "zstd", "none"]),
            "use_dictionary": self.random.random() < 0.5,
        }
        pq.write_table(self.table(names, count), path, row_group_size=self.random.choice([7, 50, 1000]), **options)

    def write_orc(self, path: Path, names: list[str], count: int) -> None:
        """Write ORC without the days before 1582, which Spark moves to another calendar."""
        table = self.table(names, count)
        if "date32" in names:
            days = pa.array([day and max(day, date(1582, 10, 15)) for day in table["date32"].to_pylist()], pa.date32())
            table = table.set_column(table.column_names.index("date32"), "date32", days)
        pyarrow.orc.write_table(table, path)

    def write_avro(self, path: Path, names: list[str], count: int) -> None:
        schemas = {name: AVRO_TYPES[name][0] for name in names}
        nullable = {
            name: schema if schema == "null" or isinstance(schema, list) else ["null", schema]
            for name, schema in schemas.items()
        }
        fields = [{"name": "id", "type": "long"}, *({"name": name, "type": of} for name, of in nullable.items())]
        rows = [
            {"id": number, **{name: self._avro_value(name, nullable[name]) for name in names}}
            for number in range(count)
        ]
        codec = self.random.choice(["null", "deflate", "snappy", "bzip2", "xz", "zstandard"])
        write_avro(path, fields, rows, codec=codec, sync_interval=self.random.choice([50, 16_000]))

    def _avro_value(self, name: str, schema: Any) -> Any:
        is_null = isinstance(schema, list) and "null" in schema and self.random.random() < 0.3
        return None if is_null else self.random.choice(AVRO_TYPES[name][1])

    def write_bytes(self, path: Path, content: bytes) -> str:
        """Write a file of texts, compressed by chance; return its name."""
        suffix = self.random.choice(["", "", *CODECS])
        path = path.with_name(path.name + suffix)
        path.write_bytes(CODECS[suffix](content) if suffix else content)
        return path.name
