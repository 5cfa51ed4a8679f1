"""README and docs: their links lead somewhere, their commands exist, and what is made from code is up to date."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import postgres_server
import pytest

from schemactl import __version__
from schemactl.cli.app import HELP_COMMAND, build

TOP = Path(__file__).parents[2]
PAGES = (
    TOP / "README.md",
    TOP / "CHANGELOG.md",
    TOP / "CONTRIBUTING.md",
    TOP / "CODE_OF_CONDUCT.md",
    TOP / "SECURITY.md",
    *sorted((TOP / "docs").rglob("*.md")),
)
CODE = re.compile(r"```.*?```|(?<=\n\n)(?: {4}[^\n]*\n+)+|`[^`\n]*`", re.DOTALL)
CALL = re.compile(r"\bschemactl ([^`\n|#]*)")


def load(name: str) -> ModuleType:
    """A script of docs/ as a module."""
    spec = spec_from_file_location(name, TOP / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def named_id(page: Path) -> str:
    return str(page.relative_to(TOP))


@pytest.mark.parametrize("page", PAGES, ids=named_id)
def test_links_lead_somewhere(page: Path) -> None:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def calls(text: str) -> Iterator[list[str]]:
    """The words of each call of schemactl that a page shows as code."""
    for code in CODE.findall(text):
        for call in CALL.findall(code):
            words = re.split(r"[\s\[\]|=\"]+", re.split(r" && |; |\)", call)[0])
            if re.fullmatch(r"[a-z]+", words[0]):
                yield words


@pytest.mark.parametrize("page", [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))], ids=named_id)
def test_commands_and_options_of_a_page_exist(page: Path) -> None:
    root = build()
    unknown = []
    for words in calls(page.read_text(encoding="utf-8")):
        command, rest = root, words
        if words[0] == HELP_COMMAND:
            rest = [word for word in words[1:] if word.islower()]
        while rest and hasattr(command, "get_command") and not rest[0].startswith("-"):
            command, rest = command.get_command(None, rest[0]), rest[1:]
            if command is None:
                unknown.append(" ".join(words))
                break
        else:
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
            unknown += [
                f"{' '.join(words)}: {each}" for each in rest if re.match("--[a-z]", each) and each not in known
            ]

    assert unknown == []


def test_pages_name_the_table_of_a_setting_that_is_not_the_commands() -> None:
    assert "| `null-values` in `[csv]`, no variable |" in load("command_pages").page("infer")


def test_pages_of_the_commands_are_up_to_date() -> None:
    script = load("command_pages")

    shipped = {file.name: file.read_text(encoding="utf-8") for file in script.FOLDER.glob("*.md")}

    assert shipped == script.pages(), "run `uv run python docs/command_pages.py`"


def test_the_changes_of_a_release_fit_one_page() -> None:
    text = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## [{__version__}]")[2].partition("\n## [")[0]

    assert 0 < len(section.split()) <= 1000


def test_readme_is_short() -> None:
    assert len((TOP / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


REFERENCES = {"README.md", "dlt.md", "format-table.md", "glossary.md", "json.md", "performance.md", "statements.md"} | {
    "development.md",
    "extending.md",
}
GUIDES = [page for page in sorted((TOP / "docs").glob("*.md")) if page.name not in REFERENCES]


@pytest.mark.parametrize("page", GUIDES, ids=named_id)
def test_a_guide_is_short_and_leads_on(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert len(text.split()) <= 2000, "split it by what one does"
    assert "](glossary.md)" in text.partition("\n## See also\n")[2]


def test_every_page_is_in_the_navigation() -> None:
    navigation = (TOP / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = {str(page.relative_to(TOP / "docs")) for page in (TOP / "docs").rglob("*.md")}

    assert {page for page in pages if f" {page}\n" not in navigation} == set()


def test_the_home_page_leads_to_every_guide() -> None:
    home = (TOP / "docs" / "README.md").read_text(encoding="utf-8")

    assert [page.name for page in GUIDES if f"({page.name})" not in home] == []


BLOCKS = {
    "README.md": 2, "docs/README.md": 1, "docs/start-project.md": 1, "docs/quickstart.md": 4, "docs/csv.md": 4,
    "docs/api-pages.md": 3, "docs/change-columns.md": 8, "docs/two-branches.md": 4, "docs/readers.md": 6,
    "docs/start-dlt.md": 8, "docs/start-database.md": 7, "docs/upgrade.md": 3, "docs/many-calls.md": 3,
}  # fmt: skip
"""The number of commands that each page runs."""


def shows_what_its_commands_print(name: str, postgres: str | None = None) -> None:
    script = load("readme_output")
    text = (TOP / name).read_text(encoding="utf-8")

    assert script.count_calls(text) == BLOCKS[name]
    message = f"run `uv run python docs/readme_output.py {name}`"
    assert script.with_output(text, script.PAGES[name], postgres) == text, message


@pytest.mark.e2e
@pytest.mark.parametrize("name", sorted(BLOCKS.keys() - {"docs/start-database.md"}))
def test_pages_show_what_their_commands_print(name: str) -> None:
    shows_what_its_commands_print(name)


@pytest.mark.e2e
def test_page_about_a_database_shows_what_its_commands_print(postgres_url: str) -> None:
    with postgres_server.database(postgres_url) as url:
        shows_what_its_commands_print("docs/start-database.md", url)


def test_every_page_with_output_is_run() -> None:
    assert load("readme_output").PAGES.keys() == BLOCKS.keys()
