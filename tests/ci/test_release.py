"""What is built from the repository beside the wheel: the page on PyPI, the site, the images."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

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


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((TOP / ".github" / "workflows" / f"{name}.yml").read_text())
    return loaded


def scripts(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


def test_what_is_published_is_built_where_nothing_without_a_hash_is_installed() -> None:
    jobs = workflow("release")["jobs"]
    uploads = [
        name
        for name, job in jobs.items()
        if any("actions/upload-artifact@" in step.get("uses", "") for step in job["steps"])
    ]
    script = scripts(jobs["build"]).replace("\\\n", " ")

    assert uploads == ["build"]
    assert "needs" not in jobs["build"]
    assert ".ci/run" not in script
    assert ".ci/wheel" not in script
    installs = [line for line in script.splitlines() if "pip install" in line]
    assert installs
    assert all("--require-hashes --only-binary=:all:" in line for line in installs)
    assert "uv build --out-dir dist --build-constraints .ci/action-requirements.txt --require-hashes" in script
    assert {"build", "checks"} <= {*jobs["publish"]["needs"]} & {*jobs["images"]["needs"]}
    assert ".ci/run" in scripts(jobs["checks"])


@pytest.mark.parametrize("file", ["uv", "release", "action"])
def test_what_builds_a_release_has_one_version_and_hashes(file: str) -> None:
    text = (TOP / ".ci" / f"{file}-requirements.txt").read_text()
    entries = re.findall(r"^([\w.-]+)==\S+(.*(?:\n {4}--hash=.*)*)", text, re.MULTILINE)

    assert {"uv": "uv", "release": "twine", "action": "hatchling"}[file] in [name for name, _ in entries]
    assert all("--hash=sha256:" in hashes for _, hashes in entries)
    assert len(entries) == len(re.findall(r"^[a-z0-9]", text, re.MULTILINE))
    assert "http" not in text


def test_uv_is_of_one_version_wherever_it_is_installed() -> None:
    files = [TOP / ".ci" / "run", *(TOP / ".github" / "workflows").iterdir()]
    installs = [
        line
        for file in files
        for line in file.read_text().replace("\\\n", " ").splitlines()
        if "pip install" in line and "uv" in line
    ]
    assert len(installs) >= 4
    assert all("--require-hashes" in line and ".ci/uv-requirements.txt" in line for line in installs)


def test_images_are_made_of_a_base_with_a_digest() -> None:
    lines = re.findall(r"^FROM (\S+) AS", (TOP / "Dockerfile").read_text(), re.MULTILINE)
    stages = {"base"}
    bases = {line for line in lines if line not in stages}

    assert len(bases) == 1
    assert all(re.fullmatch(r"python:3\.13-slim@sha256:[0-9a-f]{64}", base) for base in bases)


@pytest.mark.parametrize("name", ["ci", "release"])
def test_workflows_are_valid_and_an_auditor_finds_nothing(name: str) -> None:
    file = str(TOP / ".github" / "workflows" / f"{name}.yml")
    programs = Path(sys.executable).parent
    for call in (
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", file],
        ["zizmor", "--offline", "--no-progress", file],
    ):
        done = subprocess.run([programs / call[0], *call[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
