"""What a command warns of stands in its report as well, and so in its JSON document."""

from __future__ import annotations

import warnings

import pytest

from schemactl.flows.infer import noted_warnings
from schemactl.inference.report import SourceWarning
from schemactl.store.sources import LeftOutWarning


def _warn_twice(warning: Warning) -> None:
    for _ in range(2):
        warnings.warn(warning, stacklevel=1)


def test_warnings_of_sources_are_noted_once_with_their_files_and_reported_as_before() -> None:
    with pytest.warns(LeftOutWarning) as reported, noted_warnings() as noted:
        _warn_twice(LeftOutWarning("a file was left out", ["README.md"]))
    assert list(noted.values()) == [SourceWarning("a file was left out", ("README.md",))]
    assert len(reported) == 2


def test_other_warnings_are_none_of_a_report() -> None:
    with pytest.warns(DeprecationWarning, match="old"), noted_warnings() as noted:
        _warn_twice(DeprecationWarning("old"))
    assert noted == {}
