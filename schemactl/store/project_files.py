"""Return the texts of the files that ``schemactl init`` adds to a project: settings, CI, pre-commit, editor."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Final, Literal

CiSystem = Literal["github", "gitlab"]

SETTINGS_FILE: Final = "schemactl.toml"
PRE_COMMIT_FILE: Final = ".pre-commit-config.yaml"
CI_FILES: Final[Mapping[CiSystem, str]] = {"github": ".github/workflows/schemas.yml", "gitlab": ".gitlab-ci.yml"}
SCHEMA_FILE_SCHEMA: Final = ".schemactl/file.json"
SETTINGS_SCHEMA: Final = ".schemactl/settings.json"
EDITOR_FILE: Final = ".vscode/settings.json"


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file to create.

    Attributes:
        path: from the folder that the file belongs to: the project, or the top of its repository.
        text: of the new file.
        addition: what an existing file of this name needs; empty if it needs nothing.
    """

    path: str
    text: str
    addition: str = ""


@dataclass(frozen=True, slots=True)
class UnchangedFile:
    """A file that existed before.

    Attributes:
        addition: the lines that it lacks; empty if it lacks nothing.
    """

    path: str
    addition: str


@dataclass(frozen=True, slots=True)
class Initialized:
    """The report of ``schemactl init``.

    Attributes:
        created: files, in order; git's own have new lines.
        unchanged: files that existed before.
        schemas: names of the schemas that the project has.
        source: the origin of the schemas, without a password; None without an origin.
        next_commands: three commands that are useful next.
    """

    created: tuple[str, ...]
    unchanged: tuple[UnchangedFile, ...]
    schemas: tuple[str, ...]
    source: str | None
    next_commands: tuple[str, ...]


def settings_file(folders: Mapping[str, str]) -> ProjectFile:
    """Return the settings file of a project; ``folders`` are the settings that name its schemas folders."""
    lines = "".join(f"{key} = {json.dumps(folder, ensure_ascii=False)}\n" for key, folder in folders.items())
    text = f"{lines}\n# Name a destination, and keep its address in a variable:\n"
    text += '# [destinations.prod]\n# address-env = "PROD_DATABASE_URL"\n# protected = true\n'
    is_default = dict(folders) == {"schemas": "schemas"}
    return ProjectFile(SETTINGS_FILE, text, "" if is_default else lines)


def ci_file(system: CiSystem, project: str, schemas: Sequence[str], requirement: str) -> ProjectFile:
    """Return the file by which a CI system reviews each change of the schemas.

    Args:
        system: whose file it is.
        project: the folder of the settings from the top of the repository, ``.`` if they are the same.
        schemas: the folders of the schema files, from there as well.
        requirement: the package to install, for pip (PEP 508).
    """
    settings = SETTINGS_FILE if project == "." else f"{project}/{SETTINGS_FILE}"
    pattern = "**" if system == "github" else "**/*"
    values = {
        "paths": json.dumps([*(f"{folder}/{pattern}" for folder in schemas), settings]),
        "requirement": quote(requirement),
        "project": quote(project),
    }
    if system == "github":
        return ProjectFile(CI_FILES[system], _fill(_GITHUB, values))
    job = _fill(_GITLAB, values)
    return ProjectFile(CI_FILES[system], job, job)


def pre_commit_file(options: str) -> ProjectFile:
    """Return the configuration of pre-commit; its hooks run the ``schemactl`` on the path with these options."""
    hooks = _fill(_HOOKS, {"options": f" {options}" if options else ""})
    return ProjectFile(PRE_COMMIT_FILE, f"repos:\n{hooks}", hooks)


def editor_file(schemas: Sequence[str]) -> ProjectFile:
    """Return the settings by which VS Code checks schema files; ``schemas`` are the folders of these."""
    patterns = [f"{folder}/*.schema.{ending}" for folder in schemas for ending in ("yaml", "yml")]
    json_patterns = [f"/{folder}/*.schema.json" for folder in schemas]
    settings = {
        "yaml.schemas": {f"./{SCHEMA_FILE_SCHEMA}": patterns},
        "json.schemas": [{"fileMatch": json_patterns, "url": f"./{SCHEMA_FILE_SCHEMA}"}],
    }
    text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    return ProjectFile(EDITOR_FILE, text, "\n".join(line[2:] for line in text.splitlines()[1:-1]) + "\n")


def _fill(template: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(f"<{name}>", value)
    return template


_GITHUB: Final = """\
name: schemas
on:
  pull_request:
    paths: <paths>
permissions:
  contents: read
jobs:
  review:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@34e114876b0b11c390a56381ad16ebd13914f8d5 # v4.3.1
        with:
          fetch-depth: 0 # the review needs the commit at which the branch began
          persist-credentials: false
      - run: |
          python3 -m venv "$RUNNER_TEMP/schemactl"
          "$RUNNER_TEMP/schemactl/bin/pip" install --quiet <requirement>
          cd <project>
          "$RUNNER_TEMP/schemactl/bin/schemactl" diff "git:origin/$GITHUB_BASE_REF..." --format github
"""

_GITLAB: Final = """\
schemas:
  image: python:3.13
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
      changes: <paths>
  variables:
    GIT_DEPTH: 0
    BASE: git:$CI_MERGE_REQUEST_DIFF_BASE_SHA
  script:
    - rm -f gl-code-quality-report.json schemas.xml # the merge request may bring files of these names
    - |
      pip install --quiet <requirement>
      cd <project>
      schemactl diff "$BASE" --report "gitlab=$CI_PROJECT_DIR/gl-code-quality-report.json" \\
        --report "junit=$CI_PROJECT_DIR/schemas.xml"
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
      junit: schemas.xml
"""

_HOOKS: Final = r"""  - repo: local
    hooks:
      - id: schemactl-schema
        name: schemactl schema
        entry: schemactl check<options> --quiet --
        language: system
        files: \.schema\.(yaml|yml|json)$
      - id: schemactl-diff
        name: schemactl diff
        entry: schemactl diff git:HEAD --fail-on=error<options>
        language: system
        files: \.schema\.(yaml|yml|json)$
        pass_filenames: false
"""
