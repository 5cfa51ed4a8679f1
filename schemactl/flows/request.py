"""The request of ``schemactl infer``, as flows pass it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from schemactl.arc.fields import TypingTask
from schemactl.errors import InputError
from schemactl.schema.hints import Hints
from schemactl.schema.record_selection import RecordSelection
from schemactl.schema.types import Column, Schema
from schemactl.store.folder import SchemasPlace

if TYPE_CHECKING:
    from schemactl.engine.choice import EngineOptions
    from schemactl.engine.inputs import IsWanted
    from schemactl.flows.models import CallModel
    from schemactl.kernel.dispatch import Dispatch
    from schemactl.kernel.reading import ReadOptions


APPLIED_TYPING: Final = "x-typing"
"""The property of a table that is typed by the ``x-typing`` of its columns."""


@dataclass(frozen=True, slots=True)
class TypingSource:
    """The typing of a call.

    Attributes:
        source: a file, its address, or the name of a schema with one root table.
        task: the fields of the typing, and the treatment of rows with errors.
    """

    source: str
    task: TypingTask


@dataclass(frozen=True, slots=True)
class InferRequest:
    """The request of ``schemactl infer``.

    Attributes:
        sources: data, or saved evidence (``*.evidence.json``).
        table: the root table; None for the schema's only one, or one named after the source.
        table_sources: pairs of a table and a source of ``--table TABLE=SOURCE``.
        table_per_file: whether the data of each source file goes to a table of its name.
        engine: the engine that reads the data; None for the default.
        agrees: asks the user; None without a terminal.
        sample: ``full``, ``10%`` or a number of records.
        contract: overrides the schema's.
        hints: the call's hints of tables and columns; None for none.
        evidence_file: the file to save evidence to.
        resolve_collisions: whether keys that become one column get a column each.
        naming: convention of a new schema; None for snake_case.
        normalizer: the normalizer of a new schema; None for dlt's relational one.
        to: the destination that the schema is for; None for any.
        max_identifier_length: the maximum identifier length of that destination in characters; None for no limit.
        destination_schema: the schema with the tables and columns that only the destination still has.
        settle_decimal: returns a decimal column with the digits that it has in that destination.
        typing: the typing of the data's texts; None for that of the schema, if one was applied to it.
        typing_errors: the treatment of rows with errors of the schema's typing; None for the column ``_errors``.
        dispatch: names the root table of each record (``--table-by``); None if sources name it.
        model: validates the data and declares its columns; None for none.
        has_header: of CSV and TSV, whether the first row has the names of columns; None for yes, with a warning if it
            looks like a record.
        is_wanted: decides which listed files are read; None for all of them.
        null_values: texts that mean null in CSV, TSV and XML.
        selection: the selection of the records inside JSON documents; None for the selection saved in the schema, if
            any.
        rejects_frozen: whether rows that violate a frozen contract are rejected and do not stop a load (replays).
        detect: detectors for the data, ``digits,number`` or ``-iso_timestamp``; None for the schema's.
    """

    sources: tuple[str, ...]
    name: str
    table: str | None
    schemas: SchemasPlace
    sample: str = "full"
    contract: str | None = None
    hints: Hints | None = None
    is_check: bool = False
    evidence_file: Path | None = None
    on_bad_record: Literal["stop", "skip"] = "stop"
    input_format: str | None = None
    resolve_collisions: bool = False
    engine: EngineOptions | None = field(default=None)
    naming: str | None = None
    normalizer: str | None = None
    detect: str | None = None
    to: str | None = None
    max_identifier_length: int | None = None
    destination_schema: Schema | None = None
    settle_decimal: Callable[[Column], Column] = lambda column: column
    table_sources: tuple[tuple[str, str], ...] = ()
    table_per_file: bool = False
    typing: TypingSource | None = None
    typing_errors: str | None = None
    dispatch: Dispatch | None = None
    model: CallModel | None = None
    null_values: tuple[str, ...] = ()
    has_header: bool | None = None
    selection: RecordSelection | None = None
    rejects_frozen: bool = False
    agrees: Callable[[str], bool] | None = None
    is_wanted: IsWanted | None = None

    @property
    def reading(self) -> ReadOptions:
        """Return the options for reading records."""
        from schemactl.kernel.reading import ReadOptions

        task = self.typing.task if self.typing else None
        return ReadOptions(self.null_values, task, self.dispatch, self.model.task if self.model else None)

    @property
    def all_sources(self) -> tuple[str, ...]:
        return (*self.sources, *(source for _, source in self.table_sources))


def dispatch_by(
    field: str | None, names: Mapping[str, str], other_table: str | None, key: str | None
) -> Dispatch | None:
    """Return the dispatch by the field that names the root table of each record; None without one.

    Args:
        field: the field of the call, ``type`` or ``meta.kind``; None for the discriminator of the model.
        names: tables with other names than the field's values, by value.
        other_table: the table of records without such a value; None for none.
        key: the discriminator of the model's variants; None without such a model.
    """
    from schemactl.schema.paths import format_path, parse_keys

    if field is None and key is not None:
        field = format_path((key,))
    if field is None:
        if names:
            raise InputError("`--dispatch` names tables by a field's values", hint="name the field: `--table-by`")
        return None
    from schemactl.kernel.dispatch import Dispatch

    return Dispatch(parse_keys(field), names, other_table)
