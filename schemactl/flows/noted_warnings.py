"""Keeps what a command warns of while it runs, for its report; it is reported as before as well."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from schemactl.inference.report import SourceWarning
from schemactl.store.sources import LeftOutWarning


@contextmanager
def noted_warnings() -> Iterator[dict[str, SourceWarning]]:
    """Hand out what becomes the warnings of the block by their words, in order, each once."""
    noted: dict[str, SourceWarning] = {}
    show = warnings.showwarning

    def note(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if isinstance(message, LeftOutWarning):
            noted.setdefault(str(message), SourceWarning(str(message), message.files))
        show(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", LeftOutWarning)
        warnings.showwarning = note
        yield noted
