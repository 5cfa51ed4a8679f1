"""Stages the documents of a load: parsed once, cut to what the plan takes, kept on disk for the tables made of them.

What is staged has the columns ``file`` (as people are shown it), ``number`` (of the record in the file, from 1),
``key`` (of the document's row, null where it depends on values of the row), ``doc``, and, where ``doc`` does not hold
them, ``texts`` of what is kept as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.document_items import document_item
from schemactl.engine.input_formats import FILE, Numbering, Typed
from schemactl.engine.inputs import shown_path
from schemactl.engine.items import Form, Item, struct_sql
from schemactl.engine.large_integers import unmarked_json
from schemactl.engine.parse import is_blank
from schemactl.engine.row_keys import content_hash, marked, random_key
from schemactl.engine.sql import literal, quoted
from schemactl.engine.survey import Places, Progress, Reading, Survey
from schemactl.engine.typed_items import staged_sql, typed_item
from schemactl.engine.uses import Use, uses_of
from schemactl.normalization.plan import Plan, RowKey

_ONE_PROCESS: Final = re.compile(r"local(\[|$)")
"""Spark's masters that have no executors beside the driver."""

STAGED_COLUMNS: Final = ("file", "number", "key", "doc")


@dataclass(frozen=True, slots=True)
class Staged:
    """One batch of documents as it is staged.

    Attributes:
        frame: reads it; it is not made again.
        item: what ``doc`` is.
    """

    frame: DataFrame
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
    batches: tuple[Reading | Typed, ...] = (*survey.readings, *survey.typed)
    staged: list[Staged] = []
    for number, batch in enumerate(batches):
        progress("staging documents", number / len(batches))
        at = folder / f"batch-{number}"
        if isinstance(batch, Typed):
            frame, item = _typed_frame(spark, batch, uses, plan, load_id)
            staged.append(Staged(_keep(frame, at), item))
        else:
            staged.append(_stage_reading(batch, uses, plan, load_id, at))
    return tuple(staged)


def _keep(frame: DataFrame, folder: Path) -> DataFrame:
    """Return the rows as they are kept, in ``folder`` where Spark has several processes."""
    spark = frame.sparkSession
    if _ONE_PROCESS.match(spark.conf.get("spark.master", "") or ""):
        # To keep blocks takes half the time of Parquet; a cluster that loses a process would lose them with it.
        return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    frame.write.option("compression", "lz4").parquet(folder.as_uri())
    return spark.read.parquet(folder.as_uri())


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


def _stage_reading(reading: Reading, uses: Use, plan: Plan, load_id: str, folder: Path) -> Staged:
    item = document_item(reading.shape, uses, reading.is_marked)
    if _is_parsed(reading, item, plan):
        observation = Observation()
        frame = _parsed_frame(reading, item, plan, load_id).observe(observation, F.count("*").alias("documents"))
        kept = _keep(frame, folder / "parsed")
        if observation.get["documents"] == reading.places.documents:
            return Staged(kept, item)
    return Staged(_keep(_text_frame(reading, item, plan, load_id), folder / "texts"), item)


def _is_parsed(reading: Reading, item: Item, plan: Plan) -> bool:
    """Return whether Spark's own reader gives the documents as ``from_json`` does, unless it leaves some out."""
    return (
        reading.parsed is not None
        and isinstance(item.source, T.StructType)
        and not _keeps_json(item)
        and plan.rows.key is not RowKey.CONTENT
        and len(reading.places.blocks) <= _MOST_BLOCKS
    )


def _keeps_json(item: Item) -> bool:
    """Return whether JSON is read as text, which the reader gives as it is written and ``from_json`` without blanks."""
    is_text = item.is_kept or item.texts is not None or item.form is Form.NESTED
    inner = (*item.fields.values(), *([item.element] if item.element is not None else []))
    return is_text or any(map(_keeps_json, inner))


def _parsed_frame(reading: Reading, item: Item, plan: Plan, load_id: str) -> DataFrame:
    assert reading.parsed is not None
    assert isinstance(item.source, T.StructType)
    placed = _numbered_by_task(reading.parsed(item.source), reading.places)
    document = F.col("document")
    key = _document_key(plan, load_id, F.lit(None), F.col("file"), F.col("number"))
    doc = document if item.type == item.source else document.cast(item.type)
    return placed.select("file", "number", key.alias("key"), doc.alias("doc"))


def _text_frame(reading: Reading, item: Item, plan: Plan, load_id: str) -> DataFrame:
    texts = reading.texts.where(~F.coalesce(is_blank(F.col("text")), F.lit(True)))
    placed = _placed(texts, reading.places.offsets)
    text = unmarked_json(F.col("text")) if reading.is_marked else F.col("text")
    key = _document_key(plan, load_id, text, F.col("file"), F.col("number"))
    beside = (_document(item.texts).alias("texts"),) if item.texts is not None else ()
    return placed.select("file", "number", key.alias("key"), _document(item).alias("doc"), *beside)


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
    row = f"struct({', '.join(quoted(column.name) for column in columns)})"
    text = f"to_json({row}, map('ignoreNullFields', 'false'))"
    if item.form is Form.OBJECT:
        document = struct_sql(item, (staged_sql(inner, quoted(key)) for key, inner in item.fields.items()))
    else:
        document = text
    placed = _numbered(spark, batch)
    key = _document_key(plan, load_id, _hashed_row(columns), F.col(_SHOWN), F.col(_NUMBER))
    made = (F.col(_SHOWN), F.col(_NUMBER), key, F.expr(document))
    return placed.select(*made).toDF(*STAGED_COLUMNS), item


def _hashed_row(columns: Sequence[T.StructField]) -> Column:
    """Return a row of a source that states its types as the JSON text that its key is made of."""
    values = (f"{literal(each.name)}, {marked(each.dataType, quoted(each.name))}" for each in columns)
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

_TASK_BITS: Final = 33
"""Of an id of Spark's, how many follow the task's number."""
_BLOCK_TYPE: Final = "struct<first: bigint, offset: bigint, file: string>"
_MOST_BLOCKS: Final = 10_000
"""That are named in an expression."""

_BLOCK, _ID = "__schemactl_block", "__schemactl_id"
_SHOWN, _NUMBER = "__schemactl_shown", "__schemactl_number"


def shown(file: Column) -> Column:
    """Return what ``inputs.shown_path`` gives for Spark's addresses of files."""
    # Unlike forms of browsers, addresses of files have no plus for a blank.
    path = F.try_url_decode(F.replace(F.regexp_replace(file, "^file:/*", "/"), F.lit("+"), F.lit("%2B")))
    here = f"{Path.cwd()}/"
    near = F.when(path.startswith(here), F.substring(path, len(here) + 1, 2**31 - 1)).otherwise(path)
    return F.when(file.startswith("file:"), near).otherwise(file)


def _placed(records: DataFrame, offsets: Mapping[tuple[str, int], int]) -> DataFrame:
    """Return the records with ``number``, and with the name of their ``file`` for people."""
    offset = _offset_frame(records.sparkSession, offsets, ("file", "block", "offset", "shown"))
    joined = records.join(F.broadcast(offset), ["file", "block"])
    number = (F.col("offset") + F.col("id")).alias("number")
    return joined.withColumns({"number": number, "file": F.col("shown")})


def _numbered_by_task(records: DataFrame, places: Places) -> DataFrame:
    """Return the same, told by ``id`` alone, as ``monotonically_increasing_id`` makes it."""
    tasks: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(places.blocks, key=lambda row: row.first_id):
        begun = {"first": row.first_id, "offset": places.offsets[row.file, row.block], "file": shown_path(row.file)}
        tasks.setdefault(row.first_id >> _TASK_BITS, []).append(begun)
    listed = [tasks.get(task, []) for task in range(max(tasks) + 1)]
    # A join would look up texts for each record.
    found = f"from_json({literal(json.dumps(listed))}, 'array<array<{_BLOCK_TYPE}>>')[cast(id >> {_TASK_BITS} as int)]"
    block = f"if(size({found}) = 1, {found}[0], element_at(filter({found}, b -> b.first <= id), -1))"
    placed = records.select("id", "document", F.expr(block).alias("block"))
    return placed.selectExpr("block.file as file", "block.offset + id as number", "document")


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
