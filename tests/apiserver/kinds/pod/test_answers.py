"""Pods that upstream's own code was asked about: the same stored object and warnings, or the same causes.

`pod_answers.jsonl` holds cases picked from random ones so that every text of upstream's validation appears: `pod`
(create) or `old` and `change` (a merge patch), then `causes`, or `stored` (a merge patch on what was sent, or on
`old`) and `warnings`.
"""

from typing import Any

import pytest
from tests.apiserver.kinds.pod.pods import Outcome, Pod, changed, copied, created, lines, stamped

from flexlet.api.patch import merge

ANSWERS = lines("kinds/pod_answers.jsonl")


def cases(path: str) -> list[Any]:
    """The recorded cases of one path."""
    return [pytest.param(case, id=str(i)) for i, case in enumerate(ANSWERS) if case["op"] == path]


def check(outcome: Outcome, case: dict[str, Any], base: Pod) -> None:
    """Compare with the recording; `base` is what its patches start from."""
    assert outcome.causes == case.get("causes", [])
    if "stored" in case:
        assert outcome.pod == merge.apply(copied(base), case["stored"])
        assert list(outcome.warnings) == case.get("warnings", [])


@pytest.mark.parametrize("case", cases("create"))
def test_create(case: dict[str, Any]) -> None:
    """A new pod is completed, accepted or refused as upstream does."""
    check(created(case["pod"], case.get("gates")), case, stamped(case["pod"]))


@pytest.mark.parametrize("path", ["update", "resize", "status", "ephemeralcontainers"])
def test_change(path: str) -> None:
    """A changed pod is accepted or refused as upstream does, on every path."""
    found = [case.values[0] for case in cases(path)]
    assert found
    for case in found:
        old = {"apiVersion": "v1", "kind": "Pod", **case["old"]}
        body = merge.apply(copied(old), case["change"])
        check(changed(path, body, old, case.get("gates")), case, old)
