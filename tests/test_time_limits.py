"""Steps end within their time, also those of C and those inside each other."""

from __future__ import annotations

import re
import signal
import time

import pytest
from platforms import needs_posix

from schemactl.time_limit import time_limit


class TooSlow(Exception):
    pass


class OuterTooSlow(Exception):
    pass


pytestmark = needs_posix


def search_endlessly() -> None:
    re.search("(a+)+$", "a" * 60 + "!")


@pytest.mark.parametrize("of_processor", [False, True])
def test_a_search_in_c_is_interrupted(of_processor):
    before = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(TooSlow), time_limit(0.05, TooSlow, of_processor=of_processor):
        search_endlessly()
    assert (signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGVTALRM)) == before


def test_no_limit_means_none():
    with time_limit(0, TooSlow):
        time.sleep(0.01)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_step_that_catches_every_error_ends():
    def stubborn() -> None:
        while True:
            try:
                time.sleep(60)
            except Exception:
                continue

    with pytest.raises(TooSlow), time_limit(0.05, TooSlow):
        stubborn()


def test_the_limit_around_a_limited_step_gives_its_own_error():
    with pytest.raises(OuterTooSlow), time_limit(0.05, OuterTooSlow), time_limit(600, TooSlow, of_processor=True):
        search_endlessly()
    with pytest.raises(TooSlow), time_limit(600, OuterTooSlow), time_limit(0.05, TooSlow, of_processor=True):
        search_endlessly()
