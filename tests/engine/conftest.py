"""Has the tests of this folder read with Spark's workers, as large data is; a test says where it does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def read_by_workers() -> Iterator[None]:
    from schemactl.engine import scan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_FEW_BYTES", 0)
        yield
