from __future__ import annotations

from datetime import date, datetime

import pytest

from schemactl.errors import InputError, Location
from schemactl.review.report import Finding, Silence
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.silences import expired, parse_silences, silence_for, unmatched

TODAY = date(2026, 3, 31)


def silence(**stated) -> Silence:
    return Silence(**{"rule": "C204", "reason": "agreed", **stated})


def finding(**stated) -> Finding:
    made = {"rule": "C204", "title": "", "severity": Severity.ERROR, "direction": Direction.NONE, "impact": Impact()}
    texts = dict.fromkeys(("message", "why", "fix", "schema", "fingerprint"), "")
    return Finding(**{**made, **texts, "table": "orders", "column": "note", **stated})


@pytest.mark.parametrize(
    ("stated", "covers"),
    [
        ({}, True),
        ({"rule": "C205"}, False),
        ({"table": "orders"}, True),
        ({"table": "ord*"}, True),
        ({"table": "ORDERS"}, False),
        ({"table": "carts"}, False),
        ({"table": "orders", "column": "note"}, True),
        ({"column": "n?te"}, True),
        ({"column": "not"}, False),
        ({"until": TODAY}, True),
        ({"until": date(2026, 3, 30)}, False),
    ],
)
def test_a_silence_covers_what_it_names(stated, covers):
    made = silence(**stated)
    assert silence_for([made], finding(), TODAY) == (made if covers else None)


def test_a_silence_of_a_table_does_not_cover_the_whole_schema():
    assert silence_for([silence(table="*")], finding(table=None, column=None), TODAY) is None
    assert silence_for([silence(column="*")], finding(column=None), TODAY) is None


def test_the_first_silence_that_holds_is_the_one():
    over, first, second = silence(until=date(2020, 1, 1)), silence(reason="a"), silence(reason="b")
    assert silence_for([over, first, second], finding(), TODAY) is first


def test_silences_that_are_over_or_cover_nothing_are_reported():
    over = silence(until=date(2026, 3, 30))
    idle = silence(table="carts")
    used = silence()
    also_used = silence(table="orders")
    changed = ["orders", "carts"]
    assert unmatched([over, idle, used, also_used], [finding()], TODAY, changed) == (idle,)
    assert expired([over, idle, used, also_used], TODAY) == (over,)


def test_silences_of_tables_of_which_nothing_was_compared_are_left_alone():
    elsewhere, pattern = silence(table="users"), silence(table="user*")
    assert unmatched([elsewhere, pattern], [], TODAY, ["orders"]) == ()
    assert unmatched([elsewhere, pattern], [], TODAY, ["users"]) == (elsewhere, pattern)


def test_parsed():
    at = Location("schemactl.toml")
    items = [
        {"rule": "C204", "reason": " agreed with sales "},
        {"rule": "T102", "table": "carts*", "column": None, "reason": "gone", "until": "2026-03-31"},
        {"rule": "C204", "table": "orders", "column": "note", "reason": "gone", "until": date(2026, 4, 1)},
    ]
    assert parse_silences([(item, at) for item in items]) == (
        Silence("C204", "agreed with sales", at=at),
        Silence("T102", "gone", table="carts*", until=date(2026, 3, 31), at=at),
        Silence("C204", "gone", "orders", "note", date(2026, 4, 1), at),
    )
    assert parse_silences([]) == ()


@pytest.mark.parametrize(("item", "message", "hint"), [
    ({"rule": "C204"}, "silence 1 has no `reason`", "add a reason for the silence"),
    ({"rule": "C204", "reason": "  "}, "silence 1 has no `reason`", "add a reason for the silence"),
    ({"reason": "a"}, "silence 1 has no `rule`", "the id of a rule, such as `C204`"),
    ({"rule": "c204", "reason": "a"}, "silence 1: there is no rule `c204`", "did you mean `C204`?"),
    ({"rule": "nonsense", "reason": "a"}, "silence 1: there is no rule `nonsense`", "ids look like `C204`"),
    ({"rule": 204, "reason": "a"}, "silence 1: `rule` is `204`, not text", None),
    ({"rule": "C204", "reason": "a", "tabel": "orders"}, "silence 1 has an unknown key `tabel`",
     "did you mean `table`?"),
    ({"rule": "C204", "reason": "a", "until": "soon"}, "silence 1: `until` is `soon`, not a date",
     "write a date like `2030-06-30`"),
    ({"rule": "C204", "reason": "a", "until": datetime(2026, 3, 31, 12)},
     "silence 1: `until` is `2026-03-31 12:00:00`, not a date", "write a date like `2030-06-30`"),
    ("C204", "silence 1 is not a table", "keys: rule, table, column, fingerprint, severity, reason, until"),
])  # fmt: skip
def test_a_wrong_silence_is_refused(item, message, hint):
    at = Location("schemactl.toml")
    with pytest.raises(InputError) as caught:
        parse_silences([(item, at)])
    assert (caught.value.message, caught.value.hint, caught.value.at) == (message, hint, at)


def test_all_that_is_wrong_is_reported_at_once():
    items = [{"rule": "C204"}, {"rule": "C204", "reason": "fine"}, {"reason": "a", "for": 1}]
    with pytest.raises(InputError) as caught:
        parse_silences([(item, None) for item in items])
    reported = [problem.message for problem in caught.value.problems]
    assert reported == ["silence 1 has no `reason`", "silence 3 has an unknown key `for`", "silence 3 has no `rule`"]
