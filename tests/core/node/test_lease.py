import pytest
from tests.core.node.nodes import LIFE, NOW

from flexlet.core.actions import ApiAction, CreateObject, PatchObject
from flexlet.core.node.lease import OwnLease, lease
from flexlet.core.observations import Failed
from flexlet.core.refs import LEASES

STAMP = "2027-01-15T08:00:00.000000Z"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": "u1"}
SPEC = {"holderIdentity": "node-a", "leaseDurationSeconds": 40, "renewTime": STAMP}
NEW = CreateObject(ref=LEASES, namespace="kube-node-lease", body=lease("node-a", "u1", 40, NOW))


def renewal(**more: object) -> PatchObject:
    return PatchObject(ref=LEASES, namespace="kube-node-lease", name="node-a", patch={"spec": SPEC, **more})


def test_a_lease_is_as_recorded() -> None:
    """The same body as the kubelet's, apart from what the server adds."""
    recorded = {**LIFE["lease"], "spec": {**LIFE["lease"]["spec"], "renewTime": STAMP}}
    given = {"name", "namespace", "ownerReferences"}
    recorded["metadata"] = {key: value for key, value in recorded["metadata"].items() if key in given}
    recorded["metadata"]["ownerReferences"][0]["uid"] = "u1"
    assert lease("node-a", "u1", 40, NOW) == recorded


def test_it_is_made_and_then_renewed() -> None:
    """A quarter of its duration later, and a little more."""
    own = OwnLease("node-a", 40)
    assert own.decide("u1", NOW) == [NEW]
    own.renewed()
    assert own.decide("u1", NOW) == []
    assert NOW + 10 <= own.due < NOW + 10.4
    assert own.decide("u1", own.due - 0.1) == []
    [again] = own.decide("u1", own.due)
    assert isinstance(again, PatchObject)
    assert list(again.patch) == ["spec"]


def test_a_lease_that_exists_is_taken_over() -> None:
    """At once, and it is made to belong to the Node."""
    own = OwnLease("node-a", 40)
    [create] = own.decide("u1", NOW)
    own.failed(Failed(create, 409, "AlreadyExists", ""))
    assert own.decide("u1", NOW) == [renewal(metadata={"ownerReferences": [OWNER]})]


def test_a_lease_that_is_gone_is_made_again() -> None:
    own = OwnLease("node-a", 40)
    own.decide("u1", NOW - 20)
    own.decide("u1", NOW - 20)
    [patch] = own.decide("u1", NOW - 1)
    own.failed(Failed(patch, 404, "NotFound", ""))
    assert own.decide("u1", NOW - 1) == []
    assert own.decide("u1", NOW) == [NEW]


def test_a_new_node_gets_its_lease_at_once() -> None:
    own = OwnLease("node-a", 40)
    own.decide("u0", NOW)
    own.renewed()
    assert own.decide("u1", NOW) == [renewal(metadata={"ownerReferences": [OWNER]})]


@pytest.mark.parametrize("code", [500, 504])
def test_trouble_is_met_with_growing_pauses(code: int) -> None:
    own = OwnLease("node-a", 40)
    now, pauses = NOW, []
    for _ in range(8):
        sent: list[ApiAction] = own.decide("u1", now)
        own.failed(Failed(sent[0], code, "", ""))
        assert own.decide("u1", now) == []
        pauses.append(round(own.due - now, 3))
        now = own.due
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7.0, 7.0]
