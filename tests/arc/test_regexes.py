from __future__ import annotations

import pytest

from schemactl.arc.regexes import RegexError, translate


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


@pytest.mark.parametrize(
    ("regex", "matching", "others"),
    [
        # Categories and properties.
        (r"\p{L}+", ["Ünal", "日本", "ªµ"], ["a1", "", "a b", "a\u0301"]),
        (r"\p{Lu}\pL*", ["Él", "A"], ["él", "1"]),
        (r"[\p{L}\p{M}' -]+", ["O'Neil-Ünal", "e\u0301"], ["a_b"]),
        (r"\P{L}+", ["12 !", "²"], ["1é"]),
        (r"[^\p{L}\d]+", ["- ٤"], ["4", "é"]),
        (r"\p{IsLetter}\p{IsDigit}", ["é٤"], ["e²"]),
        (r"\p{IsUppercase}\p{gc=Nd}", ["É٤", "Ⓐ1"], ["é4"]),
        (r"\p{IsWhite_Space}", ["\u00a0", "\n", "\u2028"], ["\u200b"]),
        (r"\p{Sc}\p{N}+", ["€½", "$1"], ["1"]),
        (r"\h\v\R\H\V", ["\u00a0\u2028\r\nab"], ["  \nab"]),
        # Classes in classes.
        ("[a-z&&[^b]]+", ["ac"], ["b", "A", "&"]),
        (r"[\w&&[^\d_]]+", ["aZ"], ["1", "_", "é"]),
        (r"[\p{L}&&[^\p{Lu}]]", ["é"], ["É"]),
        ("[a-c[x-z]]+", ["ax"], ["d"]),
        ("[^a-c[x-z]]", ["d"], ["a", "x"]),
        ("[a-z&&def]", ["e"], ["a"]),
        ("[a-z&&b-y&&[^c]]", ["b"], ["a", "c", "z"]),
        ("[a&b^-]+", ["a&b^-"], ["c"]),
        ("[]a]+", ["]a"], ["[", "b"]),
        (r"[\Q]^\E]+", ["]^"], ["Q"]),
        # Words have letters of all scripts, and marks behind them.
        (r"\bÉl\b.*", ["Él a", "Él", "Él-"], ["Éla", "Él\u0301", "Él_"]),
        (r".*\B日.*", ["a日", "日日"], ["日", "-日"]),
        # Flags.
        ("(?i)a|É", ["A", "É"], ["é"]),
        ("(?i)[k-l]ß", ["Kß", "kß"], ["\u212aß", "Kẞ"]),
        (r"(?i)\p{Lu}\p{Lower}", ["éB"], ["éÉ"]),
        (r"(?i)(a)\1(?<n>b)\k<n>", ["aAbB"], ["ab"]),
        ("(?s)a.c", ["a\nc", "a\u2028c"], ["ac"]),
        ("(?s:a.)c.", ["a\nc."], ["a\nc\n"]),
        ("(?is-m:A.)b", ["a\nb"], ["a\nB"]),
        ("(?m)^a$\r\n^b$", ["a\r\nb"], ["a\nb"]),
        ("(?m)a$(?s:.)+", ["a\nb", "a\u0085"], ["ab"]),
        (r"(?m)a\r^\nb", [], ["a\r\nb"]),
        # Single characters.
        (r"\x{1F600}\uD83D\uDE00\0101\t\e", ["😀😀A\t\x1b"], []),
        (r"a\Z\n", ["a\n"], ["a"]),
        (r"\é\-\_", ["é-_"], []),
    ],
)
def test_what_java_s_own_classes_and_flags_mean_is_known(regex: str, matching: list[str], others: list[str]):
    translated = translate(regex)
    assert [text for text in matching if translated.fullmatch(text) is None] == []
    assert [text for text in others if translated.fullmatch(text) is not None] == []


@pytest.mark.parametrize(
    "regex",
    [
        r"\p{Latin}", r"\p{InGreek}", r"\p{IsGrek}", r"\p{sc=Lu}", r"\p{script=Any}", r"\p{IsOldItalic}",
        r"\p{IsAlphabetic}", r"\p{IsAlpha}", r"\p{javaLowerCase}", r"\X", r"\G",
        r"\b{g}", r"\N{DIGIT ONE}", "(?u)a", "(?x)a", "(?U)a", "[a&&]", "[&&a]", "[a&&&b]", "[a&&[b]c&&d]",
        r"(a)\10", r"\uD83D", r"\y",
    ],
)  # fmt: skip
def test_what_only_java_can_report_is_refused(regex: str):
    with pytest.raises(RegexError, match="only to Java"):
        translate(regex)


@pytest.mark.parametrize(
    ("regex", "matching", "others"),
    [
        (r"\p{IsLatin}+", ["aZé", "ªẞ", "Ⅷ"], ["1", "я", "-", "λ", ""]),
        (r"\p{script=Greek}+", ["λόγος"], ["logos", "\u0301"]),
        (r"\p{IsHAN}\P{sc=han}", ["日a", "々ア"], ["日日", "aa"]),
        (r"[\p{IsCyrillic}\d&&[^я]]+", ["ж1"], ["я", "z"]),
        (r"(?i)\p{IsOld_Italic}", ["\U00010300"], ["a"]),
        (r"\p{IsSignWriting}", ["\U0001d800"], ["a"]),
        (r"\p{IsCommon}+", ["1 -😀"], ["a"]),
    ],
)
def test_scripts_are_unicode_s(regex: str, matching: list[str], others: list[str]):
    expression = translate(regex)
    assert [text for text in matching if expression.fullmatch(text) is None] == []
    assert [text for text in others if expression.fullmatch(text) is not None] == []


def test_the_hint_for_letters_names_what_is_known():
    with pytest.raises(RegexError, match=r"`\\p\{L\}` are letters"):
        translate(r"\p{IsAlphabetic}")


@pytest.mark.parametrize("regex", ["[a-z", "(a", "a**", "a{2,1}", "a{", "a{,2}", "[z-a]", "(?i)*", "a)"])
def test_what_is_no_regular_expression_is_refused(regex: str):
    with pytest.raises(RegexError):
        translate(regex)
