"""What decides a review against a revision: the base, the command line, the environment; never the head."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_schemas import check_document
from git_commands import commit, git

from schemactl.cli.app import run
from schemactl.render.reviews import OUTPUTS
from tests.cli.test_diff_command import BASE, HEAD, write

SCHEMA = "schemas/export/shop.schema.yaml"
GONE = "column `note` was removed from `orders`"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose working tree drops a column that ``HEAD`` has."""
    top = tmp_path / "repository"
    write(top / SCHEMA, BASE)
    monkeypatch.chdir(top)
    monkeypatch.setenv("COLUMNS", "300")
    git("init", "-q", "-b", "main", ".")
    commit("first")
    write(top / SCHEMA, HEAD)
    return top


def settings(work: Path, text: str, name: str = "schemactl.toml") -> None:
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_text(text)


@pytest.mark.parametrize(("text", "reported"), [
    ('[diff]\nfail-on = "never"\n', "`fail-on` changes to `never` with the merge; this review uses `error`"),
    ('[diff]\ncompat = "none"\n', "`compat` changes to `none` with the merge; this review uses `full`"),
    ('[diff.severity]\nC204 = "none"\nP001 = "none"\n', "`severity` changes to `C204=none`, `P001=none`"),
    ('[[diff.silence]]\nrule = "C204"\nreason = "x"\n[[diff.silence]]\nrule = "P001"\nreason = "x"\n',
     "`silence` changes to `C204`, `P001`"),
    ('schemas = "decoy"\n', "`schemas` changes to `decoy` with the merge; this review uses `schemas`"),
])  # fmt: skip
@pytest.mark.parametrize("head", [(), ("git:change",)])
def test_settings_of_the_head_do_not_decide(
    work: Path, capsys: pytest.CaptureFixture[str], text: str, reported: str, head: tuple[str, ...]
):
    settings(work, text)
    write(work / "decoy/export/shop.schema.yaml", BASE)
    if head:
        git("switch", "-q", "-c", "change")
        commit("change")

    assert run(["diff", "git:main", *head]) == 1

    out = capsys.readouterr().out
    assert GONE in out
    assert f"error P001: {reported}" in out
    assert str(work) not in out


def fingerprints(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    run(["diff", "git:main", "--format", "json"])
    reviews = json.loads(capsys.readouterr().out)["reviews"]
    return {finding["rule"]: finding["fingerprint"] for review in reviews for finding in review["findings"]}


def accepting(rule: str, fingerprint: str) -> str:
    return (
        f'[[diff.silence]]\nrule = "{rule}"\nfingerprint = "{fingerprint}"\n'
        'reason = "nobody reads it"\nuntil = "2999-12-31"\n'
    )


@pytest.mark.parametrize("output", ["text", *sorted(OUTPUTS)])
def test_a_silence_of_one_finding_comes_with_the_head_and_every_output_lists_it(
    work: Path, capsys: pytest.CaptureFixture[str], output: str
):
    settings(work, accepting("C204", fingerprints(capsys)["C204"]))

    assert run(["diff", "git:main", "--format", output]) == 0

    out = capsys.readouterr().out
    assert "P001" not in out
    assert "C204" in out
    assert "nobody reads it" in out
    assert "2999-12-31" in out


def test_what_accept_writes_holds_in_the_pull_request_that_brings_it(work: Path, capsys: pytest.CaptureFixture[str]):
    settings(work, '[diff]\ncompat = "full"\nfail-on = "never"\n')
    accepted = ["accept", "--all", "--base", "git:main", "--until", "2999-12-31", "--reason", "nobody reads it"]
    assert run(accepted) == 0
    assert "P001" not in capsys.readouterr().out

    assert run(["diff", "git:main"]) == 1
    out = capsys.readouterr().out
    assert "error P001: `fail-on`" in out
    assert "`silence`" not in out
    assert "silenced until 2999-12-31: nobody reads it" in out


def test_a_silence_of_one_finding_covers_no_other_and_no_change_of_settings(
    work: Path, capsys: pytest.CaptureFixture[str]
):
    lax = '[diff]\nfail-on = "never"\n'
    settings(work, lax)
    found = fingerprints(capsys)
    settings(work, lax + accepting("P001", found["P001"]) + accepting("C204", "0" * 12))

    assert run(["diff", "git:main"]) == 1

    out = capsys.readouterr().out
    assert "error P001: `fail-on`" in out
    assert "error C204" in out
    assert "silenced until" not in out


@pytest.mark.parametrize("output", sorted(OUTPUTS))
def test_every_output_says_that_the_settings_change(work: Path, capsys: pytest.CaptureFixture[str], output: str):
    settings(work, '[diff]\nfail-on = "never"\nseverity = ["C204=none", "P001=none"]\n')

    assert run(["diff", "git:main", "--format", output]) == 1

    out = capsys.readouterr().out
    assert out.count("P001") >= 2
    assert "C204" in out
    if output == "json":
        found = json.loads(out)
        check_document(found, "diff")
        at = found["reviews"][0]["findings"][0]["location"]
        assert at == {"path": "schemactl.toml", "line": 2, "column": None}
        assert found["counts"]["error"] == 3


def test_settings_of_the_base_decide(work: Path, capsys: pytest.CaptureFixture[str]):
    git("stash", "-q")
    settings(
        work,
        '[tool.schemactl.diff]\ncompat = "none"\n[tool.schemactl.diff.severity]\nP001 = "warn"\n',
        "pyproject.toml",
    )
    commit("the team takes all")
    git("stash", "pop", "-q")
    assert run(["diff", "git:main"]) == 0
    assert "P001" not in capsys.readouterr().out

    # The team has also said that changes of its settings are warnings.
    settings(work, "", "pyproject.toml")
    assert run(["diff", "git:main"]) == 0
    assert "warning P001: `compat` changes to `full`" in capsys.readouterr().out
    assert run(["diff", "git:main", "--compat", "full"]) == 1


def test_settings_nearer_to_the_working_folder_are_the_heads_as_well(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    settings(work, '[diff]\ncompat = "none"\n', "schemas/schemactl.toml")
    monkeypatch.chdir(work / "schemas")
    assert run(["diff", "git:main", "--schemas", "."]) == 1
    out = capsys.readouterr().out
    assert GONE in out
    assert "`compat` changes to `none`" in out


def test_settings_above_the_repository_are_the_users_own(work: Path, capsys: pytest.CaptureFixture[str]):
    settings(work, '[diff]\ncompat = "none"\n', "../schemactl.toml")
    assert run(["diff", "git:main"]) == 0
    assert "P001" not in capsys.readouterr().out


def own_settings(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    settings(folder, text, "schemactl/config.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))


def test_the_users_own_settings_are_trusted_and_come_last(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    own_settings(tmp_path / "own", monkeypatch, '[diff]\ncompat = "none"\n')
    assert run(["diff", "git:main"]) == 0
    assert "P001" not in capsys.readouterr().out

    settings(work, '[diff]\ncompat = "full"\n')
    assert run(["diff", "git:main"]) == 1
    out = capsys.readouterr().out
    assert "P001: `compat` changes to `full` with the merge; this review uses `none`" in out
    assert "note C204" in out


def test_a_key_of_the_users_own_settings_that_nobody_knows_is_reported(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    own_settings(tmp_path / "own", monkeypatch, "compatt = 1\n")
    assert run(["diff", "git:main"]) == 2
    assert f"{tmp_path / 'own/schemactl/config.toml'}:1: " in capsys.readouterr().err


def test_settings_of_the_user_that_lie_in_the_repository_are_the_heads(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    own_settings(work / "home", monkeypatch, '[diff]\nfail-on = "never"\n')
    assert run(["diff", "git:main"]) == 1
    assert "P001: `fail-on` changes to `never`" in capsys.readouterr().out


def test_settings_that_are_stated_anew_and_hold_as_before_are_no_change(work: Path, capsys: pytest.CaptureFixture[str]):
    settings(work, 'schemas = "schemas"\n[diff]\nfail-on = "error"\n')
    assert run(["diff", "git:main"]) == 1
    assert "P001" not in capsys.readouterr().out


def test_a_base_that_is_no_revision_goes_by_the_working_folder(work: Path):
    write(work / "old.yaml", BASE)
    settings(work, '[diff]\ncompat = "none"\n')
    assert run(["diff", "old.yaml", SCHEMA]) == 0


@pytest.mark.parametrize("policy", ["../rules.toml", "git:rules"])
def test_a_policy_decides_alone_and_leaves_the_folder_to_the_base(
    work: Path, capsys: pytest.CaptureFixture[str], policy: str
):
    git("stash", "-q")
    git("mv", "schemas", "contracts")
    settings(work, 'schemas = "contracts"\n[diff]\ncompat = "none"\nfail-on = "never"\n')
    commit("a team of its own mind")
    git("switch", "-q", "-c", "rules")
    settings(work, '[diff]\nfail-on = "warn"\nseverity = ["C204=warn"]\n')
    settings(work, '[diff]\nfail-on = "warn"\nseverity = ["C204=warn"]\n', "../rules.toml")
    commit("rules")
    git("switch", "-q", "main")
    write(work / "contracts/export/shop.schema.yaml", HEAD)
    settings(work, 'schemas = "contracts"\n[diff]\ncompat = "readers"\n')

    assert run(["diff", "git:main"]) == 0
    assert "P001" in capsys.readouterr().out
    assert run(["diff", "git:main", "--policy", policy]) == 1
    out = capsys.readouterr().out
    assert f"warning C204: {GONE}" in out
    assert "P001" not in out


@pytest.mark.parametrize(
    ("policy", "reported"),
    [
        ("none.toml", "there is no file `none.toml`"),
        ("git:none", "there is no git revision `none`"),
        ("git:main", "`git:main` contains no settings"),
    ],
)
def test_a_policy_that_is_not_there_is_an_error(
    work: Path, capsys: pytest.CaptureFixture[str], policy: str, reported: str
):
    assert run(["diff", "git:main", "--policy", policy]) == 2
    assert reported in capsys.readouterr().err


def test_no_file_names_the_policy(work: Path, capsys: pytest.CaptureFixture[str]):
    settings(work, '[diff]\npolicy = "lax.toml"\n')
    assert run(["diff", "git:main"]) == 2
    assert "there is no setting `diff.policy`" in capsys.readouterr().err


def test_no_spark_of_the_head_is_used(work: Path, monkeypatch: pytest.MonkeyPatch):
    from schemactl.flows import diff

    seen = []

    def count(_comparison, _pair, request, _progress):
        seen.append(request.data.engine.spark)
        return {}

    monkeypatch.setattr(diff, "_count", count)
    settings(
        work,
        'master = "spark://evil:7077"\nremote = "sc://evil"\n'
        '[diff.conf]\n"spark.jars.packages" = "evil:evil:1"\n"spark.pyspark.python" = "./evil"\n',
    )
    assert run(["diff", "git:main", "--data", "rows.jsonl"]) == 1
    assert [(each.master, each.remote, dict(each.conf)) for each in seen] == [(None, None, {})]


def test_only_silences_of_what_is_compared_are_said_to_match_nothing(work: Path, capsys: pytest.CaptureFixture[str]):
    idle = '[[diff.silence]]\nrule = "T102"\ntable = "{}"\nreason = "x"\n'
    settings(work, idle.format("orders") + idle.format("users"))
    git("add", "schemactl.toml")
    git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", "second")

    run(["diff", "git:main"])

    out = capsys.readouterr().out
    assert "the silence of T102 for `orders` matches no finding" in out
    assert "users" not in out
