"""The comment of a column changes alone: what SHOW CREATE TABLE says of it beside stays."""

import pytest

from schemactl.destinations.mysql.migration import with_comment
from schemactl.errors import DestinationError

MADE = """CREATE TABLE "orders" (
  "id" bigint(20) NOT NULL AUTO_INCREMENT,
  "a, ""b" varchar(9) COLLATE utf8mb4_bin NOT NULL DEFAULT 'COMMENT '')' COMMENT 'it''s, old',
  "kind" enum('a','b)') DEFAULT NULL,
  "held" longtext CHARACTER SET utf8mb4 DEFAULT NULL COMMENT 'x' CHECK (json_valid("held")),
  "sum" decimal(10,2) GENERATED ALWAYS AS ("id" * (1 + 2)) VIRTUAL,
  "last" text DEFAULT NULL
) ENGINE=InnoDB COMMENT='of the table'"""


@pytest.mark.parametrize(("column", "definition"), [
    ("id", "\"id\" bigint(20) NOT NULL AUTO_INCREMENT COMMENT 'it''s new'"),
    ('a, "b', """"a, ""b" varchar(9) COLLATE utf8mb4_bin NOT NULL DEFAULT 'COMMENT '')' COMMENT 'it''s new'"""),
    ("kind", "\"kind\" enum('a','b)') DEFAULT NULL COMMENT 'it''s new'"),
    ("held", "\"held\" longtext CHARACTER SET utf8mb4 DEFAULT NULL COMMENT 'it''s new' CHECK (json_valid(\"held\"))"),
    ("sum", "\"sum\" decimal(10,2) GENERATED ALWAYS AS (\"id\" * (1 + 2)) VIRTUAL COMMENT 'it''s new'"),
    ("last", "\"last\" text DEFAULT NULL COMMENT 'it''s new'"),
])  # fmt: skip
def test_a_definition_keeps_all_but_its_comment(column: str, definition: str) -> None:
    assert " ".join(with_comment(MADE, column, "it's new").split()) == definition


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(DestinationError, match="no column `gone`"):
        with_comment(MADE, "gone", None)
