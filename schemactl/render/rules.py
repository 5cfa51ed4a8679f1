"""The rules of a review for a person: a list of all, and all about one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schemactl.render.console import Look, print_sections
from schemactl.render.json import document
from schemactl.review.rule import Rule
from schemactl.review.severity import Severity

_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARN: "yellow", Severity.DEPENDS: "yellow"}
_SHOWN: Final = {"Rule": "id title impact direction why fix is_contract is_cosmetic"}


def print_rules(rules: Iterable[Rule], look: Look) -> str:
    """Return a line for each rule, with its severities."""
    table = Table(box=None, pad_edge=False)
    for heading in ("rule", "readers", "writers", "data", "what happened"):
        table.add_column(heading, no_wrap=heading != "what happened")
    for rule in rules:
        table.add_row(rule.id, *map(_severity, rule.impact.by_axis.values()), rule.title)
    hint = Text("`schemactl rules ID` explains a rule and how to fix it", style="dim")
    return print_sections([[table], [hint]], look)


def print_rule(rule: Rule, look: Look) -> str:
    """Return a rule's explanation: who it breaks, why, the fix, how to silence it."""
    impact = Text()
    for axis, severity in rule.impact.by_axis.items():
        impact.append(f"{axis}: ").append(_severity(severity)).append("   ")
    sections: list[list[RenderableType]] = [
        [Text(rule.id, style="bold").append(f": {rule.title}"), impact],
        [Text(rule.why)],
        [Text("What to do", style="bold"), Text(rule.full_fix)],
    ]
    if rule.severity is not None:
        return print_sections([*sections, [Text(f"It is of the severity `{rule.severity}` in every mode.")]], look)
    impact.append(f"({rule.direction})", style="dim")
    if rule.is_contract:
        sections.insert(2, [Text("It counts in every mode: the schema's own contract is broken.")])
    silence = Padding(
        Text(f"""\
[[tool.schemactl.diff.silence]]   # [[diff.silence]] in schemactl.toml
rule = "{rule.id}"
table = "orders"                  # and column = "..."; or "ord*"
reason = "why this is acceptable"
until = 2027-01-31                # optional"""),
        (0, 0, 0, 4),
        expand=False,
    )
    return print_sections([*sections, [Text("To silence it", style="bold"), silence]], look)


def rules_document(rules: Iterable[Rule]) -> dict[str, Any]:
    """Return the JSON document of ``schemactl rules``."""
    return {"rules": document(list(rules), _SHOWN)}


def _severity(severity: Severity) -> Text:
    return Text("-" if severity is Severity.NONE else str(severity), style=_STYLES.get(severity, ""))
