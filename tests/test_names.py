"""Names in the code say what things are, attributes are declared, and names of test files are one of a kind."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import schemactl

TESTS = Path(__file__).parent
PACKAGE = Path(schemactl.__file__).parent
WORDS = """
    asked at brought done each found given held here it kept known left listed made meant met named one ones own part
    place refused rest said saved seen shown stated such taken that them there these this those told wanted what
"""
"""Names that say that somebody found or stated a thing, or point at it, and not what it is."""
LARGEST_SHARE = 0.03
MOST_PROBES = 24
"""Calls of ``getattr`` and ``hasattr``: they belong to objects of other packages, and to plug-ins in ``registry``."""


def bound_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the parameters and variables of a function, without those of functions inside."""
    names = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        match nodes.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) as node:
                names.add(name)
            case (
                ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) as node
            ):
                names.add(name)
            case node:
                pass
        nodes += ast.iter_child_nodes(node)
    return names


def test_functions_name_what_they_hold() -> None:
    pronouns = set(WORDS.split())
    functions = [
        (path, node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    vague = [
        f"{path.relative_to(PACKAGE)}:{function.lineno} {function.name}: {', '.join(sorted(names))}"
        for path, function in functions
        if (names := bound_names(function) & pronouns)
    ]
    assert len(vague) <= LARGEST_SHARE * len(functions), "\n".join(vague)


def test_no_two_test_files_share_a_name() -> None:
    counts = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in counts.items() if count > 1] == []


def test_attributes_are_declared() -> None:
    probes = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")
    ]
    assert len(probes) <= MOST_PROBES, "\n".join(probes)
