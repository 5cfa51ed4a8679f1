"""What shells offer where a name is asked for: of a format, a rule, a naming convention.

Names only: what has them is not imported, so that an answer comes at once.
"""

from __future__ import annotations

from collections.abc import Iterable


def complete_formats(incomplete: str) -> list[str]:
    """Return the schema formats that begin so."""
    from schemactl.formats import FORMATS

    return beginning(incomplete, FORMATS)


def complete_input_formats(incomplete: str) -> list[str]:
    """Return the input formats that begin so."""
    from schemactl.engine.input_formats import INPUT_FORMATS

    # A table is named as one: `table:NAME`.
    return beginning(incomplete, (name for name in INPUT_FORMATS if name != "table"))


def complete_outputs(incomplete: str) -> list[str]:
    """Return the outputs of ``diff`` that begin so."""
    from schemactl.render.reviews import OUTPUTS

    return beginning(incomplete, ("text", *OUTPUTS))


def complete_namings(incomplete: str) -> list[str]:
    """Return the naming conventions that begin so."""
    from schemactl.schema.naming import CONVENTIONS

    return beginning(incomplete, CONVENTIONS)


def complete_normalizers(incomplete: str) -> list[str]:
    """Return the normalisers that begin so."""
    from schemactl.normalization.normalizers import NORMALIZERS

    return beginning(incomplete, NORMALIZERS)


def complete_rules(incomplete: str) -> list[str]:
    """Return the ids of rules that begin so, in capitals or not."""
    from schemactl.review.catalogue import rule_ids

    ids = sorted(rule_ids())
    return beginning(incomplete, ids) or beginning(incomplete, map(str.lower, ids))


def beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so."""
    return [name for name in names if name.startswith(incomplete)]
