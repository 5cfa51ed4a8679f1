"""How a database is opened for migrating: which of its datasets is meant, and how to wait for who holds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, TypeVar

from schemactl.destinations._bookkeeping import knows_schema
from schemactl.destinations._catalogue import choose_dataset
from schemactl.destinations._session import Database
from schemactl.destinations._sql_bookkeeping import reader
from schemactl.errors import DestinationError

Opened = TypeVar("Opened")

_PAUSE_SECONDS: Final = 0.2


def choose(database: Database, asked: str | None, schema: str) -> str:
    """Return the dataset that is meant: the one asked for, that of the schema, the only one with tables, a new one.

    Raises:
        InputError: it may be one of several.
    """
    if asked is not None:
        return asked
    known = {name for name in database.datasets() if database.relation_names(name)}
    main = {name for name in known if not (name.endswith("_staging") and name.removesuffix("_staging") in known)}
    loaded = [name for name in sorted(main) if knows_schema(reader(database, name), schema)]
    if len(loaded) == 1:
        return loaded[0]
    return choose_dataset(main, None, database.shown) if main else schema


@contextmanager
def waiting(
    opens: Callable[[], AbstractContextManager[Opened]], patience: float, is_held: Callable[[DestinationError], bool]
) -> Iterator[Opened]:
    """Open what another process may hold.

    Args:
        opens: opens it anew each time.
        patience: seconds to go on trying.
        is_held: whether an error says that another process holds it.

    Raises:
        DestinationError: it cannot be opened, or not in time.
    """
    end = time.monotonic() + patience
    while True:
        opened = opens()
        try:
            found = opened.__enter__()
            break
        except DestinationError as error:
            if not is_held(error) or time.monotonic() >= end:
                raise
            time.sleep(_PAUSE_SECONDS)
    try:
        yield found
    except BaseException as error:
        if not opened.__exit__(type(error), error, error.__traceback__):
            raise
    else:
        opened.__exit__(None, None, None)
