"""Worker processes of the local engine: they end with their command, and a command that loses one fails whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from process_tree import children_of, is_running, wait_until

from schemactl.engine.local.workers import core_count

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc"),
    pytest.mark.skipif(core_count() < 2, reason="one core works without worker processes"),
]

COMMAND = Path(sys.executable).with_name("schemactl")
LIMIT_SECONDS = 120
END_SECONDS = 10
MODELS = """
import os
import time
from pathlib import Path
from pydantic import BaseModel, field_validator


class Endless(BaseModel):
    id: int

    @field_validator("id")
    def wait(cls, value: int) -> int:
        Path(f"{os.getpid()}.worker").touch()
        time.sleep(600)
        return value


class Talking(BaseModel):
    id: int

    @field_validator("id")
    def tell(cls, value: int) -> int:
        print("validated")
        os.system("echo told")
        return value
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with so much data that workers read it; temporary files stay beside it."""
    folder, temporary = tmp_path / "work", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    for name in [name for name in os.environ if name.startswith("SCHEMACTL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SCHEMACTL_PROGRESS_SECONDS", "0")
    monkeypatch.setenv("SCHEMACTL_ENGINE", "local")
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.chdir(folder)
    (folder / "worker_models.py").write_text(MODELS)
    line = json.dumps({"id": 1, "text": "x" * 50_000}) + "\n"
    (folder / "orders.jsonl").write_text(line * 200)
    return folder


def start(*args: str) -> subprocess.Popen[str]:
    """Start a command in a process group of its own, as a shell does."""
    pipe = subprocess.PIPE
    command = [COMMAND, *args, "--name", "shop"]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def busy_workers(command: int) -> list[int]:
    """Return the workers of a command once two of them wait in the model."""
    assert wait_until(lambda: len(list(Path().glob("*.worker"))) >= 2, LIMIT_SECONDS)
    workers = sorted(int(path.stem) for path in Path().glob("*.worker"))
    assert set(workers) <= set(children_of(command))
    return workers


def are_gone(processes: list[int]) -> bool:
    return wait_until(lambda: not any(map(is_running, processes)), END_SECONDS)


def left_files() -> list[str]:
    paths = [*Path().rglob("*"), *Path(os.environ["TMPDIR"]).rglob("*")]
    known = ("orders.jsonl", "worker_models.py")
    return [str(path) for path in paths if path.name not in known and path.suffix not in (".worker", ".pyc")
            and path.name != "__pycache__"]  # fmt: skip


@pytest.mark.parametrize("command", ["infer", "normalize"])
@pytest.mark.parametrize("interrupt", [os.killpg, os.kill], ids=["terminal", "command"])
def test_an_interrupt_ends_workers_at_once(work: Path, command: str, interrupt: Callable[[int, int], None]) -> None:
    process = start(command, "orders.jsonl", "--model", "worker_models:Endless")
    workers = busy_workers(process.pid)

    interrupt(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=END_SECONDS)

    assert (process.returncode, out, err) == (
        130,
        "",
        "interrupted\n",
    )
    assert are_gone(workers)
    assert left_files() == []


def test_an_interrupt_while_workers_start_is_silent(work: Path) -> None:
    process = start("infer", "orders.jsonl", "--model", "worker_models:Endless")
    assert wait_until(lambda: len(children_of(process.pid)) >= 2, LIMIT_SECONDS)
    workers = children_of(process.pid)

    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=END_SECONDS)

    assert (process.returncode, err) == (130, "interrupted\n")
    assert are_gone(workers)


@pytest.mark.parametrize("command", ["infer", "normalize"])
def test_a_killed_command_leaves_no_worker(work: Path, command: str) -> None:
    process = start(command, "orders.jsonl", "--model", "worker_models:Endless")
    workers = busy_workers(process.pid)

    process.kill()

    assert are_gone(workers)


@pytest.mark.parametrize("command", ["infer", "normalize"])
def test_a_killed_worker_is_a_failure_with_its_place_and_no_result(work: Path, command: str) -> None:
    process = start(command, "orders.jsonl", "--model", "worker_models:Endless")
    workers = busy_workers(process.pid)

    os.kill(workers[0], signal.SIGKILL)
    out, err = process.communicate(timeout=END_SECONDS)

    assert (process.returncode, out) == (3, "")
    assert err.startswith("error: a worker process ended while it read `")
    assert "orders.jsonl`: it was killed by signal 9, most likely as memory ran out\nhint: " in err
    assert are_gone(workers)
    assert left_files() == []


def test_a_full_disk_is_named_and_leaves_nothing(work: Path) -> None:
    """The folder of `--staging` is a small file system in memory, which only this command sees."""
    small = work.parent / "small"
    small.mkdir()
    script = f'mount -t tmpfs -o size=1m none "{small}" && exec "$@"'
    isolated = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    if subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    lines = (json.dumps({"id": number, "text": os.urandom(5_000).hex()}) + "\n" for number in range(1_000))
    (work / "orders.jsonl").write_text("".join(lines))

    call = ["normalize", "orders.jsonl", "--name", "shop", "--staging", str(small)]
    done = subprocess.run(
        [*isolated, COMMAND, *call], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "error: the disk with the rows of the load is full\n"
        "hint: name a folder on another disk: TMPDIR, or `--staging` of a load\n"
    )
    assert left_files() == []


def test_what_a_model_prints_in_workers_goes_to_standard_error(work: Path) -> None:
    (work / "orders.jsonl").write_text((json.dumps({"id": 1, "text": "x" * 500_000}) + "\n") * 20)
    call = ["infer", "orders.jsonl", "--name", "shop", "--model", "worker_models:Talking", "--format", "json"]
    done = subprocess.run([COMMAND, *call], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["name"] == "shop"
    assert (done.stderr.count("validated"), done.stderr.count("told")) == (20, 20)
