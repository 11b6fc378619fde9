"""Callers without, with foreign and with outlived credentials: the Status that upstream gives."""

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.clients import manifests
from tests.servers import Running

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.kube.kubeconfig import Credentials
from flexlet.api.status import ApiError
from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.certificates import Credential
from flexlet.apiserver.auth.pki import Pki, open_pki
from flexlet.ports.cluster import NAMESPACES, PODS, Ref

pytestmark = pytest.mark.slow

ACCOUNTS = Ref("", "v1", "serviceaccounts")
ROLES = Ref("rbac.authorization.k8s.io", "v1", "roles")
BINDINGS = Ref("rbac.authorization.k8s.io", "v1", "rolebindings")
UNAUTHORIZED = (401, "Unauthorized", "Unauthorized")
DAY_S = 86400.0
MASTERS = ("system:masters",)

As = Callable[[Credential | str | None], HttpCluster]


def now() -> float:
    return time.time()  # the server under test has no other clock


@pytest.fixture(scope="module")
def admin(server: Running) -> Credentials:
    return kubeconfig.load(server.kubeconfig)


@pytest.fixture(scope="module")
def pki(server: Running) -> Pki:
    return open_pki(server.data / "pki", ["127.0.0.1"], now())


@pytest.fixture
def caller(admin: Credentials) -> As:
    """A client with a certificate, a token or nothing in place of the administrator's certificate."""

    def make(shown: Credential | str | None) -> HttpCluster:
        base = Credentials(server=admin.server, ca=admin.ca)
        if isinstance(shown, str):
            return HttpCluster(msgspec.structs.replace(base, token=shown))
        if shown is None:
            return HttpCluster(base)
        return HttpCluster(msgspec.structs.replace(base, certificate=shown.certificate_pem, key=shown.key_pem))

    return make


@pytest_asyncio.fixture
async def cluster(admin: Credentials) -> AsyncIterator[HttpCluster]:
    async with HttpCluster(admin) as client:
        yield client


@pytest_asyncio.fixture
async def namespace(cluster: HttpCluster, name: str) -> str:
    await cluster.create(NAMESPACES, "", manifests.namespace(name))
    return name


async def refused(client: HttpCluster, namespace: str = "default") -> tuple[Any, Any, Any]:
    """Code, reason and message that a list of pods ends with."""
    async with client:
        with pytest.raises(ApiError) as caught:
            await client.list(PODS, namespace)
    return caught.value.status.code, caught.value.status.reason, caught.value.status.message


def forbidden(user: str, namespace: str) -> tuple[int, str, str]:
    action = f'User "{user}" cannot list resource "pods" in API group ""'
    return 403, "Forbidden", f'pods is forbidden: {action} in the namespace "{namespace}"'


async def token_of(cluster: HttpCluster, namespace: str, account: str, **spec: Any) -> str:
    made = await cluster.create(ACCOUNTS, namespace, {"spec": spec}, path=f"{account}/token")
    return str(msgspec.json.decode(made)["status"]["token"])


async def allow_pods(cluster: HttpCluster, namespace: str, account: str) -> None:
    """Let an account list the pods of its own namespace."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    await cluster.create(ROLES, namespace, {"metadata": {"name": "pods"}, "rules": rules})
    binding = {
        "metadata": {"name": "pods"},
        "roleRef": {"apiGroup": ROLES.group, "kind": "Role", "name": "pods"},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
    await cluster.create(BINDINGS, namespace, binding)


async def test_nobody_is_anonymous_and_may_nothing(caller: As) -> None:
    """Without a credential a caller is known as nobody, and refused by authorization."""
    assert await refused(caller(None)) == forbidden("system:anonymous", "default")


async def test_a_certificate_without_rights_is_forbidden(caller: As, pki: Pki) -> None:
    """A good certificate of somebody without a role."""
    alice = pki.client("alice", ("devs",), now())
    assert await refused(caller(alice)) == forbidden("alice", "default")


@pytest.mark.parametrize("flaw", ["foreign", "same name", "expired", "not yet valid", "serving"])
async def test_a_bad_certificate_is_unauthorized(caller: As, pki: Pki, flaw: str) -> None:
    """Signed by somebody else, also under our authority's name, out of time, or made for serving."""
    at = now()
    other, namesake = certificates.new_authority("other", at), certificates.new_authority("flexlet", at)
    credential = {
        "foreign": certificates.issue_client(other, "admin", MASTERS, at, 1),
        "same name": certificates.issue_client(namesake, "admin", MASTERS, at, 1),
        "expired": pki.client("admin", MASTERS, at - 3 * DAY_S, days=1),
        "not yet valid": pki.client("admin", MASTERS, at + 3 * DAY_S, days=1),
        "serving": pki.serving,
    }[flaw]
    assert await refused(caller(credential)) == UNAUTHORIZED


@pytest.mark.parametrize("token", ["x", "a.b.c", "e30.e30.e30", "abcdef.0123456789abcdef", "ü", "%00"])
async def test_a_token_that_is_none_is_unauthorized(caller: As, token: str) -> None:
    """Whatever stands behind `Bearer`, it is never taken for an anonymous caller."""
    assert await refused(caller(token)) == UNAUTHORIZED


async def test_an_account_has_no_rights_in_another_namespace(
    cluster: HttpCluster, caller: As, namespace: str
) -> None:
    """Its role ends at the namespace's border."""
    await allow_pods(cluster, namespace, "default")
    token = await token_of(cluster, namespace, "default")
    async with caller(token) as account:
        assert (await account.list(PODS, namespace)).items == ()
    user = f"system:serviceaccount:{namespace}:default"
    assert await refused(caller(token), "kube-system") == forbidden(user, "kube-system")


async def test_a_deleted_accounts_token_is_unauthorized(cluster: HttpCluster, caller: As, namespace: str) -> None:
    """Also when an account of the same name takes its place: the token names the old one's uid."""
    body = {"metadata": {"name": "worker"}}
    await cluster.create(ACCOUNTS, namespace, body)
    await allow_pods(cluster, namespace, "worker")
    token = await token_of(cluster, namespace, "worker")
    async with caller(token) as account:
        assert (await account.list(PODS, namespace)).items == ()
    await cluster.delete(ACCOUNTS, namespace, "worker")
    assert await refused(caller(token), namespace) == UNAUTHORIZED
    await cluster.create(ACCOUNTS, namespace, body)
    assert await refused(caller(token), namespace) == UNAUTHORIZED


async def test_a_token_for_others_is_unauthorized(cluster: HttpCluster, caller: As, namespace: str) -> None:
    """A token whose audience is somebody else is no credential here."""
    token = await token_of(cluster, namespace, "default", audiences=["https://elsewhere.example"])
    assert await refused(caller(token), namespace) == UNAUTHORIZED


async def test_a_token_ends_with_the_pod_it_is_bound_to(cluster: HttpCluster, caller: As, namespace: str) -> None:
    """A pod's token is good for as long as the pod is there."""
    made = await cluster.create(PODS, namespace, manifests.pod("p"))
    uid = msgspec.json.decode(made)["metadata"]["uid"]
    await allow_pods(cluster, namespace, "default")
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": uid}
    token = await token_of(cluster, namespace, "default", boundObjectRef=bound)
    async with caller(token) as account:
        assert len((await account.list(PODS, namespace)).items) == 1
    await cluster.delete(PODS, namespace, "p", {"gracePeriodSeconds": 0})
    assert await refused(caller(token), namespace) == UNAUTHORIZED


async def test_a_token_signed_by_somebody_else_is_unauthorized(
    cluster: HttpCluster, caller: As, namespace: str
) -> None:
    """Every changed bit of header, claims or signature breaks it."""
    token = await token_of(cluster, namespace, "default")
    for index in range(0, len(token), 97):
        other = "A" if token[index] != "A" else "B"
        assert await refused(caller(token[:index] + other + token[index + 1 :]), namespace) == UNAUTHORIZED
