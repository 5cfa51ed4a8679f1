"""What a command reports of an inference that made a first schema."""

from __future__ import annotations

from schemactl.inference.report import FileFinding, InferenceReport

INFERENCE = InferenceReport(
    name="shop",
    table="orders",
    sample="full",
    files=(FileFinding("orders.jsonl", 3, 3, 0, None, "orders"),),
    tables=(),
    collisions=(),
    nulls=(),
    violations=(),
    before_hash=None,
    before_version=None,
    after_hash="abc=",
    after_version=1,
    is_check=False,
    saved=True,
    written=("schemas/export/shop.schema.yaml",),
)
