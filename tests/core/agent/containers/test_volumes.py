"""What is in a pod's volumes and what kind of directories they are."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import SETUP, container, pod

from flexlet.api import decode
from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.security import PodSecurityContext, SecurityContext
from flexlet.api.nodepod.volumes import Volume, VolumeMount
from flexlet.api.pod import ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.core.agent.containers import layout, volumes
from flexlet.core.agent.containers.contents import (
    Content,
    EmptyDirectory,
    File,
    FileSet,
    HostDirectory,
    Material,
    Problem,
    Reference,
    TokenRequest,
)

Json = dict[str, Any]
GIB = 1 << 30
MATERIAL = Material(
    objects={
        Reference("ConfigMap", "cm"): Content({"a": b"1", "b": b"2"}, {"bin": b"\x00"}),
        Reference("Secret", "s"): Content({"pw": b"x"}),
        Reference("ConfigMap", "none"): None,
        Reference("Secret", "none"): None,
    },
    tokens={TokenRequest("", 3600): "tok", TokenRequest("vault", 600): "tok2"},
)


def made(source: Json, of: NodePod | None = None) -> object:
    """The one volume of a pod."""
    whole = of or pod(container("c"))
    given = decode.from_value({"name": "v", **source}, Volume)
    whole = replace(whole, spec=replace(whole.spec, volumes=(given,)))
    found = volumes.contents(whole, SETUP, MATERIAL, ("10.1.0.1",))
    return found if isinstance(found, Problem) else found[0]


def files(source: Json, of: NodePod | None = None) -> object:
    found = made(source, of)
    return found.files if isinstance(found, FileSet) else found


@pytest.mark.parametrize(
    ("source", "limit", "expected"),
    [
        ({"emptyDir": {}}, "", EmptyDirectory(name="v")),
        ({}, "", EmptyDirectory(name="v")),
        ({"emptyDir": {"sizeLimit": "1Mi"}}, "", EmptyDirectory(name="v")),
        ({"emptyDir": {"medium": "Memory"}}, "", 8 * GIB),
        ({"emptyDir": {"medium": "Memory"}}, "1,1Gi", GIB),
        ({"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}, "1,1Gi", 1 << 20),
        ({"emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}, "1,1Gi", GIB),
        ({"emptyDir": {"medium": "Memory", "sizeLimit": "0"}}, "1,64Gi", 8 * GIB),
        ({"emptyDir": {"medium": "Odd"}}, "", Problem('unknown storage medium "Odd"', "v")),
        (
            {"hostPath": {"path": "/x", "type": "Directory"}},
            "",
            HostDirectory(name="v", path="/x", type="Directory"),
        ),
    ],
)
def test_a_directory_in_memory_is_as_large_as_the_least_limit_allows(
    source: Json, limit: str, expected: object
) -> None:
    if isinstance(expected, int):
        expected = EmptyDirectory(name="v", in_memory=True, size_bytes=expected, mode=0o1777)
    assert made(source, pod(container("c", "", limit))) == expected


def huge(*sizes: str) -> NodePod:
    """A pod that asks for huge pages of these sizes, each in a container of its own."""
    asked = [ResourceRequirements(requests={f"hugepages-{size}": Quantity.parse(size)}) for size in sizes]
    return pod(*[replace(container(f"c{at}"), resources=each) for at, each in enumerate(asked)], container("c"))


@pytest.mark.parametrize(
    ("medium", "sizes", "expected"),
    [
        ("HugePages", ("2Mi", "2Mi"), 2 << 20),
        ("HugePages-1Gi", ("2Mi", "1Gi"), GIB),
        (
            "HugePages",
            ("2Mi", "1Gi"),
            "medium: HugePages can't be used if container requests multiple huge page sizes",
        ),
        (
            "HugePages-2Mi",
            ("1Gi",),
            "medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages",
        ),
    ],
)
def test_a_directory_in_huge_pages_has_pages_that_the_pod_asks_for(
    medium: str, sizes: tuple[str, ...], expected: int | str
) -> None:
    found = made({"emptyDir": {"medium": medium}}, huge(*sizes))
    if isinstance(expected, str):
        assert found == Problem(expected, "v")
    else:
        assert found == EmptyDirectory(name="v", page_size=expected, mode=0o755)


def test_only_config_maps_are_kept_on_disk() -> None:
    secret = {"secret": {"secretName": "s"}}
    assert made({"configMap": {"name": "none", "optional": True}}) == FileSet(
        name="v", plugin="configmap", files={}, in_memory=False
    )
    assert made(secret, pod(container("c", "", "1,1Gi"))) == FileSet(
        name="v", plugin="secret", files={"pw": File(b"x", 0o644)}, size_bytes=GIB
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"configMap": {"name": "cm", "defaultMode": 0o400}},
            {"a": File(b"1", 0o400), "b": File(b"2", 0o400), "bin": File(b"\x00", 0o400)},
        ),
        (
            {"configMap": {"name": "cm", "items": [{"key": "a", "path": "x//y", "mode": 0o600}]}},
            {"x/y": File(b"1", 0o600)},
        ),
        ({"configMap": {"name": "none"}}, Problem('configmap "none" not found', "v")),
        (
            {"configMap": {"name": "cm", "items": [{"key": "zz", "path": "z"}]}},
            Problem("configmap references non-existent config key: zz", "v"),
        ),
        ({"configMap": {"name": "cm", "optional": True, "items": [{"key": "zz", "path": "z"}]}}, {}),
        ({"secret": {"secretName": "none"}}, Problem('secret "none" not found', "v")),
        (
            {"secret": {"secretName": "s", "items": [{"key": "zz", "path": "z"}]}},
            Problem("references non-existent secret key: zz", "v"),
        ),
        (
            {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"n": File(b"p", 0o644)},
        ),
        (
            {
                "downwardAPI": {
                    "items": [
                        {"path": "x", "resourceFieldRef": {"containerName": "zz", "resource": "limits.cpu"}},
                        {"path": "y", "fieldRef": {"fieldPath": "spec.x"}},
                    ]
                }
            },
            Problem("[container zz not found, unsupported fieldPath: spec.x]", "v"),
        ),
        (
            {
                "projected": {
                    "defaultMode": 0o440,
                    "sources": [
                        {"configMap": {"name": "cm", "items": [{"key": "a", "path": "same"}]}},
                        {"secret": {"name": "s", "items": [{"key": "pw", "path": "same", "mode": 0o400}]}},
                        {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.uid"}}]}},
                        {"serviceAccountToken": {"path": "t", "audience": "vault", "expirationSeconds": 600}},
                    ],
                }
            },
            {"same": File(b"x", 0o400), "n": File(b"uid-1", 0o440), "t": File(b"tok2", 0o440)},
        ),
        (
            {"projected": {"sources": [{"configMap": {"name": "none"}}, {"secret": {"name": "none"}}]}},
            Problem('[configmap "none" not found, secret "none" not found]', "v"),
        ),
    ],
)
def test_files_are_those_of_the_sources_the_last_one_winning(source: Json, expected: object) -> None:
    assert files(source) == expected


@pytest.mark.parametrize(
    ("shared", "own", "expected"),
    [
        ({}, ({}, {}), File(b"tok", 0o644)),
        ({"fsGroup": 5}, ({}, {}), File(b"tok", 0o600)),
        ({"runAsUser": 7}, ({}, {}), File(b"tok", 0o600, 7)),
        ({"runAsUser": 7}, ({"runAsUser": 8}, {}), File(b"tok", 0o644)),
        ({}, ({"runAsUser": 8}, {"runAsUser": 8}), File(b"tok", 0o600, 8)),
        ({"fsGroup": 5}, ({"runAsUser": 8}, {}), File(b"tok", 0o600)),
    ],
)
def test_a_token_is_for_the_one_user_or_the_group(shared: Json, own: tuple[Json, Json], expected: File) -> None:
    first, second = (decode.from_value(each, SecurityContext) for each in own)
    whole = pod(
        container("c", security_context=first),
        init=(container("i", security_context=second),),
        security_context=decode.from_value(shared, PodSecurityContext),
    )
    token = {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    assert files(token, whole) == {"t": expected}


def mounted(*paths: tuple[str, str]) -> tuple[VolumeMount, ...]:
    return tuple(VolumeMount(name=name, mount_path=path) for name, path in paths)


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ((("v", "/a"), ("w", "/b")), ()),
        ((("v", "/a"), ("w", "/a/x/y")), ("x/y",)),
        ((("w", "/a/x/"), ("v", "/a/"), ("w", "/a/x/deep"), ("w", "/a/x2"), ("w", "/ab")), ("x", "x2")),
    ],
)
def test_places_for_other_volumes_are_made_beforehand(
    mounts: tuple[tuple[str, str], ...], expected: tuple[str, ...]
) -> None:
    whole = pod(container("c", volume_mounts=mounted(*mounts)))
    assert volumes.nested(whole, "v") == expected
    content = made({"configMap": {"name": "cm"}}, whole)
    assert isinstance(content, FileSet)
    assert content.nested == expected


def test_everything_that_is_named_is_fetched() -> None:
    token = {"serviceAccountToken": {"path": "t", "audience": "vault", "expirationSeconds": 600}}
    given = (
        {"name": "a", "configMap": {"name": "cm"}},
        {"name": "b", "secret": {"secretName": "s"}},
        {"name": "c", "projected": {"sources": [{"configMap": {"name": "x"}}, {"secret": {"name": "y"}}, token]}},
        {"name": "d", "emptyDir": {}},
    )
    whole = pod(container("c"), volumes=tuple(decode.from_value(each, Volume) for each in given))
    named = {("ConfigMap", "cm"), ("Secret", "s"), ("ConfigMap", "x"), ("Secret", "y")}
    assert volumes.references(whole) == {Reference(*each) for each in named}
    assert volumes.tokens(whole) == {TokenRequest("vault", 600)}


def test_where_volumes_lie() -> None:
    sources: dict[str, Json] = {
        "empty-dir": {"emptyDir": {}},
        "configmap": {"configMap": {"name": "cm"}},
        "secret": {"secret": {"secretName": "s"}},
        "projected": {"projected": {}},
        "downward-api": {"downwardAPI": {}},
    }
    given = [decode.from_value({"name": name, **source}, Volume) for name, source in sources.items()]
    host = decode.from_value({"name": "h", "hostPath": {"path": "/x"}}, Volume)
    whole = pod(container("c"), volumes=(*given, host))
    root = "/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~"
    assert [volumes.path_of(whole, name, SETUP) for name in (*sources, "h")] == [
        *(f"{root}{name}/{name}" for name in sources),
        "/x",
    ]
    assert [volumes.is_read_only(each) for each in (*given, host)] == [False, True, True, True, True, False]


def test_paths_are_cleaned_and_a_node_without_known_memory_sets_no_size() -> None:
    assert [layout.clean(each) for each in ("a", "./a//b/", "/a/./b", "../x")] == ["a", "a/b", "/a/b", "../x"]
    bare = replace(SETUP, allocatable={"cpu": Quantity.parse("1")})
    assert volumes.memory_size(pod(container("c")), bare) is None
