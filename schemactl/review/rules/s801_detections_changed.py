from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import listed, plain
from schemactl.schema.changes import NormalizerChanged, SettingChanged


def find(comparison: Comparison) -> Matches:
    """Yield the change of ``detections``, in ``settings`` or, in old schemas, in ``normalizers``."""
    changes: list[SettingChanged | NormalizerChanged] = [*comparison.of(SettingChanged, "detections")]
    for change in [*changes, *comparison.of(NormalizerChanged, "detections")]:
        before, after = list(plain(change.before) or ()), list(plain(change.after) or ())
        if before != after:
            new = [name for name in after if name not in before]
            gone = [name for name in before if name not in after]
            phrase = [f"{listed(names)} {state}" for names, state in ((new, "on"), (gone, "off")) if names]
            yield Match.of(change, f"detection of types changes: {', '.join(phrase) or 'asked in another order'}")


RULE = Rule(
    title="type detection changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    direction=Direction.BOTH,
    why="Columns that are new at the next load get other types than they would have got: texts become timestamps or "
    "dates, or stay texts. Columns that have a type keep it. A schema that is inferred anew from the same data "
    "differs.",
    fix="State the types of the columns that matter, so that nothing depends on detection. Otherwise infer the schema "
    "again and review what changes.",
    find=find,
)
