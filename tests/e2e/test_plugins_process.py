"""What docs/extending.md shows, installed as a package of somebody else's, in the installed command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from schemactl.formats.dlt import write
from schemactl.registry import admit_modules
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

pytestmark = pytest.mark.e2e

COMMAND = Path(sys.executable).with_name("schemactl")
TIME_LIMIT_SECONDS = 120
PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
ENTRY_POINT = re.compile(r"""^    \[project\.entry-points\."(.+)"\]\n    (\w+) = "(.+)"$""", re.MULTILINE)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder; the package ``acme`` is installed."""
    site = tmp_path / "site"
    for place, code in re.findall(r"```python (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        module = site / place
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(code)
    (site / "acme" / "__init__.py").touch()
    info = site / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    stated = ENTRY_POINT.findall(PAGE.read_text())
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{name} = {module}\n" for group, name, module in stated))
    for name in [name for name in os.environ if name.startswith("SCHEMACTL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SCHEMACTL_PROGRESS_SECONDS", "0")
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> str:
    done = subprocess.run([COMMAND, *args], capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.spark
def test_every_example_of_the_page_works_in_one_load(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "shop.yaml").write_text(_schema())
    (work / "orders.pairs").write_text("id=17;size=large\n\nid=18;size=12\nid=19;size=large\n")
    monkeypatch.setenv("SCHEMACTL_NAMING_MODULE", "acme.shouting, acme.wide")
    run("import", "shop.yaml", "--name", "shop")

    run("normalize", "orders.pairs", "--name", "shop", "--master", "local[1]", "--conf", "spark.driver.memory=1g")

    stored = YAML(typ="safe").load((work / "schemas" / "export" / "shop.schema.yaml").read_text())
    columns = stored["tables"]["ORDERS"]["columns"]
    types = {name: column["data_type"] for name, column in columns.items() if not name.startswith("_")}
    assert types == {"ID": "bigint", "SIZE": "text"}


def test_the_input_format_of_the_page_works_without_spark(work: Path) -> None:
    (work / "orders.pairs").write_text("id=17;size=large\n\nid=18;size=12\nid=19;size=large\n")
    run("infer", "orders.pairs", "--name", "shop", "--engine", "local")
    stored = YAML(typ="safe").load((work / "schemas" / "export" / "shop.schema.yaml").read_text())
    assert {"id", "size"} <= set(stored["tables"]["orders"]["columns"])


def test_the_rule_the_output_and_the_format_of_the_page_work_on_schemas(work: Path) -> None:
    before = new_schema("shop")
    table = Table("orders", {"ID": Column("ID", {"data_type": "bigint"})}, {"write_disposition": "append"})
    after = before.with_table(replace(table, columns={**table.columns, "SIZE": Column("SIZE", {"data_type": "text"})}))
    (work / "before.yaml").write_text(write(before.with_table(table)))
    (work / "after.yaml").write_text(write(after))

    found = run("diff", "before.yaml", "after.yaml", "--format", "lines")
    assert "warn Z101 the name of the new column `SIZE` of `orders` is in capitals\n" in found
    assert "Our reports write names in lower case." in run("rules", "Z101")
    assert "orders,SIZE,text\n" in run("export", "after.yaml", "--to", "sheet")


def test_the_entry_point_groups_of_the_page_are_those_that_are_looked_at() -> None:
    groups = set(re.findall(r"^\| [^|]+ \| `(schemactl\.[a-z_]+)` \|", PAGE.read_text(), re.MULTILINE))
    assert groups == {f"schemactl.{registry.kind.replace(' ', '_')}" for registry in _registries()}


def _schema() -> str:
    """Return a new schema that is named, normalized and typed by ``acme``."""
    with admit_modules(["acme.shouting", "acme.wide"]):
        schema = new_schema("shop", "acme.shouting", "acme.wide")
    return write(replace(schema, settings={**schema.settings, "detections": ["iso_timestamp", "digits"]}))


def _registries() -> list:
    from schemactl.destinations import DESTINATIONS
    from schemactl.engine.input_formats import LOCAL_FORMATS, SPARK_FORMATS
    from schemactl.formats import FORMATS
    from schemactl.normalization.normalizers import NORMALIZERS
    from schemactl.readers import READER_KINDS
    from schemactl.render.reviews import OUTPUTS
    from schemactl.review.rules import RULES
    from schemactl.schema.detectors import DETECTORS
    from schemactl.schema.naming import CONVENTIONS

    return [
        DESTINATIONS,
        SPARK_FORMATS,
        LOCAL_FORMATS,
        FORMATS,
        DETECTORS,
        NORMALIZERS,
        OUTPUTS,
        READER_KINDS,
        RULES,
        CONVENTIONS,
    ]
