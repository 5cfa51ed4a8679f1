"""The GitHub Action: its steps are run as a runner would, in pull requests of made repositories."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

PROGRAMS = Path(sys.executable).parent
REPOSITORY = Path(__file__).parents[2]
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
SCRIPTS = [pytest.param(step["run"], id=step["name"]) for step in STEPS]

BEFORE = {"id": "bigint", "note": "text"}
BREAKING = {"id": "bigint"}
REQUIREMENTS = REPOSITORY / ".ci" / "action-requirements.txt"
ADDING = {**BEFORE, "colour": "text"}
MARKER = "<!-- schemactl diff -->"

# Stands for python3 while the action installs: makes an environment of links, and writes down what pip is to install.
# Not in Python, which takes a tenth of a second to start: a run of the action calls it five times.
FAKE_PYTHON = f"""#!/bin/sh
case " $* " in
*" venv "*)
    for folder do :; done
    mkdir -p "$folder/bin"
    ln -sf "$0" "$folder/bin/python"
    ln -sf "$PROGRAM_THERE" "$folder/bin/schemactl"
    ;;
*" pip "*)
    while [ "$1" != install ]; do shift; done
    shift
    printf '%s\\n' "$*" >> "$FAKES/installed"
    ;;
*) exec {shlex.quote(sys.executable)} "$@" ;;
esac
"""

# Stands for GitHub: keeps comments in a file, and finds those that the jq expression selects.
FAKE_GH = f"""#!{sys.executable} -IS
import json, os, pathlib, re, sys
arguments = sys.argv[1:]
assert arguments[0] == "api" and os.environ["GH_TOKEN"] == "the token", arguments
store = pathlib.Path(os.environ["FAKES"], "comments.json")
comments = json.loads(store.read_text()) if store.exists() else []
if pathlib.Path(os.environ["FAKES"], "refuse").exists():
    sys.exit("HTTP 403: Resource not accessible by integration")
if arguments[1] == "graphql":
    assert arguments[arguments.index("--field") + 1] == "query=query {{ viewer {{ login }} }}"
    print("schemas[bot]")
    sys.exit()
path = next(each for each in arguments if each.startswith("repos/"))
if "--method" not in arguments:
    selected = ".user.login == env.LOGIN and (.body | startswith(env.MARKER))"
    assert arguments[arguments.index("--jq") + 1] == f".[] | select({{selected}}) | .id"
    for each in comments:
        if each["user"]["login"] == os.environ["LOGIN"] and each["body"].startswith(os.environ["MARKER"]):
            print(each["id"])
    sys.exit()
body = pathlib.Path(arguments[arguments.index("--field") + 1].removeprefix("body=@")).read_text()
if len(body) > 65_536:
    sys.exit("HTTP 422: Body is too long (maximum is 65536 characters)")
if arguments[arguments.index("--method") + 1] == "POST":
    assert path == "repos/someone/shop/issues/7/comments", path
    comments.append({{"id": 100 + len(comments), "user": {{"login": "schemas[bot]"}}, "body": body}})
else:
    (comment,) = [each for each in comments if path == f"repos/someone/shop/issues/comments/{{each['id']}}"]
    comment["body"] = body
store.write_text(json.dumps(comments))
"""


@dataclass
class Outcome:
    """What a run of the action left."""

    code: int
    log: str
    summary: str
    outputs: Mapping[str, str]
    installed: str


@dataclass
class Runner:
    """Runs the steps of action.yml one after the other, as GitHub does."""

    folder: Path
    top: Path
    program: Path
    """The ``schemactl`` that the action gets installed."""
    github: dict[str, str] = field(default_factory=dict)

    @property
    def comments(self) -> list[str]:
        store = self.folder / "comments.json"
        return [each["body"] for each in json.loads(store.read_text())] if store.exists() else []

    def comment(self, login: str, body: str) -> None:
        """Let a user write the first comment of the pull request."""
        (self.folder / "comments.json").write_text(json.dumps([{"id": 1, "user": {"login": login}, "body": body}]))

    def refuse_comments(self) -> None:
        (self.folder / "refuse").touch()

    def run(self, **inputs: str) -> Outcome:
        values = {f"github.{key}": value for key, value in self.github.items()}
        stated = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert stated.keys() <= ACTION["inputs"].keys()
        for name, declared in ACTION["inputs"].items():
            values[f"inputs.{name}"] = stated.get(name, _filled(declared["default"], values))
        log, code, summary = "", 0, self.folder / "summary"
        summary.write_text("")
        for step in STEPS:
            if "if" in step and not _value(step["if"][3:-2], values):
                continue
            done, outputs = self._step(step, values, summary)
            log += done.stdout
            values.update({f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()})
            if done.returncode:
                code = done.returncode
                break
        installed = self.folder / "installed"
        return Outcome(
            code,
            log,
            summary.read_text(),
            {name: _filled(declared["value"], values) for name, declared in ACTION["outputs"].items()},
            installed.read_text() if installed.exists() else "",
        )

    def _step(
        self, step: Mapping[str, Any], values: Mapping[str, str], summary: Path
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        assert step["shell"] == "bash"
        script, output = self.folder / "step.sh", self.folder / "output"
        script.write_text(step["run"])
        output.write_text("")
        environment = {
            **os.environ,
            **{name: _filled(value, values) for name, value in step.get("env", {}).items()},
            "FAKES": str(self.folder),
            "GITHUB_ACTION_PATH": str(REPOSITORY),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REPOSITORY": "someone/shop",
            "GITHUB_STEP_SUMMARY": str(summary),
            "PROGRAM_THERE": str(self.program),
            "PATH": f"{self.folder / 'fakes'}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.top,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        return done, dict(line.split("=", 1) for line in output.read_text().splitlines())


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: _value(found[1], values), text)


def _value(expression: str, values: Mapping[str, str]) -> str:
    """Return what GitHub's expression gives; ``&&``, ``||``, ``==``, texts and names are all that the action uses."""
    for operator in ("||", "&&"):
        if operator in expression:
            left, _, right = (part.strip() for part in expression.partition(operator))
            first = _value(left, values)
            return first if bool(first) == (operator == "||") else _value(right, values)
    left, equals, right = (part.strip() for part in expression.partition("=="))
    if equals:
        return "true" if _value(left, values) == _value(right, values) else ""
    if left.startswith("'"):
        return left.strip("'")
    assert re.fullmatch(r"(github|inputs|steps)(\.[\w-]+)+", left), left
    return values.get(left, "")


@pytest.fixture
def runner(tmp_path: Path, forked_work: Any, forked: Path) -> Runner:
    fakes = tmp_path / "runner" / "fakes"
    fakes.mkdir(parents=True)
    for name, text in (("python3", FAKE_PYTHON), ("gh", FAKE_GH)):
        (fakes / name).write_text(text)
        (fakes / name).chmod(stat.S_IRWXU)
    return Runner(fakes.parent, forked_work.top, forked, {"token": "the token"})


def open_pull_request(work: Any, runner: Runner, columns: Mapping[str, str], branch: str = "change") -> None:
    """Branch off, change the table ``orders``, and check out the merge with the target branch, as GitHub does."""
    work.git("switch", "--quiet", "--create", branch)
    work.save(columns)
    work.commit("the change")
    check_out_merge(work, branch)
    runner.github |= {"base_ref": "main", "event.pull_request.number": "7"}


def check_out_merge(work: Any, branch: str) -> None:
    work.git("checkout", "--quiet", "--detach", "main")
    work.git("merge", "--quiet", "--no-ff", "--no-edit", branch)
    work.git("update-ref", "refs/remotes/origin/main", "main")


def push(work: Any, runner: Runner, *states: Mapping[str, str]) -> None:
    runner.github |= {"event.before": work.git("rev-parse", "HEAD").strip()}
    for columns in states:
        work.save(columns)
        work.commit("pushed")


def test_a_breaking_pull_request_is_annotated_summed_up_and_fails(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)

    outcome = runner.run()

    assert outcome.code == 1
    annotation = r"^::error file=schemas/export/shop\.schema\.yaml,line=\d+,col=\d+,title=C204 column removed::.*`note`"
    assert re.search(annotation, outcome.log, re.MULTILINE), outcome.log
    assert outcome.summary.startswith(MARKER)
    assert "orders.note" in outcome.summary
    assert {name: value for name, value in outcome.outputs.items() if name != "changes"} == {
        "exit-code": "1",
        "errors": "1",
        "warnings": "0",
        "notes": "0",
        "violations": "0",
    }
    assert int(outcome.outputs["changes"]) >= 1
    assert runner.comments == []


def test_a_harmless_pull_request_passes(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, ADDING)

    outcome = runner.run()

    assert outcome.code == 0
    assert outcome.outputs["exit-code"] == "0"
    assert outcome.outputs["errors"] == "0"
    assert "::error" not in outcome.log
    assert "colour" in outcome.summary


def test_what_the_target_branch_gained_meanwhile_is_not_reviewed(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)
    work.git("switch", "--quiet", "main")
    work.save({**BEFORE, "late": "text"})
    work.commit("meanwhile")
    work.git("update-ref", "refs/remotes/origin/main", "main")
    work.git("checkout", "--quiet", "change")

    outcome = runner.run()

    assert outcome.code == 1
    assert "note" in outcome.summary
    assert "late" not in outcome.summary


def test_a_push_is_compared_with_what_was_there_before_all_its_commits(work: Any, runner: Runner) -> None:
    push(work, runner, BREAKING, {**BREAKING, "colour": "text"})

    assert runner.run().outputs["errors"] == "1"


def test_a_new_branch_is_compared_with_the_commit_before(work: Any, runner: Runner) -> None:
    push(work, runner, BREAKING, {**BREAKING, "colour": "text"})
    runner.github["event.before"] = "0" * 40

    outcome = runner.run()

    assert (outcome.code, outcome.outputs["errors"]) == (0, "0")


def test_a_merge_queue_is_compared_with_its_base(work: Any, runner: Runner) -> None:
    push(work, runner, BREAKING, {**BREAKING, "colour": "text"})
    runner.github["event.merge_group.base_sha"] = runner.github.pop("event.before")

    assert runner.run().code == 1


def test_a_checkout_without_history_says_what_is_missing(work: Any, runner: Runner, tmp_path: Path) -> None:
    open_pull_request(work, runner, BREAKING)
    shallow = tmp_path / "shallow"
    work.git("branch", "merge", "HEAD")
    work.git("clone", "--quiet", "--depth=1", "--branch=merge", work.top.as_uri(), str(shallow))
    runner.top = shallow

    outcome = runner.run()

    assert outcome.code == 2
    assert outcome.outputs["exit-code"] == "2"
    assert outcome.outputs["errors"] == ""
    assert "::error title=schemactl::" in outcome.log
    assert "fetch-depth: 0" in outcome.log
    assert "fetch-depth: 0" in outcome.summary


def test_one_comment_is_kept_up_to_date(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)

    assert runner.run(comment="true").code == 1
    (first,) = runner.comments
    assert first.startswith(MARKER)
    assert "orders.note" in first

    work.git("checkout", "--quiet", "change")
    work.save(BEFORE)
    work.commit("the column is back")
    assert runner.run(comment="true").code == 0
    (second,) = runner.comments
    assert second.startswith(MARKER)
    assert second != first


def test_a_comment_does_not_outlive_a_review_that_failed(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)
    runner.run(comment="true")
    work.write("schemas/export/shop.schema.yaml", "tables: [")

    assert runner.run(comment="true").code == 2
    (comment,) = runner.comments
    assert comment.startswith(MARKER)
    assert "could not be reviewed" in comment


def test_a_strangers_comment_with_the_marker_is_not_edited(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)
    strangers = f"{MARKER}\n\n### :white_check_mark: all is well"
    runner.comment("mallory", strangers)

    runner.run(comment="true")
    runner.run(comment="true")

    first, second = runner.comments
    assert first == strangers
    assert second.startswith(MARKER)
    assert "orders.note" in second


def test_an_error_longer_than_a_comment_replaces_the_last_review(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, ADDING)
    runner.run(comment="true")
    program = runner.folder / "fails"
    program.write_text("#!/bin/sh\nyes '**größe**' | head -n 20000 >&2\nexit 2\n")
    program.chmod(stat.S_IRWXU)

    outcome = runner.run(comment="true", program=str(program))

    (comment,) = runner.comments
    assert outcome.code == 2
    assert "::warning" not in outcome.log
    assert "could not be reviewed" in comment
    assert re.search(r"\n    \*\*größe\*\*\n", comment)
    assert comment.endswith("\n\nThe log of this step has the rest.\n")


def test_a_pull_request_that_leaves_the_schemas_alone_gets_no_comment(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BEFORE)

    assert runner.run(comment="true").code == 0
    assert runner.comments == []


def test_a_push_gets_no_comment(work: Any, runner: Runner) -> None:
    push(work, runner, BREAKING)

    outcome = runner.run(comment="true")

    assert outcome.code == 1
    assert "::warning" not in outcome.log
    assert runner.comments == []


@pytest.mark.parametrize(("columns", "code"), [(ADDING, 0), (BREAKING, 1)])
def test_the_review_decides_where_a_fork_may_not_comment(
    work: Any, runner: Runner, columns: Mapping[str, str], code: int
) -> None:
    open_pull_request(work, runner, columns)
    runner.refuse_comments()

    outcome = runner.run(comment="true")

    assert outcome.code == code
    assert "::warning title=schemactl::cannot comment" in outcome.log
    assert outcome.summary.startswith(MARKER)


def test_inputs_reach_the_command(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)
    assert runner.run(fail_on="never").code == 0
    assert runner.run(compat="none").code == 0
    assert runner.run(base="git:HEAD", head="export:shop").code == 0
    assert runner.run(schemas="elsewhere").code == 2
    assert runner.run(compat="everybody").code == 2


def test_older_versions_count_where_that_is_asked_for(work: Any, runner: Runner) -> None:
    push(work, runner, {**BEFORE, "gone": "text"}, BEFORE)
    runner.github.pop("event.before")
    open_pull_request(work, runner, ADDING)

    assert runner.run().code == 0
    assert runner.run(transitive="true").code == 1


def test_settings_of_the_target_branch_hold_where_no_input_is_given(work: Any, runner: Runner) -> None:
    work.write("schemactl.toml", '[diff]\nfail-on = "never"\n')
    work.commit("settings")
    open_pull_request(work, runner, BREAKING)

    assert runner.run().code == 0
    assert runner.run(fail_on="error").code == 1


def test_sarif_is_written_where_it_is_asked_for(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)

    assert runner.run(sarif="schemas.sarif").code == 1
    results = json.loads((work.top / "schemas.sarif").read_text())["runs"][0]["results"]
    assert [result["ruleId"] for result in results if result["level"] == "error"] == ["C204"]


def test_a_sarif_file_that_cannot_be_written_fails_and_says_why(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, ADDING)
    work.write("file", "")

    outcome = runner.run(sarif="file/schemas.sarif")

    assert outcome.code != 0
    assert "schemas.sarif" in outcome.log


def test_a_link_that_a_pull_request_brings_in_place_of_the_sarif_file_is_removed(work: Any, runner: Runner) -> None:
    profile = work.top.parent / "profile"
    profile.write_text("mine")
    (work.top / "schemas.sarif").symlink_to(profile)
    open_pull_request(work, runner, BREAKING)

    assert runner.run(sarif="schemas.sarif").code == 1

    assert profile.read_text() == "mine"
    assert not (work.top / "schemas.sarif").is_symlink()
    assert json.loads((work.top / "schemas.sarif").read_text())["runs"]


def test_nothing_is_removed_or_written_through_a_folder_that_a_pull_request_links(work: Any, runner: Runner) -> None:
    outside = work.top.parent / "outside"
    outside.mkdir()
    (outside / "schemas.sarif").write_text("mine")
    (work.top / "reports").symlink_to(outside)
    open_pull_request(work, runner, ADDING)

    outcome = runner.run(sarif="reports/schemas.sarif")

    assert outcome.code == 2
    assert "is a link out of the repository" in outcome.log
    assert (outside / "schemas.sarif").read_text() == "mine"


def test_no_findings_that_a_pull_request_brings_are_left_for_the_upload(work: Any, runner: Runner) -> None:
    work.write("schemas.sarif", "{}")
    open_pull_request(work, runner, ADDING)
    work.write("schemactl.toml", "this is not TOML")

    assert runner.run(sarif="schemas.sarif").code == 2
    assert not (work.top / "schemas.sarif").exists()


PLAN = ("migrate", "plan", "shop", "--dir", "migrations", "--quiet")


def open_pull_request_with_a_migration(work: Any, runner: Runner) -> None:
    """A migration on ``main``, and one in a pull request that drops a column."""
    work.run("schemactl", *PLAN, "--dialect", "postgresql")
    work.commit("the first migration")
    work.git("switch", "--quiet", "--create", "change")
    work.save(BREAKING)
    work.run("schemactl", *PLAN, "--name", "less", "--allow-destructive")
    work.commit("the change")
    check_out_merge(work, "change")
    runner.github |= {"base_ref": "main", "event.pull_request.number": "7"}


def test_migrations_of_a_pull_request_are_judged_in_a_comment_of_their_own(work: Any, runner: Runner) -> None:
    open_pull_request_with_a_migration(work, runner)

    runner.run(comment="true")
    outcome = runner.run(mode="plan", comment="true")

    assert outcome.code == 1
    assert "::error file=migrations/0002_less.postgresql.sql,line=" in outcome.log
    assert outcome.outputs["errors"] == "1"
    review, plan = runner.comments
    assert review.startswith(MARKER)
    assert plan.startswith("<!-- schemactl migrate lint -->")
    assert "| drop column `orders.note`, text | loses data | ACCESS EXCLUSIVE" in plan
    assert "0001" not in plan
    assert runner.run(mode="plan", comment="true", fail_on="never").code == 0
    assert len(runner.comments) == 2


def test_a_destination_is_held_against_its_schema(work: Any, runner: Runner, tmp_path: Path) -> None:
    to = f"duckdb:///{tmp_path / 'file.duckdb'}?dataset=shop"
    program = str(PROGRAMS / "schemactl")
    work.run("schemactl", "migrate", "apply", "shop", "--to", to, "--yes")

    assert runner.run(mode="drift", to=to, program=program).code == 0
    work.save(ADDING)
    outcome = runner.run(mode="drift", to=to, program=program, name="shop")

    assert outcome.code == 1
    assert outcome.outputs["warnings"] == "1"
    assert "M202" in outcome.log
    assert outcome.summary.startswith("<!-- schemactl migrate status -->")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"mode": "everything"}, "the mode is review, plan, drift or data"),
        ({"mode": "drift", "to": "duckdb:///x.duckdb"}, "this mode needs extras"),
        ({"mode": "data", "data": "x.jsonl"}, "this mode needs extras"),
    ],
)
def test_a_mode_that_cannot_run_is_reported(work: Any, runner: Runner, inputs: dict[str, str], message: str) -> None:
    open_pull_request(work, runner, ADDING)

    outcome = runner.run(**inputs)

    assert outcome.code == 2
    assert message in outcome.log


COMMANDS = 'x"; touch pwned; `touch pwned` $(touch pwned)\ntouch pwned'


@pytest.mark.parametrize(
    "inputs",
    [
        dict.fromkeys(("base", "head", "schemas", "compat", "fail_on"), COMMANDS),
        {"base": "--output=pwned"},
        {"head": "--output=pwned"},
    ],
    ids=["commands", "base", "head"],
)
def test_inputs_are_never_commands(work: Any, runner: Runner, inputs: dict[str, str]) -> None:
    open_pull_request(work, runner, BREAKING)

    assert runner.run(**inputs).code == 2
    assert not list(runner.folder.parent.rglob("*pwned*"))


def test_a_branch_name_is_never_a_command(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)
    branch = "$(touch${IFS}pwned)"
    work.git("update-ref", f"refs/remotes/origin/{branch}", "main")
    runner.github["base_ref"] = branch

    assert runner.run().code == 1
    assert not list(runner.folder.parent.rglob("pwned"))


def test_modules_of_the_pull_request_are_not_imported(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)
    for name in ("json.py", "sys.py", "venv.py", "pip.py"):
        work.write(name, "raise SystemExit('imported')\n")
    runner.program = PROGRAMS / "schemactl"

    outcome = runner.run()

    assert outcome.outputs["errors"] == "1"
    assert "imported" not in outcome.log


def test_messages_cannot_give_orders_to_the_runner(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, BREAKING)

    log = runner.run(head="##[add-mask]x").log

    pause = re.search(r"^::stop-commands::(\w{32})$(.*?)^::\1::$", log, re.MULTILINE | re.DOTALL)
    assert pause
    assert "##[add-mask]x" in pause[2]
    assert "##[add-mask]x" not in log.replace(pause[2], "")


def test_the_version_is_installed_that_the_action_came_with(work: Any, runner: Runner) -> None:
    open_pull_request(work, runner, ADDING)

    hashed, own = runner.run().installed.splitlines()
    assert hashed.endswith(f"--require-hashes --only-binary=:all: --requirement {REQUIREMENTS}")
    assert own.endswith(f"--no-deps --no-build-isolation {REPOSITORY}")


def test_what_the_action_installs_has_hashes_and_the_versions_that_were_tested() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    constraints = project["tool"]["uv"]["constraint-dependencies"]
    tested = dict(each.partition(" ")[0].split("==") for each in constraints if "==" in each)
    entries = re.findall(r"^([\w.-]+)==(\S+)(.*(?:\n {4}--hash=.*)*)", REQUIREMENTS.read_text(), re.MULTILINE)
    pinned = {name: version for name, version, _ in entries}

    assert all("--hash=sha256:" in rest for _, _, rest in entries)
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    assert {re.split(r"[<>=\[]", each)[0].lower().replace(".", "-") for each in needed} <= pinned.keys()
    assert {name: version for name, version in pinned.items() if tested.get(name, version) != version} == {}
    assert "http" not in REQUIREMENTS.read_text()


@pytest.mark.parametrize("script", SCRIPTS)
def test_nothing_is_spliced_into_scripts(script: str) -> None:
    assert "${{" not in script
    assert script.startswith("set -euo pipefail\n")


@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck_has_nothing_to_say(script: str) -> None:
    check = _tool("shellcheck")
    done = subprocess.run([check, "--shell=bash", "-"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_action_is_valid() -> None:
    validate("vendor.github-actions", REPOSITORY / "action.yml")


def test_an_auditor_of_actions_finds_nothing() -> None:
    command = [_tool("zizmor"), "--offline", "--no-progress", str(REPOSITORY / "action.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_workflows_of_the_documentation_are_valid_and_use_inputs_and_outputs_that_are_there(
    tmp_path: Path,
) -> None:
    text = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")
    workflows = [
        each for each in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "uses:" in each
    ]
    assert len(workflows) == 4
    files = [tmp_path / f"{number}.yml" for number in range(len(workflows))]
    for file, workflow in zip(files, workflows, strict=True):
        file.write_text(workflow)
    validate("vendor.github-workflows", *files)
    for workflow in workflows:
        ours = [
            step
            for job in yaml.safe_load(workflow)["jobs"].values()
            for step in job["steps"]
            if step.get("uses") == "OWNER/schemactl@REF"
        ]
        assert len(ours) == ("schemactl@REF" in workflow)
        assert all(step["with"].keys() <= ACTION["inputs"].keys() for step in ours)
        assert set(re.findall(r"steps\.schemas\.outputs\.([\w-]+)", workflow)) <= ACTION["outputs"].keys()


def test_actions_of_github_are_pinned_by_commit() -> None:
    for file in ("docs/ci.md", ".github/workflows/ci.yml"):
        used = re.findall(r"uses: (actions/\S+)(.*)", (REPOSITORY / file).read_text(encoding="utf-8"))
        assert used
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) and " # v" in rest for action, rest in used)


def test_the_documentation_reports_all_inputs_and_outputs() -> None:
    text = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")
    reported = {
        name for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall(r"`(.+?)`", row)
    }
    assert reported == ACTION["inputs"].keys() | ACTION["outputs"].keys()


def validate(schema: str, *files: Path) -> None:
    command = [_tool("check-jsonschema"), "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _tool(name: str) -> str:
    found = shutil.which(name, path=f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
