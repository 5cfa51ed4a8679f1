"""A browser for tests of pages, as the machine has one: Chromium or Chrome, without a window."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE_SECONDS = 120
RESULT = "data-schemactl-result"

# The page is in a frame, which is as narrow as a test asks for: the window of a browser is not.
FRAME = """<!DOCTYPE html>
<html><body style="margin: 0">
<iframe id="page" srcdoc="{page}" style="width: {width}px; height: 800px; border: 0"></iframe>
<script>
const messages = [], frame = document.getElementById("page");
const watch = () => {{ frame.contentWindow.addEventListener("error", event => messages.push(event.message), true); }};
watch();
frame.addEventListener("load", () => {{
  const page = frame.contentWindow, document = page.document;
  let value = null;
  try {{ value = (function () {{ {script} }})(); }} catch (error) {{ messages.push(String(error)); }}
  window.document.documentElement.setAttribute("{result}", JSON.stringify({{ value, messages }}));
}});
</script></body></html>
"""


def evaluate(page: str, script: str, folder: Path, width: int = 1200) -> Any:
    """Return what a script returns in a page of so many pixels; ``document`` and ``page`` (its window) are its own.

    Raises:
        AssertionError: the page, or the script, has ended with an error.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("there is no browser: `apt-get install chromium` brings one")
    quoted = page.replace("&", "&amp;").replace('"', "&quot;")
    file = folder / "frame.html"
    file.write_text(FRAME.format(page=quoted, script=script, width=width, result=RESULT), encoding="utf-8")
    options = ["--headless", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")
    call = [program, *options, "--virtual-time-budget=5000", "--dump-dom", file.as_uri()]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(call, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=environment)
    start, found, after = done.stdout.partition(f'{RESULT}="')
    if not found:
        pytest.skip(f"the browser cannot run here: {(done.stderr or start)[-300:]}")
    result = json.loads(unescape(after.partition('"')[0]))
    assert result["messages"] == []
    return result["value"]
