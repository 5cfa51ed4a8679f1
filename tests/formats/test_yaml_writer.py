"""Documents in YAML are those of PyYAML's own emitter, whichever emitter writes them."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from schemactl.formats._yaml_writer import yaml_text

WORDS = (
    "a", "yes", "null", "1", "1.5", "- x", "a: b", "# c", "x #y", "'q'", '"q"', "{a}", "[b]", "*a", "&a", "!t", "%d",
    "@x", "?", "? a", "-", "--- ", "...", "<<", "=", "a\tb", " lead", "trail ", "", "2024-01-01", "1:30", "word " * 9,
    "word " * 17, "x" * 90, "x" * 70 + " yy zz", "é", "😀", "a\nb", "\\", "a,b", "key:", ":a", "|", ">", "~",
)  # fmt: skip
TEXTS = st.sampled_from(WORDS) | st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join) | st.text(max_size=6)
SCALARS = TEXTS | st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=5) | st.dates()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)


class NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


@example({"a": "x" * 78 + " b"})
@example({"a": "x" * 77 + " b"})
@example({"": 1})
@example({"x" * 123: ["a"]})
@example({"a": [{"x" * 128: {"b": 1}}]})
@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_a_document_is_written_as_pyyaml_writes_it(value: dict[str, Any]) -> None:
    written = yaml_text(value)
    assert yaml.safe_load(written) == value or "nan" in written
    if not any(each in str(value) for each in ("\\x85", "\\u2028", "\\u2029")):  # those are escaped
        expected = yaml.dump(value, Dumper=NoAliases, allow_unicode=True, default_flow_style=False, sort_keys=False)
        assert written == expected
