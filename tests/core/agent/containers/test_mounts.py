"""Where a container sees its volumes."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import SETUP, container, pod

from flexlet.api import decode
from flexlet.api.nodepod.volumes import Volume, VolumeMount
from flexlet.core.agent.containers import mounts, unsupported
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.runtime.configs import BIDIRECTIONAL, HOST_TO_CONTAINER, Mount
from flexlet.core.runtime.shown import RuntimeHandler

Json = dict[str, Any]
VOLUMES = tuple(
    decode.from_value(each, Volume)
    for each in (
        {"name": "e", "emptyDir": {}},
        {"name": "cm", "configMap": {"name": "cm"}},
        {"name": "h", "hostPath": {"path": "/host"}},
    )
)
EMPTY = "/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~empty-dir/e"
CONFIG = "/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~configmap/cm"
ABLE = replace(SETUP, handlers=(RuntimeHandler(name="", recursive_read_only_mounts=True),))
RECURSIVE = (
    'failed to resolve recursive read-only mode: volume "e" requested recursive read-only mode, but it is not '
)


def listed(*given: Json, setup: Any = SETUP, hosts: str = "", words: str = "", found: Any = None) -> object:
    of = container("c", volume_mounts=tuple(decode.from_value(each, VolumeMount) for each in given))
    return mounts.mounts(pod(of, volumes=VOLUMES), of, setup, found or {}, hosts, words)


def test_volumes_come_in_the_order_of_the_spec_then_hosts_then_last_words() -> None:
    given: list[Json] = [
        {"name": "h", "mountPath": "h", "mountPropagation": "Bidirectional"},
        {"name": "cm", "mountPath": "/cm"},
        {"name": "e", "mountPath": "/e", "readOnly": True, "mountPropagation": "HostToContainer"},
        {"name": "e", "mountPath": "/sub", "subPath": "x", "mountPropagation": "None"},
    ]
    assert listed(*given, hosts="/etc-hosts", words="/words", found={3: "/held"}) == (
        Mount(container_path="/h", host_path="/host", propagation=BIDIRECTIONAL),
        Mount(container_path="/cm", host_path=CONFIG, readonly=True),
        Mount(container_path="/e", host_path=EMPTY, readonly=True, propagation=HOST_TO_CONTAINER),
        Mount(container_path="/sub", host_path="/held"),
        Mount(container_path="/etc/hosts", host_path="/etc-hosts"),
        Mount(container_path="/dev/termination-log", host_path="/words"),
    )


def test_a_hosts_file_that_the_container_mounts_itself_is_its_own() -> None:
    found = listed({"name": "e", "mountPath": "/etc/hosts"}, hosts="/etc-hosts")
    assert found == (Mount(container_path="/etc/hosts", host_path=EMPTY),)


@pytest.mark.parametrize(
    ("mount", "setup", "expected"),
    [
        ({"recursiveReadOnly": "Disabled"}, ABLE, False),
        ({"recursiveReadOnly": "Enabled", "readOnly": True}, ABLE, True),
        ({"recursiveReadOnly": "IfPossible", "readOnly": True}, ABLE, True),
        ({"recursiveReadOnly": "IfPossible", "readOnly": True}, SETUP, False),
        ({"recursiveReadOnly": "Enabled", "readOnly": True}, SETUP, f"{RECURSIVE}supported by the runtime"),
        ({"recursiveReadOnly": "Enabled"}, ABLE, f"{RECURSIVE}read-only"),
        (
            {"recursiveReadOnly": "Enabled", "readOnly": True, "mountPropagation": "HostToContainer"},
            ABLE,
            f'{RECURSIVE}compatible with propagation "HostToContainer"',
        ),
        ({"mountPropagation": "Odd"}, SETUP, 'invalid MountPropagation mode: "Odd"'),
        ({"name": "zz"}, SETUP, 'cannot find volume "zz" to mount into container "c"'),
    ],
)
def test_what_cannot_be_mounted_as_asked_is_a_problem(mount: Json, setup: Any, expected: bool | str) -> None:
    found = listed({"name": "e", "mountPath": "/e", **mount}, setup=setup)
    if isinstance(expected, str):
        assert found == Problem(expected)
    else:
        only = bool(mount.get("readOnly"))
        assert found == (Mount(container_path="/e", host_path=EMPTY, readonly=only, recursive_read_only=expected),)


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ({}, ()),
        ({"subPath": "a/b"}, "a/b"),
        ({"subPathExpr": "$(POD)/x"}, "p/x"),
        ({"subPathExpr": "$(Z)$(EMPTY)"}, Problem("missing value for EMPTY, Z")),
        ({"subPath": "/abs"}, Problem("error SubPath `/abs` must not be an absolute path")),
        ({"subPathExpr": "$(UP)/x"}, Problem("unable to provision SubPath `../x`: must not contain '..'")),
        ({"name": "zz"}, Problem('cannot find volume "zz" to mount into container "c"')),
    ],
)
def test_sub_paths_stay_inside_and_need_their_variables(mount: Json, expected: object) -> None:
    given = decode.from_value({"name": "e", "mountPath": "/e", **mount}, VolumeMount)
    of = container("c", volume_mounts=(given,))
    envs = (("POD", "p"), ("EMPTY", ""), ("UP", ".."))
    if isinstance(expected, str):
        expected = (mounts.SubPath(0, "e", EMPTY, expected),)
    assert mounts.subpaths(pod(of, volumes=VOLUMES), of, SETUP, envs) == expected


def test_everything_that_cannot_be_honoured_is_found_by_name() -> None:
    raw = {
        "spec": {
            "volumes": [
                {"name": "ok", "emptyDir": {}},
                {"name": "n", "nfs": {}},
                {"name": "big", "emptyDir": {"medium": "HugePages-2Mi"}},
                {"name": "p", "projected": {"sources": [{"clusterTrustBundle": {}}, {"secret": {}}]}},
            ],
            "resourceClaims": [{}],
            "runtimeClassName": "gvisor",
            "hostUsers": False,
            "containers": [
                {
                    "name": "c",
                    "volumeDevices": [{}],
                    "lifecycle": {"stopSignal": "SIGUSR1"},  # supported
                    "resources": {"claims": [{}]},
                    "restartPolicyRules": [{"action": "Restart"}, {"action": "RestartAllContainers"}],
                    "env": [{"name": "F", "valueFrom": {"fileKeyRef": {"path": "x"}}}],  # supported
                }
            ],
        }
    }
    assert unsupported.found(raw) == (
        "volume n of type nfs",
        "volume p with projected clusterTrustBundle",
        "spec.resourceClaims (dynamic resource allocation)",
        "spec.runtimeClassName gvisor",
        "spec.hostUsers: false (user namespaces)",
        "spec.containers[c].volumeDevices (block devices)",
        "spec.containers[c].resources.claims",
        "spec.containers[c].restartPolicyRules action RestartAllContainers",
    )
    assert unsupported.found({"spec": {"containers": [{"name": "c"}], "volumes": None}}) == ()
