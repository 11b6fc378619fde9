"""Random requests against a running server: never a 5xx of its own, never a closed connection, never a traceback.

Requests start from recorded ones or are made up from the schema, and are changed a few times. The server keeps its
state between them, so one request meets what others left. A failure names the requests that led to it.
"""

import json
import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests import servers
from tests.fuzz import corpus, mutation, objects, oddities, verdict
from tests.fuzz.corpus import Request
from tests.fuzz.wire import Wire

from flexlet.adapters.kube import kubeconfig
from flexlet.api import schema
from flexlet.api.schema.types import Type

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

REQUESTS = 40_000
JSON = (("Content-Type", "application/json"),)


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with (
        servers.flexlet(tmp_path_factory.mktemp("server"), "server") as running,
        Wire(kubeconfig.load(running.kubeconfig)) as opened,
    ):
        for definition in corpus.recorded():
            if definition.path.endswith("/customresourcedefinitions") and definition.method == "POST":
                opened.send(definition)
        yield opened


def collections() -> tuple[tuple[str, Type], ...]:
    """The path of every kind, with the type of its objects."""
    found: dict[str, Type] = {}
    for request in corpus.recorded():
        parts = request.path.strip("/").split("/")
        if request.method == "POST" and parts[0] in {"api", "apis"} and request.body:
            group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
            try:
                of = schema.type_for(group, version, json.loads(request.body)["kind"])
            except (ValueError, KeyError, TypeError):
                continue
            if of is not None:
                found.setdefault(request.path, of)
    return tuple(found.items())


COLLECTIONS = collections()


def made_up(rng: random.Random) -> Request:
    """A create or an update of an object nobody has thought of."""
    path, of = rng.choice(COLLECTIONS)
    value = objects.of_kind(rng, of)
    method = rng.choice(("POST", "POST", "PUT", "PATCH"))
    media = rng.choice(oddities.MEDIA[4:7]) if method == "PATCH" else "application/json"
    if method != "POST":
        path = f"{path}/{rng.choice(objects.NAMES)}" + rng.choice(("", "", "/status", "/resize", "/scale"))
    return Request(method, path, (), (("Content-Type", media),), json.dumps(value).encode())


def request(seed: int) -> Request:
    """One request, chosen by the seed."""
    rng = random.Random(seed)  # noqa: S311  seeds must give the same request again
    start = rng.randrange(10)
    if start == 0:
        chosen = Request(rng.choice(oddities.METHODS[:2]), rng.choice(oddities.PAGES))
    elif start <= 3:
        chosen = made_up(rng)
    else:
        chosen = rng.choice(corpus.recorded())
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        chosen = mutation.mutated(rng, chosen)
    return chosen


seeds = st.lists(st.integers(0, 2**48), min_size=1, max_size=10)
relaxed = settings(
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def attack(wire: Wire, chosen: list[int]) -> None:
    """Send the requests of some seeds; each must be answered well."""
    for namespace in corpus.NAMESPACES:
        body = json.dumps({"metadata": {"name": namespace}}).encode()
        wire.send(Request("POST", "/api/v1/namespaces", (), JSON, body))
    for seed in chosen:
        sent = request(seed)
        wrong = verdict.complaint(sent, wire.send(sent))
        assert not wrong, (
            f"seed {seed}: {sent.method} {sent.path} {sent.query} {sent.headers}\n{sent.body!r}\n{wrong}"
        )


@settings(relaxed, max_examples=REQUESTS // 10)
@given(seeds)
def test_random_requests_are_answered(wire: Wire, chosen: list[int]) -> None:
    """Requests for minutes, different ones on every run."""
    attack(wire, chosen)
