from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from schemactl.render.escaping import escape, quote

ANY_CHARACTER = st.text(st.characters(codec=None, categories=None), max_size=20)


@given(ANY_CHARACTER)
def test_escaped_text_is_one_line_of_visible_characters(text: str) -> None:
    escaped = escape(text)

    assert "\n" not in escaped
    hidden = {each for each in escaped if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")}
    assert not hidden
    escaped.encode("utf-8")


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_visible_text_stays_as_it_is(text: str) -> None:
    assert escape(text) == text


def test_direction_and_zero_width_characters_are_shown() -> None:
    assert escape("a\u202eb\u200bc\ufeffd\U000e0041") == r"a\u202eb\u200bc\ufeffd\U000e0041"


def test_joiners_of_scripts_and_emoji_are_kept() -> None:
    assert escape("می\u200cخواهم 👩\u200d💻") == "می\u200cخواهم 👩\u200d💻"


def test_quotes_in_a_value_do_not_end_it() -> None:
    assert quote('a"b\\') == '"a\\"b\\\\"'
