from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Match, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield a match for each question that only data can answer; one that the base had already is old."""
    for question in comparison.head.open_questions:
        if question not in comparison.base.open_questions:
            sentence = f"import edited, not taken over: {question}"
            yield Match(sentence=sentence, keys=("version_hash",), aspect=question)


RULE = Rule(
    title="import edited, not taken over",
    impact=BREAKS_ALL,
    direction=Direction.UNDETERMINED,
    why="The import file was edited in a way that changes how data becomes tables: the types of columns that no file "
    "states, or all names. The export file does not show the result, so nobody can review it.",
    fix="Take the edit over with data, `schemactl infer SOURCE --name NAME`, and commit the export file as well. Or "
    "state in the import file what should come of it, such as the type of the column.",
    find=find,
)
