"""What is built from the repository beside the wheel: the page on PyPI, the site, the images."""

from __future__ import annotations

import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
README = """A [page](docs/a.md#x), a [site](https://a.example), [here](#install).

![A terminal](docs/diff.svg)

`x[0](y)` stays.
"""


def for_index(repository: str | None) -> str:
    rewrite = runpy.run_path(str(TOP / ".ci" / "readme.py"))["readme_for_index"]
    shown: str = rewrite(README, repository, "v1.0.0")
    return shown


def test_links_of_the_page_on_pypi_lead_into_the_repository() -> None:
    shown = for_index("https://git.example/o/n")
    assert "[page](https://git.example/o/n/blob/v1.0.0/docs/a.md#x)" in shown
    assert "![A terminal](https://git.example/o/n/raw/v1.0.0/docs/diff.svg)" in shown
    assert "[site](https://a.example), [here](#install)" in shown
    assert "`x[0](y)` stays" in shown


def test_page_of_a_repository_without_an_address_has_no_dead_links() -> None:
    assert for_index(None) == "A page, a [site](https://a.example), [here](#install).\n\n`x[0](y)` stays.\n"


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="the site needs `uv sync --group docs`")
def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(call, cwd=TOP, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "overview" / "index.html").is_file()


def test_images_copy_what_the_build_reads_and_nothing_else_is_sent() -> None:
    allowed = [line[1:] for line in (TOP / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [line for line in (TOP / "Dockerfile").read_text().splitlines() if line.startswith("COPY")]
    assert sorted(allowed) == sorted(name for line in copied for name in line.split()[1:-1])
    assert [name for name in allowed if not (TOP / name).exists()] == []
