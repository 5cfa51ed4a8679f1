"""Values are found by their paths."""

from __future__ import annotations

from schemactl.schema.paths import ELEMENT, values_at


def test_values_at_a_path_come_in_their_order() -> None:
    document = {"l": [{"x": 1}, {}, {"x": [2]}, 3], "x": 4}
    assert list(values_at(document, ("l", ELEMENT, "x"))) == [1, [2]]
    assert list(values_at(document, ())) == [document]
    assert list(values_at([document], ("l",))) == []
