"""The examples of docs/dlt.md, run with dlt."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

pytestmark = pytest.mark.parity

PAGE = Path(__file__).parents[2] / "docs" / "dlt.md"


def test_dlt_answers_as_the_page_says() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 30
    assert failed == 0
