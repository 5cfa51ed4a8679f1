"""Which types may go to which."""

from __future__ import annotations

from schemactl.inference.values import SOMETIMES_FITS
from schemactl.schema import coercion


def test_the_pairs_are_those_that_coercion_knows():
    ours = {(from_, to) for to, kinds in SOMETIMES_FITS.items() for from_ in kinds if from_ is not to}
    assert ours == {(from_, to) for from_, coercers in coercion._COERCERS.items() for to in coercers}
