"""Tallies add up."""

from __future__ import annotations

import json

from schemactl.inference.evidence import Position
from schemactl.inference.survival import Tally, add


def test_tallies_add_up_and_report_the_first_place_only_where_it_is_sure() -> None:
    early, late = Position("a", 2), Position("b", 1)
    assert add([Tally(3, 1, ("y",), late), Tally(2), Tally(4, 1, ("x",), early)]) == Tally(9, 2, ("x", "y"), early)
    assert add([Tally(3, 1, ("y",), late), Tally(2, 1)]) == Tally(5, 2, ("y",), None)
    assert add([]) == Tally()


def test_examples_that_differ_as_json_are_kept_apart() -> None:
    at = Position("a", 1)
    assert json.dumps(add([Tally(4, 4, (1, True, 1.0, 1), at)]).examples) == "[1, true, 1.0]"
