import pytest

from flexlet.apiserver.http import paths


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/api/v1/pods", ("", "v1", "", "pods", "", "", False)),
        ("/api/v1/namespaces/ns/pods/", ("", "v1", "ns", "pods", "", "", False)),
        ("/api/v1/namespaces/ns/pods/p", ("", "v1", "ns", "pods", "p", "", False)),
        ("/api/v1/namespaces/ns/pods/p/status", ("", "v1", "ns", "pods", "p", "status", False)),
        (
            "/apis/apps/v1/namespaces/ns/deployments/d/scale",
            ("apps", "v1", "ns", "deployments", "d", "scale", False),
        ),
        ("/api/v1/namespaces", ("", "v1", "", "namespaces", "", "", False)),
        ("/api/v1/namespaces/ns", ("", "v1", "ns", "namespaces", "ns", "", False)),
        ("/api/v1/namespaces/ns/finalize", ("", "v1", "ns", "namespaces", "ns", "finalize", False)),
        ("/api/v1/nodes/n/proxy/a/b", ("", "v1", "", "nodes", "n", "proxy/a/b", False)),
        ("/api/v1/watch/namespaces/ns/pods/p", ("", "v1", "ns", "pods", "p", "", True)),
        ("/api/v1/watch/nodes", ("", "v1", "", "nodes", "", "", True)),
        ("/api/v1", ("", "", "", "", "", "", False)),
        ("/apis/apps/v1/", ("", "", "", "", "", "", False)),
        ("/version/", ("", "", "", "", "", "", False)),
    ],
)
def test_what_a_path_means(text: str, expected: tuple[str | bool, ...]) -> None:
    path = paths.read(text)
    found = (path.group, path.version, path.namespace, path.resource, path.name, path.subresource, path.old_watch)
    assert found == expected


@pytest.mark.parametrize(
    ("method", "text", "watch", "verb"),
    [
        ("GET", "/api/v1/pods", False, "list"),
        ("GET", "/api/v1/pods", True, "watch"),
        ("GET", "/api/v1/namespaces/ns/pods/p", True, "get"),
        ("GET", "/api/v1/watch/pods", False, "watch"),
        ("POST", "/api/v1/namespaces/ns/pods", False, "create"),
        ("POST", "/api/v1/namespaces/ns/pods/p/binding", False, "create"),
        ("PUT", "/api/v1/nodes/n", False, "update"),
        ("PATCH", "/api/v1/nodes/n", False, "patch"),
        ("DELETE", "/api/v1/nodes/n", False, "delete"),
        ("DELETE", "/api/v1/nodes", False, "deletecollection"),
        ("GET", "/metrics", False, "get"),
        ("OPTIONS", "/api/v1/nodes/n", False, "options"),
    ],
)
def test_what_authorization_calls_it(method: str, text: str, watch: bool, verb: str) -> None:
    assert paths.verb(method, paths.read(text), watch=watch) == verb


def test_a_whole_url_means_its_path() -> None:
    """Proxies may send the absolute form."""
    assert paths.split_target("https://host:6443/version?x=1") == ("/version", {"x": "1"})
    assert paths.split_target("*") == ("/", {})


def test_paths_and_queries_are_unescaped_and_the_first_value_counts() -> None:
    path, query = paths.split_target("/api/v1/nodes/a%3Ab?limit=1&limit=2&watch&labelSelector=a%20in+(b)")
    assert path == "/api/v1/nodes/a:b"
    assert query == {"limit": "1", "watch": "", "labelSelector": "a in (b)"}
