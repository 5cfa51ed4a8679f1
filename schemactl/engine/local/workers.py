"""Worker processes of this machine: started when there is work for them, and gone with the engine.

They are plain processes that import the kernel, not copies of this one: pyarrow has threads, which no fork survives,
and ``multiprocessing`` would run the caller's script again.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Final, Protocol

import pyarrow as pa

from schemactl.errors import EngineError

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from schemactl.engine.local.worker import serve; serve()"
)
_END_SECONDS: Final = 5


class Task(Protocol):
    """The records that one call of a kernel function reads; it is pickled.

    Attributes:
        size: the size in bytes.
        path: the path of the first file.
    """

    @property
    def size(self) -> int: ...

    @property
    def path(self) -> str: ...

    def batches(self) -> Iterator[pa.RecordBatch]: ...


def core_count() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


class Workers:
    """Worker processes, which live from the first run until ``close``."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._processes: list[subprocess.Popen[bytes]] = []

    def run(
        self, call: tuple[str, str, dict[str, Any]], tasks: Iterator[Task], done: Callable[[int], None]
    ) -> list[Any]:
        """Return the results of a kernel function for each task, in their order.

        Args:
            call: the function's module, its name, and its keyword arguments.
            tasks: are taken as workers get free, so that few are held at once.
            done: is called with the size of each task that is done.
        """
        pickled_call = pickle.dumps(call, pickle.HIGHEST_PROTOCOL)
        numbered, lock = enumerate(tasks), threading.Lock()
        answers: SimpleQueue[tuple[int, int, Any] | BaseException | None] = SimpleQueue()

        def feed(process: subprocess.Popen[bytes]) -> None:
            try:
                while True:
                    with lock:
                        number, task = next(numbered, (-1, None))
                    if task is None:
                        answers.put(None)
                        return
                    succeeded, result = _ask(process, pickled_call, task)
                    answers.put((number, task.size, result) if succeeded else result)
            except BaseException as error:
                answers.put(error)

        threads = [threading.Thread(target=feed, args=(process,), daemon=True) for process in self.start()]
        for thread in threads:
            thread.start()
        results: dict[int, Any] = {}
        busy = len(threads)
        while busy:
            match answers.get():
                case None:
                    busy -= 1
                case BaseException() as error:
                    self.close()
                    raise error
                case (number, size, result):
                    results[number] = result
                    done(size)
        return [results[number] for number in sorted(results)]

    def start(self) -> list[subprocess.Popen[bytes]]:
        """Start the processes, if they are not running, and return them."""
        while len(self._processes) < self._count:
            # -P: the first import must not find a module of the working folder, which may be a stranger's.
            command = [sys.executable, "-P", "-c", _START, json.dumps(sys.path)]
            try:
                with _interrupts_blocked():
                    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            except OSError as error:
                raise EngineError(f"a worker process cannot be started: {error.strerror or error}") from error
            self._processes.append(process)
        return self._processes

    def close(self) -> None:
        """End the processes at once; their finished work is already written."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait(_END_SECONDS)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    try:
                        stream.close()
                    except OSError:
                        continue  # data on its way to the process is of no use
        self._processes = []


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Have processes that are started in the block hear nothing of interrupts of the terminal: we end them."""
    if sys.platform == "win32":
        yield
        return
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _ask(process: subprocess.Popen[bytes], call: bytes, task: Task) -> tuple[bool, Any]:
    """Return whether a worker ran a task, and its result or error."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pickle.dump((call, task), process.stdin, pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
        succeeded, result = pickle.load(process.stdout)
    except (EOFError, BrokenPipeError, ConnectionResetError, ValueError, pickle.UnpicklingError) as error:
        code = process.wait(_END_SECONDS)
        reason = (
            f"it was killed by signal {-code}, most likely as memory ran out" if code < 0 else f"its code is {code}"
        )
        hint = "run fewer processes, or split large records"
        raise EngineError(f"a worker process ended while it read `{task.path}`: {reason}", hint=hint) from error
    return succeeded, result
