"""What a load is about to do, written down before its first commit, so that the next one can undo it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from schemactl.errors import DestinationError


@dataclass(frozen=True, slots=True)
class Journal:
    """A load under way.

    Attributes:
        load_id: its id.
        schema_name: whose load it is.
        attempt: what the names of its new files start with.
        tables: the version of each table before it, None for tables that it makes.
        files: what it makes beside tables.
    """

    load_id: str
    schema_name: str
    attempt: str
    tables: Mapping[str, int | None]
    files: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def journal_from_text(text: str, origin: str) -> Journal:
    """Return a journal of its text.

    Raises:
        DestinationError: it is no journal.
    """
    try:
        stated = json.loads(text)
        return Journal(**{**stated, "files": tuple(stated["files"])})
    except (ValueError, TypeError, KeyError) as error:
        raise DestinationError(f"the journal of `{origin}` cannot be read: {error}") from error
