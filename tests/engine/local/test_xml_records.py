"""Records of XML on this machine: their columns, constructs that Spark alone reads, and bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemactl.engine import xml_elements
from schemactl.engine.inputs import find_inputs
from schemactl.engine.local import xml_batches
from schemactl.engine.protocol import Engine
from schemactl.errors import InputError
from schemactl.kernel.partitions import records_of

pytestmark = pytest.mark.usefixtures("work")


def read(engine: Engine, *texts: str, input_format: str | None = None) -> list[Any]:
    for number, text in enumerate(texts):
        Path(f"{number}.xml").write_text(text)
    inputs = find_inputs([f"{number}.xml" for number in range(len(texts))], input_format)
    tasks = [task for batch in engine.read(inputs) for source in batch.records() for task in source.tasks()]
    return [json.loads(text) for task in tasks for _, _, texts in records_of(task.batches()) for text in texts]


@pytest.mark.parametrize(
    ("record", "document"),
    [
        ("<a/>", {}),
        ("<a><b/></a>", {"b": ""}),
        ("<a> <b> x </b>\n</a>", {"b": "x"}),
        ("<a>x</a>", {"_VALUE": "x"}),
        ('<a k=" 1 ">x</a>', {"_VALUE": "x", "_k": "1"}),
        ('<a><b k="1">x</b></a>', {"b": {"_VALUE": "x", "_k": "1"}}),
        ('<a><b k="1"> </b></a>', {"b": {"_k": "1"}}),
        ("<a>x<b>1</b>y</a>", {"_VALUE": ["x", "y"], "b": "1"}),
        ("<a><b>x<!-- c -->y</b></a>", {"b": {"_VALUE": ["x", "y"]}}),
        ("<a><b>x<![CDATA[ <y> ]]>&amp;</b></a>", {"b": "x <y> &"}),
        ("<a><b>1</b><c>2</c><b>3</b></a>", {"b": ["1", "3"], "c": "2"}),
        ("<a><a><a>1</a></a></a>", {"a": {"a": "1"}}),
        ("<a><b>2</b><B>1</B></a>", {"B": "1", "b": "2"}),
    ],
)
def test_a_record_is_a_document(local_engine: Engine, record: str, document: dict[str, Any]) -> None:
    assert read(local_engine, f"<r>{record}</r>") == [document]


def test_columns_are_those_of_all_records_of_all_files(local_engine: Engine) -> None:
    documents = read(
        local_engine,
        '<r><a><b>1</b><c k="1">x</c></a></r>',
        "<r><a><b>2</b><b/></a><a><c>y</c></a></r>",
    )
    assert documents == [
        {"b": ["1"], "c": {"_VALUE": "x", "_k": "1"}},
        {"b": ["2", ""]},
        {"c": {"_VALUE": "y"}},
    ]


def test_records_of_a_large_file_are_read_in_several_tasks(
    local_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xml_batches, "_MOST_OF_TASK", 10)
    monkeypatch.setattr("schemactl.engine.local.tasks._BATCH_TASK_BYTES", 1)
    records = "".join(f"<a><b>{number}</b></a>" for number in range(20_000))
    Path("a.xml").write_text(f"<r>{records}</r>")
    (batch,) = local_engine.read(find_inputs(["a.xml"]))
    tasks = [task for source in batch.records() for task in source.tasks()]
    assert len(tasks) > 1
    batches = [record_batch for task in tasks for record_batch in task.batches()]
    assert pa.Table.from_batches(batches).num_rows == 20_000
    assert len({record_batch.column("block")[0] for record_batch in batches}) == len(batches)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('<r><a><b k="1"/></a>\n<a><b>x</b></a></r>', "some elements `b` are text", "0.xml:2:8"),
        ('<r><a k="1"><_k>2</_k></a></r>', "`_k` is the name of an element and of another", "0.xml:1:13"),
        ("<r><a><b>x<_VALUE/>y</b></a></r>", "`_VALUE` is the name of an element and of", "0.xml:1:21"),
        ("<!DOCTYPE r [<!ATTLIST a k NMTOKENS #IMPLIED>]><r><a/></r>", "declares the attribute `k`", "0.xml:1:37"),
    ],
)
def test_what_spark_alone_reads_is_refused(local_engine: Engine, text: str, message: str, place: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(local_engine, text)
    assert str(caught.value.at) == place
    assert caught.value.hint == "`--engine spark` reads it"


def test_defaults_of_attributes_in_a_dtd_are_no_data(local_engine: Engine) -> None:
    text = '<!DOCTYPE r [<!ATTLIST a k CDATA "default">]><r><a><b>1</b></a></r>'
    assert read(local_engine, text) == [{"b": "1"}]


def test_elements_that_nest_too_deep_are_refused(local_engine: Engine) -> None:
    with pytest.raises(InputError, match="elements nest deeper than 100 levels") as caught:
        read(local_engine, f"<r>{'<a>' * 200}{'</a>' * 200}</r>")
    assert str(caught.value.at) == f"0.xml:1:{3 + 99 * 3 + 1}"


def test_records_that_memory_cannot_hold_are_refused(local_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_elements, "why_too_large", lambda size: "1 MB of memory" if size > 1 << 20 else None)
    small = f"<r>{'<a><b>1</b></a>' * 100_000}</r>"
    assert len(read(local_engine, small)) == 100_000
    with pytest.raises(InputError, match="a record has more than 1 MB"):
        read(local_engine, small, input_format="xml:r")


def test_a_file_that_changes_after_the_first_look_is_reported(local_engine: Engine) -> None:
    Path("a.xml").write_text("<r><a><b>1</b></a></r>")
    (batch,) = local_engine.read(find_inputs(["a.xml"]))
    Path("a.xml").write_text("<r><a>")
    with pytest.raises(InputError, match="this is not XML: no element found") as caught:
        local_engine.run(batch.records(), "schemactl.kernel.partitions", "count_partition")
    assert str(caught.value.at) == "a.xml"
