"""A shop whose orders are loaded, for tests of whole loads."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet

from schemactl.engine.choice import EngineName, EngineOptions
from schemactl.engine.protocol import Engine
from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.normalization.report import NormalizeReport

LOCAL = EngineOptions(EngineName.LOCAL)
"""For calls that open their own engine."""


class Shop:
    """A working folder, and loads that are made in it."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder
        self.engine = engine
        self.temporary = folder / "tmp"
        self.temporary.mkdir()

    def write(self, name: str, *documents: Any) -> str:
        (self.folder / name).write_text("".join(json.dumps(each) + "\n" for each in documents))
        return name

    def load(
        self, *sources: str, to: str = "warehouse", progress: Any = None, is_ended: Any = None, **asked: Any
    ) -> NormalizeReport:
        own = ("rejects", "load_id", "new_only", "lineage", "changed", "limits", "promotion")
        inference = InferRequest(
            **{
                "sources": sources, "name": "shop", "table": "orders", "schemas": Path("schemas"),
                **{key: value for key, value in asked.items() if key not in own},
            }
        )  # fmt: skip
        stated = {key: value for key, value in asked.items() if key in own}
        request = NormalizeRequest(inference, to, staging=self.temporary, **stated)
        report = normalize(request, progress, lambda *_: nullcontext(self.engine), is_ended)
        assert list(self.temporary.iterdir()) == []
        return report

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """What a table of the folder `warehouse` holds, sorted."""
        files = sorted((self.folder / "warehouse" / table).glob("*.parquet"))
        read = [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]
        return sorted((tuple(row.get(column) for column in columns) for row in read), key=repr)

    def files(self) -> list[str]:
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        return sorted(str(path) for path in found)
