"""CSV with a header: columns are read as texts, and the detectors say what they are."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from schemactl.engine.csv_faults import (
    CsvFaults,
    fault_text,
    find_csv_faults,
    key_column,
    key_of,
    warn_of_csv,
)
from schemactl.engine.csv_header import CsvHeader, read_header
from schemactl.engine.input import TEXTS, Input, read_head, shown_path
from schemactl.engine.input_formats import Documents
from schemactl.engine.input_warnings import warn_of_renamed
from schemactl.engine.reading.files import read_csv, split_inputs
from schemactl.engine.reading.rows import rows_as_documents
from schemactl.engine.reading.texts import place_columns
from schemactl.kernel.cells import CsvLayout

ENDINGS = TEXTS["csv"]


def read(spark: SparkSession, inputs: Sequence[Input], separator: str | None = None) -> Iterator[Documents]:
    """Yield the rows of the files, those of one header together.

    A row may end early; one that is too long is bad, and so is one with a quote that does not close: what it has
    swallowed of the rows below goes with it.
    """
    groups: dict[tuple[str, CsvHeader], list[Input]] = {}
    for each in inputs:
        groups.setdefault((each.encoding, read_header(_head(spark, each), separator)), []).append(each)
    for (_, header), files in groups.items():
        yield from _read_alike(spark, files, header)


def _read_alike(spark: SparkSession, files: Sequence[Input], header: CsvHeader) -> Iterator[Documents]:
    faults: dict[str, CsvFaults] = {}
    sep = header.separator
    readable: list[Input] = []
    for each in files:
        found = find_csv_faults(spark, each, sep, header.line_end, skipped=int(header.is_stated))
        taken = next((fault.header for fault in found.values() if fault.header), None)
        if taken is None:
            readable.append(each)
            faults |= found
        else:
            # Nothing in a file whose header goes on and on has a name: it is one bad record.
            lines = spark.read.text(each.address)
            lines = lines.select(*place_columns(lines), F.lit(fault_text(taken)).alias("text"))
            yield Documents(lines.limit(1))
    warn_of_csv(faults)
    if not readable:
        return
    cells = header.cells()
    near, _ = split_inputs(spark, readable)
    is_plain = bool(cells and header.line_end) and sep.isascii() and {"\r", "\n"}.isdisjoint(header.row)
    sound = {each: None for each in near if is_plain and faults[each.path].is_well_formed}
    if sound:
        names = _names(cells)
        warn_of_renamed(cells, names, [each.path for each in sound])
        layout = CsvLayout(tuple(names), sep, header.line_end.encode(), header_rows=1 + header.is_stated)
        read = read_csv(spark, list(sound), layout, {path: found.starts for path, found in faults.items()})
        yield replace(read, gaps={path: found.gaps for path, found in faults.items()})
    readable = [each for each in readable if each not in sound]
    if not readable:
        return
    # What cannot be opened here, and files that are read in as many ways as there are readers, Spark reads.
    options = _options(header, readable[0].encoding)
    names = _names(cells)
    # Else Spark refuses the header.
    if not header.is_stated and len(set(_numbered(cells))) >= len(cells):
        names = list(spark.read.options(**options).csv(readable[0].address).columns)
    if names:
        warn_of_renamed(cells, names, [each.path for each in readable])
        yield _read_rows(spark, readable, options, names, cells if header.is_stated else None, faults)


def _options(header: CsvHeader, encoding: str) -> dict[str, str | bool]:
    # A quoted cell may hold line breaks, which only a reader of whole files sees.
    options: dict[str, str | bool] = {
        "header": True, "sep": header.separator, "multiLine": True, "encoding": encoding,
        "quote": '"', "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False,
    }  # fmt: skip
    if header.line_end and not {"\r", "\n"}.isdisjoint(header.row):
        # Spark takes the file's first line end, be it in quotes, for that of all rows.
        options["lineSep"] = header.line_end
    return options


def _read_rows(
    spark: SparkSession, files: Sequence[Input], options: Mapping[str, str | bool], names: Sequence[str],
    header: Sequence[str] | None, faults: Mapping[str, CsvFaults],
) -> Documents:  # fmt: skip
    """Return the rows; ``header`` is left out of them where what Spark leaves out is the line before it."""
    # By number: names may be anything, even those that Spark has for the place of a row.
    columns = [f"_{at}" for at in range(len(names) + 1)]
    schema = StructType([StructField(name, StringType()) for name in columns])
    rows = spark.read.options(**options).schema(schema).csv([each.address for each in files])
    if header is not None:
        is_header = F.lit(True)
        for at, cell in enumerate(header):
            is_header &= F.coalesce(F.col(f"_{at}"), F.lit("")) == cell
        rows = rows.where(~is_header)
    cells = dict(zip(names, columns, strict=False))
    surplus = F.expr(f"concat('more cells than columns: ', concat_ws(', ', {', '.join(columns)}))")
    fault = F.when(F.col(columns[-1]).isNotNull(), surplus)
    if any(each.broken for each in faults.values()):
        fault = F.coalesce(_broken(rows, faults, columns), fault)
    gaps = {path: found.gaps for path, found in faults.items()}
    return replace(rows_as_documents(rows, cells, fault), gaps=gaps)


def _broken(rows: DataFrame, faults: Mapping[str, CsvFaults], columns: Sequence[str]) -> Column:
    """Return the words for a row with a quote that does not close, null for other rows."""
    # Spark has two spellings of a place on this machine, and reports that of each row in the short one.
    uris = {shown_path(uri): re.sub(r"^file:/+", "file:/", uri) for uri in rows.inputFiles()}
    by_place = {
        f"{uris[path]} {cell.index} {key_of(cell)}": fault_text(cell)
        for path, found in faults.items()
        for cell in found.broken
    }
    broken_in = sorted({cell.index for found in faults.values() for cell in found.broken if cell.index < len(columns)})
    # As one text: each literal that is made from here is a call to Java.
    by_key = F.from_json(F.lit(json.dumps(by_place)), "map<string,string>")
    return F.coalesce(
        F.lit(None).cast("string"),
        *(
            F.try_element_at(by_key, F.concat(F.col("_metadata.file_path"), F.lit(f" {at} "), key_column(columns[at])))
            for at in broken_in
        ),
    )


def _names(cells: Sequence[str]) -> list[str]:
    """Return names as Spark makes them of a header: blank and equal ones get their number, here one that is free."""
    names: list[str] = []
    others = set(cells)
    for at, (cell, numbered) in enumerate(zip(cells, _numbered(cells), strict=True)):
        free = (f"{cell or '_c'}{'_' * blanks}{at}" for blanks in count())
        names.append(cell if cell == numbered else next(name for name in free if name not in others))
        others.add(names[-1])
    return names


def _numbered(cells: Sequence[str]) -> list[str]:
    met = Counter(cells)
    return [f"{cell or '_c'}{at}" if met[cell] > 1 or not cell else cell for at, cell in enumerate(cells)]


def _head(spark: SparkSession, file: Input) -> str:
    if file.is_local and (head := read_head(file)):
        return head
    # Elsewhere, or compressed so that only Spark can read it.
    return "".join(f"{row['value']}\n" for row in spark.read.text(file.address).take(2))
