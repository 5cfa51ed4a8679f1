"""Checks documents that commands print against the JSON Schemas that schemactl ships.

To check a schema itself takes longer than to check documents by it: each is checked once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from schemactl.render.json import read_schema


@cache
def validator_of(command: str) -> Draft202012Validator:
    schema = read_schema(command)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check_document(document: Any, command: str) -> None:
    """Raise a ``jsonschema.ValidationError`` where the document does not follow the schema of its command."""
    error = best_match(validator_of(command).iter_errors(document))
    if error:
        raise error
