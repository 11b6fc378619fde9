"""What the runtime shows, from whole replies."""

from contextlib import aclosing

import grpc
import pytest
from tests.adapters.cri import samples
from tests.adapters.cri.fakeserver import FakeServer, Refusal
from tests.adapters.cri.samples import message

from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.cri.runtime import CriRuntime
from flexlet.core.runtime.configs import IdMapping, ImageSource, Mount
from flexlet.core.runtime.shown import (
    Container,
    ContainerUser,
    FilesystemUse,
    Glimpse,
    Image,
    RuntimeCondition,
    RuntimeHandler,
    RuntimePod,
    RuntimeStatus,
    Sandbox,
)
from flexlet.errors import RuntimeFault

UID = {"io.kubernetes.pod.uid": "u1"}
GONE = Refusal(grpc.StatusCode.NOT_FOUND, "not found")

SANDBOX_TEXT = """
status {
  id: "s2"
  metadata { name: "web" uid: "u1" namespace: "ns" attempt: 1 }
  state: SANDBOX_NOTREADY
  created_at: 20
  network { ip: "10.0.0.2" additional_ips { ip: "fd00::2" } }
  linux { namespaces { options { network: NODE pid: CONTAINER } } }
  labels { key: "io.kubernetes.pod.uid" value: "u1" }
  annotations { key: "a" value: "b" }
}
"""
CONTAINER_TEXT = """
status {
  id: "c2"
  metadata { name: "c" attempt: 4 }
  state: CONTAINER_EXITED
  created_at: 30 started_at: 31 finished_at: 32
  exit_code: 137
  image { image: "docker.io/library/busybox:1" user_specified_image: "busybox:1" }
  image_ref: "docker.io/library/busybox@sha256:abc"
  image_id: "sha256:def"
  reason: "OOMKilled"
  message: "m"
  labels { key: "l" value: "1" }
  annotations { key: "n" value: "2" }
  mounts {
    container_path: "/m" host_path: "/n" readonly: true recursive_read_only: true selinux_relabel: true
    propagation: PROPAGATION_HOST_TO_CONTAINER
    uidMappings { host_id: 65536 length: 65536 } gidMappings { host_id: 65536 length: 65536 }
  }
  mounts {
    container_path: "/i" readonly: true image_sub_path: "d"
    image { image: "sha256:v" user_specified_image: "v:1" annotations { key: "a" value: "b" } }
  }
  log_path: "/var/log/pods/ns_web_u1/c/4.log"
  resources { linux {
    cpu_period: 100000 cpu_quota: 20000 cpu_shares: 204 memory_limit_in_bytes: 67108864 oom_score_adj: -997
    cpuset_cpus: "1-2" cpuset_mems: "0"
    hugepage_limits { page_size: "2MB" limit: 4194304 } hugepage_limits { page_size: "1GB" }
    unified { key: "memory.oom.group" value: "1" }
  } }
  stop_signal: SIGRTMAXMINUS2
  user { linux { uid: 1000 gid: 5 supplemental_groups: 7 } }
}
"""
SANDBOX = Sandbox(
    id="s2",
    name="web",
    namespace="ns",
    uid="u1",
    attempt=1,
    state="NOTREADY",
    created_at=20,
    ips=("10.0.0.2", "fd00::2"),
    has_network_status=True,
    network="NODE",
    labels=UID,
    annotations={"a": "b"},
)
CONTAINER = Container(
    id="c2",
    name="c",
    sandbox_id="s2",
    attempt=4,
    state="EXITED",
    image="docker.io/library/busybox:1",
    image_ref="docker.io/library/busybox@sha256:abc",
    image_id="sha256:def",
    created_at=30,
    started_at=31,
    finished_at=32,
    exit_code=137,
    reason="OOMKilled",
    message="m",
    labels={"l": "1"},
    annotations={"n": "2"},
    mounts=(
        Mount(
            container_path="/m",
            host_path="/n",
            readonly=True,
            recursive_read_only=True,
            selinux_relabel=True,
            propagation="HOST_TO_CONTAINER",
            user_ids=(IdMapping(65536, 0, 65536),),
            group_ids=(IdMapping(65536, 0, 65536),),
        ),
        Mount(
            container_path="/i",
            readonly=True,
            image=ImageSource(ref="sha256:v", name="v:1", annotations={"a": "b"}, sub_path="d"),
        ),
    ),
    log_path="/var/log/pods/ns_web_u1/c/4.log",
    resources=samples.RESOURCES,
    user=ContainerUser(uid=1000, gid=5, supplemental_groups=(7,)),
    stop_signal="SIGRTMAX-2",
)


def lists(server: FakeServer, sandboxes: list[str], containers: list[str]) -> None:
    """Let the server have these, all of one pod."""
    server.replies["ListPodSandbox"] = pb.ListPodSandboxResponse(
        items=[pb.PodSandbox(id=each, labels=UID) for each in sandboxes]
    )
    server.replies["ListContainers"] = pb.ListContainersResponse(
        containers=[pb.Container(id=each, pod_sandbox_id="s2", labels=UID) for each in containers]
    )


async def test_inspect_reads_everything(runtime: CriRuntime, server: FakeServer) -> None:
    lists(server, ["s2"], ["c2"])
    server.replies["PodSandboxStatus"] = message(pb.PodSandboxStatusResponse, SANDBOX_TEXT)
    server.replies["ContainerStatus"] = message(pb.ContainerStatusResponse, CONTAINER_TEXT)
    assert await runtime.inspect("u1") == RuntimePod("u1", (SANDBOX,), (CONTAINER,))
    narrowed = {
        "ListPodSandbox": pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter(label_selector=UID)),
        "ListContainers": pb.ListContainersRequest(filter=pb.ContainerFilter(label_selector=UID)),
        "PodSandboxStatus": pb.PodSandboxStatusRequest(pod_sandbox_id="s2"),
        "ContainerStatus": pb.ContainerStatusRequest(container_id="c2"),
    }
    assert dict(server.asked) == narrowed


async def test_inspect_of_nothing(runtime: CriRuntime) -> None:
    assert await runtime.inspect("u1") == RuntimePod("u1")


async def test_a_bare_status_has_no_amounts_no_user_and_no_network(
    runtime: CriRuntime, server: FakeServer
) -> None:
    lists(server, ["s2"], ["c2"])
    server.replies["PodSandboxStatus"] = pb.PodSandboxStatusResponse(status=pb.PodSandboxStatus(id="s2"))
    server.replies["ContainerStatus"] = pb.ContainerStatusResponse(status=pb.ContainerStatus(id="c2"))
    bare = RuntimePod("u1", (Sandbox(id="s2"),), (Container(id="c2", name="", sandbox_id="s2"),))
    assert await runtime.inspect("u1") == bare


async def test_inspect_shows_the_newest_first(runtime: CriRuntime, server: FakeServer) -> None:
    """A restart makes another container; the newest run is what counts."""
    ages = {"c1": 10, "c2": 30, "c3": 20}
    lists(server, ["s1", "s2"], list(ages))
    server.replies["PodSandboxStatus"] = lambda request: pb.PodSandboxStatusResponse(
        status=pb.PodSandboxStatus(id=request.pod_sandbox_id, created_at=int(request.pod_sandbox_id[1:]))
    )
    server.replies["ContainerStatus"] = lambda request: pb.ContainerStatusResponse(
        status=pb.ContainerStatus(id=request.container_id, created_at=ages[request.container_id])
    )
    pod = await runtime.inspect("u1")
    assert [each.id for each in pod.sandboxes] == ["s2", "s1"]
    assert [each.id for each in pod.containers] == ["c2", "c3", "c1"]


async def test_what_vanishes_between_list_and_status_is_left_out(runtime: CriRuntime, server: FakeServer) -> None:
    lists(server, ["s1"], ["c1", "c2"])
    server.replies["PodSandboxStatus"] = GONE
    server.replies["ContainerStatus"] = lambda request: (
        GONE
        if request.container_id == "c1"
        else pb.ContainerStatusResponse(status=pb.ContainerStatus(id=request.container_id))
    )
    assert await runtime.inspect("u1") == RuntimePod("u1", (), (Container(id="c2", name="", sandbox_id="s2"),))


async def test_a_status_that_fails_fails_the_look(runtime: CriRuntime, server: FakeServer) -> None:
    lists(server, ["s1"], ["c1", "c2"])
    server.replies["ContainerStatus"] = Refusal(grpc.StatusCode.INTERNAL, "disk")
    with pytest.raises(RuntimeFault) as fault:
        await runtime.inspect("u1")
    assert (fault.value.code, fault.value.detail) == ("Internal", "disk")


async def test_overview_knows_states_and_skips_what_is_no_pod_s(runtime: CriRuntime, server: FakeServer) -> None:
    server.replies["ListPodSandbox"] = pb.ListPodSandboxResponse(
        items=[
            pb.PodSandbox(id="s1", labels=UID),
            pb.PodSandbox(id="s2", labels=UID, state=pb.SANDBOX_NOTREADY),
            pb.PodSandbox(id="crictl"),
        ]
    )
    states = (pb.CONTAINER_CREATED, pb.CONTAINER_RUNNING, pb.CONTAINER_EXITED, pb.CONTAINER_UNKNOWN)
    server.replies["ListContainers"] = pb.ListContainersResponse(
        containers=[
            *(pb.Container(id=f"c{state}", labels=UID, state=state) for state in states),
            pb.Container(id="crictl"),
        ]
    )
    assert await runtime.overview() == (
        Glimpse("u1", "s1", "READY", is_sandbox=True),
        Glimpse("u1", "s2", "NOTREADY", is_sandbox=True),
        Glimpse("u1", "c0", "CREATED"),
        Glimpse("u1", "c1", "RUNNING"),
        Glimpse("u1", "c2", "EXITED"),
        Glimpse("u1", "c3", "UNKNOWN"),
    )
    assert dict(server.asked) == {
        "ListPodSandbox": pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter()),
        "ListContainers": pb.ListContainersRequest(filter=pb.ContainerFilter()),
    }


async def test_events_name_pods_until_the_stream_ends(runtime: CriRuntime, server: FakeServer) -> None:
    """An event without a sandbox says nothing; the end of the stream, even a bad one, is no fault."""
    event = pb.ContainerEventResponse(pod_sandbox_status=message(pb.PodSandboxStatusResponse, SANDBOX_TEXT).status)
    server.replies["GetContainerEvents"] = [event, pb.ContainerEventResponse(), event, GONE, event]
    assert [uid async for uid in runtime.events()] == ["u1", "u1"]
    server.replies["GetContainerEvents"] = [Refusal(grpc.StatusCode.UNIMPLEMENTED, "no such method")]
    assert [uid async for uid in runtime.events()] == []


async def test_events_may_be_left_early(runtime: CriRuntime, server: FakeServer) -> None:
    event = pb.ContainerEventResponse(pod_sandbox_status=message(pb.PodSandboxStatusResponse, SANDBOX_TEXT).status)
    server.replies["GetContainerEvents"] = [event] * 3
    async with aclosing(runtime.events()) as events:
        assert await anext(events) == "u1"
    assert server.asked == [("GetContainerEvents", pb.GetEventsRequest())]


async def test_status(runtime: CriRuntime, server: FakeServer) -> None:
    text = """
    status {
      conditions { type: "RuntimeReady" status: true }
      conditions { type: "NetworkReady" reason: "NetworkPluginNotReady" message: "cni plugin not initialized" }
    }
    runtime_handlers { features { recursive_read_only_mounts: true user_namespaces: true } }
    runtime_handlers { name: "kata" }
    features { supplemental_groups_policy: true }
    """
    server.replies["Status"] = message(pb.StatusResponse, text)
    assert await runtime.status() == RuntimeStatus(
        conditions=(
            RuntimeCondition(type="RuntimeReady", status=True),
            RuntimeCondition(
                type="NetworkReady",
                status=False,
                reason="NetworkPluginNotReady",
                message="cni plugin not initialized",
            ),
        ),
        handlers=(
            RuntimeHandler(recursive_read_only_mounts=True, user_namespaces=True),
            RuntimeHandler(name="kata"),
        ),
        supplemental_groups_policy=True,
    )


async def test_a_runtime_may_say_nothing_of_its_features(runtime: CriRuntime) -> None:
    assert await runtime.status() == RuntimeStatus()


@pytest.mark.parametrize(
    ("reply", "driver"),
    [
        (message(pb.RuntimeConfigResponse, "linux { cgroup_driver: CGROUPFS }"), "cgroupfs"),
        (message(pb.RuntimeConfigResponse, "linux { }"), "systemd"),
        (pb.RuntimeConfigResponse(), None),
        (Refusal(grpc.StatusCode.UNIMPLEMENTED, "unknown method RuntimeConfig"), None),
    ],
)
async def test_cgroup_driver(
    runtime: CriRuntime, server: FakeServer, reply: pb.RuntimeConfigResponse | Refusal, driver: str | None
) -> None:
    """The zero of the enum is systemd, so only the presence of the answer tells it from no answer."""
    server.replies["RuntimeConfig"] = reply
    assert await runtime.cgroup_driver() == driver


async def test_cgroup_driver_of_a_runtime_in_trouble(runtime: CriRuntime, server: FakeServer) -> None:
    server.replies["RuntimeConfig"] = Refusal(grpc.StatusCode.INTERNAL, "starting")
    with pytest.raises(RuntimeFault, match="RuntimeConfig failed: Internal: starting"):
        await runtime.cgroup_driver()


async def test_images(runtime: CriRuntime, server: FakeServer) -> None:
    text = """
    id: "sha256:def" repo_tags: "docker.io/library/busybox:1" repo_digests: "docker.io/library/busybox@sha256:abc"
    size: 4000000 uid { } username: "nobody" pinned: true
    """
    wire = message(pb.Image, text)
    image = Image(
        id="sha256:def",
        tags=("docker.io/library/busybox:1",),
        digests=("docker.io/library/busybox@sha256:abc",),
        size=4000000,
        uid=0,
        username="nobody",
        pinned=True,
    )
    server.replies["ListImages"] = pb.ListImagesResponse(images=[wire, pb.Image(id="x")])
    assert await runtime.images() == (image, Image(id="x"))
    assert await runtime.image("busybox:1") is None
    server.replies["ImageStatus"] = pb.ImageStatusResponse(image=wire)
    assert await runtime.image("busybox:1") == image
    request = pb.ImageStatusRequest(image=pb.ImageSpec(image="busybox:1"))
    assert server.asked == [
        ("ListImages", pb.ListImagesRequest()),
        ("ImageStatus", request),
        ("ImageStatus", request),
    ]


async def test_image_filesystems(runtime: CriRuntime, server: FakeServer) -> None:
    text = """
    image_filesystems {
      fs_id { mountpoint: "/var/lib/containerd" } used_bytes { value: 4096 } inodes_used { value: 7 }
    }
    """
    server.replies["ImageFsInfo"] = message(pb.ImageFsInfoResponse, text)
    use = FilesystemUse(mountpoint="/var/lib/containerd", used_bytes=4096, inodes_used=7)
    assert await runtime.image_filesystems() == (use,)
