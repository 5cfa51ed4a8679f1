"""Workers without schemactl run the kernel from the archive that is sent to them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from schemactl.engine.spark.shipping import _archive

PROGRAM = """
import sys
from importlib import import_module
from pkgutil import iter_modules

archive = sys.argv[1]
sys.path.insert(0, archive)
import schemactl.kernel

for module in iter_modules(schemactl.kernel.__path__):
    import_module(f"schemactl.kernel.{module.name}")

import pyarrow as pa

from schemactl.arc.fields import Date, Field, Typing
from schemactl.arc.text_columns import TextTyper

field = Field(name="day", type=Date(("d MMM uuuu",)), nullable=True)
columns, errors = TextTyper(Typing((field,))).run([pa.array(["1 Feb 2020"])])
assert all(module.__file__.startswith(archive) for name, module in sys.modules.items() if name.startswith("schemactl"))
print("typing_rows" in dir(schemactl.kernel), columns[0][0].as_py())
"""


def test_archive_for_workers_has_all_that_the_kernel_imports(tmp_path: Path) -> None:
    archive = tmp_path / "kernel.zip"
    archive.write_bytes(_archive()[1])
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(archive)], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("True 2020-02-01\n", "")
