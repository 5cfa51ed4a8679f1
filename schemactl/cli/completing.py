"""Completes names for shells: formats, rules, naming conventions, and the schemas of the folder.

Names come from directory listings, without imports, so that an answer comes at once. A stranger's checkout can contain
files and branches with any name, and the scripts of zsh and PowerShell run or insert candidates unescaped:
``without_shell_syntax`` filters the candidates of all options.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from pkgutil import resolve_name

from schemactl.errors import InputError

_PLAIN = re.compile(r"[\w./@:=,-]+")
"""The characters of names, references, ``RULE=LEVEL`` and lists that no shell expands or splits."""


def without_shell_syntax(completer: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Return a completer that leaves out the candidates that a shell could read as more than a word."""

    @functools.wraps(completer)  # typer passes the parameters that the signature names
    def complete(*args: object, **keywords: object) -> list[str]:
        return [candidate for candidate in completer(*args, **keywords) if _PLAIN.fullmatch(candidate)]

    return complete


def _completer(module: str, name: str) -> Callable[[str], list[str]]:
    """Return the completer of names in a registry, or in a list, which is imported at its first call."""

    def complete(incomplete: str) -> list[str]:
        return beginning(incomplete, resolve_name(f"{module}:{name}"))

    return complete


complete_formats = _completer("schemactl.formats", "FORMATS")
complete_namings = _completer("schemactl.schema.naming", "CONVENTIONS")
complete_normalizers = _completer("schemactl.normalization.normalizers", "NORMALIZERS")


def complete_input_formats(incomplete: str) -> list[str]:
    """Return the input formats that begin so."""
    from schemactl.engine.input_formats import format_names

    # A table is named as one: `table:NAME`.
    return beginning(incomplete, (name for name in format_names() if name != "table"))


def complete_outputs(incomplete: str) -> list[str]:
    """Return the outputs of ``diff`` that begin so."""
    from schemactl.render.reviews import OUTPUTS

    return beginning(incomplete, ("text", *OUTPUTS))


def complete_rules(incomplete: str) -> list[str]:
    """Return the ids of rules that begin so, in capitals or not."""
    from schemactl.review.migration_rules import migration_rules
    from schemactl.review.rules import rule_ids

    ids = sorted((*rule_ids(), *(rule.id for rule in migration_rules())))
    return beginning(incomplete, ids) or beginning(incomplete, map(str.lower, ids))


def complete_contracts(incomplete: str) -> list[str]:
    """Return the contracts that begin so: a mode for all, or the last of several ``ENTITY=MODE``."""
    from schemactl.schema.contract import PROMOTING, Entity, Mode

    prefix, comma, start = incomplete.rpartition(",")
    entity_modes = [f"{entity}={mode}" for entity in Entity for mode in Mode]
    entity_modes += [f"{Entity.DATA_TYPE}={mode}" for mode in PROMOTING]
    contracts = entity_modes if comma else (*Mode, *entity_modes)
    return [f"{prefix}{comma}{contract}" for contract in beginning(start, contracts)]


def complete_severities(incomplete: str) -> list[str]:
    """Return the rules that begin so, or after ``RULE=`` the levels."""
    from schemactl.review.severity import Severity

    rule, equals, level = incomplete.partition("=")
    if not equals:
        return complete_rules(incomplete)
    levels = (severity for severity in Severity if severity is not Severity.DEPENDS)
    return [f"{rule}={severity}" for severity in beginning(level, levels)]


def complete_dialects(incomplete: str) -> list[str]:
    """Return the dialects of SQL that begin so."""
    from sqlglot.dialects.dialect import Dialect

    from schemactl.type_systems.dialect_names import ALIASES

    return beginning(incomplete, sorted(name for name in (*Dialect.classes, *ALIASES) if name))


def beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so."""
    return [name for name in names if name.startswith(incomplete)]


def revisions() -> list[str]:
    """Return the branches and tags of the working folder's repository, if it is in one."""
    from schemactl.store.git import run_git

    folders = ("refs/heads", "refs/remotes", "refs/tags")
    try:
        result = run_git(Path.cwd(), "for-each-ref", "--format=%(refname:short)", *folders)
    except InputError:
        return []
    return result.stdout.decode(errors="replace").split() if result.returncode == 0 else []
