from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from schemactl.engine.input import Input
from schemactl.engine.spark.session.failure import (
    LONGEST_MESSAGE,
    explain_failure,
    explain_start,
    is_spark_failure,
    reading,
    shorten,
)
from schemactl.errors import EngineError, InputError


class JavaError(Exception):
    """Stands for an exception of py4j or PySpark: what counts is its text."""


KNOWN = {
    "[PATH_NOT_FOUND] Path does not exist: file:/data/a b.jsonl. SQLSTATE: 42K03": (
        InputError,
        "there is no `/data/a b.jsonl`",
    ),
    "x: java.io.FileNotFoundException: /data/a.txt (Permission denied)": (
        InputError,
        "no permission to read `/data/a.txt`",
    ),
    "x: java.io.FileNotFoundException: File file:/data/a.txt does not exist": (
        InputError,
        "there is no `/data/a.txt`",
    ),
    'No FileSystem for scheme "foo"': (InputError, "Spark cannot read `foo://` paths"),
    "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found": (
        InputError,
        "Spark cannot read `s3a://` paths",
    ),
    "java.lang.OutOfMemoryError: Java heap space": (EngineError, "Spark ran out of memory"),
    "java.io.IOException: No space left on device": (
        EngineError,
        "the disk with Spark's files and the rows of the load is full",
    ),
    "java.net.UnknownHostException: nowhere.example": (
        EngineError,
        "unknown host `nowhere.example`",
    ),
    "ModuleNotFoundError: No module named 'pandas'": (
        EngineError,
        "Spark's Python workers do not have the module `pandas`",
    ),
    "FileNotFoundError: this machine does not reach the staging folder file:///far/away\n": (
        EngineError,
        "a worker does not reach the folder `/far/away`",
    ),
    "x: Illegal Parquet type: INT32 (TIME(MILLIS,false)).\n\tat a.b": (
        InputError,
        "a Parquet file has a column of a type that Spark does not read: INT32 (TIME(MILLIS,false))",
    ),
    "[DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION] Decimal precision 60 exceeds max precision 38. SQLSTATE: 22003": (
        InputError,
        "a column is a decimal of 60 digits: Spark reads no more than 38",
    ),
    "x: org.apache.spark.SparkException: [CANNOT_MERGE_SCHEMAS] Failed merging schemas:\nInitial schema:": (
        InputError,
        "the files declare incompatible types for a column",
    ),
    "UnreadableFileError: file:///data/a.json: document 3 has 300 MB, and no more\n\tat a.b": (
        InputError,
        "document 3 has 300 MB, and no more",
    ),
    "files.UnreadableFileError: UnreadableFileError: file:///data/a.json: the file cannot be read: it is gone\n": (
        InputError,
        "the file cannot be read: it is gone",
    ),
    "[PARQUET_TYPE_NOT_SUPPORTED] Parquet type not yet supported: FIXED_LEN_BYTE_ARRAY (INTERVAL). SQLSTATE: 42846": (
        InputError,
        "a Parquet file has a column of a type that Spark does not read: FIXED_LEN_BYTE_ARRAY (INTERVAL)",
    ),
    "[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`b` cannot be found.": (
        InputError,
        "there is no table `a`.`b`",
    ),
}


@pytest.mark.parametrize("text", KNOWN)
def test_a_known_failure_is_reported_in_our_words(text: str) -> None:
    explained = explain_failure(JavaError(text))
    assert (type(explained), explained.message) == KNOWN[text]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('No FileSystem for scheme "s3"', "write `s3a://`"),
        ("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "hadoop-aws:"),
        ("x: Class org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem not found", "hadoop-azure:"),
        ('No FileSystem for scheme "gs"', "GROUP:NAME:VERSION"),
    ],
)
def test_a_store_that_spark_lacks_is_reported_with_the_package_that_has_it(text: str, hint: str) -> None:
    assert hint in (explain_failure(JavaError(text)).hint or "")


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        ("java.io.EOFException: Unexpected end of input stream", "the compressed file ends too early"),
        ("java.io.IOException: incorrect header check", "the file cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_as_the_user_named_it(cause: str, message: str) -> None:
    uri = f"{Path.cwd().as_uri()}/my%20data/%C3%A9.jsonl.gz"
    text = f"[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {uri}. SQLSTATE: KD001\nCaused by: {cause}"
    explained = explain_failure(JavaError(text))
    assert str(explained) == f"my data/é.jsonl.gz: {message}"


def test_a_failure_is_known_by_its_cause_too() -> None:
    error = JavaError("Job aborted")
    error.__cause__ = JavaError("java.io.IOException: No space left on device")
    assert explain_failure(error).message == "the disk with Spark's files and the rows of the load is full"


def test_an_unknown_failure_is_one_line_without_a_stack(tmp_path: Path) -> None:
    text = "An error occurred while calling o31.collect.\n: org.apache.SparkException: it broke\n\tat a.b\n"
    explained = explain_failure(JavaError(text), tmp_path / "spark.log")
    assert explained.message == "Spark failed: it broke"
    assert explained.hint == f"Spark's log: {tmp_path / 'spark.log'}"


def test_a_dead_java_is_explained_by_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text("WARN x\nTerminating due to java.lang.OutOfMemoryError: Java heap space\n")
    explained = explain_failure(ConnectionRefusedError(111, "Connection refused"), log)
    assert explained.message == "Spark ran out of memory"
    assert "spark.driver.memory" in (explained.hint or "")
    assert str(log) in (explained.hint or "")


def test_a_failure_says_what_was_read(tmp_path: Path) -> None:
    inputs = [Input(f"{name}.jsonl", "ndjson") for name in "abc"]
    with pytest.raises(ConnectionRefusedError) as caught, reading(inputs):
        raise ConnectionRefusedError(111, "Connection refused")
    log = tmp_path / "spark.log"
    log.write_text("Terminating due to java.lang.OutOfMemoryError: Java heap space\n")
    assert explain_failure(caught.value, log).message == "Spark ran out of memory while it read `a.jsonl` and 2 more"
    worker = ConnectionRefusedError(111, "MemoryError")
    with pytest.raises(ConnectionRefusedError), reading(inputs[:1]):
        raise worker
    said = "a Python worker of Spark ended, most likely as memory ran out while it read `a.jsonl`"
    assert explain_failure(worker).message == said
    with pytest.raises(KeyError) as caught, reading(inputs):
        raise KeyError("ours")
    assert not hasattr(caught.value, "__notes__")


def test_a_dead_java_without_a_reason_is_reported_as_such(tmp_path: Path) -> None:
    explained = explain_failure(ConnectionRefusedError(111, "Connection refused"), tmp_path / "absent")
    assert explained.message == "Spark's Java process ended unexpectedly"


def test_an_error_of_our_own_stays_as_it_is() -> None:
    error = InputError("wrong")
    assert explain_failure(error) is error


def test_only_what_comes_from_spark_is_its_failure() -> None:
    from py4j.protocol import Py4JNetworkError
    from pyspark.errors import PySparkValueError

    assert is_spark_failure(Py4JNetworkError("x"))
    assert is_spark_failure(PySparkValueError("x"))
    assert not is_spark_failure(KeyError("x"))
    assert not is_spark_failure(FileNotFoundError("x"))


def test_a_message_is_cut_to_a_bearable_length() -> None:
    assert len(shorten("x" * 10_000)) == LONGEST_MESSAGE
    assert shorten("") == "no reason given"
    assert shorten("[A.B] words. SQLSTATE: 42K03\n== x ==") == "words."


UNRESOLVED = (
    'Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: a.b#c_2.13;1.0: not found]\n'
)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (
            f"\tHost repo.example not found. url=https://repo.example/c.pom\n{UNRESOLVED}\tat a.b\n",
            "Spark cannot fetch the package `a.b:c_2.13:1.0`: unknown host `repo.example`",
        ),
        (
            f"Server access error at url https://repo.example\n{UNRESOLVED}",
            "Spark cannot fetch the package `a.b:c_2.13:1.0`: no repository answers",
        ),
        (f":: loading settings\n{UNRESOLVED}", "no repository has the package `a.b:c_2.13:1.0`"),
        (
            "Error occurred during initialization of VM\nInitial heap size set to a larger value than the maximum\n",
            "it ended: Initial heap size set to a larger value than the maximum",
        ),
        ("Error: Could not find or load main class x\n", "it ended: Could not find or load main class x"),
        ("WARN nothing\n", "it ended"),
        (None, "it ended"),
    ],
)
def test_a_java_that_does_not_start_is_reported_by_its_log(log: str | None, message: str, tmp_path: Path) -> None:
    if log is not None:
        (tmp_path / "spark.log").write_text(log)

    explained = explain_start("it ended", tmp_path / "spark.log")

    assert (type(explained), explained.message) == (EngineError, message)
    assert str(tmp_path / "spark.log") in (explained.hint or "")
    assert ("spark.jars" in (explained.hint or "")) == ("package" in message)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_is_full_where_rows_are_written_here_is_no_fault_of_ours(number: int) -> None:
    error = OSError(number, os.strerror(number))
    assert is_spark_failure(error)
    found = explain_failure(error)
    assert isinstance(found, EngineError)
    assert "is full" in found.message
    assert "--staging" in str(found.hint)
    assert not is_spark_failure(OSError(errno.EACCES, "denied"))
