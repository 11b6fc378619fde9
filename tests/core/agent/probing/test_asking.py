"""The pure halves of asking: requests from handlers, answers from results, texts of failed hooks."""

from typing import Any

import pytest
from tests.core.agent.builders import container, pod

from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.container import EnvSource, EnvVar
from flexlet.api.nodepod.handlers import (
    ExecAction,
    GrpcAction,
    Handler,
    HttpGetAction,
    HttpHeader,
    Probe,
    SleepAction,
    TcpSocketAction,
)
from flexlet.api.pod import ContainerPort
from flexlet.core.agent import probing
from flexlet.core.agent.observations import Answer
from flexlet.core.agent.probing import ExecRequest, GrpcRequest, HttpRequest, Request, SleepRequest, TcpRequest
from flexlet.core.runtime.shown import ExecResult
from flexlet.errors import InputError, RuntimeFault

IP = "10.1.0.1"
C = container("c", ports=(ContainerPort(name="web", container_port=8080),))
POD = pod(C)
USUAL = (("User-Agent", "kube-probe/1.36"), ("Accept", "*/*"))


def http(**action: Any) -> Request:
    given = {"port": 80, **action}
    return probing.probe_request(POD, C, Probe(http_get=HttpGetAction(**given)), IP)


def headers(*given: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    request = http(http_headers=tuple(HttpHeader(name=name, value=value) for name, value in given))
    assert isinstance(request, HttpRequest)
    return request.headers


def test_an_http_probe_goes_to_the_pod_by_default() -> None:
    assert http(port="web", path="/x") == HttpRequest(scheme="http", host=IP, port=8080, path="/x", headers=USUAL)
    assert http(host="shop", scheme="HTTPS") == HttpRequest(
        scheme="https", host="shop", port=80, path="/", headers=USUAL
    )


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("", "/"),
        ("healthz", "/healthz"),
        ("/a?b=c&d=%20", "/a?b=c&d=%20"),
        ("/a#part", "/a"),
        ("/a b/ä", "/a%20b/%C3%A4"),
        ("/a%2Fb", "/a%2Fb"),
        ("/a%2Fb c", "/a/b%20c"),
        ("/100%", "/100%25"),
        ("/a?", "/a"),
        ("http://other/x", "/x"),
        ("//other/x", "/x"),
        ("/[x]!*'()", "/[x]!*'()"),
    ],
)
def test_paths_are_sent_as_go_sends_them(path: str, sent: str) -> None:
    request = http(path=path)
    assert isinstance(request, HttpRequest)
    assert request.path == sent


def test_headers_are_canonical_and_may_replace_the_usual_ones() -> None:
    assert headers(("x-two", "2"), ("X-TWO", "3")) == (("X-Two", "2"), ("X-Two", "3"), *USUAL)
    assert headers(("user-agent", "me"), ("accept", "text/plain")) == (
        ("User-Agent", "me"),
        ("Accept", "text/plain"),
    )
    assert headers(("Accept", "")) == (("User-Agent", "kube-probe/1.36"),)
    assert headers(("bad name", "x"))[0] == ("bad name", "x")


def test_commands_see_only_what_is_written_in_the_spec() -> None:
    env = (EnvVar(name="A", value="1"), EnvVar(name="B", value_from=EnvSource()))
    of = container("c", env=env)
    probe = Probe(exec=ExecAction(command=("sh", "-c", "$(A) [$(B)] $(C) $$(A)")))
    assert probing.probe_request(POD, of, probe, IP) == ExecRequest(("sh", "-c", "1 [] $(C) $(A)"))


def test_sockets_and_services() -> None:
    def request(**handler: Any) -> Request:
        return probing.probe_request(POD, C, Probe(**handler), IP)

    assert request(tcp_socket=TcpSocketAction(port="web")) == TcpRequest(IP, 8080)
    assert request(tcp_socket=TcpSocketAction(port="9", host="h")) == TcpRequest("h", 9)
    assert request(grpc=GrpcAction(port=5, service="s")) == GrpcRequest(IP, 5, "s")
    assert request(grpc=GrpcAction(port=5)) == GrpcRequest(IP, 5, "")


@pytest.mark.parametrize(
    ("handler", "complaint"),
    [
        ({}, "missing probe handler for p_ns(uid-1):c"),
        ({"tcp_socket": TcpSocketAction(port="nope")}, 'strconv.Atoi: parsing "nope": invalid syntax'),
        ({"tcp_socket": TcpSocketAction(port=0)}, "invalid port number: 0"),
        ({"http_get": HttpGetAction(port=70000)}, "invalid port number: 70000"),
    ],
)
def test_a_question_that_cannot_be_put_says_why(handler: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError) as error:
        probing.probe_request(POD, C, Probe(**handler), IP)
    assert error.value.message == complaint


def hook(of: NodeContainer, ip: str = IP, **handler: Any) -> Request:
    return probing.hook_request(POD, of, Handler(**handler), ip)


def test_hooks_are_requests_too() -> None:
    assert hook(C, exec=ExecAction(command=("echo", "$(A)"))) == ExecRequest(("echo", "$(A)"))
    assert hook(C, sleep=SleepAction(seconds=3)) == SleepRequest(3)
    sent = hook(C, http_get=HttpGetAction(port="web", path="/bye"))
    assert sent == HttpRequest(
        scheme="http",
        host=IP,
        port=8080,
        path="/bye",
        headers=(("User-Agent", "kube-lifecycle/1.36"), ("Accept", "*/*")),
    )


@pytest.mark.parametrize(
    ("handler", "ip", "complaint"),
    [
        ({"tcp_socket": TcpSocketAction(port=1)}, IP, "invalid handler"),
        ({}, IP, "invalid handler"),
        ({"http_get": HttpGetAction(port=1)}, "", "failed to find networking container"),
    ],
)
def test_a_hook_that_cannot_be_run_says_why(handler: dict[str, Any], ip: str, complaint: str) -> None:
    with pytest.raises(InputError) as error:
        hook(C, ip, **handler)
    assert error.value.message == complaint


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (ExecResult(b"out", b"err", 0), Answer(result="success", output="outerr")),
        (ExecResult(b"no\n", b"", 3), Answer(result="failure", output="no\n")),
        (ExecResult(b"x" * 20000, b"", 1), Answer(result="failure", output="x" * 10240)),
        (
            RuntimeFault("late", code="DeadlineExceeded"),
            Answer(result="failure", output='command timed out: "sleep 100" timed out after 1s'),
        ),
        (
            RuntimeFault("x", code="NotFound", detail="no such container"),
            Answer(result="unknown", output="rpc error: code = NotFound desc = no such container"),
        ),
    ],
)
def test_what_a_command_says(result: ExecResult | RuntimeFault, answer: Answer) -> None:
    assert probing.exec_answer(result, ("sleep", "100"), 1) == answer


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (
            Handler(exec=ExecAction(command=("x",))),
            'Exec lifecycle hook ([x]) for Container "c" in Pod "p_ns(uid-1)" failed - error: bad, message: "\\n"',
        ),
        (
            Handler(http_get=HttpGetAction(path="/x")),
            'HTTP lifecycle hook (/x) for Container "c" in Pod "p_ns(uid-1)" failed - error: bad',
        ),
        (
            Handler(sleep=SleepAction(seconds=3)),
            'Sleep lifecycle hook (3) for Container "c" in Pod "p_ns(uid-1)" failed - error: bad',
        ),
        (Handler(), "Cannot run handler: bad"),
    ],
)
def test_what_is_said_of_a_failed_hook(handler: Handler, text: str) -> None:
    assert probing.hook_failure(POD, "c", handler, "bad", "\n") == text


def test_what_is_said_of_a_command_run_as_a_hook() -> None:
    handler = Handler(exec=ExecAction(command=("sh", "-c", "exit 3")))
    assert probing.exec_failure(POD, "c", handler, ExecResult(b"", b"", 0)) == ""
    place = 'Exec lifecycle hook ([sh -c exit 3]) for Container "c" in Pod "p_ns(uid-1)" failed - error: '
    failed = probing.exec_failure(POD, "c", handler, ExecResult(b"boom\n", b"err", 3))
    assert failed == place + "command 'sh -c exit 3' exited with 3: err, message: \"boom\\nerr\""
    gone = probing.exec_failure(POD, "c", handler, RuntimeFault("x", code="Unknown", detail="gone"))
    assert gone == place + 'rpc error: code = Unknown desc = gone, message: ""'
