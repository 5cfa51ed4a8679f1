"""What a regular expression matches is what Spark's own `rlike`, which is Java's, matches in whole texts."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from schemactl.arc.regexes import translate

pytestmark = pytest.mark.spark

REGEXES = [
    r"\p{L}+", r"\p{Lu}\p{Ll}*", r"\P{L}+", r"\pN+", r"\p{IsLetter}+", r"\p{IsUppercase}+", r"\p{IsWhite_Space}",
    r"\p{IsDigit}+", r"\p{Alpha}+", r"\p{Punct}+", r"(?i)\p{Lu}+", r"(?i)\p{Lower}+", r"[\p{L}\p{M}' -]+",
    "[a-z&&[^b]]+", r"[\w&&[^\d_]]+", "[^a-c[x-z]]+", "[a-z&&b-y&&[^c]]", r"[^\p{L}&&[^a-z]]+", r"[\Q]^\E]+",
    r"\h+", r"\v+", r"\R+", r"\S+", r"\w+", r"\W+", r"\d+", r"\x{1F600}", r"(?i)(a)\1", "(?i)é|A+", "(?i)[k-l]+",
    ".", "(?s).", "(?s).*", "(?m)^a$\n^b$", r"(?m)a$(?s:.)+", "a$\n?", r"a\Z\n?",
    r"\p{IsLatin}+", r"\p{script=Han}+", r"\p{sc=common}+", r"(?i)[\p{IsLATIN}&&[^a]]+", r"\P{IsInherited}+",
]  # fmt: skip
WORDS = [r"\bÉl\b.*", r".*\b.", r".\B.", r".*\b日.*"]
"""Java 19 and later take letters of ASCII only for parts of words."""

TEXTS = [
    "", "a", "A", "aA", "b", "c", "x", "k", "K", "\u212a", "é", "É", "Él", "Éla", "Él a", "Él\u0301", "Él-", "ß", "ẞ",
    "日本", "😀", "1", "٤", "²", "Ⅷ", "Ⓐ", "ª", "ǅ", "_", "a_b", "O'Neil-Ünal", "e\u0301", "\u0301", "-", "&", "^]",
    "Q", " ", "\t", "\u00a0", "\u180e", "\u2028", "\u0085", "\n", "\r\n", "a\n", "a\r\n", "a\u0085", "a\nb", "a\rb",
    "\n\n", "€", "$", "a1", "AbC", "é1", "-é",
]  # fmt: skip


def test_texts_match_as_spark_s_own_function_says(spark: Any):
    version = "java_method('java.lang.System', 'getProperty', 'java.specification.version')"
    is_recent = int(spark.range(1).selectExpr(version).first()[0]) >= 19
    regexes = REGEXES if is_recent else [*REGEXES, *WORDS]
    rows = list(enumerate(TEXTS))
    matches = [F.col("text").rlike(rf"\A(?:{regex})\z").alias(f"r{index}") for index, regex in enumerate(regexes)]
    results = spark.createDataFrame(rows, "row int, text string").select("row", *matches).orderBy("row").collect()
    differing = [
        (regex, text, results[row][f"r{index}"])
        for index, regex in enumerate(regexes)
        for row, text in enumerate(TEXTS)
        if (translate(regex).fullmatch(text) is not None) is not results[row][f"r{index}"]
    ]
    assert differing == []
