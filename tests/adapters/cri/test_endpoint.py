import socket as sockets
from pathlib import Path

import grpc
import pytest
from tests.adapters.cri.fakeserver import VERSION, FakeServer, Refusal, serving

from flexlet.adapters import cri
from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.cri.endpoint import socket_path
from flexlet.core.runtime.shown import RuntimeVersion
from flexlet.errors import ConfigError, RuntimeFault


@pytest.mark.parametrize("endpoint", ["unix:///run/x.sock", "unix:/run/x.sock", "/run/x.sock"])
def test_a_unix_socket_may_be_written_in_three_ways(endpoint: str) -> None:
    assert socket_path(endpoint) == "/run/x.sock"


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:3735", "containerd.sock", "npipe:////./pipe/x", ""])
def test_anything_but_a_unix_socket_is_refused(endpoint: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        socket_path(endpoint)
    assert str(refusal.value) == (
        f'container runtime endpoint "{endpoint}" cannot be used: write the absolute path of a unix socket, '
        "such as unix:///run/containerd/containerd.sock"
    )


async def test_a_missing_socket_says_that_containerd_is_not_running(socket: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        await cri.connect(f"unix://{socket}")
    assert str(refusal.value) == (
        f"containerd is not running: there is no {socket}; start it, or set containerRuntimeEndpoint to the "
        "socket of the runtime that does"
    )


async def test_a_file_in_the_socket_s_place_is_named(socket: Path) -> None:
    socket.touch()  # noqa: ASYNC240 - nobody waits
    with pytest.raises(ConfigError, match=f"containerRuntimeEndpoint {socket} is not a socket"):
        await cri.connect(str(socket))


async def test_a_socket_nobody_listens_on_is_unavailable(socket: Path) -> None:
    with sockets.socket(sockets.AF_UNIX) as bound:
        bound.bind(str(socket))
        with pytest.raises(RuntimeFault) as fault:
            await cri.connect(str(socket))
    assert fault.value.code == "Unavailable"
    assert str(fault.value).startswith("Version failed: Unavailable: ")


async def test_the_handshake_asks_both_services(socket: Path, server: FakeServer) -> None:
    """The runtime's version is asked for with ours, and the image service must answer as well."""
    async with serving(socket, server), await cri.connect(str(socket)) as runtime:
        assert server.asked == [
            ("Version", pb.VersionRequest(version="0.1.0")),
            ("ImageFsInfo", pb.ImageFsInfoRequest()),
        ]
        assert await runtime.version() == RuntimeVersion("containerd", "1.7.24")


@pytest.mark.parametrize("field", ["version", "runtime_name", "runtime_version", "runtime_api_version"])
async def test_a_runtime_that_does_not_introduce_itself_is_refused(
    socket: Path, server: FakeServer, field: str
) -> None:
    nameless = pb.VersionResponse()
    nameless.CopyFrom(VERSION)
    nameless.ClearField(field)
    server.replies["Version"] = nameless
    async with serving(socket, server):
        with pytest.raises(ConfigError, match=r"flexlet speaks version 0\.1\.0 of CRI"):
            await cri.connect(str(socket))


async def test_another_interface_is_refused(socket: Path, server: FakeServer) -> None:
    server.replies["Version"] = pb.VersionResponse(
        version="0.2.0", runtime_name="x", runtime_version="1", runtime_api_version="v2"
    )
    async with serving(socket, server):
        with pytest.raises(ConfigError, match=r"introduces itself as \('0\.2\.0', 'x', '1', 'v2'\)"):
            await cri.connect(str(socket))


async def test_images_may_be_served_elsewhere(socket: Path, server: FakeServer) -> None:
    images, elsewhere = FakeServer(), socket.with_name("i")
    async with (
        serving(socket, server),
        serving(elsewhere, images),
        await cri.connect(str(socket), image_endpoint=str(elsewhere)) as runtime,
    ):
        await runtime.images()
    assert [method for method, _ in server.asked] == ["Version"]
    assert [method for method, _ in images.asked] == ["ImageFsInfo", "ListImages"]


async def test_the_connection_comes_back_when_the_runtime_does(socket: Path, server: FakeServer) -> None:
    async with serving(socket, server):
        runtime = await cri.connect(str(socket))
    with pytest.raises(RuntimeFault) as fault:
        await runtime.status()
    assert fault.value.code == "Unavailable"
    async with serving(socket, server), runtime:
        while True:
            try:
                await runtime.status()
            except RuntimeFault as still_away:
                assert still_away.code == "Unavailable"  # noqa: PT017 - any other failure ends the test
            else:
                break
    assert server.asked[-1] == ("Status", pb.StatusRequest())


async def test_answers_larger_than_grpc_s_own_limit_arrive(socket: Path, server: FakeServer) -> None:
    """A list of thousands of containers exceeds gRPC's 4 MiB; CRI's clients take 16."""
    labels = {"io.kubernetes.pod.uid": "u", "padding": "x" * 5 * 1024 * 1024}
    server.replies["ListContainers"] = pb.ListContainersResponse(containers=[pb.Container(id="c", labels=labels)])
    async with serving(socket, server), await cri.connect(str(socket)) as runtime:
        assert [each.id for each in await runtime.overview()] == ["c"]


async def test_a_failed_handshake_is_a_fault(socket: Path, server: FakeServer) -> None:
    server.replies["ImageFsInfo"] = Refusal(grpc.StatusCode.UNIMPLEMENTED, "unknown service")
    async with serving(socket, server):
        with pytest.raises(RuntimeFault, match="ImageFsInfo failed: Unimplemented: unknown service"):
            await cri.connect(str(socket))
