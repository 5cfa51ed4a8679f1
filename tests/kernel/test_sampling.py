"""Samples of rows: their numbers in their files decide, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemactl.kernel.sampling import RowSample


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(1, 30), st.floats(0.01, 1))
def test_the_same_rows_are_chosen_however_a_file_is_cut(sizes: list[int], batch_size: int, share: float) -> None:
    total = sum(sizes)
    whole = RowSample(share, {("a", 0): 0}).mask("a", 0, 0, total).to_pylist()
    before = {("a", block): sum(sizes[:block]) for block in range(len(sizes))}
    sample = RowSample(share, before)
    masks = [
        sample.mask("a", block, offset, min(batch_size, size - offset)).to_pylist()
        for block, size in enumerate(sizes)
        for offset in range(0, size, batch_size)
    ]
    assert [is_sampled for mask in masks for is_sampled in mask] == whole


def test_a_sample_has_about_its_share_of_any_part_of_a_file() -> None:
    for share in (0.001, 0.1, 0.5, 0.999):
        for first in (0, 12_345, 10**12):
            count = RowSample(share, {("a", 0): first}).mask("a", 0, 0, 100_000).true_count
            assert abs(count - share * 100_000) < 50


def test_files_give_other_rows_and_a_whole_share_all() -> None:
    masks = [RowSample(0.5, {(file, 0): 0}).mask(file, 0, 0, 1_000) for file in ("a", "b")]
    assert not masks[0].equals(masks[1])
    assert RowSample(1, {("a", 0): 0}).mask("a", 0, 0, 1_000).true_count == 1_000


def test_a_name_that_is_no_unicode_has_a_sample() -> None:
    assert len(RowSample(0.5, {("a\udcff", 0): 0}).mask("a\udcff", 0, 0, 10)) == 10
