"""What machine outputs say of a finding in words; every line is safe to show."""

from __future__ import annotations

from schemactl.render.harmless import escape
from schemactl.render.review_words import counted, silenced
from schemactl.review.report import Finding, Silence


def tell_title(finding: Finding) -> str:
    """Return the rule's id and title; a broken contract is named so."""
    return ("contract violation: " if finding.is_violation else "") + f"{finding.rule} {finding.title}"


def tell_sentence(finding: Finding) -> str:
    """Return what happened, and which older version it breaks where it is not the base."""
    against = f" (breaks the older version {escape(finding.against)})" if finding.against else ""
    return escape(finding.message) + against


def tell_facts(finding: Finding) -> list[str]:
    """Return the sentence, what the data said where it was asked, how to state or refuse a guess: a line each."""
    data = counted(finding)
    return [tell_sentence(finding), *(escape(each) for each in (data, finding.advice) if each)]


def tell_details(finding: Finding) -> list[str]:
    """Return the facts, and the fix or why it is accepted: a line each."""
    last = f"fix: {escape(finding.fix)}" if finding.silence is None else tell_silence(finding.silence)
    return [*tell_facts(finding), last]


def tell_silence(silence: Silence) -> str:
    """Return why a finding is accepted, and until when."""
    return escape(silenced(silence))
