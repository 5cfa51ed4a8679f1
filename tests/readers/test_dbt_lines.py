"""The lines of compiled SQL in the file of a model."""

from __future__ import annotations

import random

import pytest

from schemactl.readers.dbt_lines import map_lines

RAW = """{{ config(
    materialized='table'
) }}

with source as (
    select * from {{ source('raw', 'orders') }}
),
renamed as (
    select
        {{ star_of(
            'orders'
        ) }},
        amount
    from source
    {% if is_incremental() %}
    where id > (select max(id) from {{ this }})
    {% endif %}
)
select * from renamed"""
COMPILED = """

with source as (
    select * from "db"."raw"."orders"
),
renamed as (
    select
        id,
        note,
        amount
    from source

)
select * from renamed"""


def test_lines_around_tags_are_those_of_the_file() -> None:
    lines = {compiled: raw for compiled, raw in map_lines(RAW, COMPILED).items() if COMPILED.splitlines()[compiled - 1]}
    assert lines == {3: 5, 4: 6, 5: 7, 6: 8, 7: 9, 8: 10, 9: 10, 10: 13, 11: 14, 13: 18, 14: 19}


@pytest.mark.parametrize(
    ("raw", "compiled", "lines"),
    [
        ("select 1\nfrom {{ ref('a') }}", 'select 1\nfrom "a"', {1: 1, 2: 2}),
        ("{{ columns() }}", "select\n  note\nfrom orders", {}),
        ("a\nb\na", "a\nb\na\nc", {1: 1, 2: 2, 3: 3}),
        ("x\n{{ m() }}\n{{ n() }}\ny", "x\n1\n2\n3\ny", {1: 1, 5: 4}),
        ("", "select 1", {}),
    ],
)
def test_a_line_that_is_not_known_is_left_out(raw: str, compiled: str, lines: dict[int, int]) -> None:
    assert map_lines(raw, compiled) == lines


def test_a_line_of_the_file_is_one_with_its_text() -> None:
    """Random insertions and removals: a line without a tag is found in the file as it is, and in order."""
    generator = random.Random(7)
    for _ in range(300):
        raw_lines = [generator.choice("abcdefgh") * generator.randint(1, 3) for _ in range(generator.randint(0, 12))]
        lines = [line for line in raw_lines if generator.random() < 0.8]
        for _ in range(generator.randint(0, 3)):
            lines.insert(generator.randint(0, len(lines)), generator.choice("xyz"))
        mapped = map_lines("\n".join(raw_lines), "\n".join(lines))
        assert all(lines[number - 1] == raw_lines[raw - 1] for number, raw in mapped.items())
        raw_numbers = [mapped[number] for number in sorted(mapped)]
        assert raw_numbers == sorted(set(raw_numbers))
