"""The hooks for pre-commit, in a repository that uses them; the installed command stands for the hooks' own install."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

PRE_COMMIT = Path(sys.executable).with_name("pre-commit")
REPOSITORY = Path(__file__).parents[2]
MANIFEST = REPOSITORY / ".pre-commit-hooks.yaml"
HOOKS = {hook["id"]: hook for hook in yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))}

BREAKING = {"id": "bigint"}
ADDING = {"id": "bigint", "note": "text", "colour": "text"}

pytestmark = pytest.mark.skipif(not PRE_COMMIT.exists(), reason="pre-commit is not installed")


@pytest.fixture
def hooked(forked_work: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The repository with both hooks, as git runs them at a commit."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))
    local = [{**hook, "language": "system"} for hook in HOOKS.values()]
    forked_work.write(".pre-commit-config.yaml", yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]}))
    forked_work.commit("hooks")
    forked_work.run(str(PRE_COMMIT), "install")
    return forked_work


def try_commit(work: Any) -> str:
    work.git("add", "--all")
    return str(work.run("git", "commit", "--message", "a change", code=None))


def verdicts(output: str) -> dict[str, str]:
    return dict(re.findall(r"^(schemactl \w+)\.+(?:\(.*\))?(\w+)$", output, re.MULTILINE))


def is_committed(work: Any) -> bool:
    return not work.git("status", "--porcelain")


def test_a_breaking_change_is_not_committed(hooked: Any) -> None:
    hooked.save(BREAKING)

    said = try_commit(hooked)

    assert verdicts(said) == {"schemactl diff": "Failed", "schemactl schema": "Passed"}, said
    assert "C204" in said
    assert not is_committed(hooked)


def test_a_harmless_change_is_committed(hooked: Any) -> None:
    hooked.save(ADDING)

    said = try_commit(hooked)

    assert verdicts(said) == {"schemactl diff": "Passed", "schemactl schema": "Passed"}, said
    assert is_committed(hooked)


def test_commits_without_schemas_are_left_alone(hooked: Any) -> None:
    hooked.write("README.md", "text\n")

    said = try_commit(hooked)

    assert verdicts(said) == {"schemactl diff": "Skipped", "schemactl schema": "Skipped"}, said
    assert is_committed(hooked)


def test_each_invalid_file_is_reported_valid_ones_after_it_do_not_hide_it(hooked: Any) -> None:
    hooked.write("other/a.schema.yaml", "name: 1\n")
    hooked.write("other/-b c.schema.yaml", "tables: [\n")
    hooked.save(ADDING, "other/z.schema.yaml")

    said = try_commit(hooked)

    assert verdicts(said)["schemactl schema"] == "Failed", said
    assert "other/a.schema.yaml" in said
    assert "other/-b c.schema.yaml" in said
    assert "z.schema.yaml" not in said
    assert not is_committed(hooked)


def test_arguments_of_a_user_replace_the_hooks_own(hooked: Any) -> None:
    config = yaml.safe_load((hooked.top / ".pre-commit-config.yaml").read_text())
    for hook in config["repos"][0]["hooks"]:
        if hook["id"] == "schemactl-diff":
            hook["args"] = ["git:HEAD", "--fail-on=never"]
    hooked.write(".pre-commit-config.yaml", yaml.safe_dump(config))
    hooked.save(BREAKING)

    said = try_commit(hooked)

    assert verdicts(said)["schemactl diff"] == "Passed", said
    assert is_committed(hooked)


def test_pre_commit_takes_the_hooks(work: Any) -> None:
    work.run(str(PRE_COMMIT), "validate-manifest", str(MANIFEST))


def test_the_examples_of_the_documentation_work(hooked: Any) -> None:
    text = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")
    examples = [
        each for each in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "repos:" in each
    ]
    remote, local = examples

    assert {hook["id"] for hook in yaml.safe_load(remote)["repos"][0]["hooks"]} == HOOKS.keys()
    hooked.write(".pre-commit-config.yaml", local)
    hooked.save(BREAKING)
    said = try_commit(hooked)
    assert verdicts(said) == {"schemactl diff": "Failed"}, said
