"""The naming convention of a schema."""

from __future__ import annotations

from schemactl.schema.naming._loading import load_naming
from schemactl.schema.naming._naming import Naming
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.types import Schema


def naming_of(schema: Schema, max_length: int | None = None) -> Naming:
    """Return a schema's naming convention.

    Args:
        schema: states it in its ``normalizers``.
        max_length: as in ``load_naming``.

    Raises:
        InputError: as ``load_naming``.
    """
    return load_naming(NormalizerConfig.of(schema.normalizers).naming, max_length)
