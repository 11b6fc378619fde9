"""Image names are read as registries' clients read them, and refused in the same words."""

import pytest
from tests.core.agent.containers.oracle import recorded

from flexlet.core.agent.containers import images
from flexlet.core.agent.containers.contents import Problem

CASES = recorded("images")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["image"][:40])
def test_names_are_completed_or_refused_as_upstream_does(case: dict[str, str]) -> None:
    expected = Problem(case["error"]) if "error" in case else case["out"]
    assert (images.normalized(case["image"]), images.repository(case["image"])) == (expected, case.get("repo", ""))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            "rpc error: code = NotFound desc = gone",
            Problem("rpc error: code = NotFound desc = gone", "ErrImagePull"),
        ),
        (
            "RegistryUnavailable: try later",
            Problem(
                "image pull failed for i because the registry is unavailable: try later", "RegistryUnavailable"
            ),
        ),
        (
            "SignatureValidationFailed",
            Problem(
                "image pull failed for i because the signature validation failed", "SignatureValidationFailed"
            ),
        ),
    ],
)
def test_a_failed_pull_has_the_reason_the_runtime_told(error: str, expected: Problem) -> None:
    assert images.pull_problem("i", error) == expected
