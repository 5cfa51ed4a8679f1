"""What Spark logs with ``--debug``: addresses lose their secrets there, too."""

from __future__ import annotations

import re

from schemactl.engine.spark.session.launch import _LOG4J


def test_pattern_of_the_log_hides_passwords_and_tokens() -> None:
    pattern = _LOG4J.format(level="info").replace("\\\n", "").replace("\\\\", "\\")
    password, token = re.findall(r"\}\{(\(.*?)\}\{\$1", pattern)
    line = "reading ftp://ann:s3cret x/y@host/x.csv?password=s3cret of sc://h:15002/;token=s3cret;x=1 at spark://h:7077"

    shown = re.sub(token, r"\1***", re.sub(password, r"\1@", line))

    assert "s3cret" not in shown
    assert "spark://h:7077" in shown
