"""A worker process of the local engine: it receives tasks on standard input and answers on standard output.

It is started by ``workers``, with a command that imports this module and nothing of the program that called us. It ends
with its parent, however that ends: its input is closed then.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import IO, Any, Final

from schemactl.kernel.without_pandas import keep_pandas_out

_PRELOADED: Final = ("orjson", "pyarrow.compute", "schemactl.kernel.partitions")


def serve() -> None:
    """Run tasks until the parent closes standard input."""
    # Prints of a user's model must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr  # which loses nothing when this process is killed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends us
    messages: SimpleQueue[tuple[bytes, Any]] = SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, messages), daemon=True).start()
    for name in _PRELOADED:
        import_module(name)
    keep_pandas_out()
    gc.freeze()
    while True:
        call, task = messages.get()
        pickle.dump(_answer(call, task), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _receive(source: IO[bytes], messages: SimpleQueue[tuple[bytes, Any]]) -> None:
    """Queue the messages of the parent; when the parent is gone, end this process at once."""
    while True:
        try:
            message = pickle.load(source)
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)
        messages.put(message)


def _answer(call: bytes, task: Any) -> tuple[bool, Any]:
    """Return whether a task succeeded, and its result, or the error."""
    try:
        return True, _function(call)(task.batches())
    except BaseException as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return False, RuntimeError(f"{type(error).__name__}: {error}")
        return False, error


@lru_cache(maxsize=1)
def _function(call: bytes) -> Callable[..., Any]:
    """Return the kernel function that a pickled call names, with its arguments."""
    module, function, arguments = pickle.loads(call)
    return partial(resolve_name(f"{module}:{function}"), **arguments)
