"""List the rules of reviews, migrations and data, or explain one.

A rule's severities are for those who read the tables, those who write them, and the rows that are stored; `depends`
is decided by the rows, and `schemactl diff --data SOURCE` counts them. M001 to M303 are those of `schemactl migrate`,
and of data in CI; no settings change them.

Examples:
    # List the rules
    schemactl rules

    # Explain one
    schemactl rules D301
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.completing import complete_rules
from schemactl.cli.declarations import argument
from schemactl.cli.options import CommonOptions, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError, did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    rule: str | None = argument("[RULE]", "The id of a rule, such as C204.", completes=complete_rules)
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the rules, or one of them.

    Raises:
        InputError: there is no such rule.
    """
    from schemactl.render.rules import print_rule, print_rules, rules_document
    from schemactl.review.migration_rules import migration_rules
    from schemactl.review.rules import all_rules

    rules = {rule.id: rule for rule in sorted((*all_rules(), *migration_rules()), key=lambda rule: rule.id)}
    if options.rule is None:
        return write_report(terminal, options, list(rules.values()), rules_document, print_rules)
    chosen = rules.get(options.rule.upper())
    if chosen is None:
        hint = did_you_mean(options.rule.upper(), rules) or "`schemactl rules` lists them"
        raise InputError(f"there is no rule `{options.rule}`", hint=hint)
    return write_report(terminal, options, chosen, lambda rule: rules_document([rule]), print_rule)
