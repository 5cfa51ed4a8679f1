"""Ends a process and its children soon after this one has gone, however it went.

A Java whose heap is all but full reads that our pipe has ended, and then takes minutes over its last steps.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from typing import Final

GRACE_SECONDS: Final = 5
"""How long the process has to end by itself."""

# `read` returns when the other end of the pipe is closed, by whatever end of this process. A group of that number can
# be no other one: it is looked for each second until it is gone.
_SCRIPT: Final = """
read -r _
left="$2"
while [ "$left" -gt 0 ]; do
    kill -s 0 -- "-$1" || exit 0
    sleep 1
    left=$((left - 1))
done
kill -s KILL -- "-$1"
"""


@contextlib.contextmanager
def ended_with_us(group: int) -> Iterator[None]:
    """Have a group of processes killed if this process is gone before the block's end; on Windows do nothing.

    Args:
        group: the id of the group, which is that of the process that leads it.
    """
    watch = None if os.name == "nt" else _start_watch(group)
    try:
        yield
    finally:
        if watch is not None:
            # Before the group is ended: its number may be another's then.
            watch.kill()
            watch.communicate()


def _start_watch(group: int) -> subprocess.Popen[bytes] | None:
    null = subprocess.DEVNULL
    # A session of its own: what ends all processes of a terminal does not end it.
    with contextlib.suppress(OSError):  # without a shell, Java ends by itself as soon as it can
        return subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "sh", str(group), str(GRACE_SECONDS)],
            stdin=subprocess.PIPE, stdout=null, stderr=null, cwd="/", start_new_session=True,
        )  # fmt: skip
    return None
