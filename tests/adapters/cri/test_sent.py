"""What goes over the wire, message by message, and by when an answer is due."""

from typing import Any

import grpc
import pytest
from msgspec.structs import replace
from tests.adapters.cri import samples
from tests.adapters.cri.fakeserver import FakeServer, Refusal

from flexlet.adapters.cri import signals
from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.cri.runtime import CriRuntime
from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import ContainerConfig, PullCredentials
from flexlet.core.runtime.shown import ExecResult
from flexlet.errors import RuntimeFault

USUAL_S = 10.0
"""The patience of the runtime under test."""


def due(server: FakeServer, method: str) -> int | None:
    """The deadline that came with the call, in whole seconds; what the way took is rounded away."""
    left = server.deadlines[method]
    return None if left is None else round(left + 0.4)


async def test_run_sandbox(runtime: CriRuntime, server: FakeServer) -> None:
    server.replies["RunPodSandbox"] = pb.RunPodSandboxResponse(pod_sandbox_id="s1")
    assert await runtime.run_sandbox(samples.FULL, "kata") == "s1"
    request = pb.RunPodSandboxRequest(config=samples.FULL_MESSAGE, runtime_handler="kata")
    assert server.asked == [("RunPodSandbox", request)]
    assert due(server, "RunPodSandbox") == 2 * USUAL_S


async def test_a_plain_sandbox_still_says_pid_and_seccomp(runtime: CriRuntime, server: FakeServer) -> None:
    """Left out, the pid mode would share processes and seccomp would be the runtime's whim."""
    server.replies["RunPodSandbox"] = pb.RunPodSandboxResponse(pod_sandbox_id="s1")
    await runtime.run_sandbox(samples.PLAIN)
    assert server.asked == [("RunPodSandbox", pb.RunPodSandboxRequest(config=samples.PLAIN_MESSAGE))]


async def test_create_container(runtime: CriRuntime, server: FakeServer) -> None:
    server.replies["CreateContainer"] = pb.CreateContainerResponse(container_id="c1")
    assert await runtime.create_container("s1", samples.CONTAINER, samples.FULL) == "c1"
    request = pb.CreateContainerRequest(
        pod_sandbox_id="s1", config=samples.CONTAINER_MESSAGE, sandbox_config=samples.FULL_MESSAGE
    )
    assert server.asked == [("CreateContainer", request)]
    assert due(server, "CreateContainer") == USUAL_S


async def test_a_plain_container_is_named_by_what_the_user_wrote(runtime: CriRuntime, server: FakeServer) -> None:
    server.replies["CreateContainer"] = pb.CreateContainerResponse(container_id="c1")
    config = ContainerConfig(name="c", image="busybox:1", resources=samples.PLAIN_RESOURCES)
    await runtime.create_container("s1", config, samples.PLAIN)
    text = """
    metadata { name: "c" }
    image { image: "busybox:1" user_specified_image: "busybox:1" }
    linux {
      resources { cpu_period: 100000 cpu_shares: 2 }
      security_context {
        namespace_options { pid: CONTAINER userns_options { mode: NODE } }
        seccomp { profile_type: Unconfined }
      }
    }
    """
    request = pb.CreateContainerRequest(
        pod_sandbox_id="s1",
        config=samples.message(pb.ContainerConfig, text),
        sandbox_config=samples.PLAIN_MESSAGE,
    )
    assert server.asked == [("CreateContainer", request)]


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        pytest.param(
            samples.RESOURCES,
            "cpu_period: 100000 cpu_quota: 20000 cpu_shares: 204 memory_limit_in_bytes: 67108864 "
            'oom_score_adj: -997 cpuset_cpus: "1-2" cpuset_mems: "0" '
            'unified { key: "memory.oom.group" value: "1" }',
            id="huge pages stay as they are",
        ),
        pytest.param(
            RuntimeResources(cpu_shares=CpuShares(2), cpu_period=Microseconds(100000)),
            "cpu_period: 100000 cpu_quota: -1 cpu_shares: 2",
            id="no limit is said aloud",
        ),
        pytest.param(
            RuntimeResources(cpu_shares=CpuShares(2), cpu_quota=Microseconds(-1)),
            "cpu_period: 100000 cpu_quota: -1 cpu_shares: 2",
            id="a quota never travels without its period",
        ),
        pytest.param(
            RuntimeResources(cpu_shares=CpuShares(0), cpuset_cpus="0,3-7"),
            'cpuset_cpus: "0,3-7"',
            id="only another set of CPUs",
        ),
        pytest.param(
            RuntimeResources(cpu_shares=CpuShares(51), memory_limit=Bytes(4096)),
            "cpu_shares: 51 memory_limit_in_bytes: 4096",
            id="quotas switched off",
        ),
    ],
)
async def test_update_container(
    runtime: CriRuntime, server: FakeServer, resources: RuntimeResources, text: str
) -> None:
    """A zero in an update means "as before": amounts are complete, and no limit is -1."""
    await runtime.update_container("c1", resources)
    request = pb.UpdateContainerResourcesRequest(
        container_id="c1", linux=samples.message(pb.LinuxContainerResources, text)
    )
    assert server.asked == [("UpdateContainerResources", request)]


async def test_update_sandbox(runtime: CriRuntime, server: FakeServer) -> None:
    await runtime.update_sandbox("s1", samples.RESOURCES, samples.OVERHEAD)
    await runtime.update_sandbox("s1", samples.RESOURCES, None)
    overhead = pb.LinuxContainerResources(cpu_shares=256, memory_limit_in_bytes=1 << 20)
    with_overhead = pb.UpdatePodSandboxResourcesRequest(
        pod_sandbox_id="s1", resources=samples.RESOURCES_MESSAGE, overhead=overhead
    )
    without = pb.UpdatePodSandboxResourcesRequest(pod_sandbox_id="s1", resources=samples.RESOURCES_MESSAGE)
    assert server.asked == [
        ("UpdatePodSandboxResources", with_overhead),
        ("UpdatePodSandboxResources", without),
    ]


async def test_update_pod_cidr(runtime: CriRuntime, server: FakeServer) -> None:
    await runtime.update_pod_cidr("10.1.0.0/24")
    text = 'runtime_config { network_config { pod_cidr: "10.1.0.0/24" } }'
    assert server.asked == [("UpdateRuntimeConfig", samples.message(pb.UpdateRuntimeConfigRequest, text))]


async def test_the_calls_of_a_container_s_life(runtime: CriRuntime, server: FakeServer) -> None:
    await runtime.start_container("c1")
    await runtime.reopen_log("c1")
    await runtime.stop_container("c1", 30)
    await runtime.remove_container("c1")
    await runtime.stop_sandbox("s1")
    await runtime.remove_sandbox("s1")
    assert server.asked == [
        ("StartContainer", pb.StartContainerRequest(container_id="c1")),
        ("ReopenContainerLog", pb.ReopenContainerLogRequest(container_id="c1")),
        ("StopContainer", pb.StopContainerRequest(container_id="c1", timeout=30)),
        ("RemoveContainer", pb.RemoveContainerRequest(container_id="c1")),
        ("StopPodSandbox", pb.StopPodSandboxRequest(pod_sandbox_id="s1")),
        ("RemovePodSandbox", pb.RemovePodSandboxRequest(pod_sandbox_id="s1")),
    ]
    assert due(server, "StartContainer") == USUAL_S
    assert due(server, "StopContainer") == USUAL_S + 30


async def test_exec_sync(runtime: CriRuntime, server: FakeServer) -> None:
    """The runtime watches the time; without a limit we wait as long as it takes."""
    server.replies["ExecSync"] = pb.ExecSyncResponse(stdout=b"o\xff", stderr=b"e", exit_code=3)
    assert await runtime.exec_sync("c1", ("cat", "/x"), 5) == ExecResult(b"o\xff", b"e", 3)
    assert due(server, "ExecSync") == USUAL_S + 5
    await runtime.exec_sync("c1", ("true",), 0)
    assert due(server, "ExecSync") is None
    assert server.asked == [
        ("ExecSync", pb.ExecSyncRequest(container_id="c1", cmd=["cat", "/x"], timeout=5)),
        ("ExecSync", pb.ExecSyncRequest(container_id="c1", cmd=["true"])),
    ]


async def test_streams(runtime: CriRuntime, server: FakeServer) -> None:
    server.replies["Exec"] = pb.ExecResponse(url="http://e")
    server.replies["Attach"] = pb.AttachResponse(url="http://a")
    server.replies["PortForward"] = pb.PortForwardResponse(url="http://p")
    urls = [
        await runtime.exec_url("c1", ("sh",), tty=True, stdin=True, stdout=True, stderr=False),
        await runtime.attach_url("c1", tty=False, stdin=True, stdout=False, stderr=True),
        await runtime.port_forward_url("s1", (80, 443)),
    ]
    assert urls == ["http://e", "http://a", "http://p"]
    assert server.asked == [
        ("Exec", pb.ExecRequest(container_id="c1", cmd=["sh"], tty=True, stdin=True, stdout=True)),
        ("Attach", pb.AttachRequest(container_id="c1", stdin=True, stderr=True)),
        ("PortForward", pb.PortForwardRequest(pod_sandbox_id="s1", port=[80, 443])),
    ]


async def test_pull(runtime: CriRuntime, server: FakeServer) -> None:
    """A pull has no deadline; the sandbox lets the runtime pick its own settings."""
    server.replies["PullImage"] = pb.PullImageResponse(image_ref="sha256:abc")
    credentials = PullCredentials(
        username="me", password="secret", auth="x", server_address="r", identity_token="i", registry_token="t"
    )
    assert await runtime.pull("busybox:1", credentials, samples.FULL) == "sha256:abc"
    assert await runtime.pull("busybox:1", None, None) == "sha256:abc"
    auth = pb.AuthConfig(
        username="me", password="secret", auth="x", server_address="r", identity_token="i", registry_token="t"
    )
    full = pb.PullImageRequest(
        image=pb.ImageSpec(image="busybox:1", annotations={"a": "b"}),
        auth=auth,
        sandbox_config=samples.FULL_MESSAGE,
    )
    bare = pb.PullImageRequest(image=pb.ImageSpec(image="busybox:1"))
    assert server.asked == [("PullImage", full), ("PullImage", bare)]
    assert due(server, "PullImage") is None


async def test_remove_image(runtime: CriRuntime, server: FakeServer) -> None:
    await runtime.remove_image("sha256:abc")
    request = pb.RemoveImageRequest(image=pb.ImageSpec(image="sha256:abc"))
    assert server.asked == [("RemoveImage", request)]


async def test_what_is_gone_is_stopped_and_removed(runtime: CriRuntime, server: FakeServer) -> None:
    """Stopping and removing may be repeated, also after somebody else was quicker."""
    gone = Refusal(grpc.StatusCode.NOT_FOUND, "an error occurred when try to find container")
    calls = ("StopContainer", "RemoveContainer", "StopPodSandbox", "RemovePodSandbox", "RemoveImage")
    server.replies.update(dict.fromkeys(calls, gone))
    await runtime.stop_container("x", 1)
    await runtime.remove_container("x")
    await runtime.stop_sandbox("x")
    await runtime.remove_sandbox("x")
    await runtime.remove_image("x")
    assert tuple(method for method, _ in server.asked) == calls


@pytest.mark.parametrize("method", ["StopContainer", "RemoveContainer", "StopPodSandbox", "RemovePodSandbox"])
async def test_other_failures_of_stopping_are_faults(runtime: CriRuntime, server: FakeServer, method: str) -> None:
    deeds = {
        "StopContainer": lambda: runtime.stop_container("x", 1),
        "RemoveContainer": lambda: runtime.remove_container("x"),
        "StopPodSandbox": lambda: runtime.stop_sandbox("x"),
        "RemovePodSandbox": lambda: runtime.remove_sandbox("x"),
    }
    server.replies[method] = Refusal(grpc.StatusCode.UNKNOWN, "shim is stuck")
    with pytest.raises(RuntimeFault) as fault:
        await deeds[method]()
    assert (fault.value.code, fault.value.detail) == ("Unknown", "shim is stuck")
    assert str(fault.value) == f"{method} of x failed: Unknown: shim is stuck"


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(grpc.StatusCode.UNIMPLEMENTED, "unknown method UpdatePodSandboxResources"),
        Refusal(grpc.StatusCode.UNKNOWN, "not implemented yet"),
    ],
)
async def test_runtimes_without_an_ear_for_pod_resources(
    runtime: CriRuntime, server: FakeServer, refusal: Refusal
) -> None:
    """Before 2.2 containerd lacks the call, 2.2 has it but says it has not."""
    server.replies["UpdatePodSandboxResources"] = refusal
    await runtime.update_sandbox("s1", samples.PLAIN_RESOURCES, None)
    assert [method for method, _ in server.asked] == ["UpdatePodSandboxResources"]


async def test_a_failed_update_of_a_sandbox_is_a_fault(runtime: CriRuntime, server: FakeServer) -> None:
    server.replies["UpdatePodSandboxResources"] = Refusal(grpc.StatusCode.UNKNOWN, "plugin said no")
    with pytest.raises(RuntimeFault, match="plugin said no"):
        await runtime.update_sandbox("s1", samples.PLAIN_RESOURCES, None)


async def test_replies_without_what_was_asked_for_are_faults(runtime: CriRuntime) -> None:
    """An empty id would be used in later calls; the fake answers everything with nothing."""
    config = replace(samples.CONTAINER, name="c")
    with pytest.raises(RuntimeFault, match="RunPodSandbox answered without an id"):
        await runtime.run_sandbox(samples.PLAIN)
    with pytest.raises(RuntimeFault, match="CreateContainer answered without an id"):
        await runtime.create_container("s1", config, samples.PLAIN)
    with pytest.raises(RuntimeFault, match="PullImage answered without a reference"):
        await runtime.pull("x", None, None)
    with pytest.raises(RuntimeFault, match="PortForward answered without an address"):
        await runtime.port_forward_url("s1", ())


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (grpc.StatusCode.CANCELLED, "Canceled"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "DeadlineExceeded"),
        (grpc.StatusCode.ALREADY_EXISTS, "AlreadyExists"),
        (grpc.StatusCode.FAILED_PRECONDITION, "FailedPrecondition"),
        (grpc.StatusCode.INTERNAL, "Internal"),
    ],
)
async def test_codes_are_spelled_as_in_go(
    runtime: CriRuntime, server: FakeServer, code: grpc.StatusCode, word: str
) -> None:
    server.replies["StartContainer"] = Refusal(code, "d")
    with pytest.raises(RuntimeFault) as fault:
        await runtime.start_container("c1")
    assert (fault.value.code, fault.value.detail) == (word, "d")


@pytest.mark.parametrize(
    ("name", "wire"), [("", "RUNTIME_DEFAULT"), ("SIGUSR1", "SIGUSR1"), ("SIGX", "RUNTIME_DEFAULT")]
)
def test_a_signal_that_nobody_knows_is_the_runtimes_own(name: str, wire: str) -> None:
    assert signals.sent(name) == wire


@pytest.mark.parametrize(("number", "name"), [(0, ""), (13, "SIGKILL"), (65, "SIGRTMAX"), (99, "")])
def test_signals_that_are_shown(number: Any, name: str) -> None:
    assert signals.shown(number) == name
