"""Carries out a load, in the same order at every destination; what differs by destination is a ``Load``.

Whoever loads is alone. What a killed load has left is undone or finished first, then the package is checked against
what is there, its rows are staged, and what was staged is committed, with the row that completes the load last. A load
that fails is restored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from schemactl.destinations._chains import Chain, chains_of, chains_of_load, check_merges
from schemactl.destinations._structure import as_stored, package_as_stored
from schemactl.errors import DestinationError
from schemactl.normalization.package import LoadPackage, rows_in
from schemactl.progress import Progress
from schemactl.schema.types import Schema, Table

Staged = TypeVar("Staged")


@dataclass(slots=True)
class Load(ABC, Generic[Staged]):
    """A load into one dataset; ``carry_out`` calls its methods in the order in which they stand here.

    ``Staged`` is what is known of rows that are staged, until they are committed. All methods raise
    ``DestinationError`` where they fail.

    Attributes:
        package: what the load brings.
        progress: receives how far it has come.
        done: the share of the rows that is staged.
    """

    package: LoadPackage
    progress: Progress
    done: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.package = package_as_stored(self.package)

    def report(self, table: str) -> None:
        """Report that the rows of a table are next."""
        self.progress(f"loading table `{table}`", self.done)

    @property
    @abstractmethod
    def origin(self) -> str:
        """The dataset, for messages."""

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Keep other loads and migrations out, having waited for those that are under way."""

    def recover(self) -> None:
        """Undo or finish what a killed load has left; a transaction leaves nothing."""

    @abstractmethod
    def is_loaded(self) -> bool:
        """Return whether the load is complete already."""

    @abstractmethod
    def check(self, chains: Sequence[Chain]) -> None:
        """Find out whether the rows go with the tables that are there, before anything is written."""

    def prepare(self, chains: Sequence[Chain]) -> None:
        """Make what has to be there before rows are staged."""

    @abstractmethod
    def stage(self, chain: Chain) -> Iterable[Staged]:
        """Put the rows of a chain where readers do not see them; yield what is to be committed, the root's first."""

    @abstractmethod
    def commit(self, staged: Sequence[Staged]) -> None:
        """Commit what was staged in the order of ``staged``, and write down last that the load is complete."""

    def restore(self, error: BaseException) -> None:
        """Take back what a load has written that fails with an error; unless it is certain, and the next finishes it.

        Raises:
            DestinationError: that fails as well; both reasons are reported.
        """

    def clean_up(self) -> None:
        """Remove what nobody needs once the load is complete."""


def carry_out(load: Load[Staged]) -> None:
    """Carry out a load, all or nothing; one that is there already is not loaded again.

    Raises:
        DestinationError: it failed, and what the destination holds is as it was before but for added columns; or it
            was certain, and the next load finishes it.
    """
    chains = chains_of_load(load.package)
    check_merges(chains)
    load.progress(f"locking `{load.origin}` against other loads", None)
    with load.lock():
        load.recover()
        if load.is_loaded():
            return
        _check_rows(chains)
        load.check(chains)
        load.prepare(chains)
        try:
            load.commit([*_stage(load, chains)][::-1])  # nested rows come before those that they are nested in
        except BaseException as error:
            load.restore(error)
            raise
        load.clean_up()


def _stage(load: Load[Staged], chains: Iterable[Chain]) -> Iterator[Staged]:
    total = sum(each.rows for each in load.package.tables) or 1
    done = 0
    for chain in chains:
        yield from load.stage(chain)
        done += sum(each.rows for each in chain.staged.values())
        load.done = min(done / total, 1.0)
    load.progress("completing the load", None)


def chains_to_check(schema: Schema) -> tuple[Chain, ...]:
    """Return the chains of a schema as a load would find them.

    Raises:
        DestinationError: rows cannot be merged as the schema says.
    """
    chains = chains_of(as_stored(schema))
    check_merges(chains)
    return chains


def _check_rows(chains: Iterable[Chain]) -> None:
    """Find out whether the files of a package hold the rows that it states."""
    for chain in chains:
        for staged in chain.staged.values():
            check_count(staged.table, sum(map(rows_in, staged.files)), staged.rows)
        if chain.is_merged and chain.staged and chain.root.name not in chain.staged:
            # Nothing says which root rows the nested ones belong to.
            raise DestinationError(f"table `{chain.root.name}` is merged, but the load has no rows for it")


def check_count(table: Table, found: int, expected: int) -> None:
    """Find out whether all rows of a table are there.

    Raises:
        DestinationError: some are missing.
    """
    if found != expected:
        message = f"table `{table.name}`: {found} of {expected} rows have arrived; nothing is loaded"
        hint = "load again; where a rule, a trigger or a policy of the table there takes rows away, drop that first"
        raise DestinationError(message, hint=hint)
