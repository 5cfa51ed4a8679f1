"""Renders ``schemactl typing draft`` for a person and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from shlex import quote
from typing import Any

from schemactl.arc.proposal import DraftedField
from schemactl.arc.typing_file import attributes
from schemactl.examples import mask_examples
from schemactl.redaction import redact
from schemactl.render.console import Look
from schemactl.render.files import print_import, report_document
from schemactl.schema.wording import counted


@dataclass(frozen=True, slots=True)
class DraftReport:
    """A draft of types, and its application to a schema.

    Attributes:
        imported: the schema with the types; None if they were not applied.
        output: the file that the draft goes to; None for standard output.
    """

    name: str
    source: str
    drafted: tuple[DraftedField, ...]
    imported: Any
    output: str | None

    @property
    def exceptions(self) -> str:
        """A line for each column with texts that its type does not fit."""
        return "".join(
            f"`{column.field.name}`: {column.exceptions:,} of {counted(column.texts, 'text')} cannot be typed"
            + "".join(f", the first is `{text}`" for text in mask_examples((column.first_exception,), False))
            + "\n"
            for column in self.drafted
            if column.exceptions
        )

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The fields in the format of Arc."""
        return [attributes(column.field) for column in self.drafted]

    @property
    def next_step(self) -> str:
        """The sentence about how to use the draft."""
        source = quote(redact(self.source))
        if self.output is None:
            return f"`schemactl typing draft {source} --name {self.name} --apply` saves these types in the schema\n"
        file = quote(self.output)
        return f"`schemactl infer {source} --name {self.name} --typing {file}` types the texts by the draft\n"


def draft_document(report: DraftReport) -> dict[str, Any]:
    """Return the JSON document of ``schemactl typing draft``."""
    exceptions = [
        {"column": column.field.name, "texts": column.texts, "exceptions": column.exceptions}
        for column in report.drafted
        if column.exceptions
    ]
    applied = report.imported and report_document(report.imported)
    return {"name": report.name, "fields": report.fields, "exceptions": exceptions, "applied": applied}


def print_draft(report: DraftReport, look: Look) -> str:
    """Return the draft in the format of Arc, or the changes of the schema by its application."""
    imported = report.imported
    if imported is None:
        return json.dumps(report.fields, indent=2, ensure_ascii=False) + "\n"
    return print_import(imported.before, imported.after, imported.changes, imported.violations, imported.written, look)
