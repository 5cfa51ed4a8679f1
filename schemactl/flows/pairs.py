"""Which schema is compared with which: two references -> pairs of schemas."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schemactl.errors import InputError
from schemactl.flows.references import Referred, find_schemas, refuse_revision
from schemactl.store.folder import SchemasFolder, list_names
from schemactl.store.revision import MissingInRevision


@dataclass(frozen=True, slots=True)
class Pair:
    """The two sides of one schema; one of them may be missing."""

    base: Referred | None
    head: Referred | None

    @property
    def any_side(self) -> Referred:
        """The head, the base where there is no head."""
        found = self.head or self.base
        assert found is not None, "a pair has a side"
        return found

    @property
    def name(self) -> str:
        """The name of the schema."""
        return self.any_side.schema.name

    @property
    def has_catalogue(self) -> bool:
        """Whether a side is a destination's catalogue."""
        return any(side is not None and side.destination is not None for side in (self.base, self.head))


def find_pairs(base: str | None, head: str | None, folder: SchemasFolder) -> tuple[Pair, ...]:
    """Return what is compared with what: one schema with one, else schemas of the same name.

    Without references the import folder is compared with the export folder, a bare ``NAME`` is that schema in both.
    A folder or revision alone is compared with the export folder, so that schemas which only one of them has are told;
    any other base alone is compared with the export folder's schema of its name. Of a folder or revision only that
    schema counts which a head that is no folder names.

    Args:
        base: a REF; None where the call leaves it out.
        head: the same.
        folder: of ``import/`` and ``export/``.

    Raises:
        InputError: a reference names no schema, or one side has no schema of a name that was asked for.
    """
    base, head = _references(base, head, folder)
    bases = _bases(base, folder)
    if head is None and (not bases or _holds_several(base)):
        heads = find_schemas("export:", folder)
    elif head is None:
        heads = tuple(found for each in bases for found in find_schemas(f"export:{each.schema.name}", folder))
    else:
        heads = find_schemas(head, folder)
        if len(heads) == 1 < len(bases) and not _holds_several(head) and _holds_several(base):
            bases = tuple(each for each in bases if each.schema.name == heads[0].schema.name)
    if len(bases) == len(heads) == 1:
        return (Pair(bases[0], heads[0]),)
    by_name = ({each.schema.name: each for each in bases}, {each.schema.name: each for each in heads})
    names = sorted(by_name[0].keys() | by_name[1].keys())
    return tuple(Pair(by_name[0].get(name), by_name[1].get(name)) for name in names)


def _bases(reference: str, folder: SchemasFolder) -> tuple[Referred, ...]:
    try:
        return find_schemas(reference, folder)
    except MissingInRevision:
        # A whole revision may come from before the first schema; a path in it that is not there is a slip.
        if reference.count(":") == 1:
            return ()
        raise


def _holds_several(reference: str) -> bool:
    """Return whether a reference is of a place for any number of schemas: a folder, or a whole revision."""
    is_revision = reference.startswith("git:") and reference.count(":") == 1
    return is_revision or reference in ("import:", "export:") or Path(reference).is_dir()


def _references(base: str | None, head: str | None, folder: SchemasFolder) -> tuple[str, str | None]:
    if base == head == "-":
        raise InputError("standard input can be one of the two only")
    if base is None:
        return "import:", "export:"
    if head is None and (base in list_names(folder.exports) or base.isidentifier()):
        refuse_revision(base, folder)
        return f"import:{base}", f"export:{base}"
    return base, head
