"""A service account that may write in one namespace does its worst, and the server stays up, awake and closed.

While it sends, ``/livez`` is asked every 50 ms. Wrong are: an end of the process, an answer of ``/livez`` that the
server computes over a second for, a 5xx that upstream would not give, a success of what the account may not
do.
"""

import http.client
import random
import threading
import time
from collections.abc import Iterator

import pytest
from tests import servers
from tests.campaign import length
from tests.fuzz import hostile, mutation, tenant, verdict
from tests.fuzz.corpus import Request
from tests.fuzz.pulse import Pulse
from tests.fuzz.test_fuzz import request as any_request
from tests.fuzz.wire import Wire

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.kubeconfig import Credentials

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

STALL_S = 1.0
"""Of processor time (`pulse`): a busy machine does not change it."""
SHORT_S, FULL_S = 90, 600
SENDERS = 2


class Target:
    """The server, and the account that attacks it."""

    def __init__(self, running: servers.Running, credentials: Credentials, token: str) -> None:
        self.running = running
        self.credentials = credentials
        self.token = token
        self.wrong: list[str] = []
        self.sent = 0

    def send(self, wire: Wire, seed: int) -> None:
        """Send the request of a seed, and look at the answer."""
        rng = random.Random(seed)  # noqa: S311  seeds must give the same request again
        request = self._request(rng)
        if request.body and rng.random() < 0.02:
            self._send_half(request)
            return
        answer = wire.send(request)
        self.sent += 1
        complaint = verdict.complaint(request, answer) or tenant.complaint(request, answer)
        if complaint:
            self.wrong.append(
                f"seed {seed}: {request.method} {request.path} {request.query} {request.headers[:-1]}\n"
                f"{(request.body or b'')[:300]!r}\n{complaint}"
            )

    def _request(self, rng: random.Random) -> Request:
        if rng.random() < 0.6:
            chosen = hostile.request(rng)
        else:
            chosen = any_request(rng.randrange(2**48))
            chosen = chosen._replace(path=_at_home(rng, chosen.path))
        if rng.random() < 0.1:
            chosen = mutation.mutated(rng, chosen)
        kept = tuple(pair for pair in chosen.headers if pair[0].lower() != "authorization")
        return chosen._replace(headers=(*kept, ("Authorization", f"Bearer {self.token}")))

    def _send_half(self, request: Request) -> None:
        """Half a body, and then nobody is there."""
        host = self.credentials.server.removeprefix("https://")
        context = kubeconfig.ssl_context(self.credentials)
        connection = http.client.HTTPSConnection(host, context=context, timeout=10)
        try:
            connection.putrequest(request.method, "/" + request.path.lstrip("/"))
            for name, value in request.headers:
                connection.putheader(name, value)
            body = request.body or b""
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body[: len(body) // 2])
        except (OSError, ValueError):
            pass
        finally:
            connection.close()


def _at_home(rng: random.Random, path: str) -> str:
    """Most requests in the namespace where the account may write."""
    head, mark, rest = path.partition("/namespaces/")
    _, slash, tail = rest.partition("/")
    return f"{head}{mark}{tenant.NAMESPACE}/{tail}" if slash and rng.random() < 0.8 else path


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with servers.flexlet(tmp_path_factory.mktemp("server"), "server") as running:
        admin = kubeconfig.load(running.kubeconfig)
        with Wire(admin) as wire:
            token = tenant.admit(wire)
        anybody = Credentials(server=admin.server, ca=admin.ca)
        yield Target(running, anybody, token)


def attack(target: Target, seconds: float) -> None:
    """Send for so long, from two connections at once; nothing may be wrong at the end."""
    seed = random.SystemRandom().randrange(2**32)
    until = time.monotonic() + seconds
    target.wrong.clear()

    def send(own: random.Random) -> None:
        with Wire(target.credentials) as wire:
            while time.monotonic() < until and len(target.wrong) < 5:
                target.send(wire, own.randrange(2**48))

    senders = [
        threading.Thread(target=send, args=(random.Random(seed + at),))  # noqa: S311  to be had again
        for at in range(SENDERS)
    ]
    with Pulse(target.credentials, target.running.pid) as pulse:
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        time.sleep(0.2)
    assert (target.wrong, pulse.failures(), target.running.tracebacks()) == ([], [], []), f"seed {seed}"
    worst = pulse.worst()
    assert worst.stalled_s < STALL_S, f"seed {seed}: {worst}"


def test_a_tenant_does_its_worst(target: Target) -> None:
    attack(target, length(SHORT_S, FULL_S))


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("shape", list(dict.fromkeys(hostile.SHAPES)), ids=lambda shape: shape.__name__.strip("_"))
def test_one_shape_stalls_nobody(target: Target, shape: hostile.Shape) -> None:
    """Every hostile shape a few times, alone, so that a failure names it."""
    rng = random.Random(7)  # noqa: S311  the same on every run
    with Pulse(target.credentials, target.running.pid) as pulse, Wire(target.credentials) as wire:
        for _ in range(length(12, 100)):
            began = time.monotonic()
            request = shape(rng)
            authorized = (*request.headers, ("Authorization", f"Bearer {target.token}"))
            answer = wire.send(request._replace(headers=authorized))
            time.sleep(0.06)
            worst = pulse.worst(began - 0.05)
            said = f"{request.method} {request.path} {len(request.body or b'')} {(request.body or b'')[:200]!r}"
            assert worst.stalled_s < STALL_S, f"{worst}\n{said}\n{str(answer)[:300]}"
            assert not verdict.complaint(request, answer), f"{said}\n{answer}"
