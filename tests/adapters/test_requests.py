"""Paths, watch lines and lists of the HTTP client, without a server."""

import pytest

from flexlet.adapters.kube import requests
from flexlet.api.status import Gone
from flexlet.ports.cluster import NODES, PODS, Change, Ref


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ((PODS, "default"), "/api/v1/namespaces/default/pods"),
        ((PODS, "default", "web", "status"), "/api/v1/namespaces/default/pods/web/status"),
        ((NODES, "", "n1"), "/api/v1/nodes/n1"),
        ((Ref("apps", "v1", "deployments"), "a b", "x/y"), "/apis/apps/v1/namespaces/a%20b/deployments/x%2Fy"),
    ],
)
def test_path(parts: tuple[Ref, str], path: str) -> None:
    assert requests.path(*parts) == path


def test_selectors_leave_out_what_is_empty() -> None:
    assert requests.selectors("", "spec.nodeName=n1") == {"fieldSelector": "spec.nodeName=n1"}


def test_lines_are_whole_however_the_bytes_arrive() -> None:
    buffer = requests.LineBuffer()
    assert [buffer.feed(part) for part in (b'{"a"', b':1}\n{"b":2}\n{"c', b'":3}\n')] == [
        [],
        [b'{"a":1}', b'{"b":2}'],
        [b'{"c":3}'],
    ]


def test_bookmarks_are_not_changes() -> None:
    lines = [b'{"type":"ADDED","object":{"x":1}}', b'{"type":"BOOKMARK","object":{}}']
    assert requests.changes(lines) == [Change("ADDED", b'{"x":1}')]


def test_an_error_event_is_raised_as_what_it_is() -> None:
    line = (
        b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        b'"message":"too old resource version: 1 (9)","reason":"Expired","code":410}}'
    )
    with pytest.raises(Gone, match="too old resource version"):
        requests.changes([line])


def test_items_get_back_the_kind_that_lists_leave_out() -> None:
    raw = requests.listing(
        b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},'
        b'"items":[{"metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}]}'
    )
    assert requests.typed_items(raw) == (
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}',
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}',
    )
    assert raw.metadata.resource_version == "7"
