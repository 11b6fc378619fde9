"""What a node's credentials are good for, and who may decide over certificates."""

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.apiserver.admission.world import (
    World,
    add_namespace,
    forbidden_of,
    new_world,
    node_user,
    pod,
    request_of,
)

from flexlet.apiserver.admission.noderestriction.nodes import forbidden_labels
from flexlet.apiserver.contract.request import Attributes, User

NODE = node_user("n")
ALICE = User(name="alice")


async def refused(world: World, operation: str, plural: str, obj: Any, **rest: Any) -> Any:
    return await world.refusal(request_of(operation, plural, obj, **{"user": NODE, **rest}))


@pytest.mark.parametrize(
    ("new", "old", "wrong"),
    [
        ({"example.com/a": "1", "plain": "x"}, {}, []),
        ({"kubernetes.io/hostname": "n", "node.kubernetes.io/x": "1", "a.kubelet.kubernetes.io/y": "1"}, {}, []),
        ({"beta.kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "z"}, {}, []),
        ({"foo.kubernetes.io/x": "1", "a.k8s.io/b": "1"}, {}, ["a.k8s.io/b", "foo.kubernetes.io/x"]),
        ({"node-restriction.kubernetes.io/x": "1"}, {}, ["node-restriction.kubernetes.io/x"]),
        ({"a.node-restriction.kubernetes.io/x": "1"}, {}, ["a.node-restriction.kubernetes.io/x"]),
        ({}, {"node-role.kubernetes.io/x": ""}, ["node-role.kubernetes.io/x"]),
        ({"node-role.kubernetes.io/x": ""}, {"node-role.kubernetes.io/x": ""}, []),
    ],
)
def test_nodes_set_their_own_labels_and_those_made_for_them(new: Any, old: Any, wrong: list[str]) -> None:
    """Added, changed and removed labels alike."""
    assert forbidden_labels(new, old) == wrong


async def test_a_node_comes_without_a_source_of_configuration() -> None:
    obj = {"metadata": {"name": "n"}, "spec": {"configSource": {}}}
    detail = 'node "n" is not allowed to create pods with a non-nil configSource'
    assert await refused(World(), "CREATE", "nodes", obj) == forbidden_of("nodes", "n", detail)


async def test_a_node_without_a_name_may_nothing() -> None:
    detail = 'could not determine node from user "system:node:"'
    assert await refused(
        World(), "CREATE", "nodes", {"metadata": {"name": "n"}}, user=node_user("")
    ) == forbidden_of("nodes", "n", detail)


async def test_whoever_is_no_node_is_not_restricted() -> None:
    """The group alone does not make a node, nor does the name."""
    world = World()
    for user in (User(name="x", groups=("system:nodes",)), User(name="system:node:n")):
        obj = await world.create("nodes", {"metadata": {"name": "other"}}, user=user)
        assert obj["metadata"]["name"] == "other"


def mirror(owners: Any = None, **spec: Any) -> Any:
    obj = pod(**{"nodeName": "n", **spec})
    obj["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "h"}
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": True}
    obj["metadata"]["ownerReferences"] = [{**owner, **part} for part in (owners if owners is not None else [{}])]
    return obj


OWNER = "owner reference set to itself"


@pytest.mark.parametrize(
    ("obj", "detail"),
    [
        (mirror([{}, {}]), f'node "n" can only create pods with a single {OWNER}'),
        (mirror([]), f'node "n" can only create pods with an {OWNER}'),
        (mirror([{"name": "other"}]), f'node "n" can only create pods with an {OWNER}'),
        (mirror([{"controller": False}]), f'node "n" can only create pods with a controller {OWNER}'),
        (
            mirror([{"blockOwnerDeletion": True}]),
            'node "n" must not set blockOwnerDeletion on an owner reference',
        ),
        (mirror([{"uid": "v"}]), "node n UID mismatch: expected v got u"),
        (
            mirror(volumes=[{"name": "v", "configMap": {"name": "x"}}]),
            'node "n" can not create pods that reference configmaps',
        ),
        (
            mirror(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]),
            'node "n" can not create pods that reference persistentvolumeclaims',
        ),
        (
            mirror(volumes=[{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}}]),
            'node "n" can not create pods that reference clustertrustbundles',
        ),
        (
            mirror(resourceClaims=[{"name": "x"}]),
            'node "n" can not create pods that reference resourceclaims',
        ),
        (
            mirror(containers=[{"name": "c", "envFrom": [{"configMapRef": {"name": "x"}}]}]),
            'node "n" can not create pods that reference configmaps',
        ),
        (
            mirror(
                containers=[{"name": "c", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "x"}}}]}]
            ),
            "a mirror pod may not reference secrets",
        ),
        (mirror(imagePullSecrets=[{"name": "x"}]), "a mirror pod may not reference secrets"),
        (
            mirror(volumes=[{"name": "v", "azureFile": {"secretName": "x"}}]),
            "a mirror pod may not reference secrets",
        ),
        (
            mirror(volumes=[{"name": "v", "rbd": {"secretRef": {"name": "x"}}}]),
            "a mirror pod may not reference secrets",
        ),
    ],
)
async def test_mirror_pods_belong_to_their_node_and_need_nothing(obj: Any, detail: str) -> None:
    world = new_world()
    world.put("nodes", {"metadata": {"name": "n", "uid": "u"}})
    assert await refused(world, "CREATE", "pods", obj, namespace="ns") == forbidden_of("pods", "p", detail)


async def test_a_mirror_pod_of_plain_volumes_is_fine() -> None:
    world = new_world()
    world.put("nodes", {"metadata": {"name": "n", "uid": "u"}})
    volumes = [
        {"name": "v", "hostPath": {"path": "/"}},
        {"name": "w", "projected": {"sources": [{"downwardAPI": {}}]}},
    ]
    obj = await world.create("pods", mirror(volumes=volumes), "ns", user=NODE)
    assert obj["spec"]["volumes"] == volumes


async def test_a_mirror_pod_needs_its_node() -> None:
    answer = await refused(new_world(), "CREATE", "pods", mirror(), namespace="ns")
    assert (answer["code"], answer["message"]) == (404, 'nodes "n" not found')


@pytest.mark.parametrize(
    ("operation", "subresource", "detail"),
    [
        ("UPDATE", "", 'unexpected operation "UPDATE", node "n" can only create and delete mirror pods'),
        ("UPDATE", "resize", "unexpected pod subresource \"resize\", only 'status' and 'eviction' are allowed"),
        ("CREATE", "status", 'unexpected operation "CREATE"'),
    ],
)
async def test_nodes_have_few_ways_to_write_pods(operation: str, subresource: str, detail: str) -> None:
    answer = await refused(
        new_world(), operation, "pods", pod(nodeName="n"), namespace="ns", subresource=subresource, old=pod()
    )
    assert answer == forbidden_of("pods", "p", detail)


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("resourceClaimStatuses", "resource claim statues"),
        ("extendedResourceClaimStatus", "extended resource claim status"),
    ],
)
async def test_nodes_do_not_allocate_devices(key: str, title: str) -> None:
    old = pod(nodeName="n")
    new = {**old, "status": {key: [{"name": "x"}]}}
    answer = await refused(new_world(), "UPDATE", "pods", new, namespace="ns", subresource="status", old=old)
    assert answer == forbidden_of("pods", "p", f'node "n" cannot update {title}')


@pytest.mark.parametrize(("operation", "subresource"), [("DELETE", ""), ("CREATE", "eviction")])
async def test_a_pod_that_is_gone_is_not_found(operation: str, subresource: str) -> None:
    answer = await refused(new_world(), operation, "pods", None, namespace="ns", subresource=subresource, name="p")
    assert (answer["code"], answer["message"]) == (404, 'pods "p" not found')


@pytest.mark.parametrize(
    ("namespace", "name", "detail"),
    [
        ("ns", "n", 'can only access leases in the "kube-node-lease" system namespace'),
        ("kube-node-lease", "m", "can only access node lease with the same name as the requesting node"),
    ],
)
async def test_a_node_has_one_lease(namespace: str, name: str, detail: str) -> None:
    world = new_world()
    add_namespace(world, "kube-node-lease")
    obj = {"metadata": {"name": name}}
    expected = forbidden_of("leases", name, detail, "coordination.k8s.io")
    assert await refused(world, "CREATE", "leases", obj, namespace=namespace) == expected
    assert await refused(world, "UPDATE", "leases", obj, namespace=namespace, old=obj) == expected


def token_request(**spec: Any) -> Any:
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    return {"spec": {"boundObjectRef": reference, **spec}}


def world_with_token_pod(node: str = "n") -> World:
    world = new_world()
    sources = [{"serviceAccountToken": {"path": "t", "audience": "vault"}}]
    obj = pod(nodeName=node, volumes=[{"name": "v", "projected": {"sources": sources}}])
    obj["metadata"]["uid"] = "u"
    world.put("pods", obj, "ns")
    return world


def asked(obj: Any) -> Any:
    return request_of("CREATE", "serviceaccounts", obj, "ns", user=NODE, subresource="token", name="sa")


@pytest.mark.parametrize(
    ("obj", "node", "detail"),
    [
        (token_request(boundObjectRef=None), "n", "node requested token not bound to a pod"),
        (
            token_request(boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "p"}),
            "n",
            "node requested token with a pod binding without a uid",
        ),
        (token_request(), "m", "node requested token bound to a pod scheduled on a different node"),
        (token_request(audiences=["a", "b"]), "n", "node may only request 0 or 1 audiences"),
        (
            token_request(audiences=["a"]),
            "n",
            (
                'audience "a" not found in pod spec volume, system:node:n is not authorized to request tokens for '
                "this audience"
            ),
        ),
    ],
)
async def test_tokens_are_bound_to_a_pod_of_the_node(obj: Any, node: str, detail: str) -> None:
    world = world_with_token_pod(node)
    assert await world.refusal(asked(obj)) == forbidden_of("serviceaccounts", "sa", detail)


async def test_a_token_for_a_missing_pod_is_not_found() -> None:
    answer = await new_world().refusal(asked(token_request()))
    assert (answer["code"], answer["message"]) == (404, 'pods "p" not found')


async def test_an_audience_is_good_if_projected_or_granted() -> None:
    world = world_with_token_pod()
    assert await world.admit(asked(token_request(audiences=["vault"]))) == token_request(audiences=["vault"])
    world.allowed.append(
        Attributes(
            user=NODE,
            verb="request-serviceaccounts-token-audience",
            version="v1",
            resource="other",
            namespace="ns",
            name="sa",
        )
    )
    assert await world.admit(asked(token_request(audiences=["other"]))) == token_request(audiences=["other"])


def csr(signer: str, name: str = "system:node:n", group: str = "system:nodes") -> Any:
    attributes = [
        x509.NameAttribute(NameOID.COMMON_NAME, name),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, group),
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(attributes))
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    pem = base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
    return {"metadata": {"name": "c"}, "spec": {"signerName": signer, "request": pem}}


KUBELET = "kubernetes.io/kubelet-serving"
CLIENT = "kubernetes.io/kube-apiserver-client"
GROUP = "certificates.k8s.io"


def csr_refusal(detail: str) -> Any:
    return forbidden_of("certificatesigningrequests", "c", detail, GROUP)


@pytest.mark.parametrize("obj", [csr(KUBELET), csr("example.com/x", "anybody"), csr(CLIENT, "anybody")])
async def test_certificates_nodes_may_ask_for(obj: Any) -> None:
    """In their own name from the signers of nodes; elsewhere the signer looks."""
    assert await World().create("certificatesigningrequests", obj, user=NODE) == obj


@pytest.mark.parametrize("text", ["", "aGk=", "not base64!"])
async def test_unreadable_certificate_requests_are_refused(text: str) -> None:
    for signer, user, prefix in (
        (KUBELET, NODE, "unable to parse csr: "),
        (CLIENT, ALICE, "failed to parse CSR: "),
    ):
        obj = {"metadata": {"name": "c"}, "spec": {"signerName": signer, "request": text}}
        answer = await refused(World(), "CREATE", "certificatesigningrequests", obj, user=user)
        start = f'certificatesigningrequests.certificates.k8s.io "c" is forbidden: {prefix}'
        assert answer["message"].startswith(start)


async def test_nobody_asks_for_the_masters_group() -> None:
    answer = await refused(
        World(), "CREATE", "certificatesigningrequests", csr(CLIENT, group="system:masters"), user=ALICE
    )
    assert answer == csr_refusal(f"use of {CLIENT} signer with system:masters group is not allowed")


@pytest.mark.parametrize("signer", ["example.com/x", "example.com/*"])
@pytest.mark.parametrize(("subresource", "verb"), [("approval", "approve"), ("status", "sign")])
async def test_deciding_takes_a_right_on_the_signer(signer: str, subresource: str, verb: str) -> None:
    """On the signer itself or on its whole domain; the stored signer counts, not the one in the body."""
    world = World()
    old = csr("example.com/x")
    new = {**csr("other.com/y"), "status": {"conditions": [{"type": "Approved"}]}}
    request = {"old": old, "subresource": subresource, "user": ALICE}
    answer = await refused(world, "UPDATE", "certificatesigningrequests", new, **request)
    assert answer == csr_refusal(f'user not permitted to {verb} requests with signerName "example.com/x"')
    world.allowed.append(
        Attributes(user=ALICE, verb=verb, group=GROUP, version="*", resource="signers", name=signer)
    )
    assert await world.update("certificatesigningrequests", new, old, subresource=subresource, user=ALICE) == new


async def test_other_parts_of_a_requests_status_are_free() -> None:
    old = csr("example.com/x")
    new = {**old, "status": {"note": "x"}}
    world = World()
    assert await world.update("certificatesigningrequests", new, old, subresource="status", user=ALICE) == new
