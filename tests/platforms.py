"""What tests need that Windows has not."""

from __future__ import annotations

import os

import pytest

IS_POSIX = os.name == "posix"
IS_ROOT = IS_POSIX and os.geteuid() == 0

needs_posix = pytest.mark.skipif(not IS_POSIX, reason="needs forks, pipes with names, or signals")
