"""A pull request that a stranger wrote: its files are data, and nothing of them is run."""

from __future__ import annotations

import sys

import pytest

from tests.ci.conftest import SCHEMA_PATH, Work

GONE = "column `note` was removed from `orders`"
MODULE = (sys.executable, "-m", "schemactl")

GIT_CONFIG = """\
[core]
  repositoryformatversion = 1
  bare = false
  worktree = .
  sshCommand = touch pwned;
  fsmonitor = touch pwned;
  hooksPath = .
[extensions]
  partialClone = origin
[protocol]
  allow = always
[protocol "ext"]
  allow = always
[remote "origin"]
  url = {url}
  promisor = true
"""


def pwned(work: Work) -> list[str]:
    return [str(path) for path in work.top.rglob("pwned*")]


@pytest.mark.parametrize(
    ("folder", "url", "arguments"),
    [
        ("schemas/export", "ssh://host/path", ("git:main",)),
        ("schemas/export", "ext::sh -c 'touch pwned'", ("git:main:./schemas/export", "--transitive")),
        ("schemas", "ssh://host/path", ("git:main",)),
    ],
)
def test_a_git_folder_among_the_files_is_no_repository(work: Work, folder: str, url: str, arguments: tuple[str, ...]):
    work.git("switch", "-q", "-c", "change")
    work.save({"id": "bigint"})
    work.write(f"{folder}/HEAD", "ref: refs/heads/main\n")
    work.write(f"{folder}/config", GIT_CONFIG.format(url=url))
    work.write(f"{folder}/objects/keep", "")
    work.write(f"{folder}/refs/heads/main", f"{'1' * 40}\n")
    work.commit("change")

    assert GONE in work.run("schemactl", "diff", *arguments, code=1)
    assert pwned(work) == []


def test_a_repository_in_the_folder_of_schemas_is_not_asked_for_the_base(work: Work):
    work.git("switch", "-q", "-c", "change")
    work.save({"id": "bigint"})
    work.commit("change")
    # As a submodule that the change brings would be: with a `main` of its own, in which nothing is gone.
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "decoy")):
        work.git("-C", "schemas", *arguments)

    assert GONE in work.run("schemactl", "diff", "git:main", code=1)


def test_a_partial_clone_is_reported_and_fetches_nothing(work: Work):
    work.git("config", "uploadpack.allowFilter", "true")
    work.save({"id": "bigint"})
    work.commit("change")
    work.git("clone", "-q", "--filter=blob:none", work.top.as_uri(), "clone")

    reported = work.run("sh", "-c", "cd clone && schemactl diff git:HEAD~1", code=2)

    assert "clone without `--filter`" in reported


EVIL = "import pathlib; pathlib.Path('pwned').touch(); raise SystemExit(0)\n"


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "git:main"),
        ("export", "shop", "--to", "dlt"),
        ("migrate", "plan", "shop", "--to", "sqlite:///shop.db"),
        ("infer", "rows.jsonl", "--name", "shop"),
    ],
)
def test_a_module_that_a_schema_names_is_not_imported(work: Work, command: tuple[str, ...]):
    work.save({"id": "bigint"})
    work.write("evil.py", EVIL)
    work.write("rows.jsonl", '{"id": 1}\n')
    work.write(SCHEMA_PATH, (work.top / SCHEMA_PATH).read_text().replace("names: snake_case", "names: evil"))

    reported = work.run(*MODULE, *command, code=2, PYTHONPATH=".")

    assert "`--naming-module evil`" in reported
    assert pwned(work) == []


def test_entry_points_among_the_files_are_not_installed(work: Work):
    work.write("evil.py", EVIL)
    work.write("evil-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    groups = ("rule", "output", "destination", "naming_convention", "normalizer", "format", "detector")
    work.write("evil-1.0.dist-info/entry_points.txt", "".join(f"[schemactl.{each}]\nevil = evil\n" for each in groups))
    work.save({"id": "bigint"})

    for variables in ({}, {"PYTHONPATH": "."}):
        assert GONE in work.run(*MODULE, "diff", "git:main", code=1, **variables)
    assert pwned(work) == []


@pytest.mark.parametrize("name", ["typer", "ruamel"])
def test_a_file_does_not_take_the_place_of_a_library(work: Work, name: str):
    work.write(f"{name}.py", EVIL)
    work.save({"id": "bigint"})

    assert GONE in work.run(*MODULE, "diff", "git:main", code=1)
    assert pwned(work) == []


def test_settings_of_the_files_admit_no_module(work: Work):
    work.write("schemactl.toml", 'naming-module = ["evil"]\n')

    assert "there is no setting `naming-module`" in work.run("schemactl", "diff", "git:main", code=2)


ENDING = """\
from schemactl.schema.naming import Convention
def clean(name):
    {ending}
CONVENTION = Convention(clean, is_case_sensitive=True)
"""


@pytest.mark.parametrize(
    "ending",
    ["raise SystemExit(0)", "raise GeneratorExit", "raise BaseException", "import typer; raise typer.Exit(0)"],
)
def test_a_review_that_does_not_finish_never_passes(work: Work, ending: str):
    work.save({"id": "bigint"})
    work.write("ending.py", ENDING.format(ending=ending))
    work.write(SCHEMA_PATH, (work.top / SCHEMA_PATH).read_text().replace("names: snake_case", "names: ending"))

    reported = work.run("schemactl", "diff", "git:main", code=3, PYTHONPATH=".", SCHEMACTL_NAMING_MODULE="other,ending")
    assert "error: " in reported


@pytest.mark.parametrize("place", ["schemas/export/shop.schema.yaml", "schemas/export", "schemas"])
@pytest.mark.parametrize("reference", [(), ("./schemas/export/shop.schema.yaml",)])
def test_a_link_out_of_the_repository_is_not_followed(work: Work, place: str, reference: tuple[str, ...]):
    outside = work.top.parent / "outside"
    (outside / "export").mkdir(parents=True)
    for file in ("export/shop.schema.yaml", "shop.schema.yaml"):
        (outside / file).write_text("token: [SECRET\n")
    target = {"schemas": outside, "schemas/export": outside / "export"}.get(place, outside / "shop.schema.yaml")
    work.git("rm", "-r", "-q", place)
    (work.top / place).parent.mkdir(exist_ok=True, parents=True)
    (work.top / place).symlink_to(target)

    reported = work.run("schemactl", "diff", "git:main", *reference, code=2)

    assert "link out of the repository" in reported or "outside the git repository" in reported
    assert "SECRET" not in reported


ARC = """\
[{"id": "1", "name": ${SECRET}, "description": ${SECRET}, "type": "string", "trim": true, "nullable": true,
  "nullableValues": [""], "primaryKey": false}]
"""


def test_a_typing_file_gives_a_review_no_value_of_the_environment(work: Work):
    work.save({"id": "bigint"})
    work.write("schemas/export/stranger.conf", ARC)
    work.write("stranger.json", ARC)

    reports = [work.run("schemactl", "diff", "git:main", code=1, SECRET="hunter2")]
    reports += [
        work.run("schemactl", "diff", "git:main:schemas/export/shop.schema.yaml", file, code=2, SECRET="hunter2")
        for file in ("stranger.json", "schemas/export/stranger.conf")
    ]

    assert GONE in reports[0]
    assert not [each for each in reports if "hunter2" in each]
    work.run("schemactl", "import", "stranger.json", "--from", "arc", "--name", "taken", SECRET="hunter2")
    assert "hunter2" in (work.top / "schemas/export/taken.schema.yaml").read_text()
