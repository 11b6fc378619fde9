"""Strategic merge patches: directives, order, and what cannot be merged."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.api import recordings

from flexlet.api import schema
from flexlet.api.patch import ordering, strategic
from flexlet.api.patch.documents import Document
from flexlet.api.patch.errors import MergeFault, MergeKeyMissing, PatchFailed, PatchFault, PatchMalformed

POD = schema.named("core.v1.Pod")
DEPLOYMENT = schema.named("apps.v1.Deployment")
DEFINITION = schema.named("apiextensions.v1.CustomResourceDefinition")

Object = dict[str, Any]


def apply(original: Object, patch: Object, of: schema.Type = POD) -> Object:
    before = copy.deepcopy((original, patch))
    merged = strategic.apply(of, original, patch).value
    assert (original, patch) == before
    return merged


def spec(**members: Any) -> Object:
    return {"spec": members}


def env(*names: str) -> Object:
    return spec(containers=[{"name": "c", "env": [{"name": name, "value": name} for name in names]}])


@pytest.mark.parametrize("case", recordings.lines("strategic_cases.jsonl"), ids=lambda case: case["case"])
def test_merging(case: Object) -> None:
    """Each directive and list strategy does what upstream does, without touching its arguments."""
    assert apply(case["original"], case["patch"]) == case["merged"]


def test_replaced_maps_are_taken_whole() -> None:
    """A field with the replace strategy is not merged (the selector of a disruption budget)."""
    of = schema.named("policy.v1.PodDisruptionBudget")
    original = {"spec": {"selector": {"matchLabels": {"a": "1"}}, "minAvailable": 1}}
    patch: Object = {"spec": {"selector": {"matchExpressions": []}}}
    assert apply(original, patch, of) == {"spec": {"selector": {"matchExpressions": []}, "minAvailable": 1}}


@pytest.mark.parametrize(
    ("patch", "kind", "fault"),
    [
        (
            spec(containers=[{"image": "x"}]),
            MergeKeyMissing,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            spec(containers=[{"$patch": "delete"}]),
            MergeKeyMissing,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            spec(containers=[{"name": "c", "$patch": "merge"}]),
            MergeFault,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            spec(containers=[{"name": "c", "$patch": "frob"}]),
            MergeFault,
            "unknown patch type: frob in map: map[$patch:frob name:c]",
        ),
        (
            spec(securityContext={"$patch": "merge"}),
            MergeFault,
            "unknown patch type: merge in map: map[$patch:merge]",
        ),
        (spec(containers=["x"]), MergeFault, "list element types are not identical: [[map[name:c]] [x]]"),
        (spec(containers=[["x"]]), MergeFault, "list element types are not identical: [[map[name:c]] [[x]]]"),
        ({"metadata": {"finalizers": [["x"]]}}, PatchFailed, "lists of lists are not supported"),
        (spec(securityContext={"$retainKeys": "x"}), PatchMalformed, "invalid patch format of retainKeys"),
        (
            spec(securityContext={"$retainKeys": ["x"], "y": 1}),
            PatchMalformed,
            "invalid patch format of retainKeys",
        ),
        (
            {"metadata": {"$deleteFromPrimitiveList": ["x"]}},
            PatchMalformed,
            "invalid patch format of primitive list",
        ),
        (spec(**{"$setElementOrder": ["x"]}), PatchMalformed, "invalid patch format of setElementOrder list"),
        (
            spec(**{"$setElementOrder/containers": "x"}),
            MergeFault,
            "expected a []interface {}, but received a string",
        ),
        (
            spec(**{"$setElementOrder/containers": [{"name": "c"}], "containers": {"a": 1}}),
            MergeFault,
            "expected a []interface {}, but received a map[string]interface {}",
        ),
        (
            spec(**{"$setElementOrder/containers": [{"name": "c"}], "containers": ["x"]}),
            MergeFault,
            "expected a map[string]interface {}, but received a string",
        ),
        (
            spec(**{"$setElementOrder/containers": ["c"], "containers": [{"name": "c"}]}),
            MergeFault,
            "expected a map[string]interface {}, but received a string",
        ),
        (
            spec(**{"$setElementOrder/containers": [{"name": "x"}], "containers": [{"name": "c"}]}),
            MergeFault,
            "The order in patch list:\n[map[name:c]]\n doesn't match $setElementOrder list:\n[map[name:x]]\n",
        ),
        (
            spec(**{"$setElementOrder/nope": []}),
            MergeFault,
            'unable to find api field in struct PodSpec for the json field "nope"',
        ),
        (
            spec(**{"$setElementOrder/nodeSelector": []}),
            MergeFault,
            "expected slice or array type, but got: struct",
        ),
        (
            {"status": {"$setElementOrder/conditions": [], "conditions": []}},
            MergeFault,
            "no elements in any of the given slices",
        ),
    ],
)
def test_faults_have_upstreams_words(patch: Object, kind: type[PatchFault], fault: str) -> None:
    """What cannot be merged is refused with upstream's words, sorted by the status it becomes."""
    original = {
        "metadata": {"finalizers": []},
        "spec": {"containers": [{"name": "c"}], "securityContext": {}},
        "status": {"conditions": []},
    }
    with pytest.raises(kind) as caught:
        apply(original, patch)
    assert (type(caught.value), caught.value.message) == (kind, fault)


def test_maps_of_objects_do_not_merge() -> None:
    """Upstream cannot look into maps with free keys: merging below them is an internal error."""
    original = {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"type": "x"}}}}}]}}
    schema_of = schema.named("apiextensions.v1.CustomResourceValidation")
    inner = original["spec"]["versions"][0]["schema"]
    with pytest.raises(MergeFault) as caught:
        apply(inner, {"openAPIV3Schema": {"properties": {"a": {"type": "y"}}}}, schema_of)
    assert caught.value.message == "merging an object in json but data type is not struct, instead is: map"
    rules: Object = {"openAPIV3Schema": {"allOf": [{"x-kubernetes-validations": []}]}}
    assert apply(inner, rules, schema_of)["openAPIV3Schema"]["allOf"] == [{"x-kubernetes-validations": []}]


def test_lists_of_objects_need_a_merge_key() -> None:
    """A set of scalars that holds objects cannot be merged."""
    with pytest.raises(MergeFault) as caught:
        apply({"metadata": {"finalizers": [{}]}}, {"metadata": {"finalizers": [{}]}})
    assert caught.value.message == "cannot merge lists without merge key for struct"


def test_numbers_are_merge_keys_of_one_kind() -> None:
    """Ports merge by number; a float is another number than the equal integer."""
    original = spec(containers=[{"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 81}]}])
    patch = spec(
        containers=[{"name": "c", "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 82}]}]
    )
    ports = apply(original, patch)["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": 80, "name": "web"}, {"containerPort": 82}, {"containerPort": 81}]
    patch = spec(containers=[{"name": "c", "ports": [{"containerPort": 80.0}]}])
    ports = apply(original, patch)["spec"]["containers"][0]["ports"]
    assert [str(port["containerPort"]) for port in ports] == ["80.0", "80", "81"]


def test_the_spent_patch_is_what_errors_show() -> None:
    """Directives that were obeyed are gone from the patch that an error would show."""
    original = spec(containers=[{"name": "a"}, {"name": "b"}], volumes=[{"name": "v"}])
    patch = spec(
        **{
            "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
            "containers": [{"name": "a", "image": "i"}],
            "volumes": [{"name": "v", "$retainKeys": ["name"]}],
            "nodeSelector": {"a": None, "b": "1"},
            "securityContext": {"$patch": "replace"},
        }
    )
    assert strategic.apply(POD, original, patch).patch == spec(
        volumes=[{"name": "v"}], nodeSelector={"b": "1"}, securityContext={"$patch": "replace"}
    )


def test_unchanged_parts_are_shared() -> None:
    """Only what lies on the way to a change is copied."""
    original = spec(containers=[{"name": "a", "env": []}, {"name": "b"}], volumes=[{"name": "v"}])
    merged = apply(original, spec(containers=[{"name": "a", "image": "i"}]))
    assert merged["spec"]["volumes"] is original["spec"]["volumes"]
    assert merged["spec"]["containers"][1] is original["spec"]["containers"][1]
    assert merged["spec"]["containers"][0]["env"] is original["spec"]["containers"][0]["env"]


@pytest.mark.parametrize(
    ("body", "document"),
    [
        (b'{"a":1}', Document({"a": 1})),
        (b"null", Document({})),
        (
            b'{"a":{"b":1,"b":[{"c":1,"c":2}]}}',
            Document({"a": {"b": [{"c": 2}]}}, ('duplicate field "a.b"', 'duplicate field "a.b[0].c"')),
        ),
    ],
)
def test_reading(body: bytes, document: Document) -> None:
    """A patch is any object; keys written twice are complained about."""
    assert strategic.read(body) == document
    assert strategic.read(body, checked=False) == Document(document.value)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"{bad", "invalid character 'b' looking for beginning of object key string"),
    ],
)
def test_what_is_no_object_is_malformed(body: bytes, fault: str) -> None:
    """Anything but an object is refused."""
    with pytest.raises(PatchMalformed) as caught:
        strategic.read(body)
    assert caught.value.message == fault


NAMES = st.sampled_from("abcdef")
ITEMS = st.lists(NAMES, unique=True, max_size=5)


@given(ITEMS, ITEMS)
def test_merged_lists_keep_both_orders(server: list[str], patch: list[str]) -> None:
    """A merged list holds every item once, the patch's items in the patch's order, the others in the server's."""
    merged = apply({"metadata": {"finalizers": server}}, {"metadata": {"finalizers": patch}})["metadata"][
        "finalizers"
    ]
    assert sorted(merged) == sorted({*server, *patch})
    assert [item for item in merged if item in patch] == patch
    assert [item for item in merged if item not in patch] == [item for item in server if item not in patch]


@given(ITEMS, ITEMS, st.data())
def test_applying_a_patch_twice_changes_nothing_more(
    server: list[str], patch: list[str], data: st.DataObject
) -> None:
    """Merging by key is idempotent, with deletions and a given order."""
    deleted = data.draw(st.lists(NAMES.filter(lambda name: name not in patch), unique=True, max_size=3))
    order = data.draw(st.permutations(patch))
    items = [{"name": name, "value": name} for name in order] + [
        {"name": name, "$patch": "delete"} for name in deleted
    ]
    wanted = {"env": items, "$setElementOrder/env": [{"name": name} for name in order]}
    once = apply(env(*server), spec(containers=[{"name": "c", **wanted}])) if server or items else env()
    assert [item for item in _names(once) if item in order] == order
    assert not set(_names(once)) & set(deleted)
    if _names(once) or items:
        assert apply(once, spec(containers=[{"name": "c", **wanted}])) == once


def _names(pod: Object) -> list[str]:
    return [item["name"] for item in pod["spec"]["containers"][0]["env"]]


def test_long_lists_merge_in_one_pass() -> None:
    """Searching item by item takes minutes for these."""
    names = [f"c{at}" for at in range(15_000)]
    given = [{"name": name, "image": "old"} for name in names]
    wanted = [{"name": name, "image": "new"} for name in reversed(names)]
    order = [{"name": name} for name in reversed(names)]
    patched = apply(spec(containers=given), spec(**{"containers": wanted, "$setElementOrder/containers": order}))
    assert patched == spec(containers=wanted)
    gone = [{"name": name, "$patch": "delete"} for name in names[1:]]
    assert apply(spec(containers=given), spec(containers=gone)) == spec(containers=given[:1])


def test_long_lists_of_scalars_unite_and_shrink_in_one_pass() -> None:
    texts = [f"example.com/f{at}" for at in range(20_000)]
    united = apply({"metadata": {"finalizers": texts[:10_000]}}, {"metadata": {"finalizers": texts[5_000:]}})
    assert united == {"metadata": {"finalizers": texts}}
    left = apply(united, {"metadata": {"$deleteFromPrimitiveList/finalizers": texts[1:]}})
    assert left == {"metadata": {"finalizers": texts[:1]}}


@pytest.mark.parametrize("at", range(3))
def test_items_without_their_key_cannot_be_arranged(at: int) -> None:
    """Neither merged ones, nor those of the patch, nor stored ones."""
    merged, patched, stored = ([{"image": "i"}] if at == place else [{"name": "a"}] for place in range(3))
    with pytest.raises(MergeKeyMissing) as caught:
        ordering.arranged(merged, patched, stored, "name")
    assert caught.value.message == "map: map[image:i] does not contain declared merge key: name"
