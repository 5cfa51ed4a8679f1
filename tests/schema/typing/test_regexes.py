from __future__ import annotations

import pytest

from schemactl.schema.typing.regexes import RegexError, translate


@pytest.mark.parametrize(
    ("regex", "text", "matches"),
    [
        ("[a-z]+", "abc", True),
        ("[a-z]+", "abc\n", False),
        ("^[a-z]+$", "abc", True),
        ("^[a-z]+$", "abc\n", False),
        ("a$\n", "a\n", True),
        ("a.c", "a\nc", False),
        ("a.c", "a\u2028c", False),
        ("(?i)abc(?-i)d", "ABCd", True),
        ("(?i)abc(?-i)d", "ABCD", False),
        ("(?i:ab)(c|d)", "ABc", True),
        ("(a(?i)b)c", "aBc", True),
        ("(a(?i)b)c", "aBC", False),
        (r"\d+", "٤٢", False),
        (r"\w+", "é", False),
        (r"\p{Upper}{2}", "AB", True),
        (r"[\p{Alpha}_]+", "a_B", True),
        (r"\Qa.b\E+", "a.bb", True),
        (r"(?<year>\d{4})-\d\d", "2024-01", True),
        (r"[^\s]+", "a b", False),
        (r"\u0041", "A", True),
    ],
)
def test_texts_match_as_in_java(regex: str, text: str, matches: bool):
    assert (translate(regex).fullmatch(text) is not None) is matches


@pytest.mark.parametrize("regex", [r"[a-z&&[^b]]", r"\p{L}", r"\bword", "(?i)a|b", r"\h", "(?u)a"])
def test_what_only_java_can_report_is_refused(regex: str):
    with pytest.raises(RegexError, match="only to Java"):
        translate(regex)


@pytest.mark.parametrize("regex", ["[a-z", "(a", "a**", "a{2,1}"])
def test_what_is_no_regular_expression_is_refused(regex: str):
    with pytest.raises(RegexError):
        translate(regex)
