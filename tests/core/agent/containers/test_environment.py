"""The variables of a container."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import SETUP, container, pod
from tests.core.agent.containers.oracle import recorded

from flexlet.api import decode
from flexlet.api.nodepod.container import EnvFrom, EnvVar
from flexlet.core.agent.containers import environment, services
from flexlet.core.agent.containers.contents import Content, Material, Problem, Reference
from flexlet.core.agent.setup import Service, ServicePort

CM, SECRET = Reference("ConfigMap", "cm"), Reference("Secret", "s")
MATERIAL = Material(
    objects={
        CM: Content({"a": b"1", "b": b"$(X)"}, {"bin": b"\x00"}),
        SECRET: Content({"pw": b"\xff\xfe", "a": b"2"}),
        Reference("ConfigMap", "none"): None,
        Reference("Secret", "none"): None,
    }
)


def resolved(env: list[dict[str, Any]], whole: list[dict[str, Any]] | None = None) -> dict[str, str] | Problem:
    given = container(
        "c",
        "100m,64Mi",
        env=tuple(decode.from_value(each, EnvVar) for each in env),
        env_from=tuple(decode.from_value(each, EnvFrom) for each in whole or ()),
    )
    found = environment.resolve(pod(given), given, SETUP, MATERIAL, ("10.1.0.1",))
    return found if isinstance(found, Problem) else dict(found)


def source(kind: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "V", "valueFrom": {kind: more}}]


def test_later_variables_see_earlier_ones_and_values_from_elsewhere_are_not_expanded() -> None:
    env = [
        {"name": "X", "value": "x"},
        {"name": "Y", "value": "$(X)$(LATER)$(p_b)"},
        {"name": "LATER", "value": "l"},
        {"name": "X", "value": "again $(X)"},
    ]
    assert resolved(env, [{"prefix": "p_", "configMapRef": {"name": "cm"}}]) == {
        "p_a": "1",
        "p_b": "$(X)",
        "X": "again x",
        "Y": "x$(LATER)$(X)",
        "LATER": "l",
    }


def test_of_whole_objects_the_later_wins_and_binary_keys_are_no_variables() -> None:
    whole = [{"configMapRef": {"name": "cm"}}, {"secretRef": {"name": "s"}}]
    assert resolved([], whole) == {"a": "2", "b": "$(X)", "pw": "\udcff\udcfe"}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (source("configMapKeyRef", name="cm", key="a"), {"V": "1"}),
        (source("secretKeyRef", name="s", key="a"), {"V": "2"}),
        (source("configMapKeyRef", name="none", key="a"), Problem('configmap "none" not found')),
        (source("secretKeyRef", name="none", key="a"), Problem('secret "none" not found')),
        (source("configMapKeyRef", name="cm", key="zz"), Problem("couldn't find key zz in ConfigMap ns/cm")),
        (source("configMapKeyRef", name="cm", key="bin"), Problem("couldn't find key bin in ConfigMap ns/cm")),
        (source("secretKeyRef", name="s", key="zz"), Problem("couldn't find key zz in Secret ns/s")),
        (source("configMapKeyRef", name="none", key="a", optional=True), {}),
        (source("secretKeyRef", name="s", key="zz", optional=True), {}),
        (source("fieldRef", fieldPath="status.podIP"), {"V": "10.1.0.1"}),
        (source("resourceFieldRef", resource="requests.cpu", divisor="1m"), {"V": "100"}),
        (source("resourceFieldRef", resource="limits.cpu", containerName="zz"), Problem("container zz not found")),
        ([{"name": "V", "value": "plain", "valueFrom": {}}], {"V": "plain"}),
    ],
)
def test_each_source_gives_its_value_or_says_what_is_missing(
    env: list[dict[str, Any]], expected: dict[str, str] | Problem
) -> None:
    assert resolved(env) == expected


@pytest.mark.parametrize(("optional", "expected"), [(True, {}), (False, Problem('secret "none" not found'))])
def test_a_whole_object_may_be_missing_only_if_optional(*, optional: bool, expected: object) -> None:
    assert resolved([], [{"secretRef": {"name": "none", "optional": optional}}]) == expected


def test_everything_that_is_named_is_fetched() -> None:
    env = [*source("configMapKeyRef", name="a", key="k"), *source("secretKeyRef", name="b", key="k")]
    given = container(
        "c",
        env=tuple(decode.from_value(each, EnvVar) for each in env),
        env_from=(decode.from_value({"configMapRef": {"name": "x"}, "secretRef": {"name": "y"}}, EnvFrom),),
    )
    named = {("ConfigMap", "a"), ("Secret", "b"), ("ConfigMap", "x"), ("Secret", "y")}
    assert environment.references(given) == {Reference(*each) for each in named}


def service(namespace: str, name: str, ip: str, *ports: dict[str, Any]) -> Service:
    return Service(
        namespace=namespace,
        name=name,
        cluster_ip=ip,
        ports=tuple(decode.from_value(each, ServicePort) for each in ports),
    )


@pytest.mark.parametrize("case", recorded("services"), ids=lambda case: case["name"])
def test_links_of_a_service_are_upstreams(case: dict[str, Any]) -> None:
    spec = case["spec"]
    found = service("ns", case["name"], spec.get("clusterIP") or "", *spec["ports"])
    assert services.variables(pod(container("c")), replace(SETUP, services=(found,))) == case["out"]


def test_the_master_is_always_known_and_a_namesake_of_the_own_namespace_takes_its_place() -> None:
    known = (
        service("default", "kubernetes", "10.96.0.1", {"port": 443}),
        service("default", "other", "10.96.0.2", {"port": 1}),
        service("ns", "mine", "10.96.0.3", {"port": 2}),
    )
    hosts = [
        {
            name: value
            for name, value in services.variables(
                pod(container("c"), enable_service_links=links), replace(SETUP, services=given)
            ).items()
            if name.endswith(("_HOST", "_PORT_443_TCP"))
        }
        for links, given in (
            (None, known),
            (False, known),
            (True, (*known, service("ns", "kubernetes", "10.96.0.9", {"port": 80}))),
        )
    ]
    master = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_PORT_443_TCP": "tcp://10.96.0.1:443"}
    assert hosts == [
        {**master, "MINE_SERVICE_HOST": "10.96.0.3"},
        master,
        {"KUBERNETES_SERVICE_HOST": "10.96.0.9", "MINE_SERVICE_HOST": "10.96.0.3"},
    ]
