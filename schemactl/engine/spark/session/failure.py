"""Translate exceptions of Spark, py4j and gRPC into errors that a user can act upon: one line, no stack.

A new kind of failure is one more entry in the table.
"""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemactl.engine.input import Input, shown_path
from schemactl.errors import DestinationError, EngineError, InputError, Location, SchemactlError
from schemactl.examples import shown_error

LONGEST_MESSAGE = 300
_LOG_TAIL_BYTES = 64 * 1024
_MEMORY = (
    "split large records or files (JSON Lines files are read in pieces), "
    "or add driver memory: `--conf spark.driver.memory=8g`"
)
_PACKAGE = "add its package: `--conf spark.jars.packages=GROUP:NAME:VERSION`"
_HADOOP = (
    "add its package: `--conf spark.jars.packages=org.apache.hadoop:{}:VERSION`, "
    "VERSION as in the name of Spark's `hadoop-client-api` jar"
)
_JARS = "pass its jars themselves: `--conf spark.jars=FILE.jar,FILE.jar`"
_UNRESOLVED = r"unresolved dependency: ([^#\s]+)#([^;\s]+);(\S+): not found"
_UNREADABLE = r"\[FAILED_READ_FILE\.\w+\] Encountered error while reading file (?P<uri>\S+?)\.(?:\s|$)"
_VALUE_ERROR: Final = re.compile(r"\bSQLSTATE: 22")
"""The mark of Spark's errors about values, which quote them."""
_READING: Final = "while it read "
_DENIED = r"(?:AccessControlException|AccessDeniedException|FileNotFoundException): .*?"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of failure: the pattern of its text, the error that it becomes, and a hint.

    `message` may use the groups of the pattern; without a message it is that of Spark. The group `uri` is the file
    at fault.
    """

    pattern: str
    error: type[SchemactlError]
    message: str | None = None
    hint: str | None = None


# The first kind whose pattern matches the text of the error (or, if Java has died, the end of its log) applies.
# fmt: off
_KINDS = (
    _Kind(r"UnreadableFileError: (?P<uri>file:\S+?): ((?:a document|document [\d,]+) has .+)", InputError, r"\2",
          "split the document: a list or a JSON Lines file can have any size"),
    # A worker's traceback names the class twice.
    _Kind(r"UnreadableFileError: (?P<uri>(?!UnreadableFileError)\S+?): (.+)", InputError, r"\2"),
    _Kind(r"OutOfMemoryError", EngineError, "Spark ran out of memory", _MEMORY),
    _Kind(r"this machine does not reach the staging folder (?:file://)?(\S+)", EngineError,
          r"a worker does not reach the folder `\1`", "use a folder that all machines reach: `--staging DIR`"),
    _Kind(r"No space left on device|Disk quota exceeded", EngineError,
          "the disk with Spark's files and the rows of the load is full",
          "name a folder on another disk: TMPDIR, or `--staging` of a load"),
    _Kind(r"\[PATH_NOT_FOUND\] Path does not exist: (?:file:)?(.+?)\. SQLSTATE", InputError,
          r"there is no `\1`"),
    _Kind(r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view (\S+)", InputError, r"there is no table \1"),
    _Kind(r"\[(?:SCHEMA|CATALOG)_NOT_FOUND\]", InputError),
    _Kind(r"\[DATA_SOURCE_NOT_FOUND\]", InputError, None, _PACKAGE),
    _Kind(r"No FileSystem for scheme \"?(s3n?)\b", InputError, r"Spark cannot read `\1://` paths", "write `s3a://`"),
    _Kind(r"No FileSystem for scheme \"?(\w+)", InputError, r"Spark cannot read `\1://` paths", _PACKAGE),
    _Kind(r"Class org\.apache\.hadoop\.fs\.s3a\.\w+ not found", InputError,
          "Spark cannot read `s3a://` paths", _HADOOP.format("hadoop-aws")),
    _Kind(r"Class org\.apache\.hadoop\.fs\.azurebfs\.\w+ not found", InputError,
          "Spark cannot read `abfss://` paths", _HADOOP.format("hadoop-azure")),
    _Kind(r"Class org\.apache\.hadoop\.fs\.(\w+)\.\w+ not found", InputError,
          r"Spark cannot read `\1://` paths", _PACKAGE),
    _Kind(_DENIED + r"(?:file:)?(/\S+) \(Permission denied", InputError, r"no permission to read `\1`"),
    _Kind(r"AccessControlException|AccessDeniedException|Permission denied", InputError,
          "no permission to read the source"),
    _Kind(r"FileNotFoundException: (?:File )?(?:file:)?(\S+)", InputError, r"there is no `\1`"),
    _Kind(r"\[FAILED_READ_FILE\.FILE_NOT_EXIST\]", InputError),
    _Kind(_UNREADABLE + r"(?s:.*?)(?:EOFException|Unexpected end of input stream)", InputError,
          "the compressed file ends too early"),
    _Kind(_UNREADABLE, InputError, "the file cannot be read"),
    _Kind(r"(?:Illegal Parquet type|Parquet type not yet supported): (.+?)\.(?:\s|$)", InputError,
          r"a Parquet file has a column of a type that Spark does not read: \1",
          "`--engine local` reads it, if the file is on this machine"),
    _Kind(r"\[DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION\] Decimal precision (\d+)", InputError,
          r"a column is a decimal of \1 digits: Spark reads no more than 38"),
    _Kind(r"\[CANNOT_MERGE_SCHEMAS\]", InputError, "the files declare incompatible types for a column",
          "infer from the files one by one"),
    _Kind(r"UnknownHostException: ([^\s:]+)", EngineError, r"unknown host `\1`"),
    _Kind(r"All masters are unresponsive", EngineError, "the Spark master does not answer"),
    _Kind(r"Master removed our application", EngineError, "the cluster cannot run our executors"),
    _Kind(r"StatusCode\.UNAVAILABLE", EngineError, "the Spark Connect server does not answer"),
    _Kind(r"StatusCode\.(?:UNAUTHENTICATED|PERMISSION_DENIED)", InputError,
          "the Spark Connect server refuses the login", "name a token: `sc://HOST:PORT/;token=TOKEN`"),
    _Kind(r"ModuleNotFoundError: No module named '([\w.]+)", EngineError,
          r"Spark's Python workers do not have the module `\1`", "point PYSPARK_PYTHON at a Python that has it"),
    _Kind(r"PYTHON_VERSION_MISMATCH", EngineError, "Spark's Python workers run another version of Python",
          "point PYSPARK_PYTHON at the version that runs schemactl"),
    _Kind(r"MemoryError\b|Python worker exited unexpectedly", EngineError,
          "a Python worker of Spark ended, most likely as memory ran out",
          "run fewer workers with `--master 'local[1]'`, or split large records"),
)
# Kinds of failure in the log of a Java process that ended before Spark ran.
_START_KINDS = (
    _Kind(r"(?s)Host (\S+) not found\. url=.*" + _UNRESOLVED, EngineError,
          r"Spark cannot fetch the package `\2:\3:\4`: unknown host `\1`",
          f"without a network, {_JARS}; or name a repository within reach: `--conf spark.jars.repositories=URL`"),
    _Kind(r"(?s)(?:Server access [Ee]rror|proxy server|Connection (?:timed out|refused)).*" + _UNRESOLVED, EngineError,
          r"Spark cannot fetch the package `\1:\2:\3`: no repository answers",
          f"without a network, {_JARS}; or name a repository within reach: `--conf spark.jars.repositories=URL`"),
    _Kind(_UNRESOLVED, EngineError, r"no repository has the package `\1:\2:\3`",
          "set `spark.jars.packages` to GROUP:NAME:VERSION, and more repositories in `spark.jars.repositories`"),
)
# fmt: on

_LAST_MESSAGE = re.compile(
    r'^(?:Exception in thread "main" |Error: |Error occurred during initialization of VM\n)(.+)', re.MULTILINE
)

# The last alternative is py4j's message for a call without an answer.
_DEAD_JAVA = re.compile(
    r"Answer from Java side is empty|Error while sending or receiving|Connection refused|Connection reset"
    r"|\AAn error occurred while calling \S+\Z"
)


def is_spark_failure(error: BaseException) -> bool:
    """Return whether an exception comes from Spark or the connection to it, and not from our own code."""
    # By name: grpc, which only Spark Connect needs, is not imported for this.
    packages = {"pyspark", "py4j", "grpc"}
    # This process reads files and writes rows as a worker does.
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if is_full or type(error).__name__ == "UnreadableFileError":
        return True
    return isinstance(error, ConnectionError) or any(
        cls.__module__.partition(".")[0] in packages for cls in type(error).__mro__
    )


@contextlib.contextmanager
def reading(inputs: Sequence[Input]) -> Iterator[None]:
    """Name the inputs in the errors of Spark within a block that reads them."""
    try:
        yield
    except Exception as error:
        if inputs and is_spark_failure(error):
            more = f" and {len(inputs) - 1:,} more" if len(inputs) > 1 else ""
            error.add_note(f"{_READING}`{inputs[0].path}`{more}")
        raise


def explain_failure(error: BaseException, log: Path | None = None) -> SchemactlError:
    """Return the error to show for an exception of Spark; an error of ours stays as it is.

    Call it while the session is open: some messages come from Java.
    """
    if isinstance(error, SchemactlError):
        return error
    text = _text(error)
    has_java_died = isinstance(error, ConnectionError) or (
        type(error).__name__ in ("Py4JNetworkError", "Py4JError") and bool(_DEAD_JAVA.search(text))
    )
    log_hint = f"Spark's log: {log}" if log else "`--debug` shows Spark's log"
    details = f"{text}\n{_tail(log)}" if has_java_died else text
    if (translated := _translate(_KINDS, details, shorten(text), log_hint)) is not None:
        if isinstance(translated, EngineError) and translated.at is None:
            translated.message += _reading_note(error)
        return translated
    message = "Spark's Java process ended unexpectedly" if has_java_died else f"Spark failed: {shorten(text)}"
    return EngineError(message + _reading_note(error), hint=log_hint)


def _reading_note(error: BaseException) -> str:
    """Return the note of `reading` on an exception, or ""."""
    return next((f" {note}" for note in vars(error).get("__notes__", ()) if note.startswith(_READING)), "")


def explain_start(message: str, log: Path) -> SchemactlError:
    """Return the error for a Java process that ended before Spark ran; its log may contain more than ``message``."""
    text, log_hint = _tail(log), f"Spark's log: {log}"
    if (translated := _translate(_START_KINDS, text, message, log_hint)) is not None:
        return translated
    match = _LAST_MESSAGE.search(text)
    return EngineError(f"{message}: {shorten(match[1])}" if match else message, hint=log_hint)


@contextlib.contextmanager
def translate_errors(log: Path | None) -> Iterator[None]:
    """Translate exceptions of Spark within a block into errors that name its log, and into an interrupt after one."""
    try:
        yield
    except EngineError as error:
        if log and str(log) not in (error.hint or ""):
            error.hint = f"{error.hint}; Spark's log: {log}" if error.hint else f"Spark's log: {log}"
        raise
    except Exception as error:
        if _is_interrupted(error):
            raise KeyboardInterrupt from error
        if not is_spark_failure(error):
            raise
        raise explain_failure(error, log) from error


@contextlib.contextmanager
def wrap_errors(task: str = "") -> Iterator[None]:
    """Raise exceptions of Spark within a block as failures of the destination; ``task`` is a verb: "drop a table"."""
    try:
        yield
    except SchemactlError:
        raise
    except Exception as error:
        if not is_spark_failure(error):
            raise
        failure = explain_failure(error)
        message = f"Spark cannot {task}: {failure.message}" if task else failure.message
        raise DestinationError(message, hint=failure.hint) from error


def _is_interrupted(error: BaseException) -> bool:
    """Return whether an error followed an interrupt: PySpark calls Java on the way out, which may fail."""
    context = error.__context__
    return context is not None and (isinstance(context, KeyboardInterrupt) or _is_interrupted(context))


def _translate(kinds: Iterable[_Kind], details: str, message_of_spark: str, log_hint: str) -> SchemactlError | None:
    """Return the error of the first kind whose pattern matches the details of a failure."""
    for kind in kinds:
        if match := re.search(kind.pattern, details):
            message = match.expand(kind.message) if kind.message else message_of_spark
            hints = [kind.hint, log_hint if kind.error is EngineError else None]
            file_match = re.search(_UNREADABLE, details) if kind.error is EngineError else match
            uri = file_match.groupdict().get("uri") if file_match else None
            location = Location(shown_path(uri)) if uri else None
            if location is not None:
                from schemactl.engine.parquet_faults import find_parquet_fault

                if (fault := find_parquet_fault(location.path)) is not None:
                    message = f"{message}: {fault}"
            return kind.error(message, at=location, hint="; ".join(hint for hint in hints if hint) or None)
    return None


def shorten(text: str) -> str:
    r"""Return the first line of a message of Spark, without its codes.

    >>> shorten("[CAST_INVALID_INPUT] The value 'x' is no INT. SQLSTATE: 22018\n== DataFrame ==")
    "The value 'x' is no INT."
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"]
    # py4j's first line only says that a call failed; the next line is the exception.
    first = lines[1] if len(lines) > 1 and lines[0].startswith("An error occurred while calling") else lines[0]
    if _VALUE_ERROR.search(text):
        first = shown_error(first)
    for noise in (r"^: ", r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ", r"\[[A-Z0-9_.]+\] ", r" ?SQLSTATE: \w+"):
        first = re.sub(noise, "", first)
    return first if len(first) <= LONGEST_MESSAGE else first[: LONGEST_MESSAGE - 1] + "…"


def _text(error: BaseException) -> str:
    """Return the messages of an exception and of its causes; some come from Java, which may be dead."""
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(parts) < 5:
        try:
            parts.append(str(cause))
        except Exception:
            parts.append(type(cause).__name__)
        trace = getattr(cause, "_stackTrace", None)
        parts.extend([trace] if isinstance(trace, str) else [])
        cause = cause.__cause__
    return "\n".join(parts)


def _tail(log: Path | None) -> str:
    try:
        return log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace") if log else ""
    except OSError:
        return ""
