"""Which credentials a registry is shown."""

import base64
from collections import Counter
from typing import Any

import pytest
from tests.core.agent.builders import container, pod
from tests.core.agent.containers.oracle import recorded

from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.pod import LocalReference
from flexlet.core.agent.containers import keyring
from flexlet.core.agent.containers.contents import Content, Material, Problem, Reference
from flexlet.core.runtime.configs import PullCredentials

RECORDED = recorded("keyring")
TWICE = {4, 14}
"""Secrets with several entries for one place; Go's maps have no order."""


def material(secrets: list[dict[str, Any]]) -> tuple[NodePod, Material]:
    """A pod that names these secrets, and what they hold."""
    contents = [
        Content({key: base64.b64decode(value) for key, value in each["data"].items()}, type=each["type"])
        for each in secrets
    ]
    names = [f"s{index}" for index in range(len(contents))]
    of = pod(container("c"), image_pull_secrets=tuple(LocalReference(name=name) for name in names))
    found = {Reference("Secret", name): content for name, content in zip(names, contents, strict=True)}
    return of, Material(objects=dict(found))


@pytest.mark.parametrize("index", range(len(RECORDED["secrets"])))
def test_credentials_are_found_as_upstream_finds_them(index: int) -> None:
    of, given = material(RECORDED["secrets"][index])
    for case in (each for each in RECORDED["cases"] if each["secrets"] == index):
        found = keyring.credentials(of, given, case["image"])
        if case["error"]:
            assert isinstance(found, Problem), case["image"]
            continue
        assert not isinstance(found, Problem), case["image"]
        pairs = [[each.username, each.password] for each in found]
        assert Counter(map(tuple, pairs)) == Counter(map(tuple, case["out"])), case["image"]
        if index not in TWICE:
            assert pairs == case["out"], case["image"]


def test_only_user_and_password_travel() -> None:
    secret = {"type": "kubernetes.io/dockercfg", "data": {}}
    text = b'{"r.io": {"username": "u", "password": "p", "email": "e", "identitytoken": "t"}}'
    of, given = material([{**secret, "data": {".dockercfg": base64.b64encode(text).decode()}}])
    assert keyring.credentials(of, given, "r.io/a:1") == (PullCredentials(username="u", password="p"),)


def test_missing_secrets_are_named_and_do_not_stop_the_pull() -> None:
    of, _ = material([])
    of = pod(container("c"), image_pull_secrets=tuple(LocalReference(name=each) for each in ("a", "", "b")))
    nothing = Material(objects={Reference("Secret", "b"): Content({})})
    assert (keyring.missing(of, nothing), keyring.credentials(of, nothing, "a")) == (("a",), ())
    assert keyring.missing_text(("a", "b")) == (
        "Unable to retrieve some image pull secrets (a, b); attempting to pull the image may not succeed."
    )
