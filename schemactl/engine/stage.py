"""Stages the documents of a load: parsed once, cut to what the plan takes, written as Parquet that tables are made of.

The Parquet files have the columns ``file`` (as people are shown it), ``number`` (of the record in the file, from 1),
``key`` (of the document's row, null where it depends on values of the row), ``doc``, and, where ``doc`` does not hold
them, ``texts`` of what is kept as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.document_items import document_item
from schemactl.engine.input_formats import FILE, Numbering, Typed
from schemactl.engine.inputs import shown_path
from schemactl.engine.items import Form, Item, struct_sql
from schemactl.engine.large_integers import unmarked_json
from schemactl.engine.parse import is_blank
from schemactl.engine.row_keys import content_hash, marked, random_key
from schemactl.engine.survey import Progress, Reading, Survey
from schemactl.engine.typed_items import staged_sql, typed_item
from schemactl.engine.uses import Use, uses_of
from schemactl.engine.walk import literal
from schemactl.normalization.plan import Plan, RowKey

STAGED_COLUMNS: Final = ("file", "number", "key", "doc")


@dataclass(frozen=True, slots=True)
class Staged:
    """One batch of documents as it is staged.

    Attributes:
        folder: of Parquet files.
        item: what ``doc`` is.
    """

    folder: Path
    item: Item


def stage(
    spark: SparkSession,
    survey: Survey,
    plan: Plan,
    load_id: str,
    folder: Path,
    progress: Progress = lambda *_: None,
) -> tuple[Staged, ...]:
    """Write what ``plan`` takes of all documents into ``folder``.

    Args:
        spark: the session of the survey.
        survey: of all documents; the plan is for what they can hold.
        plan: of the load.
        load_id: of the load.
        folder: a folder of its own, which Spark's workers can write to.
        progress: told each batch.
    """
    prepare_parquet(spark)
    uses = uses_of(plan)
    batches = [_reading_frame(spark, each, uses, plan, load_id) for each in survey.readings]
    batches += [_typed_frame(spark, each, uses, plan, load_id) for each in survey.typed]
    staged: list[Staged] = []
    for number, (frame, item) in enumerate(batches):
        progress("staging documents", number / len(batches))
        batch = Staged(folder / f"batch-{number}", item)
        frame.write.option("compression", "lz4").parquet(batch.folder.as_uri())
        staged.append(batch)
    return tuple(staged)


def prepare_parquet(spark: SparkSession) -> None:
    """Set how the session writes Parquet: timestamps that others can read, times of day, plain VARIANTs."""
    settings = {
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.variant.writeShredding.enabled": "false",
        "spark.sql.timeType.enabled": "true",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)


def _reading_frame(
    spark: SparkSession, reading: Reading, uses: Use, plan: Plan, load_id: str
) -> tuple[DataFrame, Item]:
    item = document_item(reading.shape, uses, reading.is_marked)
    texts = reading.texts.where(~F.coalesce(is_blank(F.col("text")), F.lit(True)))
    placed = _placed(spark, texts, reading.places.offsets)
    text = unmarked_json(F.col("text")) if reading.is_marked else F.col("text")
    key = _document_key(plan, load_id, text, F.col("file"), F.col("number"))
    beside = (_document(item.texts).alias("texts"),) if item.texts is not None else ()
    return placed.select("file", "number", key.alias("key"), _document(item).alias("doc"), *beside), item


def _document(item: Item) -> Column:
    if isinstance(item.source, T.StructType):
        parsed = F.from_json("text", item.source)
    else:
        # A scalar or a list is read as part of an object.
        root = T.StructType([T.StructField("document", item.source)])
        parsed = F.from_json(F.concat(F.lit('{"document":'), "text", F.lit("}")), root)["document"]
    return parsed if item.type == item.source else parsed.cast(item.type)


def _typed_frame(spark: SparkSession, batch: Typed, uses: Use, plan: Plan, load_id: str) -> tuple[DataFrame, Item]:
    columns = [column for column in batch.frame.schema.fields if column.name != FILE]
    item = typed_item(T.StructType(columns), uses)
    row = f"struct({', '.join(_quoted(column.name) for column in columns)})"
    text = f"to_json({row}, map('ignoreNullFields', 'false'))"
    if item.form is Form.OBJECT:
        document = struct_sql(item, (staged_sql(inner, _quoted(key)) for key, inner in item.fields.items()))
    else:
        document = text
    placed = _numbered(spark, batch)
    key = _document_key(plan, load_id, _hashed_row(columns), F.col(_SHOWN), F.col(_NUMBER))
    made = (F.col(_SHOWN), F.col(_NUMBER), key, F.expr(document))
    return placed.select(*made).toDF(*STAGED_COLUMNS), item


def _hashed_row(columns: Sequence[T.StructField]) -> Column:
    """Return a row of a source that states its types as the JSON text that its key is made of."""
    values = (f"{literal(each.name)}, {marked(each.dataType, _quoted(each.name))}" for each in columns)
    return F.expr(f"to_json(named_struct({', '.join(values)}), map('ignoreNullFields', 'false'))")


def _document_key(plan: Plan, load_id: str, text: Column, file: Column, number: Column) -> Column:
    match plan.rows.key:
        case RowKey.RANDOM:
            return random_key(load_id, plan.rows.table, file, number)
        case RowKey.CONTENT:
            # dlt wraps what is no object before it looks at it.
            wrapped = F.concat(F.lit('{"value":'), text, F.lit("}"))
            return content_hash(F.when(F.ltrim(text).startswith("{"), text).otherwise(wrapped))
        case _:
            return F.lit(None).cast("string")


# --- where records stand ---

_BLOCK, _ID = "__schemactl_block", "__schemactl_id"
_SHOWN, _NUMBER = "__schemactl_shown", "__schemactl_number"


def shown(file: Column) -> Column:
    """Return what ``inputs.shown_path`` gives for Spark's addresses of files."""
    # Unlike forms of browsers, addresses of files have no plus for a blank.
    path = F.try_url_decode(F.replace(F.regexp_replace(file, "^file:/*", "/"), F.lit("+"), F.lit("%2B")))
    here = f"{Path.cwd()}/"
    near = F.when(path.startswith(here), F.substring(path, len(here) + 1, 2**31 - 1)).otherwise(path)
    return F.when(file.startswith("file:"), near).otherwise(file)


def _placed(spark: SparkSession, texts: DataFrame, offsets: Mapping[tuple[str, int], int]) -> DataFrame:
    """Return the texts with the number of their record, and the name of their file for people."""
    offset = _offset_frame(spark, offsets, ("file", "block", "offset", "shown"))
    joined = texts.join(F.broadcast(offset), ["file", "block"])
    return joined.select(F.col("shown").alias("file"), (F.col("offset") + F.col("id")).alias("number"), "text")


def _offset_frame(spark: SparkSession, offsets: Mapping[tuple[str, int], int], names: Sequence[str]) -> DataFrame:
    """Return file, block, offset and the file's name for people, a row for each block."""
    import pyarrow as pa

    files, blocks = [file for file, _ in offsets], [block for _, block in offsets]
    shown = {file: shown_path(file) for file in files}
    columns = (
        pa.array(files, pa.string()),
        pa.array(blocks, pa.int64()),
        pa.array(offsets.values(), pa.int64()),
        pa.array([shown[file] for file in files], pa.string()),
    )
    return spark.createDataFrame(pa.table(columns, names=list(names)))


def _numbered(spark: SparkSession, batch: Typed) -> DataFrame:
    """Return rows with their number in the file: the format's own where it has one, else as they are read."""
    frame = batch.frame
    if batch.numbering is Numbering.ROW:
        number = (F.col(batch.numbering) + 1).alias(_NUMBER)
        return frame.select("*", shown(F.col(FILE)).alias(_SHOWN), number)
    block = F.col(batch.numbering) if batch.numbering is Numbering.BLOCK else F.spark_partition_id()
    read = frame.select("*", block.cast("bigint").alias(_BLOCK), F.monotonically_increasing_id().alias(_ID))
    blocks = read.groupBy(FILE, _BLOCK).agg(F.count("*").alias("rows"), F.min(_ID).alias("first")).collect()
    offsets: dict[tuple[str, int], int] = {}
    before: dict[str, int] = {}
    for file_name, number, rows, first in sorted(tuple(row) for row in blocks):
        offsets[file_name, number] = before.get(file_name, 0) - first + 1
        before[file_name] = before.get(file_name, 0) + rows
    offset = _offset_frame(spark, offsets, (FILE, _BLOCK, "__schemactl_offset", _SHOWN))
    joined = read.join(F.broadcast(offset), [FILE, _BLOCK])
    return joined.select("*", (F.col("__schemactl_offset") + F.col(_ID)).alias(_NUMBER))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
