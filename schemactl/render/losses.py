"""Renders the losses of a format, or a schema, in lines for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from schemactl.formats import Loss
from schemactl.formats._losses import describe_loss
from schemactl.grouping import group_by
from schemactl.render.escaping import escape
from schemactl.schema.structure import DATABASE_TYPE

_SHOWN: Final = 3


def print_names(names: Sequence[tuple[str, str]], kept_by: str | None, *, is_verbose: bool = False) -> str:
    """Return the names that the schema changed, with their new names; the first ones, unless ``is_verbose``.

    ``kept_by`` is the option that keeps them; None if no option does.
    """
    if not names:
        return ""
    first_names = names if is_verbose else names[:_SHOWN]
    renames = escape(", ".join(f"{before} becomes {after}" for before, after in first_names))
    hint = f"hint: to migrate this database, keep its names: import it with `{kept_by}`\n" if kept_by else ""
    return f"names changed in the schema: {renames}{_hidden(len(names) - len(first_names))}\n{hint}"


def _hidden(count: int) -> str:
    return f" and {count} more (--verbose lists all)" if count else ""


def print_losses(losses: Sequence[Loss], holder: str, *, is_verbose: bool = False) -> str:
    """Return a line for each lost property, with its first places, or all of them if ``is_verbose``."""
    losses_by_property = group_by(losses, lambda loss: (loss.item, _is_kept(loss)))
    lines = []
    for (_, is_kept), property_losses in losses_by_property.items():
        first_losses = property_losses if is_verbose else property_losses[:_SHOWN]
        describe, label = (_kept_type, _KEPT) if is_kept else (describe_loss, f"not in {holder}")
        descriptions = escape(", ".join(map(describe, first_losses)))
        lines.append(f"{label}: {descriptions}{_hidden(len(property_losses) - len(first_losses))}\n")
    return "".join(lines)


_KEPT: Final = f"kept in `{DATABASE_TYPE}`, without a dlt type"


def _is_kept(loss: Loss) -> bool:
    """Return whether a schema has the type of a column as the database writes it."""
    return loss.item == "type" and isinstance(loss.after, Mapping) and DATABASE_TYPE in loss.after


def _kept_type(loss: Loss) -> str:
    return f"{loss.path}: `{loss.after[DATABASE_TYPE]}`"
