"""The input of a normalizer."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.inference.evidence import Evidence
from schemactl.inference.resolve import Resolution
from schemactl.schema.judgment import Judgment
from schemactl.schema.naming import Naming, load_naming
from schemactl.schema.settings import NormalizerConfig


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """One load: the evidence of all its data, the schema changes that it needs, and the changes that are allowed."""

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
