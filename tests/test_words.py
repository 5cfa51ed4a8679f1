"""Plain words: no phrase that makes readers stumble, in anything that people read."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import schemactl
from schemactl.cli.app import HELP
from schemactl.cli.commands import command_names, load_command
from schemactl.cli.declarations import option_specs

REPOSITORY = Path(__file__).parents[1]
PACKAGE = Path(schemactl.__file__).parent

RULES = PACKAGE / "review" / "rules"

PHRASES = {
    "where, if it is no place": r"(?<!, )(?<!and )(?<!\.)\bwhere\b(?! in the data|:)|\bWhere [a-z]",
    "stands": r"\bst(?:and|ands|anding|ood)\b(?! for)",
    "is there": r"\b(?:is|are|was|were) there\b",
    "states": r"\bstate[sd]\b|\bstating\b|\b(?:to|must|may|can|that) state\b",
    "anew": r"\banew\b",
    "whom": r"\bwhom\b|\bwhoever\b",
    "nobody": r"\bnobody\b|\bsomebody\b",
    "take over": r"\b[Tt](?:ak(?:e|es|en|ing)|ook)\b[^.;:,]{0,25}\b(?:over|back|in|away|up)\b",
    "hold against": r"\b[Hh](?:old|olds|eld|olding)\b[^.;:,]{0,40}\bagainst\b",
    "of its own": r"\bof (?:its|their|one's|your|his) own\b",
    "a clause as a noun": r"\b(?:Return|Yield|Find|Read|Say|Show|Write|Print) (?:what|who|whom|which of)\b"
    r"|\bwhat (?:is|was|are|were|has|it|they|a|the|no|others|goes|stays|becomes|does|speaks)\b",
    "none as a noun": r"\b(?:is|are|has|have|with|allows?|names?|makes?|takes?) none\b|\bnone (?:is|are|of|that)\b",
    "those": r"\bthose\b|\bthese ones\b|\bthe others?\b(?= (?:is|are|has|have)\b)|\bothers\b",
    "alone": r"\balone\b",
    "beside": r"\bbeside\b",
    "speaks against": r"\bspeaks? against\b|\bin the way of\b",
    "half done": r"\bhalf done\b|\bbroke off\b|\bbroken off\b",
    "two semicolons": r";[^.;\n]+;",
}
"""Phrases by a name; sources: guides for writers of technical English, and what readers could not read."""


def help_texts(package: ModuleType | None = None) -> Iterator[str]:
    """The help of all commands and options."""
    args = (package,) if package else ()
    if package is None:
        yield HELP
    for name in command_names(*args):
        module = load_command(name, *args)
        yield (module.__doc__ or "").partition("\n\nExamples:\n")[0]
        yield from (spec.help for spec in option_specs(module.Options))
        if isinstance(module, ModuleType) and hasattr(module, "__path__"):
            yield from help_texts(module)


def trees(folder: Path = PACKAGE, without: Path | None = None) -> Iterator[ast.Module]:
    """The modules of the package, or of a folder of it."""
    for path in sorted(folder.rglob("*.py")):
        if without is None or not path.is_relative_to(without):
            yield ast.parse(path.read_text(encoding="utf-8"))


def string_of(node: ast.AST) -> str | None:
    """The text of a string, with a name for each value in it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(part.value if isinstance(part, ast.Constant) else "VALUE" for part in values)  # type: ignore[misc]
        case _:
            return None


IS_CODE = re.compile(
    r"(?i:\bselect\b|\bdelete from\b|\bupdate \w+ set\b|getElementById|<pre|stroke|%s)"
    r"|\bFROM\b|\bCREATE\b|\bBEGIN\b|\bTHEN\b|\$\?|\(\?|\\S"
)
"""What strings have that are SQL, shell, regular expressions or HTML, and not prose."""
LONGEST = 600
"""Longer strings are lists of words, time zones or parts of a page."""


def message_texts(trees: Iterable[ast.Module]) -> Iterator[str]:
    """The strings of several words: errors, hints, notes, and printed lines."""
    for tree in trees:
        quoted = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                quoted |= {id(part) for part in ast.walk(node) if part is not node}
        for node in ast.walk(tree):
            text = None if id(node) in quoted else string_of(node)
            if text and " " in text.strip() and len(text) <= LONGEST and not IS_CODE.search(text):
                yield text


def docstrings() -> Iterator[str]:
    """The docstrings of the package, those below attributes and constants too."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and (text := string_of(node.value)):
                yield text


def comments() -> Iterator[str]:
    """The comments of the package, those on lines next to each other as one."""
    for path in sorted(PACKAGE.rglob("*.py")):
        lines: list[str] = []
        last = 0
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        for token in tokens:
            if token.type == tokenize.COMMENT:
                if token.start[0] != last + 1 and lines:
                    yield " ".join(lines)
                    lines = []
                lines.append(token.string.lstrip("# "))
                last = token.start[0]
        yield " ".join(lines)


def page_texts(paths: Iterator[Path]) -> Iterator[str]:
    """The prose of pages, without their code."""
    for path in paths:
        text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"^\n(?: {4}.*\n|\n(?= {4}))+", "\n", text, flags=re.MULTILINE)
        yield re.sub(r"`[^`\n]*`", "CODE", text)


AREAS = {
    "help": help_texts,
    "messages": lambda: message_texts(trees(without=RULES)),
    "findings": lambda: message_texts(trees(RULES)),
    "README": lambda: page_texts(iter([REPOSITORY / "README.md"])),
    "docs": lambda: page_texts(path for path in (REPOSITORY / "docs").rglob("*.md") if path.parent.name != "commands"),
    "docstrings": docstrings,
    "comments": comments,
}


@pytest.mark.parametrize("area", AREAS)
def test_phrases_that_make_readers_stumble(area: str) -> None:
    plain_texts = (re.sub(r"`[^`\n]*`", "CODE", text) for text in AREAS[area]())
    stumbles = [
        f"{name}: {text.strip()[max(0, phrase.start() - 60) : phrase.end() + 60]!r}"
        for text in plain_texts
        for name, pattern in PHRASES.items()
        for phrase in re.finditer(pattern, text.strip())
    ]
    assert not stumbles, "\n".join((f"{len(stumbles)} phrases", *stumbles[:40]))


def test_the_phrases_are_found() -> None:
    sentences = {
        "where, if it is no place": "Nothing is written where it is not.",
        "stands": "The hint stands in the schema.",
        "is there": "Skip a load that is there.",
        "states": "The file states a type.",
        "anew": "Write it anew.",
        "whom": "Say whom it breaks.",
        "nobody": "Drop it once nobody needs it.",
        "take over": "Take the edit over.",
        "hold against": "Hold the tables against a schema.",
        "of its own": "It has a table of its own.",
        "a clause as a noun": "Return what a load writes.",
        "none as a noun": "It is none.",
        "those": "Skip those that fail.",
        "alone": "Read this table alone.",
        "beside": "The column beside it.",
        "speaks against": "Say what rows are in the way of it.",
        "half done": "A run stands half done.",
        "two semicolons": "Read it; write it; close it",
    }
    assert sentences.keys() == PHRASES.keys()
    for name, sentence in sentences.items():
        assert re.search(PHRASES[name], sentence), name
