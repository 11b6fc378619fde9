"""Reviews: what a question must say."""

import pytest
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import Record


def complaints(plural: str, body: Record) -> list[str]:
    kind = recordings.kind_of(plural, "authorization.k8s.io")
    obj = {"metadata": {}, **body}
    kind.strategy.default(obj)
    return [str(error) for error in kind.strategy.validate(obj)]


@pytest.mark.parametrize(
    "record",
    [recordings.line("errors", seq) for seq in (131, 132)],
    ids=lambda record: record["client"],
)
def test_recorded_refusals(record: Record) -> None:
    """The same causes."""
    kind, _, _ = recordings.target(record["path"])
    assert kind is not None
    obj = {"metadata": {}, **record["request_body"]}
    kind.strategy.default(obj)
    assert recordings.found(kind.strategy.validate(obj)) == recordings.causes(record)


@pytest.mark.parametrize("case", recordings.scenarios("reviews"))
def test_what_a_question_must_say(case: Record) -> None:
    """Something, about somebody, and nothing else."""
    assert complaints(case["kind"], case["body"]) == case["errors"]
