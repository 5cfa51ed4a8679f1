"""The share or number of records that are looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemactl.errors import InputError

_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True, slots=True)
class Sample:
    """A share of all records (0 to 1), or an approximate number; all records if both are None."""

    share: float | None = None
    records: int | None = None

    @property
    def is_full(self) -> bool:
        return self.share is None and self.records is None

    def share_of(self, total: int) -> float:
        """Return the share of ``total`` records that is taken."""
        if self.records is not None:
            return min(1.0, self.records / total) if total else 1.0
        return 1.0 if self.share is None else self.share


def parse_sample(text: str) -> Sample:
    """Parse ``10%``, ``100000`` or ``full``."""
    if text == "full":
        return Sample()
    if text.isdecimal() and int(text) > 0:
        return Sample(records=int(text))
    match = _PERCENT.fullmatch(text)
    if match and 0 < float(match[1]) <= 100:
        return Sample(share=float(match[1]) / 100)
    raise InputError(f"`{text}` is not a sample", hint="write a share like `10%`, a number of records, or `full`")
