"""One command at a time writes to a schemas folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from platforms import needs_posix

from schemactl.errors import InputError
from schemactl.store.lock import LOCK_NAME, is_lock_free, locked, locked_schemas

HOLD = (
    "import sys, time; from pathlib import Path; from schemactl.store.lock import locked\n"
    "with locked(Path(sys.argv[1])):\n"
    "    print('held', flush=True); time.sleep(float(sys.argv[2])); print('ends', flush=True)\n"
)


def hold(folder: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(folder), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_command_is_reported_who_holds_the_folder(tmp_path):
    holder = hold(tmp_path, 60)
    try:
        with pytest.raises(InputError, match=f"in use by process {holder.pid}$"), locked(tmp_path, 0.2):
            pytest.fail("two hold the lock")
    finally:
        holder.kill()
        holder.wait()


def test_a_refused_command_does_not_hide_the_holder_from_the_next(tmp_path):
    holder = hold(tmp_path, 60)
    try:
        for _ in range(3):
            with pytest.raises(InputError, match=f"process {holder.pid}$"), locked(tmp_path, 0.1):
                pass
    finally:
        holder.kill()
        holder.wait()


def test_the_second_command_waits_a_short_while(tmp_path):
    holder = hold(tmp_path, 0.5)
    with locked(tmp_path, 600):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ends\n"
    assert holder.wait() == 0


@needs_posix
def test_a_killed_command_holds_nothing(tmp_path):
    holder = hold(tmp_path, 60)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with locked(tmp_path, 1):
        assert (tmp_path / LOCK_NAME).read_text() == str(os.getpid())


def test_an_error_inside_frees_the_folder(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    hold(tmp_path, 0).wait()


def test_a_command_may_take_its_own_lock_again(tmp_path):
    with locked(tmp_path, 1), locked(tmp_path, 1):
        pass
    hold(tmp_path, 0).wait()


def test_two_threads_exclude_each_other(tmp_path):
    inside, most = 0, 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        with locked(tmp_path, 30):
            with guard:
                inside += 1
                most = max(most, inside)
            time.sleep(0.02)
            with guard:
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, inside) == (1, 0)


def test_a_folder_that_is_not_there_is_made(tmp_path):
    with locked(tmp_path / "new" / "schemas"):
        assert (tmp_path / "new" / "schemas" / LOCK_NAME).exists()


def test_a_file_in_place_of_the_folder_is_reported(tmp_path):
    (tmp_path / "schemas").write_text("")
    with pytest.raises(InputError, match="cannot be a folder: it or a parent is a file"), locked(tmp_path / "schemas"):
        pass


def test_git_does_not_see_the_lock_of_a_schemas_folder(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    with locked_schemas(tmp_path / "schemas"), locked_schemas(tmp_path / "schemas"):
        assert (tmp_path / "schemas" / ".schemactl" / "lock").exists()

    shown = subprocess.run(["git", "-C", tmp_path, "status", "--porcelain"], capture_output=True, text=True, check=True)
    assert shown.stdout == ""


def test_who_holds_a_schemas_folder_is_named_by_its_own_name(tmp_path):
    script = HOLD.replace("import locked", "import locked_schemas as locked")
    command = [sys.executable, "-c", script, str(tmp_path), "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            message = f"`{tmp_path}` is in use by process {process.pid}"
            with pytest.raises(InputError, match=message), locked_schemas(tmp_path, 0.2):
                pytest.fail("two hold the lock")
        finally:
            process.kill()


def test_a_file_that_is_the_lock_by_a_second_name_keeps_its_content(tmp_path):
    (tmp_path / "notes.txt").write_text("mine\n")
    (tmp_path / LOCK_NAME).hardlink_to(tmp_path / "notes.txt")
    with locked(tmp_path):
        pass
    assert (tmp_path / "notes.txt").read_text() == "mine\n"


def test_a_lock_is_free_unless_another_process_holds_it(tmp_path):
    assert is_lock_free(tmp_path)
    with locked(tmp_path):
        assert is_lock_free(tmp_path)
    holder = hold(tmp_path, 60)
    try:
        assert not is_lock_free(tmp_path)
    finally:
        holder.kill()
        holder.wait()
    assert is_lock_free(tmp_path)
    assert is_lock_free(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
