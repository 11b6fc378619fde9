"""Answers from finished bytes are valid JSON with the stored objects inside."""

import msgspec
import pytest

from flexlet.apiserver.store import Row, splice

HEAD = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},'


def rows(*values: bytes) -> list[Row]:
    return [Row(f"k{n}", n, value) for n, value in enumerate(values)]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_list_items_lose_kind_and_api_version(count: int) -> None:
    """The items of a built-in list carry neither, as kube-apiserver writes it."""
    opening = splice.opening_of("Pod", "v1")
    objects = [{"metadata": {"name": f"p{n}"}} for n in range(count)]
    stored = rows(*(opening + msgspec.json.encode(item)[1:] for item in objects))
    assert all(msgspec.json.decode(row.value)["kind"] == "Pod" for row in stored)
    assert msgspec.json.decode(splice.list_body(HEAD, stored, opening)) == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7"},
        "items": objects,
    }


def test_items_of_custom_resources_stay_whole() -> None:
    body = splice.list_body(b"{", rows(b'{"kind":"A"}', b'{"kind":"B"}'))
    assert body == b'{"items":[{"kind":"A"},{"kind":"B"}]}\n'


def test_a_watch_line() -> None:
    assert splice.watch_line("MODIFIED", b'{"kind":"Pod"}') == b'{"type":"MODIFIED","object":{"kind":"Pod"}}\n'
