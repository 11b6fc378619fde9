"""Diffs of pod specs in refusals: as upstream's for specs that people write, short for those that they do not."""

from typing import Any

from flexlet.apiserver.kinds.pod.internalform import diff


def _spec(count: int, image: str) -> dict[str, Any]:
    return {"containers": [{"name": f"c{at}", "image": image} for at in range(count)]}


def test_a_large_difference_is_one_block_and_not_all_of_it() -> None:
    lines = diff(_spec(200, "a"), _spec(200, "b"), "PodSpec").splitlines()
    assert len(lines) == 1 + 3 + 1000 + 1
    assert lines[4:5] == ['-   "Image": "a",']
    assert lines[504:505] == ['+   "Image": "b",']
    assert lines[-1].startswith("... and ")


def test_a_huge_difference_is_not_shown() -> None:
    """Its comparison took minutes."""
    shown = diff(_spec(16_000, "a"), _spec(16_000, "b"), "PodSpec")
    assert shown == "(the difference of two specs of 937812 bytes together is not shown)\n"
