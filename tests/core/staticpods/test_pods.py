import copy
from typing import Any

import msgspec
import pytest
from tests.core.staticpods.manifests import LENIENT, LIFE, NODE, NOW, manifest, pod, value

from flexlet.apps.podrules import ServerRules
from flexlet.core.gates import DEFAULTS
from flexlet.core.staticpods.mirrors import mirror
from flexlet.core.staticpods.pods import Manifest, Refused, StaticPod, static_pod

EXISTS = {"operator": "Exists", "effect": "NoExecute"}


def test_the_mirror_of_a_recorded_pod() -> None:
    """The body that is sent gives what the API had, apart from what the server itself adds."""
    made = static_pod(Manifest("/m/st.yaml", LIFE["pod"]), "node-a", NOW, ServerRules(DEFAULTS))
    assert isinstance(made, StaticPod)
    body = mirror(made, "node-a", "<uuid>")
    recorded = copy.deepcopy(LIFE["extra"]["mirror_pod_metadata"])
    for field in ("uid", "resourceVersion", "generation", "creationTimestamp"):
        del recorded[field]
    recorded["annotations"] = {
        key: text.replace("<config-hash>", made.uid).replace("<t+0s>", "2027-01-15T08:00:00.000000000Z")
        for key, text in recorded["annotations"].items()
    }
    spec = copy.deepcopy(LIFE["extra"]["mirror_pod_spec"])
    for field in ("priority", "preemptionPolicy"):
        del spec[field]  # the server's admission adds them
    assert (body["metadata"], body["spec"]) == (recorded, spec)


def test_a_pod_is_placed_on_its_node() -> None:
    """Name in lower case, namespace default, and an id that is a hash."""
    made = pod()
    meta = made.pod.metadata
    assert (meta.name, meta.namespace, made.pod.spec.node_name) == ("st-node-a", "default", NODE)
    assert (len(made.uid), int(made.uid, 16) > 0, meta.annotations["kubernetes.io/config.hash"]) == (
        32,
        True,
        made.uid,
    )


def test_the_hash_is_of_what_the_file_says() -> None:
    """Another content, another file or another node is another pod; another order of keys is not."""
    shuffled = dict(reversed(value().items()))
    same = static_pod(Manifest(pod().path, shuffled), NODE, NOW + 60, LENIENT)
    assert isinstance(same, StaticPod)
    assert same.uid == pod().uid
    elsewhere = static_pod(manifest(), "node-b", NOW, LENIENT)
    assert isinstance(elsewhere, StaticPod)
    others = [pod(hostNetwork=True), pod(path="/other.yaml"), elsewhere]
    assert len({pod().uid, *(other.uid for other in others)}) == 4


def test_a_uid_may_be_given() -> None:
    given = value()
    given["metadata"]["uid"] = "mine"
    made = static_pod(Manifest("/m", given), NODE, NOW, LENIENT)
    assert isinstance(made, StaticPod)
    assert (made.uid, made.pod.metadata.annotations["kubernetes.io/config.hash"]) == ("mine", "mine")


@pytest.mark.parametrize(
    ("given", "tolerations"),
    [
        ([], [EXISTS]),
        ([EXISTS], [EXISTS]),
        ([{"key": "a", **EXISTS}], [{"key": "a", **EXISTS}, EXISTS]),
    ],
)
def test_static_pods_stay_when_the_node_is_in_trouble(given: list[Any], tolerations: list[Any]) -> None:
    assert pod(tolerations=given).body["spec"]["tolerations"] == tolerations


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Manifest("/m", problem="no YAML"), "no YAML"),
        (Manifest("/m", ["Pod"]), "couldn't parse as pod: expected one object with apiVersion v1 and kind Pod"),
        (Manifest("/m", value() | {"kind": "Job"}), "couldn't parse as pod: expected one object with apiVersion"),
        (Manifest("/m", value() | {"spec": []}), "couldn't parse as pod: json: cannot unmarshal array into Go "),
        (Manifest("/m", value() | {"metadata": "x"}), "invalid pod: name is needed for the pod"),
        (
            Manifest("/m", value(tolerations="all")),
            "couldn't parse as pod: json: cannot unmarshal string into ",
        ),
        (Manifest("/m", value("")), "invalid pod: name is needed for the pod"),
        (
            Manifest("/m", value() | {"spec": {"containers": []}}),
            "invalid pod: [spec.containers: Required value]",
        ),
        (Manifest("/m", value("UPPER")), "invalid pod: [metadata.name: Invalid value: "),
        (Manifest("/m", value(serviceAccountName="x")), "static pods may not reference serviceaccounts"),
    ],
)
def test_what_cannot_run_is_refused(found: Manifest, message: str) -> None:
    """With the reason that an API server would have given."""
    refused = static_pod(found, "node-a", NOW, ServerRules(DEFAULTS))
    assert isinstance(refused, Refused)
    assert refused.message.startswith(message)


def test_a_value_of_the_wrong_type_is_refused_with_its_place() -> None:
    refused = static_pod(Manifest("/m", value(hostNetwork="maybe")), NODE, NOW, LENIENT)
    assert refused == Refused("/m", "couldn't parse as pod: Expected `bool`, got `str` - at `$.spec.hostNetwork`")


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def environment(**source: Any) -> dict[str, Any]:
    return {"initContainers": [{"name": "i", "env": [{"name": "E", "valueFrom": source}]}]}


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"imagePullSecrets": [{"name": "s"}]}, "secrets"),
        (environment(secretKeyRef={"name": "s", "key": "k"}), "secrets"),
        (volume(secret={"secretName": "s"}), "secrets"),
        (volume(projected={"sources": [{"secret": {"name": "s"}}]}), "secrets"),
        ({"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}]}]}, "configmaps"),
        (environment(configMapKeyRef={"name": "m", "key": "k"}), "configmaps"),
        (volume(configMap={"name": "m"}), "configmaps"),
        (volume(projected={"sources": [{"configMap": {"name": "m"}}]}), "configmaps"),
        ({"resourceClaims": [{"name": "r"}]}, "resourceclaims"),
        (volume(csi={"driver": "d"}), "csidrivers (via CSI volumes)"),
        (volume(persistentVolumeClaim={"claimName": "p"}), "persistentvolumeclaims"),
        (volume(ephemeral={}), "persistentvolumeclaims (via ephemeral volumes)"),
        (volume(glusterfs={}), "endpoints (via glusterFS volumes)"),
        (
            volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}),
            "serviceaccounts (via projected volumes)",
        ),
        (volume(projected={"sources": [{"clusterTrustBundle": {"path": "t"}}]}), "clustertrustbundles"),
        (volume(projected={"sources": [{"podCertificate": {}}]}), "podcertificates"),
        ({"serviceAccount": "old-name"}, "serviceaccounts"),
    ],
)
def test_static_pods_stand_alone(spec: dict[str, Any], kind: str) -> None:
    """They must run without an API, so they may not need anything from it."""
    refused = static_pod(manifest(**spec), NODE, NOW, LENIENT)
    assert isinstance(refused, Refused)
    assert refused.message == f"static pods may not reference {kind}"


def test_what_needs_no_api_is_welcome() -> None:
    sources: list[Any] = [{"downwardAPI": {"items": []}}]
    spec: dict[str, Any] = {
        "volumes": [{"name": "a", "hostPath": {"path": "/x"}}, {"name": "b", "projected": {"sources": sources}}]
    }
    assert msgspec.to_builtins(pod(**spec).pod.spec.volumes[0].host_path) == {"path": "/x"}
