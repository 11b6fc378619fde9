"""A pod's sandbox, its names, its hosts file, and the container that is made in it."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import SETUP, container, pod, record, run, sidecar

from flexlet.api import decode
from flexlet.api.nodepod.handlers import ExecAction, Handler, Lifecycle
from flexlet.api.nodepod.pod import HostAlias
from flexlet.api.nodepod.security import PodSecurityContext
from flexlet.api.pod import ContainerPort
from flexlet.core.agent.containers import container as making
from flexlet.core.agent.containers import hosts, lastwords, names, sandbox
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.record import ImageState
from flexlet.core.runtime.configs import ContainerConfig, Mount, PortMapping, SandboxConfig
from flexlet.core.runtime.shown import EXITED
from flexlet.errors import InvariantBroken

NAMED = replace(SETUP, cluster_domain="cluster.local")
LONG = "a" * 62 + "-" + "b" * 10
FQDN = (
    "failed to construct FQDN from pod hostname and cluster domain, FQDN {} is too long "
    "(64 characters is the max, {} characters requested)"
)


def test_a_sandbox_carries_who_the_pod_is_and_what_it_may_use() -> None:
    shared = decode.from_value(
        {"sysctls": [{"name": "net/ipv4/tcp_syncookies", "value": "1"}]}, PodSecurityContext
    )
    given = pod(
        container("c", "100m,64Mi", ports=(ContainerPort(container_port=80, host_port=8080),)),
        init=(sidecar("s", ports=(ContainerPort(container_port=90, protocol="UDP"),)),),
        meta={"labels": {"app": "web"}, "annotations": {"note": "x"}},
        security_context=shared,
    )
    known = sandbox.as_allocated(record(given, seen_at=1.5), SETUP)
    config = sandbox.sandbox_config(known, SETUP, 3)
    assert isinstance(config, SandboxConfig)
    shown = {
        name: getattr(config, name)
        for name in ("attempt", "hostname", "log_directory", "cgroup_parent", "sysctls")
    }
    assert shown == {
        "attempt": 3,
        "hostname": "p",
        "log_directory": "/var/log/pods/ns_p_uid-1",
        "cgroup_parent": "/kubepods/burstable/poduid-1",
        "sysctls": {"net.ipv4.tcp_syncookies": "1"},
    }
    assert config.labels == {"app": "web", **names.pod_labels(given)}
    assert config.annotations == {
        "note": "x",
        "kubernetes.io/config.seen": "1970-01-01T00:00:01Z",
        "kubernetes.io/config.source": "api",
    }
    assert config.ports == (
        PortMapping(container_port=80, host_port=8080),
        PortMapping(container_port=90, protocol="UDP"),
    )


def test_a_port_given_twice_counts_once() -> None:
    twice = (ContainerPort(container_port=80), ContainerPort(container_port=80), ContainerPort(container_port=81))
    config = sandbox.sandbox_config(pod(container("c", ports=twice)), SETUP, 0)
    assert isinstance(config, SandboxConfig)
    assert config.ports == (PortMapping(container_port=80), PortMapping(container_port=81))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "p"),
        ({"hostname": "web"}, "web"),
        ({"hostname": LONG}, "a" * 62),
        ({"hostname_override": "db.example", "hostname": "web", "subdomain": "sub"}, "db.example"),
        ({"hostname": "web", "subdomain": "sub"}, "web"),
        ({"set_hostname_as_fqdn": True}, "p"),
        ({"subdomain": "sub", "set_hostname_as_fqdn": True}, "p.sub.ns.svc.cluster.local"),
        (
            {"hostname": "h" * 50, "subdomain": "sub", "set_hostname_as_fqdn": True},
            Problem(FQDN.format("h" * 50 + ".sub.ns.svc.cluster.local", 75)),
        ),
    ],
)
def test_host_names(spec: dict[str, Any], expected: str | Problem) -> None:
    assert sandbox.host_name(pod(container("c"), **spec), NAMED) == expected


BASE = (
    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
)


@pytest.mark.parametrize(
    ("spec", "ips", "expected"),
    [
        ({}, (), None),
        ({}, ("10.1.0.1", "fd00::2"), f"{BASE}10.1.0.1\tp\nfd00::2\tp\n"),
        (
            {"hostname": "web", "subdomain": "sub"},
            ("10.1.0.1",),
            f"{BASE}10.1.0.1\tweb.sub.ns.svc.cluster.local\tweb\n",
        ),
        ({"hostname_override": "db", "subdomain": "sub"}, ("10.1.0.1",), f"{BASE}10.1.0.1\tdb\n"),
        (
            {"host_aliases": (HostAlias(ip="1.2.3.4", hostnames=("a", "b")),)},
            ("10.1.0.1",),
            f"{BASE}10.1.0.1\tp\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n",
        ),
        ({"host_network": True}, (), "# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n"),
    ],
)
def test_the_hosts_file(spec: dict[str, Any], ips: tuple[str, ...], expected: str | None) -> None:
    setup = replace(NAMED, hosts_file="127.0.0.1 me\n")
    assert hosts.text(pod(container("c"), **spec), setup, ips) == expected


@pytest.mark.parametrize(
    ("name", "image", "expected"),
    [
        ("foo", "bar", "11a6d6d6"),
        ("nginx", "nginx:1.25", "5d0e8bc9"),
        ("test_container", "foo/image:v1", "8e45cbd0"),
    ],
)
def test_the_hash_of_a_container_is_upstreams(name: str, image: str, expected: str) -> None:
    assert names.container_hash(replace(container(name), image=image)) == expected


def test_the_link_to_a_log_fits_into_a_file_name() -> None:
    whole = replace(pod(container("c")), metadata=replace(pod(container("c")).metadata, name="n" * 253))
    link = names.log_link(whole, "c", "id")
    assert (len(link), link) == (255, "n" * 251 + ".log")


def test_a_container_is_made_with_everything_an_agent_without_its_spec_must_know() -> None:
    hook = Lifecycle(pre_stop=Handler(exec=ExecAction(command=("true",))), stop_signal="SIGUSR1")
    given = container(
        "c",
        command=("echo", "$(A)"),
        args=("$(B)", "$$(A)"),
        working_dir="/w",
        tty=True,
        lifecycle=hook,
        ports=(ContainerPort(container_port=80),),
        termination_message_path="",
    )
    whole = pod(given, termination_grace_period_seconds=5)
    mounts = (Mount(container_path="/a", host_path="/b"),)
    config = making.container_config(
        making.Making(
            pod=whole,
            container=given,
            setup=SETUP,
            attempt=2,
            image=ImageState(ref="sha256:1"),
            envs=(("A", "1"),),
            mounts=mounts,
        )
    )
    assert isinstance(config, ContainerConfig)
    assert (config.command, config.args, config.log_path) == (("echo", "1"), ("$(B)", "$(A)"), "c/2.log")
    assert (config.image, config.image_ref, config.mounts, config.attempt) == ("busybox:1", "sha256:1", mounts, 2)
    assert config.stop_signal == "SIGUSR1"
    assert config.labels == {**names.pod_labels(whole), names.CONTAINER_NAME: "c"}
    assert config.annotations == {
        names.HASH: names.container_hash(given),
        names.RESTART_COUNT: "2",
        names.MESSAGE_PATH: "",
        names.MESSAGE_POLICY: "File",
        names.GRACE: "5",
        names.PRE_STOP: '{"exec":{"command":["true"]}}',
        names.PORTS: config.annotations[names.PORTS],
    }
    assert '"containerPort":80' in config.annotations[names.PORTS]


def test_a_container_or_probe_that_is_not_there_is_a_bug() -> None:
    with pytest.raises(InvariantBroken, match="has no container zz"):
        making.named(pod(container("c")), "zz")
    with pytest.raises(InvariantBroken, match="has no startup probe"):
        making.probe(container("c"), "startup")


@pytest.mark.parametrize(
    ("policy", "more", "expected"),
    [
        ("File", {"exit_code": 1}, lastwords.Wanted(path="/h")),
        ("FallbackToLogsOnError", {"exit_code": 0}, lastwords.Wanted(path="/h")),
        ("FallbackToLogsOnError", {"exit_code": 1}, lastwords.Wanted(path="/h", log_path="/l")),
        ("FallbackToLogsOnError", {"exit_code": 1, "reason": "ContainerCannotRun"}, lastwords.Wanted(path="/h")),
        ("FallbackToLogsOnError", {"exit_code": 1, "mounts": ()}, lastwords.Wanted(log_path="/l")),
    ],
)
def test_where_last_words_are(policy: str, more: dict[str, Any], expected: lastwords.Wanted) -> None:
    """The log counts only for a container that failed, if it asked for that."""
    known = {names.MESSAGE_PATH: "dev/last", names.MESSAGE_POLICY: policy}
    mount = Mount(container_path="/dev/last", host_path="/h")
    ended = run(
        container("c"), state=EXITED, **{"mounts": (mount,), "log_path": "/l", "annotations": known, **more}
    )
    assert lastwords.wanted(ended) == expected
