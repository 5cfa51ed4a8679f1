"""The input of a normalizer, of which it makes its plan."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.inference.evidence import Evidence
from schemactl.inference.resolve import Resolution
from schemactl.schema.judgment import Judgment
from schemactl.schema.naming import Naming, load_naming
from schemactl.schema.settings import NormalizerConfig


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """One load: evidence of all its data, what that asks for of the schema, what the contract lets through of it."""

    evidence: Evidence
    resolution: Resolution
    judgment: Judgment

    @property
    def config(self) -> NormalizerConfig:
        """The schema's ``normalizers`` section."""
        return NormalizerConfig.of(self.resolution.schema.normalizers)

    @property
    def naming(self) -> Naming:
        """The schema's naming convention within the limits of the destination."""
        return load_naming(self.config.naming, self.resolution.max_identifier_length)
