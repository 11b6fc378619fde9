"""Headers of answers, and the room that warnings have in them."""

from flexlet.apiserver.http import answers
from flexlet.apiserver.http.answers import bounded


def test_a_few_warnings_are_given_whole_and_once() -> None:
    assert bounded(["a" * 3000, "b", "b"]) == ["a" * 3000, "b"]


def test_many_warnings_are_cut_and_then_left_out() -> None:
    """As upstream: beyond 4,096 characters each has 256, and nothing is added once they are full again."""
    assert bounded([f"{at:04}" * 100 for at in range(100)]) == [f"{at:04}" * 64 for at in range(16)]


def test_an_answer_has_no_thousands_of_headers() -> None:
    found = answers.headers("application/json", [f'unknown field "spec.x{at:05}"' for at in range(40_000)])
    assert len(found.getall("Warning")) == 152
