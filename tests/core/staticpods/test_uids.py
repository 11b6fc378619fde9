"""Static pods have the uids that a kubelet gives them: recorded from Kubernetes 1.36.3."""

import json
from pathlib import Path

import pytest
from tests.core.staticpods.manifests import NOW

from flexlet.adapters.manifests.documents import manifest
from flexlet.apps.podrules import ServerRules
from flexlet.core.gates import DEFAULTS
from flexlet.core.staticpods import goquantity
from flexlet.core.staticpods.pods import StaticPod, static_pod
from flexlet.core.staticpods.uids import fnv1a_128

DATA = Path(__file__).parents[2] / "data" / "staticpods"
RECORDED = json.loads((DATA / "recorded.json").read_text())


@pytest.mark.parametrize("name", sorted(RECORDED["uids"]))
def test_a_pod_has_the_uid_that_the_kubelet_gives_it(name: str) -> None:
    """So that changing over from one to the other restarts nothing."""
    found = manifest(f"{RECORDED['directory']}/{name}", (DATA / name).read_bytes())
    made = static_pod(found, RECORDED["node"], NOW, ServerRules(DEFAULTS))
    assert isinstance(made, StaticPod), made
    assert made.uid == RECORDED["uids"][name]


@pytest.mark.parametrize(("text", "parsed", "rounded"), RECORDED["amounts"])
def test_amounts_are_held_as_in_go(text: str, parsed: str, rounded: str) -> None:
    assert goquantity.dumped(text, rounded=False) == parsed
    assert goquantity.dumped(text, rounded=True) == rounded


@pytest.mark.parametrize(
    ("number", "text"), [(2, "2"), (0.1, "0.1"), (1.0, "1"), (1e17, "100000000000000000"), (1e-05, "0.00001")]
)
def test_numbers_read_as_in_json(number: float, text: str) -> None:
    assert goquantity.text_of(number) == text


@pytest.mark.parametrize(
    ("data", "value"), [(b"", 0x6C62272E07BB014262B821756295C58D), (b"a", 0xD228CB696F1A8CAF78912B704E4A8964)]
)
def test_the_hash_is_the_published_one(data: bytes, value: int) -> None:
    assert fnv1a_128(data) == value
