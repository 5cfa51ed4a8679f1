"""From names in data to identifiers, by dlt's naming conventions (docs/dlt.md §4).

Each module here is one convention, found by its file name; it defines ``CONVENTION``. Modules that start with ``_``
contain shared code. To add a convention, add such a module. Third parties use the entry-point group
``schemactl.naming_convention``, or name a module of theirs in the schema, which the user admits (`schemactl.registry`).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from hashlib import shake_128
from types import ModuleType
from typing import Any, Protocol

from schemactl.errors import InputError, backquoted
from schemactl.registry import Registry, import_module_if_exists, is_admitted, optional_attribute
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.types import Schema

__all__ = ["CONVENTIONS", "Convention", "Naming", "convention_name", "load_naming", "naming_of"]


def unchanged(identifier: str) -> str:
    """Return ``identifier`` unchanged."""
    return identifier


_NOT_WORD = re.compile(r"[^A-Za-z\d_]+")  # `\d` knows the digits of all scripts, and dlt keeps them
_UNDERSCORES = re.compile("__+")


def only_words(name: str) -> str:
    """Replace each run of characters that are not ASCII letters, digits or ``_`` by one ``_``."""
    return _NOT_WORD.sub("_", name)


def guard_digit(name: str) -> str:
    """Put ``_`` before a leading digit."""
    return f"_{name}" if name[:1].isdecimal() else name


def single_underscores(name: str) -> str:
    """Make one ``_`` of each run, because two are the path separator."""
    return _UNDERSCORES.sub("_", name)


TAG_BYTES = 4
"""dlt allows one collision in a thousand tags; its formula gives four bytes for that."""

TAG_LENGTH = 6
"""Characters of a tag: four bytes in Base64, without padding."""


def shorten(identifier: str, source: str, max_length: int | None) -> str:
    """Return ``identifier`` in at most ``max_length`` characters; a tag of ``source`` replaces its middle.

    ``source`` is the name before normalization: dlt keeps names apart that differ only here. None and 0 mean no limit.
    """
    if not max_length or len(identifier) <= max_length:
        return identifier
    length = max_length - TAG_LENGTH
    if length < 0:
        hint = f"a shortened identifier needs {TAG_LENGTH} characters or more"
        raise InputError(f"`{identifier}` cannot be shortened to {max_length} characters", hint=hint)
    tail = length // 2
    return identifier[: length - tail] + tag(source) + identifier[len(identifier) - tail :]


def tag(source: str) -> str:
    """Return a hash of ``source``, six characters of ``[a-z0-9]``."""
    try:
        encoded = source.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the name {source!a} is not valid Unicode") from error
    return b64encode(shake_128(encoded).digest(TAG_BYTES), altchars=b"ba")[:TAG_LENGTH].decode("ascii").lower()


@dataclass(frozen=True, slots=True)
class Convention:
    """The rules of one naming convention; a plug-in module gives one as ``CONVENTION``.

    Attributes:
        clean: maps a non-blank name without surrounding spaces to an identifier, which is shortened afterwards.
        path_separator: the separator between the identifiers of a path; ``clean`` must not produce it.
        adapt_table: adapts the shortened identifier of a table.
        longest: maximum length of an identifier in characters; None for no limit.
        shorten: shortens a cleaned identifier, or joined identifiers; also gets the name or path in the data, and the
            maximum length (``shorten``).
    """

    clean: Callable[[str], str]
    is_case_sensitive: bool
    path_separator: str = "__"
    adapt_table: Callable[[str], str] = unchanged
    longest: int | None = None
    shorten: Callable[[str, str, int | None], str] = shorten


CACHED_NAMES = 65_536
"""Names remembered of each kind; bounded, because keys of data may be as many as its rows."""


class Naming:
    """A naming convention with a maximum identifier length. Immutable after construction.

    Its methods raise ``InputError`` when dlt raises ``ValueError`` (a blank name, half of a surrogate pair) or
    ``AssertionError`` (no room for a tag). ``max_length`` is the longest identifier in characters; None for the limit
    of the convention, 0 for no limit, as in dlt.
    """

    def __init__(self, convention: Convention, max_length: int | None = None) -> None:
        longest = convention.longest
        if longest is not None and max_length is not None and max_length > longest:
            raise InputError(f"the naming convention allows {longest} characters at most, not {max_length}")
        self.max_length = longest if max_length is None else max_length
        self.path_separator = convention.path_separator
        self.is_case_sensitive = convention.is_case_sensitive
        self._convention = convention
        # dlt caches these two as well: the same few keys come with every document
        self._identifier: Callable[[str], str] = lru_cache(CACHED_NAMES)(self._make_identifier)
        self._path: Callable[[str], str] = lru_cache(CACHED_NAMES)(self._make_path_identifier)

    def normalize_identifier(self, identifier: str) -> str:
        """Return the identifier of a column for any name.

        May be empty under ``sql_cs_v1`` and ``sql_ci_v1``, as in dlt: ``__`` has nothing that they keep.
        """
        return self._identifier(identifier)

    def normalize_table_identifier(self, identifier: str) -> str:
        """Return the identifier of a table, schema or dataset for any name."""
        return self._convention.adapt_table(self.normalize_identifier(identifier))

    def normalize_path(self, path: str) -> str:
        """Return the identifier of a column for a path: parts normalized, the whole shortened; may be empty."""
        return self._path(path)

    def normalize_tables_path(self, path: str) -> str:
        """Return the identifier of a table for a path, made as in ``normalize_path``."""
        parts = [self.normalize_table_identifier(identifier) for identifier in self.break_path(path)]
        return self._convention.shorten(self.make_path(*parts), path, self.max_length)

    def break_path(self, path: str) -> tuple[str, ...]:
        """Return the parts of a path, without blank ones."""
        return tuple(identifier for identifier in path.split(self.path_separator) if identifier.strip())

    def make_path(self, *identifiers: str) -> str:
        """Join identifiers, blank ones left out; neither normalized nor shortened."""
        return self.path_separator.join(identifier for identifier in identifiers if identifier.strip())

    def shorten_fragments(self, *identifiers: str) -> str:
        """Join identifiers and shorten the whole; no identifiers give ``""`` (None in dlt).

        The tag is of the joined identifiers, not of the names in the data: as in dlt, the same path may thus
        be shortened to another identifier than by ``normalize_path``.
        """
        joined = self.make_path(*identifiers)
        return self._convention.shorten(joined, joined, self.max_length)

    def _make_identifier(self, identifier: str) -> str:
        stripped = identifier.strip()
        if not stripped:
            raise InputError("a name is blank", hint="add at least one character that is not a space")
        return self._convention.shorten(self._convention.clean(stripped), stripped, self.max_length)

    def _make_path_identifier(self, path: str) -> str:
        parts = [self.normalize_identifier(identifier) for identifier in self.break_path(path)]
        return self._convention.shorten(self.make_path(*parts), path, self.max_length)


_METHODS = (
    *("normalize_identifier", "normalize_table_identifier", "normalize_path", "normalize_tables_path"),
    *("break_path", "make_path", "shorten_fragments"),
)


class ForeignNaming(Naming):
    """Adapts a naming class in dlt's style; members that the class lacks are inherited from ``Naming``.

    The class must have ``normalize_identifier``, which also shortens. It does not need dlt's base class, so dlt does
    not have to be installed. It is constructed with ``max_length`` as its only argument.
    """

    def __init__(self, made_by: Callable[[int | None], Any], max_length: int | None) -> None:
        foreign = made_by(max_length)
        convention = Convention(
            clean=foreign.normalize_identifier,
            is_case_sensitive=bool(optional_attribute(foreign, "is_case_sensitive", True)),
            path_separator=optional_attribute(foreign, "PATH_SEPARATOR", "__"),
        )
        super().__init__(convention, optional_attribute(foreign, "max_length", max_length))
        for method in _METHODS:
            foreign_method = optional_attribute(foreign, method)
            if foreign_method is not None:
                setattr(self, method, _with_our_errors(foreign_method))


def _with_our_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*names: str) -> Any:
        try:
            return method(*names)
        # what dlt's base class raises: blank names and bad Unicode, no room for the tag
        except (ValueError, AssertionError) as error:
            subject, reason = backquoted(names), error or type(error).__name__
            raise InputError(f"the naming convention fails for {subject}: {reason}") from error

    return call


class ConventionModule(Protocol):
    """A module that is a naming convention."""

    CONVENTION: Convention


CONVENTIONS: Registry[ConventionModule] = Registry("naming convention", "schemactl.schema.naming")

_DLT_PACKAGE = "dlt.common.normalizers.naming."
_DLT_CLASS = "NamingConvention"
_DLT_MODULE = re.compile(r"dlt\.(?:common\.normalizers\.naming\.[a-z]\w*|destinations\.impl\.[a-z]\w*\.(?:ci_)?naming)")
_LEGACY = {"dlt.common.normalizers.names.snake_case": "snake_case"}


def load_naming(reference: str, max_length: int | None = None) -> Naming:
    """Return the naming convention that a schema's ``normalizers.names`` refers to (docs/dlt.md §1.5).

    Args:
        reference: a built-in or installed convention, dlt's path of a built-in one (which does not need dlt), another
            convention of dlt, a module that the user has admitted (``registry.admit_modules``) with our ``CONVENTION``
            or a class ``NamingConvention`` as in dlt, or the path of such a class.
        max_length: longest identifier of the destination in characters; None for the convention's own limit.
    """
    name = convention_name(reference)
    if name in CONVENTIONS:
        return _naming_by_module(CONVENTIONS[name], name, max_length)
    path, _, class_name = reference.rpartition(".")
    if _is_trusted(reference):
        module = import_module_if_exists(reference, CONVENTIONS.kind)
        if module is not None:
            return _naming_by_module(module, reference, max_length)
    if _is_trusted(path) or is_admitted(reference):
        naming_class = optional_attribute(import_module_if_exists(path, CONVENTIONS.kind), class_name)
        if isinstance(naming_class, type):
            return _naming_by_class(naming_class, reference, max_length)
    raise CONVENTIONS.refused(name)


def _is_trusted(path: str) -> bool:
    """Return whether a schema file may have this module imported: dlt's own, or admitted by the user."""
    return _DLT_MODULE.fullmatch(path) is not None or is_admitted(path)


def convention_name(reference: str) -> str:
    """Return the name of a built-in convention for dlt's ways to write it, any other reference unchanged.

    >>> convention_name("dlt.common.normalizers.naming.direct"), convention_name("acme.shouting")
    ('direct', 'acme.shouting')
    """
    if reference in _LEGACY:
        return _LEGACY[reference]
    return reference.removeprefix(_DLT_PACKAGE).removesuffix(f".{_DLT_CLASS}")


def _naming_by_module(module: ConventionModule | ModuleType, reference: str, max_length: int | None) -> Naming:
    convention = optional_attribute(module, "CONVENTION")
    if isinstance(convention, Convention):
        return _naming_of_convention(convention, max_length)
    by_class = optional_attribute(module, _DLT_CLASS)
    if isinstance(by_class, type):
        return _naming_by_class(by_class, reference, max_length)
    hint = f"it needs a `CONVENTION` or a class `{_DLT_CLASS}`"
    raise InputError(f"the module `{reference}` contains no naming convention", hint=hint)


@lru_cache(4)
def _naming_of_convention(convention: Convention, max_length: int | None) -> Naming:
    """Return one naming for all who ask: the names that it remembers are the same few again and again."""
    return Naming(convention, max_length)


def _naming_by_class(by_class: type, reference: str, max_length: int | None) -> Naming:
    try:
        return ForeignNaming(by_class, max_length)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"cannot create the naming convention `{reference}`: {error}") from error


def naming_of(schema: Schema, max_length: int | None = None) -> Naming:
    """Return a schema's naming convention."""
    return load_naming(NormalizerConfig.of(schema.normalizers).naming, max_length)
