"""Replacing a text file: all or nothing, whatever happens in between."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from platforms import IS_ROOT, needs_posix

from schemactl.errors import InputError
from schemactl.store.text import remove_leftovers, replace_file

# Runs the real function, and kills the process at the N-th call into the system that `os` makes for it.
KILLED_AT = """
import os, signal, sys
from pathlib import Path
from schemactl.store.text import replace_file

step, path, text = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
seen = 0

def at(event, arguments):
    global seen
    if event in ("open", "os.rename", "os.chmod", "os.chown", "os.mkdir", "os.listdir"):
        count()

def count():
    global seen
    seen += 1
    if seen == step:
        os.kill(os.getpid(), signal.SIGKILL)

fsync = os.fsync
def counted(descriptor):
    count()
    fsync(descriptor)
    count()

os.fsync = counted
sys.addaudithook(at)
replace_file(path, text)
"""


def test_a_new_file_gets_the_text_and_its_folders(tmp_path):
    path = tmp_path / "export" / "deep" / "a.schema.yaml"
    replace_file(path, "name: a\r\nż: 1\n")
    assert path.read_bytes() == "name: a\r\nż: 1\n".encode()


@needs_posix
def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(pipe, "name: a")
        assert os.read(reader, 100) == b"name: a"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_new_file_gets_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755])
def test_the_mode_of_a_replaced_file_stays(tmp_path, mode):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    replace_file(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(not IS_ROOT, reason="only root gives files away")
def test_the_owner_of_a_replaced_file_stays(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    replace_file(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path):
    target = tmp_path / "elsewhere" / "real.yaml"
    target.parent.mkdir()
    target.write_text("old")
    link = tmp_path / "a.yaml"
    link.symlink_to(Path("elsewhere") / "real.yaml")
    replace_file(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(path.name for path in target.parent.iterdir()) == ["real.yaml"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    replace_file(tmp_path / "a", "new")
    assert (tmp_path / "b").read_text() == "new"


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match="cannot write"):
        replace_file(tmp_path / "a", "new")


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        replace_file(tmp_path / "a", "new")


def test_a_file_where_a_folder_should_be_is_reported(tmp_path):
    (tmp_path / "export").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        replace_file(tmp_path / "export" / "a", "new")


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_a_write_protected_file_stays_as_it_is(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(InputError, match="write-protected"):
        replace_file(path, "new")
    assert path.read_text() == "old"


def test_a_full_disk_leaves_the_old_text_and_no_litter(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "from schemactl.store.text import replace_file; from schemactl.errors import InputError\n"
        "try: replace_file(Path(sys.argv[1]), 'x' * 100_000)\n"
        "except InputError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code, path], capture_output=True, text=True, check=True)
    assert "cannot write" in done.stdout
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@needs_posix
@pytest.mark.parametrize("exists", [True, False])
def test_a_process_killed_at_any_point_leaves_the_old_text_or_the_new_one(tmp_path, exists):
    path = tmp_path / "a.schema.yaml"
    old, new = "old\n" * 1000, "new\n" * 5000
    outcomes = []
    for step in range(1, 40):
        if exists:
            path.write_text(old)
        else:
            path.unlink(missing_ok=True)
        command = [sys.executable, "-B", "-c", KILLED_AT, str(step), str(path), new]
        code = subprocess.run(command, check=False, timeout=60).returncode
        outcomes.append(path.read_text() if path.exists() else None)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    before = old if exists else None
    assert set(outcomes) == {before, new}
    assert outcomes[-1] == new
    assert outcomes == sorted(outcomes, key=lambda text: text == new)


def test_what_a_killed_process_left_is_swept_and_nothing_else(tmp_path):
    kept = tmp_path / "a.schema.yaml"
    kept.write_text("old")
    for step in range(1, 40):
        command = [sys.executable, "-B", "-c", KILLED_AT, str(step), str(kept), "new"]
        subprocess.run(command, check=False, timeout=60)
        if len(list(tmp_path.iterdir())) > 1:
            break
    else:
        pytest.fail("no step left a temporary file")
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [kept]


def test_a_reader_never_sees_a_part(tmp_path):
    path = tmp_path / "a"
    texts = {letter * 200_000 for letter in "ab"}
    replace_file(path, min(texts))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for text in texts:
                replace_file(path, text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = {path.read_text() for _ in range(200)}
    finally:
        stop.set()
        writer.join()
    assert seen <= texts
