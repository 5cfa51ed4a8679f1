from collections.abc import Iterable, Iterator

from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Schema


def find(comparison: Comparison) -> Matches:
    """Yield each such table and column of the side that is compared with a destination's catalog."""
    sides = comparison.base, comparison.head
    for catalogue, file in (sides, sides[::-1]):
        if catalogue.destination is not None and file.destination is None:
            yield from _in_schema(file.schema, catalogue.destination)


def _in_schema(schema: Schema, limits: NameLimits) -> Matches:
    # Tables stand in any order in a file, columns in that of the table.
    for name, kind, phrase in _troubles(sorted(schema.tables), limits):
        yield Match(sentence=f"table `{name}` {phrase}", table=name, aspect=kind)
    for table in schema.tables.values():
        for name, kind, phrase in _troubles(table.columns, limits):
            yield Match(
                sentence=f"column `{name}` of `{table.name}` {phrase}", table=table.name, column=name, aspect=kind
            )


def _troubles(names: Iterable[str], limits: NameLimits) -> Iterator[tuple[str, str, str]]:
    """Yield names with the kind of trouble and what the destination makes of them; a name may be in both kinds."""
    met: dict[str, str] = {}
    for name in names:
        size = len(name.encode("utf-8", "surrogatepass"))
        if limits.max_bytes is not None and size > limits.max_bytes:
            yield name, "length", f"has {size} bytes, and the destination keeps {limits.max_bytes}"
        known = met.setdefault(name.casefold(), name)
        if known != name and not limits.is_case_sensitive:
            yield name, "case", f"is `{known}` to the destination, which ignores case"


RULE = Rule(
    title="name beyond the destination",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="PostgreSQL cuts identifiers after 63 bytes; DuckDB and SQLite take `Id` and `id` for one. dlt shortens names "
    "to what it knows of its destination when it loads, so a schema that was made for another destination holds names "
    "that this one does not have: queries by the schema fail, and two columns may become one.",
    fix="Make the schema with the destination's limits: `schemactl infer SOURCE... --to DEST` gives such names anew, "
    "and `migrate` renames what other destinations hold; or choose a naming convention that folds case "
    "(`snake_case`, `sql_ci_v1`).",
    find=find,
)
