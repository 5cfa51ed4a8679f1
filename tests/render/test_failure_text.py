from __future__ import annotations

import re

import pytest

from schemactl.errors import EngineError, InputError, Location, Problem
from schemactl.render.failure import render_failure, render_traceback, render_warning


def test_error_names_the_place_the_thing_and_the_way_out() -> None:
    error = InputError(
        "the schema is wrong",
        at=Location("shop.schema.yaml", 3, 7),
        hint="see the reference",
        problems=(
            Problem("there is no data type `txt`", Location("shop.schema.yaml", 9), "did you mean `text`?"),
            Problem("two columns `id`"),
        ),
    )

    assert render_failure(error, color=False) == (
        "error: shop.schema.yaml:3:7: the schema is wrong\n"
        "  shop.schema.yaml:9: there is no data type `txt`\n"
        "    hint: did you mean `text`?\n"
        "  two columns `id`\n"
        "hint: see the reference\n"
    )


def test_message_keeps_its_lines() -> None:
    assert render_failure(EngineError("Spark failed:\n  out of memory"), color=False) == (
        "error: Spark failed:\n  |   out of memory\n"
    )


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\u2028", "\x85", "\x0b"])
def test_no_name_of_a_file_starts_a_line(end: str) -> None:
    name = f"x{end}::error title=x::y"
    error = InputError(f"no `{name}`", at=Location(name, 1), hint=name, problems=(Problem(name, Location(name), name),))
    try:
        raise error
    except InputError as raised:
        shown = render_failure(error, color=False) + render_warning(name, color=False) + render_traceback(raised)

    assert "::error" in shown
    assert not [line for line in shown.splitlines() if line.lstrip().startswith("::")]


def test_unexpected_error_points_to_the_traceback() -> None:
    printed = render_failure(KeyError("x"), color=False)

    assert printed.startswith("error: unexpected KeyError: 'x'\n")
    assert "--debug" in printed


def test_text_from_data_cannot_steer_the_terminal() -> None:
    error = InputError("`\x1b[2J`", at=Location("a\x1b]0;b\x07"), hint="\u202e", problems=(Problem("\x9b"),))

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", render_failure(error, color=False))


def test_colors_are_around_our_own_words_only() -> None:
    assert render_failure(InputError("\x1b[31m"), color=True) == "\x1b[1;31merror\x1b[0m: \\x1b[31m\n"


def test_of_very_many_problems_the_first_are_shown() -> None:
    problems = tuple(Problem(f"no {number}") for number in range(10_000))
    lines = render_failure(
        InputError("the schema is wrong", problems=problems, hint="mend it"), color=False
    ).splitlines()
    assert len(lines) == 53
    assert lines[-2:] == ["  and 9,950 more", "hint: mend it"]
