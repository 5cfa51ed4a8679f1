"""A database that is one file, open for migrating: a copy of the file is its back-up, copies of tables its changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemactl.destinations._migration.session import D, SqlMigration
from schemactl.errors import DestinationError
from schemactl.migration.statements import COPY_PREFIX
from schemactl.migration.steps import RewriteTable, Step, table_of

_MARK: Final = ".before-"


@dataclass(frozen=True, slots=True)
class FileMigration(SqlMigration[D]):
    """See ``destinations.MigrationSession``: what the database has no ALTER for copies its table."""

    @property
    @abstractmethod
    def file(self) -> Path:
        """The database's file."""

    @abstractmethod
    def copy_file(self, copy: Path) -> None:
        """Copy the file, as it is kept at this moment."""

    @abstractmethod
    def copying(self, table: str, steps: Sequence[Step]) -> AbstractContextManager[None]:
        """Return a context in which steps copy their table; what hangs on it is made again.

        Raises:
            DestinationError: the table has what a copy would lose.
        """

    def back_up(self, label: str) -> str:
        copy = self.file.with_name(f"{self.file.name}{_MARK}{label}")
        self.copy_file(copy)
        return str(copy)

    def kept(self) -> tuple[str, ...]:
        start = f"{self.file.name}{_MARK}"
        return tuple(sorted(str(path) for path in self.file.parent.iterdir() if path.name.startswith(start)))

    def drop_kept(self, names: Sequence[str]) -> None:
        self.prepare_writing()
        for path in names:
            try:
                Path(path).unlink()
            except OSError as error:
                raise DestinationError(f"cannot remove `{path}`: {error.strerror}") from error

    def run(self, step: Step, statements: Sequence[str]) -> None:
        start = f"CREATE TABLE {self.engine.table(self.place, COPY_PREFIX)[:-1]}"
        is_copied = any(statement.startswith(start) for statement in statements)
        with self.copying(table_of(step), (step,)) if is_copied else nullcontext():
            SqlMigration.run(self, step, statements)

    def run_rewrite(self, rewrite: RewriteTable) -> None:
        with self.copying(rewrite.table.name, rewrite.changes):
            SqlMigration.run_rewrite(self, rewrite)
