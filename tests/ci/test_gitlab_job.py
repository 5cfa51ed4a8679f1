"""The job for GitLab CI that docs/ci.md shows: its script is run in a made merge request."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
CHECK = Path(sys.executable).with_name("check-jsonschema")

BREAKING = {"id": "bigint"}
ADDING = {"id": "bigint", "note": "text", "colour": "text"}


@pytest.fixture
def example() -> str:
    text = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")
    (found,) = (
        each for each in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "script:" in each
    )
    return str(found)


def run_job(example: str, work: Any, columns: Mapping[str, str]) -> tuple[int, str, Mapping[str, Path]]:
    """Commit a change and run the job's script on it; return its exit code, its log and the reports."""
    base = work.git("rev-parse", "HEAD").strip()
    work.save(columns)
    work.commit("the change")
    job = yaml.safe_load(example)["schemas"]
    assert job["variables"]["GIT_DEPTH"] == 0
    installing, *script = job["script"]
    assert installing.startswith("pip install ")
    variable = job["variables"]["BASE"].replace("$CI_MERGE_REQUEST_DIFF_BASE_SHA", base)
    command = ["bash", "-e", "-c", "\n".join(script)]
    done = subprocess.run(
        command,
        cwd=work.top,
        env={**os.environ, "BASE": variable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    reports = {name: work.top / path for name, path in job["artifacts"]["reports"].items()}
    assert job["artifacts"]["when"] == "always"
    return done.returncode, done.stdout, reports


def test_a_breaking_merge_request_fails_with_both_reports(work: Any, example: str) -> None:
    code, log, reports = run_job(example, work, BREAKING)

    assert code == 1
    assert "C204" in log
    issues = json.loads(reports["codequality"].read_text())
    places = [(issue["check_name"], issue["location"]["path"]) for issue in issues]
    assert ("C204", "schemas/export/shop.schema.yaml") in places
    suites = ElementTree.parse(reports["junit"]).getroot()
    assert [failure.get("type") for failure in suites.iter("failure")] == ["C204"]


def test_a_harmless_merge_request_passes(forked_work: Any, example: str) -> None:
    code, _, reports = run_job(example, forked_work, ADDING)

    assert code == 0
    assert not [each for each in json.loads(reports["codequality"].read_text()) if each["severity"] == "critical"]
    assert ElementTree.parse(reports["junit"]).getroot().get("failures") == "0"


@pytest.mark.skipif(not CHECK.exists(), reason="check-jsonschema is not installed")
def test_gitlab_takes_the_job(example: str, tmp_path: Path) -> None:
    file = tmp_path / ".gitlab-ci.yml"
    file.write_text(example)
    command = [CHECK, "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
