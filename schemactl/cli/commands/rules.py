"""List the rules behind findings, or explain one.

A rule has a severity for readers, for writers and for stored rows. The severity `depends` is decided by the rows;
`schemactl diff --data SOURCE` counts them. Rules M001 to M303 are findings of `schemactl migrate` and of `infer` and
`normalize`; settings cannot change their severity.

Examples:
    # List the rules
    schemactl rules

    # Explain one rule
    schemactl rules D301
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schemactl.cli.completing import complete_rules
from schemactl.cli.declarations import CommandGroup, argument
from schemactl.cli.options import CommonOptions, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError, did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.REVIEW

    rule: str | None = argument("[RULE]", "The ID of a rule, such as C204.", completes=complete_rules)
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the rules, or one of them."""
    from schemactl.render.rules import print_rule, print_rules, rules_document
    from schemactl.review.migration_rules import migration_rules
    from schemactl.review.rules import all_rules

    rules = {rule.id: rule for rule in sorted((*all_rules(), *migration_rules()), key=lambda rule: rule.id)}
    if options.rule is None:
        return write_report(terminal, options, list(rules.values()), rules_document, print_rules)
    chosen = rules.get(options.rule.upper())
    if chosen is None:
        hint = did_you_mean(options.rule.upper(), rules) or "`schemactl rules` lists the rules"
        raise InputError(f"there is no rule `{options.rule}`", hint=hint)
    return write_report(terminal, options, chosen, lambda rule: rules_document([rule]), print_rule)
