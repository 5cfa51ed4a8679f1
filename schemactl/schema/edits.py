"""Edit a schema on request: rename, drop, describe and add tables and columns, unset hints.

The import file contains only some of a schema's columns. An edit of any other column adds only the properties that the
edit needs, and data keeps deciding the remaining ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schemactl.errors import InputError, backquoted, nearest_name, nearest_or_all
from schemactl.schema.changes import SIZES, TYPE_PROPERTIES
from schemactl.schema.contract import CONTRACT, PROMOTION_HINT, system_prefix
from schemactl.schema.folds import with_folded
from schemactl.schema.hints import Hints, with_stated_table
from schemactl.schema.import_merge import Sources
from schemactl.schema.judgment import base_of
from schemactl.schema.likeness import misspelled_name
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.paths import PREFIX, parse_path
from schemactl.schema.renames import RENAMED_FROM, SOURCE_NAMES, origins
from schemactl.schema.types import Column, Properties, Schema, Table, root_of
from schemactl.schema.variants import VariantGroup, find_variants, folded_type, home_of

Target = tuple[str, str | None]
"""A table, and a column of it; None for the table itself."""

Agree = Callable[[str], bool]
"""Asks the user a question without its question mark, and returns whether the answer is yes."""


@dataclass(frozen=True, slots=True)
class Edits:
    """Edits of one call, with the names that the user gives.

    Attributes:
        tables: new tables.
        renames: pairs of a table or column and its new name.
        drops: columns.
        folds: variant columns that go into the columns that they were made for.
        folds_all: whether all variants of the schema, or of ``table``, do.
        unset: pairs of a table or column and the properties that it no longer has.
        descriptions: pairs of a table or column and its description.
        hints: the hints of columns and of the root table, by the names after the renames.
        table: the table of names without a table; None for the only root table.
        contract: a mode, or modes by entity.
    """

    tables: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    drops: tuple[str, ...] = ()
    folds: tuple[str, ...] = ()
    folds_all: bool = False
    unset: tuple[tuple[str, tuple[str, ...]], ...] = ()
    descriptions: tuple[tuple[str, str], ...] = ()
    hints: Hints = field(default_factory=Hints)
    table: str | None = None
    contract: str | None = None

    @property
    def can_begin_schema(self) -> bool:
        """Return whether the edits make sense for a new schema: they name the table of each column that they add."""
        has_existing_names = self.renames or self.drops or self.folds or self.folds_all or self.unset
        if has_existing_names or (self.descriptions and not (self.tables or self.hints.columns)):
            return False
        has_table = self.table is not None or len(self.tables) == 1
        return has_table or all(hint.table is not None for hint in self.hints.columns)


def split_rename(text: str) -> tuple[str, str]:
    """Return the old and the new name of ``TABLE.OLD=NEW``."""
    old, new = (side.strip() for side in text.partition("=")[::2])
    if not old or not new:
        raise InputError(f"`{text}` is not a rename (`--rename`)", hint="for example `orders.amount=total`")
    return old, new


def split_description(text: str) -> tuple[str, str]:
    """Return the name and the description of ``TABLE.COLUMN=TEXT``."""
    name, description = (side.strip() for side in text.partition("=")[::2])
    if not name or not description:
        hint = "for example `orders.amount=gross, in cents`; `--unset orders.amount:description` removes one"
        raise InputError(f"`{text}` gives no description (`--describe`)", hint=hint)
    return name, description


def split_unset(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the name and the properties of ``TABLE.COLUMN:HINT,HINT``; the name is empty for ``schema_contract``."""
    if text == CONTRACT:
        return "", (text,)
    name, _, hints = text.partition(":")
    keys = tuple(key.strip() for key in hints.split(","))
    if not name.strip() or not all(keys):
        raise InputError(f"`{text}` names no hint (`--unset`)", hint="for example `orders.amount:unique,description`")
    return name.strip(), keys


@dataclass(slots=True)
class Editor:
    """A schema file that is edited.

    Attributes:
        schema: the content of the file.
        effective: the whole schema, including tables and columns from data, before the edits.
        stored: the schema of the export file; None without one.
        sources: the paths in the data of tables and columns, by their names in ``stored``.
        agree: asks the user whether a similar name is meant; None without a terminal.
        root: the table of columns without a table name; None if there are several.
        renamed: new names of tables and columns, by their old ones.
        unfolded: columns with variants that ``folds_all`` leaves, because no type but text holds their values.
        unmapped: renamed columns to which later data cannot go, with the paths of their keys.
    """

    schema: Schema
    effective: Schema
    stored: Schema | None
    sources: Sources
    agree: Agree | None = None
    root: str | None = None
    renamed: dict[tuple[str, str | None], str] = field(default_factory=dict)
    unfolded: list[VariantGroup] = field(default_factory=list)
    unmapped: list[tuple[str, str]] = field(default_factory=list)

    def apply(self, edits: Edits) -> None:
        """Apply all edits but descriptions, which may be about new names (`describe`)."""
        renames = [(self.find(old), new) for old, new in edits.renames]
        drops = [self.find_column(name) for name in edits.drops]
        folds = [self.find_column(name) for name in edits.folds]
        unset = [(self.find(name), keys) for name, keys in edits.unset if name]
        if any(not name for name, _ in edits.unset):
            self._unset_contract()
        changed = [target for target, _ in (*renames, *unset)]
        _refuse_contradictions([target for target, _ in renames], drops, [target for target, _ in unset])
        if removed := next((target for target in folds if target in (*changed, *drops)), None):
            raise InputError(f"{_shown(removed)} is folded and changed", hint="fold it, or change it")
        for target, keys in unset:
            self._unset(target, keys)
        for table, column in drops:
            self._drop(table, column)
        if folds:
            self._fold(folds, edits.hints)
        if edits.folds_all:
            self._fold_all(edits.table)
        self._rename(renames)

    def add_table(self, name: str) -> None:
        """Add a table without columns; one whose name extends that of another is nested in it."""
        naming = self._naming
        table = naming.normalize_tables_path(name)
        tables = {**self.effective.tables, **self.schema.tables}
        if not table:
            raise InputError(f"`{name}` is not a name for a table (`--add-table`)", hint="for example `orders`")
        if table in tables:
            raise InputError(f"there is a table `{table}` already", hint=f"`--column {table}.NAME:TYPE` adds a column")
        self._refuse_own(table)
        parents = [parent for parent in tables if table.startswith(parent + naming.path_separator)]
        added = Table(table, {}, {"write_disposition": "append", "resource": table})
        if parents:
            added = Table(table, {}, {"parent": max(parents, key=len)})
            self.schema, parent_table = with_stated_table(self.schema, self.effective, max(parents, key=len))
            self.schema = self.schema.with_table(parent_table)
        self.schema = self.schema.with_table(added)
        self.effective = self.effective.with_table(added)

    def describe(self, name: str, description: str) -> None:
        """Set the description of a table or column, by its name after the renames."""
        table, column = self.find(name)
        self._update(table, column, {"description": description})

    # Names

    @property
    def _naming(self) -> Naming:
        return naming_of(self.schema)

    def find(self, name: str) -> Target:
        """Return the table or column of a name."""
        table = self.table_named(name)
        column_table = self._column_named(name)
        if table is not None and column_table is not None and "." not in name:
            hint = f"`{column_table[0]}.{column_table[1]}` names the column"
            raise InputError(f"`{name}` is a table and a column", hint=hint)
        if table is not None:
            return table, None
        if column_table is None and "." not in name:
            tables = self._shown_tables()
            near = nearest_name(name, (*(self._columns(self.root) if self.root else ()), *tables))
            if near in tables and not self._is_meant(f"there is no table `{name}`: use `{near}`"):
                raise InputError(f"there is no table `{name}` in `{self.schema.name}`", hint=f"did you mean `{near}`?")
            if near in tables:
                return near, None
        return column_table or self.find_column(name)

    def find_column(self, name: str) -> tuple[str, str]:
        """Return the table and the column that ``TABLE.COLUMN`` means, or ``COLUMN`` of the only root table."""
        target = self._column_named(name)
        if target is not None:
            return target
        if self.table_named(name) is not None:
            raise InputError(f"`{name}` is a table, not a column", hint=f"name a column: `{name}.COLUMN`")
        table_name, _, column_name = name.rpartition(".")
        if table_name and self.table_named(table_name) is None:
            near = nearest_name(table_name, self._shown_tables())
            if near is not None and self._is_meant(f"there is no table `{table_name}`: use `{near}`"):
                return self.find_column(f"{near}.{column_name}")
            hint = f"did you mean `{near}`?" if near else nearest_or_all(table_name, self._shown_tables())
            raise InputError(f"there is no table `{table_name}` in `{self.schema.name}`", hint=hint)
        table = self.table_named(table_name) if table_name else self.root
        if table is None:
            hint = "name its table: " + backquoted(f"{owner}.{column_name}" for owner in self._shown_tables())
            raise InputError(f"`{name}` does not name a table, and the schema has several", hint=hint)
        columns = self._columns(table)
        near = nearest_name(column_name, columns)
        if near is not None and self._is_meant(f"there is no column `{column_name}` in `{table}`: use `{near}`"):
            return table, near
        hint = f"did you mean `{near}`?" if near else nearest_or_all(column_name, columns)
        raise InputError(f"there is no column `{column_name}` in `{table}`", hint=hint)

    def has_column(self, table: str | None, name: str) -> bool:
        """Return whether a name means a column; ``table`` is None for the root table."""
        return self._column_named(name if table is None else f"{table}.{name}") is not None

    def refuse_reused_names(self) -> None:
        """Raise ``InputError`` if a new column has the former name of a column that is renamed in the same call.

        Which of both has the values, no schema file can say then.
        """
        for (table, old), new in self.renamed.items():
            new_names = [name for (owner, _), name in self.renamed.items() if owner == table]
            if old is not None and self.schema.column(table, old) is not None and old not in new_names:
                hint = f"`{new}` is its new name; add another `{old}` once the rename is applied"
                raise InputError(f"`{table}.{old}` is renamed, and used again", hint=hint)

    def similar_table(self, name: str) -> str:
        """Return the table that the user means by a new name, or the name itself."""
        near = None if self.table_named(name) else misspelled_name(name, self._shown_tables())
        return near if near and self._is_meant(f"there is no table `{name}`: use `{near}`") else name

    def similar_column(self, table: str, name: str) -> str:
        """Return the column of a table that the user means by a new name, or the name itself."""
        columns = self._columns(table)
        near = None if name in columns else misspelled_name(name, columns)
        return near if near and self._is_meant(f"there is no column `{name}` in `{table}`: use `{near}`") else name

    def _is_meant(self, question: str) -> bool:
        return self.agree is not None and self.agree(question)

    def _shown_tables(self) -> tuple[str, ...]:
        prefix = system_prefix(self._naming)
        tables = {**self.effective.tables, **self.schema.tables}
        return tuple(table for table in tables if not table.startswith(prefix))

    def _columns(self, table: str) -> tuple[str, ...]:
        prefix = system_prefix(self._naming)
        columns = [schema.tables[table].columns for schema in (self.effective, self.schema) if table in schema.tables]
        return tuple(dict.fromkeys(name for names in columns for name in names if not name.startswith(prefix)))

    def table_named(self, name: str) -> str | None:
        """Return the table that a name means, as it is, normalized, or below a root table; None for none or several."""
        naming, tables = self._naming, {**self.effective.tables, **self.schema.tables}
        normalized = naming.normalize_tables_path(name)
        existing_table = next((table for table in (name, normalized) if table in tables), None)
        if existing_table is not None or not normalized:
            return existing_table
        roots = [self.root] if self.root else [table for table, item in tables.items() if not item.is_nested]
        below_roots = [below for root in roots if (below := naming.shorten_fragments(root, normalized)) in tables]
        return below_roots[0] if len(below_roots) == 1 else None

    def _column_named(self, name: str) -> tuple[str, str] | None:
        table_name, _, column_name = name.rpartition(".")
        naming = self._naming
        normalized = naming.normalize_path(column_name) if column_name else ""
        table = self.table_named(table_name) if table_name else self.root
        candidates = [(table, column_name), (table, normalized)] if table else []
        if table_name and self.root:  # a field of an object is a column of the table around it
            flat = naming.shorten_fragments(naming.normalize_tables_path(table_name), normalized) if normalized else ""
            candidates.append((self.root, flat))
        for candidate, column in candidates:
            if any(schema.column(candidate, column) is not None for schema in (self.effective, self.schema)):
                return candidate, column
        return None

    def _refuse_own(self, name: str) -> None:
        if name.startswith(system_prefix(self._naming)):
            raise InputError(f"`{name}` has a name that dlt reserves", hint="dlt makes such tables and columns itself")

    # Edits

    def _update(self, table: str, column: str | None, properties: Mapping[str, Any]) -> None:
        """Set properties of a table or column, which the file may not state yet."""
        self.schema, file_table = with_stated_table(self.schema, self.effective, table)
        if column is None:
            file_table = replace(file_table, properties={**file_table.properties, **properties})
        else:
            before = file_table.columns.get(column) or Column(column)
            after = Column(column, {**before.properties, **properties})
            file_table = replace(file_table, columns={**file_table.columns, column: after})
        self.schema = self.schema.with_table(file_table)

    def _unset(self, target: Target, keys: Sequence[str]) -> None:
        table, column = target
        label = _shown(target)
        file_table = self.schema.tables.get(table)
        item: Table | Column | None = file_table if column is None else self.schema.column(table, column)
        if file_table is None or item is None:
            raise InputError(f"the import file sets nothing for {label}", hint="only data decides about it")
        for key in keys:
            if key not in item.properties:
                hint = nearest_or_all(key, item.properties)
                raise InputError(f"the import file does not set `{key}` for {label}", hint=hint)
        removed = {*keys, *(SIZES if "data_type" in keys else ())}
        properties = {key: value for key, value in item.properties.items() if key not in removed}
        if column is None:
            if not file_table.is_nested:  # dlt fills these in
                properties = {"write_disposition": "append", "resource": table, **properties}
            self.schema = self.schema.with_table(replace(file_table, properties=properties))
            return
        columns = {**file_table.columns, column: Column(column, properties)}
        if not properties and self.stored is not None and self.stored.column(table, column) is not None:
            del columns[column]  # only data decides about the column
        self.schema = self.schema.with_table(replace(file_table, columns=columns))

    def _unset_contract(self) -> None:
        if CONTRACT not in self.schema.settings:
            raise InputError(f"the import file does not set `{CONTRACT}`", hint="`--contract` sets it")
        contract_keys = (CONTRACT, PROMOTION_HINT)
        settings = {key: value for key, value in self.schema.settings.items() if key not in contract_keys}
        self.schema = replace(self.schema, settings=settings)

    def _drop(self, table: str, column: str) -> None:
        """Remove a column, and exclude its keys from the data, so that the next load does not add it again."""
        self._refuse_own(column)
        file_table = self.schema.tables.get(table)
        is_stated = file_table is not None and column in file_table.columns
        if file_table is not None:
            columns = {name: item for name, item in file_table.columns.items() if name != column}
            self.schema = self.schema.with_table(replace(file_table, columns=columns))
        self._forget(table, column)
        patterns = [f"{PREFIX}{path}" for path in self.sources.get((table, column), ())]
        if not patterns and not is_stated:
            patterns = [column]  # from data, by an unknown path
        if not patterns:
            return
        _, file_table = with_stated_table(self.schema, self.effective, table)
        filters = dict(file_table.properties.get("filters") or {})
        filters["excludes"] = [*dict.fromkeys((*(filters.get("excludes") or ()), *patterns))]
        self._update(table, None, {"filters": filters})

    def _fold(self, variants: Sequence[tuple[str, str]], hints: Hints) -> None:
        """Give columns types that hold the values of variants, and remove the variants."""
        typed = [hint for hint in hints.columns if "data_type" in hint.properties]
        declared = {self._column_named(".".join(filter(None, (hint.table, hint.name)))) for hint in typed}
        grouped: dict[tuple[str, str], list[Column]] = {}
        for table, name in dict.fromkeys(variants):
            variant = self.effective.tables[table].columns[name]
            home = home_of(variant, self.effective.tables[table], self._naming)
            if home is None or not (home.is_complete and variant.is_complete):
                hint = "a variant column is named after a column and a type: `score__v_double` of `score`"
                raise InputError(f"{_shown((table, name))} is not a variant column", hint=hint)
            grouped.setdefault((table, home.name), []).append(variant)
        for table, name in dict.fromkeys(variants):
            for other in self.effective.tables[table].columns.values():
                base = base_of(other, self.effective.tables[table], self._naming) if other.is_variant else None
                if base is not None and base.name == name and (table, other.name) not in variants:
                    hint = f"fold it as well: `--fold {table}.{other.name}`"
                    raise InputError(f"{_shown((table, name))} has a variant, `{other.name}`", hint=hint)
        for (table, name), columns in grouped.items():
            column = self.effective.tables[table].columns[name]
            wider = folded_type(column, columns, allow_text=True)
            if wider is None and (table, name) not in declared:
                kinds = ", ".join(str(typed_column.data_type) for typed_column in (column, *columns))
                message = f"no type holds all values of {_shown((table, name))} and its variants: {kinds}"
                raise InputError(message, hint=f"set a type: `--column {table}.{name}:TYPE`")
            self._take_back(table, column, columns, wider or {})

    def _fold_all(self, table_name: str | None) -> None:
        """Fold all variants of a table, or of all tables, whose values a type other than text holds."""
        table = None if table_name is None else self.table_named(table_name)
        if table_name is not None and table is None:
            hint = nearest_or_all(table_name, self._shown_tables())
            raise InputError(f"there is no table `{table_name}` in `{self.schema.name}`", hint=hint)
        for name in self._shown_tables() if table is None else (table,):
            for group in find_variants(self.effective.tables.get(name, Table(name)), self._naming):
                if group.foldable:
                    self._take_back(name, group.column, group.foldable, group.type)
                if group.unfoldable:
                    self.unfolded.append(group)

    def _take_back(self, table: str, column: Column, variants: Sequence[Column], wider: Properties) -> None:
        """State a column with a wider type that holds the values of variants, which are gone from then on."""
        self.schema, file_table = with_stated_table(self.schema, self.effective, table)
        folded_names = [variant.name for variant in variants]
        properties = {**column.properties, **(file_table.columns.get(column.name) or Column(column.name)).properties}
        if wider:
            sizes = [key for key in TYPE_PROPERTIES if key not in wider]
            properties = {**{key: value for key, value in properties.items() if key not in sizes}, **wider}
        columns = {name: value for name, value in file_table.columns.items() if name not in folded_names}
        columns[column.name] = Column(column.name, with_folded(properties, folded_names))
        self.schema = self.schema.with_table(replace(file_table, columns=columns))
        for name in folded_names:
            self._forget(table, name)

    def _forget(self, table: str, column: str) -> None:
        """Let later edits of the call not find a column that is dropped, or has another name."""
        if (item := self.effective.tables.get(table)) is not None:
            columns = {name: value for name, value in item.columns.items() if name != column}
            self.effective = self.effective.with_table(replace(item, columns=columns))

    def _rename(self, renames: Sequence[tuple[Target, str]]) -> None:
        """Rename tables and columns at once, so that two of them can swap their names."""
        naming = self._naming
        column_names: dict[str, dict[str, str]] = {}
        table_names: dict[str, str] = {}
        for (table, column), text in renames:
            new = naming.normalize_tables_path(text) if column is None else naming.normalize_path(text)
            if not new:
                raise InputError(f"`{text}` is not a name (`--rename`)", hint="for example `orders.amount=total`")
            self._refuse_own(column or table)
            self._refuse_own(new)
            if column is None:
                table_names[table] = new
            else:
                column_names.setdefault(table, {})[column] = new
        for table, names in column_names.items():
            _refuse_taken(names, self._columns(table), f"a column of `{table}`")
            self._rename_columns(table, names)
        _refuse_taken(table_names, self._shown_tables(), "a table")
        self._rename_in_references(table_names, column_names)
        if table_names:
            self._rename_tables(table_names)

    def _rename_in_references(self, tables: Mapping[str, str], columns: Mapping[str, Mapping[str, str]]) -> None:
        """Let `references` of the file name tables and columns by their new names."""
        for table in self.schema.tables.values():
            references = []
            for reference in table.properties.get("references") or ():
                target = reference["referenced_table"]
                names, target_names = columns.get(table.name, {}), columns.get(target, {})
                renamed = {
                    "columns": [names.get(name, name) for name in reference["columns"]],
                    "referenced_table": tables.get(target, target),
                    "referenced_columns": [target_names.get(name, name) for name in reference["referenced_columns"]],
                }
                references.append({**reference, **renamed})
            if references:
                properties = {**table.properties, "references": references}
                self.schema = self.schema.with_table(replace(table, properties=properties))

    def _rename_columns(self, table: str, names: Mapping[str, str]) -> None:
        self.schema, file_table = with_stated_table(self.schema, self.effective, table)
        renamed_columns = (self._renamed_column(table, column, names) for column in file_table.columns.values())
        columns = {column.name: column for column in renamed_columns}
        self.renamed |= {(table, old): new for old, new in names.items()}
        for old, new in names.items():
            if old not in file_table.columns:
                columns[new] = self._renamed_column(table, Column(old), names)
        self.schema = self.schema.with_table(replace(file_table, columns=columns))
        for old, new in names.items():
            self._map_keys(table, old, new)
            self._forget(table, old)

    def _renamed_column(self, table: str, column: Column, names: Mapping[str, str]) -> Column:
        if column.name not in names:
            return column
        stored_table = self.stored.tables.get(table) if self.stored else None
        stored_columns = stored_table.columns if stored_table else {}
        return Column(names[column.name], _with_former_name(column, names[column.name], stored_columns))

    def _map_keys(self, table: str, old: str, new: str) -> None:
        """Let later data go to the column under its new name."""
        naming = self._naming
        rows = [parse_path(path) for path in self.sources.get((table, None), ())]
        keys: dict[str, str] = {}
        for text in self.sources.get((table, old), ()):
            path = parse_path(text)
            field_count = min((len(path) - len(row) for row in rows if path[: len(row)] == row), default=1)
            *objects, name = naming.break_path(new)
            if field_count == 1:
                keys[text] = new
            elif objects == list(naming.break_path(old)[:-1]):
                keys[text] = name  # the name of a field follows the names of the objects around it
            else:
                self.unmapped.append((f"{table}.{old}", text))
        if keys:
            root = root_of(self.effective, table)
            root_table = self.effective.tables[root]
            self.schema, file_table = with_stated_table(self.schema, self.effective, root)
            names = [item.properties.get(SOURCE_NAMES) or {} for item in (root_table, file_table)]
            self._update(root, None, {SOURCE_NAMES: {**names[0], **names[1], **keys}})

    def _rename_tables(self, names: Mapping[str, str]) -> None:
        for old in names:
            self.schema, file_table = with_stated_table(self.schema, self.effective, old)
            self.schema = self.schema.with_table(file_table)
        new_names = dict(names)
        for table in self.schema.tables.values():  # nested tables begin with the name of their parent
            parent = next((old for old in names if table.name.startswith(old + self._naming.path_separator)), None)
            if parent is not None and table.name not in names and table.is_nested:
                new_names[table.name] = names[parent] + table.name.removeprefix(parent)
        tables = {}
        stored_tables = self.stored.tables if self.stored else {}
        for name, table in self.schema.tables.items():
            properties = dict(table.properties)
            if name in names:
                properties = _with_former_name(table, names[name], stored_tables)
            if table.parent in new_names:
                properties["parent"] = new_names[table.parent]
            tables[new_names.get(name, name)] = Table(new_names.get(name, name), table.columns, properties)
        self.renamed |= {(old, None): new for old, new in new_names.items()}
        self.schema = replace(self.schema, tables=tables)
        remaining = {name: table for name, table in self.effective.tables.items() if name not in new_names}
        self.effective = replace(self.effective, tables=remaining)
        self.root = new_names.get(self.root, self.root) if self.root else None


def _with_former_name(item: Table | Column, new: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a table or column under a new name, with its former names.

    Only names that the export file has or had count, because a destination knows only these.
    """
    earlier_names = [name for name in origins(item.properties) if name != new]
    former_names = [item.name, *earlier_names] if item.name in stored or not earlier_names else earlier_names
    properties = {key: value for key, value in item.properties.items() if key != RENAMED_FROM}
    if new in stored and item.name not in stored:
        return properties  # an edit that was not applied is undone
    return {**properties, RENAMED_FROM: former_names[0] if len(former_names) == 1 else former_names}


def _refuse_contradictions(renames: Sequence[Target], drops: Sequence[Target], unset: Sequence[Target]) -> None:
    for verb, targets in (("renamed", renames), ("dropped", drops)):
        twice = next((target for target in targets if targets.count(target) > 1), None)
        if twice is not None:
            raise InputError(f"{_shown(twice)} is {verb} twice", hint="name it once")
    for target in drops:
        if target in renames or target in unset:
            raise InputError(f"{_shown(target)} is dropped and changed", hint="drop it, or change it")
        if (target[0], None) in renames:
            raise InputError(f"`{target[0]}` is renamed, and a column of it dropped", hint="use two calls")
    if any((table, None) in renames for table, column in (*renames, *unset) if column is not None):
        raise InputError("a table is renamed, and a column of it changed", hint="use two calls")


def _refuse_taken(names: Mapping[str, str], existing: Sequence[str], noun: str) -> None:
    for old, new in names.items():
        if old == new:
            raise InputError(f"`{old}` is named so already (`--rename`)", hint="give it another name")
        if new in existing and new not in names:
            hint = f"choose another name for `{old}`, or drop `{new}` before"
            raise InputError(f"`{new}` is {noun} already", hint=hint)
    new_names = list(names.values())
    twice = next((new for new in new_names if new_names.count(new) > 1), None)
    if twice is not None:
        raise InputError(f"`{twice}` would be the name of two", hint="choose another name for one of them")


def _shown(target: Target) -> str:
    table, column = target
    return f"`{table}`" if column is None else f"`{table}.{column}`"
