"""CSV with a header: columns are read as strings, and detectors decide their types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from schemactl.engine.csv_faults import CsvFaults, find_csv_faults, key_of, walk_faults
from schemactl.engine.csv_header import CsvHeader
from schemactl.engine.csv_tables import CsvTable, numbered_cells, read_csv_tables
from schemactl.engine.input import Input, read_head, shown_path
from schemactl.engine.spark.batches import Documents
from schemactl.engine.spark.places import place_columns
from schemactl.engine.spark.reading.files import read_csv, split_inputs
from schemactl.engine.spark.reading.rows import rows_as_documents
from schemactl.engine.spark.reading.texts import read_lines
from schemactl.kernel.csv_rows import IGNORED, KEY_CHARACTERS, fault_text


def read(spark: SparkSession, inputs: Sequence[Input], separator: str | None = None) -> Iterator[Documents]:
    """Yield the rows of the files, grouped by header.

    A row may end early. A row with too many cells is bad, and so is a row with a quote that does not close, including
    all rows that it contains.
    """
    find_faults = partial(_find_faults, spark)
    for table in read_csv_tables(inputs, separator, partial(_head, spark), find_faults):
        for file, cell in table.broken_headers.items():
            # Nothing in a file whose header goes on and on has a name: it is one bad record.
            lines = spark.read.text(file.address)
            lines = lines.select(*place_columns(lines), F.lit(fault_text(cell)).alias("text"))
            yield Documents(lines.limit(1))
        if not table.files:
            continue
        near, far = split_inputs(spark, table.files)
        for layout, files in table.layouts(near):
            yield replace(read_csv(spark, files, layout, table.starts), gaps=table.gaps)
        if far:
            yield from _read_by_spark(spark, table, far)


def _read_by_spark(spark: SparkSession, table: CsvTable, files: Sequence[Input]) -> Iterator[Documents]:
    options = _options(table.header, files[0].encoding)
    cells, names = table.header.cells(), table.names()
    # Else Spark refuses the header.
    if not (table.header.sets_separator or table.header.is_record) and len(set(numbered_cells(cells))) >= len(cells):
        names = list(spark.read.options(**options).csv(files[0].address).columns)
    if names:
        table.warn_of_renamed(names, files)
        is_header_read = table.header.sets_separator and not table.header.is_record
        yield _read_rows(spark, files, options, names, cells if is_header_read else None, table.faults)


def _find_faults(spark: SparkSession, file: Input, header: CsvHeader) -> dict[str, CsvFaults]:
    """Return the faults of a file by its path; for a folder of an object store, the faults of each of its files.

    If a file is remote, or only Spark can decompress it, only the number of quotes is checked.
    """
    if file.is_readable_here:
        return {file.path: find_csv_faults(file, header)}
    (lines,) = read_lines(spark, [file])
    quotes = F.length("text") - F.length(F.translate("text", '"', ""))
    odd = lines.groupBy("file").agg(F.sum(quotes).alias("quotes")).where("quotes % 2 = 1").collect()
    faults = {}
    for uri, path in ((row["file"], shown_path(row["file"])) for row in odd):
        rows = lines.where(F.col("file") == uri).orderBy("block", "id").select("text").toLocalIterator()
        faults[path] = walk_faults((row["text"] for row in rows), path, header)
    return faults


def _options(header: CsvHeader, encoding: str) -> dict[str, str | bool]:
    # A quoted cell may hold line breaks, which only a reader of whole files sees.
    options: dict[str, str | bool] = {
        "header": header.sets_separator or not header.is_record, "sep": header.separator,
        "multiLine": True, "encoding": encoding,
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
    """Return the rows, without ``header`` if Spark skips the line before it instead."""
    # By number: names may be anything, even Spark's names for the position of a row.
    columns = [f"_{index}" for index in range(len(names) + 1)]
    schema = StructType([StructField(name, StringType()) for name in columns])
    rows = spark.read.options(**options).schema(schema).csv([file.address for file in files])
    if header is not None:
        is_header = F.lit(True)
        for index, cell in enumerate(header):
            is_header &= F.coalesce(F.col(f"_{index}"), F.lit("")) == cell
        rows = rows.where(~is_header)
    cells = dict(zip(names, columns, strict=False))
    surplus = F.expr(f"concat('more cells than columns: ', concat_ws(', ', {', '.join(columns)}))")
    fault = F.when(F.col(columns[-1]).isNotNull(), surplus)
    if any(file_faults.broken for file_faults in faults.values()):
        fault = F.coalesce(_broken(rows, faults, columns), fault)
    gaps = {path: file_faults.gaps for path, file_faults in faults.items()}
    return replace(rows_as_documents(rows, cells, fault), gaps=gaps)


def _broken(rows: DataFrame, faults: Mapping[str, CsvFaults], columns: Sequence[str]) -> Column:
    """Return the words for a row with a quote that does not close, null for other rows."""
    # Spark has two spellings of a place on this machine, and reports that of each row in the short one.
    uris = {shown_path(uri): re.sub(r"^file:/+", "file:/", uri) for uri in rows.inputFiles()}
    by_place = {
        f"{uris[path]} {cell.index} {key_of(cell)}": fault_text(cell)
        for path, file_faults in faults.items()
        for cell in file_faults.broken
    }
    broken_in = sorted(
        {cell.index for file_faults in faults.values() for cell in file_faults.broken if cell.index < len(columns)}
    )
    # As one text: each literal that is made from here is a call to Java.
    by_key = F.from_json(F.lit(json.dumps(by_place)), "map<string,string>")
    return F.coalesce(
        F.lit(None).cast("string"),
        *(
            F.try_element_at(
                by_key, F.concat(F.col("_metadata.file_path"), F.lit(f" {index} "), key_column(columns[index]))
            )
            for index in broken_in
        ),
    )


def key_column(value: str) -> Column:
    """Return the same as ``csv_faults.key_of`` for the values of a column as Spark reads them."""
    bare = F.translate(value, IGNORED, "")
    return F.concat(F.length(bare), F.lit(":"), F.substring(bare, 1, KEY_CHARACTERS))


def _head(spark: SparkSession, file: Input) -> str:
    if file.is_local and (head := read_head(file)):
        return head
    # Elsewhere, or compressed so that only Spark can read it.
    return "".join(f"{row['value']}\n" for row in spark.read.text(file.address).take(2))
