"""XML before Spark reads it: which elements are records, and what is wrong with a file; all of it without Spark."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from schemactl.engine.inputs import find_inputs
from schemactl.engine.xml_elements import XmlElements
from schemactl.errors import InputError
from schemactl.flows.evolution import holds_texts

pytestmark = pytest.mark.usefixtures("work")

TWO = "<export>\n<book><t>a</t></book>\n<cd><t>b</t></cd>\n<cd><t>c</t></cd>\n</export>"


def record_tag(text: str | bytes, input_format: str | None = None, name: str = "a.xml") -> str:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    (found,) = find_inputs([name], input_format)
    return XmlElements(found).record_tag()


def refused(text: str | bytes, input_format: str | None = None, name: str = "a.xml") -> InputError:
    with pytest.raises(InputError) as caught:
        record_tag(text, input_format, name)
    return caught.value


def test_the_elements_of_one_name_are_records() -> None:
    assert record_tag("<export>\n<!-- a --><book/><book><cd/></book></export>") == "book"
    assert record_tag(gzip.compress(b"<a><b/></a>"), name="a.xml.gz") == "b"


def test_elements_of_several_names_are_refused_with_their_counts_and_places() -> None:
    error = refused(TWO)
    assert [str(each) for each in error.problems] == [
        "a.xml:2:1: 1 element `book`, first here",
        "a.xml:3:1: 2 elements `cd`, first here",
    ]
    assert "`--input-format xml:cd`" in str(error.hint)
    assert "`--input-format xml:export`" in str(error.hint)


def test_of_many_names_the_first_are_shown() -> None:
    error = refused(f"<a>{''.join(f'<b{n}/>' for n in range(9))}</a>")
    assert len(error.problems) == 6
    assert str(error.problems[-1]) == "a.xml: and 4 more names"


@pytest.mark.parametrize("tag", ["book", "cd", "export", "t"])
def test_a_call_names_the_records(tag: str) -> None:
    assert record_tag(TWO, f"xml:{tag}") == tag


def test_an_element_that_is_not_there_is_refused() -> None:
    assert refused(TWO, "xml:boek").hint == "did you mean `book`?"
    assert "names no element" in refused(TWO, "xml:").message


def test_values_of_named_records_are_texts() -> None:
    assert holds_texts(["export"], "xml:book")


def test_a_fault_at_the_end_of_a_long_file_has_its_place() -> None:
    text = "<r>\n" + "<a><n>12345678</n></a>\n" * 80_000 + "<a><n>1</m></a>\n</r>"
    error = refused(text)
    assert str(error) == "a.xml:80002:10: this is not XML: mismatched tag"


def test_what_is_not_utf_8_late_in_a_file_has_its_line() -> None:
    text = b"<r>\n" + b"<a><n>12345678</n></a>\n" * 80_000 + b"<a><n>\xe9</n></a>\n</r>"
    error = refused(text)
    assert error.message == "the file is not UTF-8"
    assert str(error.at) == "a.xml:80002"


@pytest.mark.parametrize("declared", ['<!ENTITY co "ACME">', '<!ENTITY co SYSTEM "file:///etc/passwd">'])
def test_entities_of_a_file_are_refused(declared: str) -> None:
    error = refused(f"<!DOCTYPE r [\n{declared}\n]>\n<r><a><n>&co;</n></a></r>")
    assert error.message == "the file defines an XML entity, `co`"
    assert error.at is not None
    assert error.at.line == 2


def test_an_entity_of_another_file_is_refused_where_it_is_used() -> None:
    error = refused('<!DOCTYPE r SYSTEM "r.dtd">\n<r><a><n>&co;</n></a></r>')
    assert str(error) == "a.xml:2:10: the file defines an XML entity, `co`"


def test_a_compressed_file_that_breaks_off_is_refused() -> None:
    packed = gzip.compress(TWO.encode())
    assert refused(packed[:-12], name="a.xml.gz").message == "the compressed file ends too early"


def test_a_compression_that_only_spark_knows_is_refused() -> None:
    assert "`.gz`, `.bz2`" in refused(b"anything", name="a.xml.snappy").message
