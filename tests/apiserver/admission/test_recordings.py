"""Every write of the recorded admission session, decided by our plugins: the same objects, the same refusals.

What another part of the server decides (authentication, authorization, validation, storage) is left out. State
that the session prepared out of sight is set up here, step by step, as its notes tell.
"""

import base64
import copy
import json
import re
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.apiserver.admission.world import ADMIN, KINDS, World, add_namespace, node_user, request_of

from flexlet.api.decode import from_value, to_value
from flexlet.api.pod import Pod
from flexlet.api.quota import ResourceQuota
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest, User
from flexlet.core.quota.claim import Counting, pod_claim
from flexlet.core.quota.measure import measure
from flexlet.core.resources.defaults import default_pod_dict

LINES = [
    json.loads(line) for line in (Path(__file__).parents[2] / "data/http/admission.jsonl").read_text().splitlines()
]
NODE = "rec-node-1"
PATH = re.compile(r"/apis?/(?:(?P<group>[^/]+\.[^/]+)/)?v1/(?:namespaces/(?P<namespace>[^/]+)/)?(?P<rest>.+)")
RANDOM = re.compile(r"kube-api-access-\w{5}")
OF_ADMISSION = (
    "priority",
    "preemptionPolicy",
    "priorityClassName",
    "tolerations",
    "serviceAccountName",
    "serviceAccount",
    "imagePullSecrets",
    "volumes",
)


def is_decided_by_admission(line: Any) -> bool:
    """Leave out reads, unknown kinds, and refusals of authorization, validation and storage."""
    if line["method"] == "GET" or line["status"] not in {200, 201, 403} or parts_of(line)[1] not in KINDS:
        return False
    message = (line["response_body"] or {}).get("message", "")
    return 'User "' not in message and "attempting to grant" not in message


def parts_of(line: Any) -> tuple[str, str, str, str]:
    """Namespace, plural, name and subresource of the path."""
    match = PATH.fullmatch(line["path"])
    if match is None:
        return "", "", "", ""
    plural, name, subresource = [*str(match["rest"]).split("/"), "", ""][:3]
    return match["namespace"] or "", plural, name, subresource


class Session:
    """The recorded server: our world plus the steps that were taken out of sight."""

    def __init__(self) -> None:
        self.world = World()
        for namespace in ("rec-adm", "rec-lr", "rec-rq", "kube-node-lease"):
            add_namespace(self.world, namespace)
        for name, value in (("system-node-critical", 2000001000), ("system-cluster-critical", 2000000000)):
            self.put_class(name, value, "PreemptLowerPriority")
        self.put_class("rec-high", 1000, "PreemptLowerPriority")
        self.put_class("rec-np", -3, "Never")
        self.put_node()
        self.prepare: dict[int, Any] = {
            14: lambda: self.world.objects.pop(("scheduling.k8s.io/priorityclasses", "", "rec-def")),
            19: lambda: add_namespace(self.world, "rec-adm", labels=security("warn", "restricted")),
            20: lambda: add_namespace(self.world, "rec-adm", labels=security("enforce", "baseline")),
            21: lambda: add_namespace(self.world, "rec-adm"),
            32: lambda: self.world.put("resourcequotas", recorded(31), "rec-rq"),
            43: self.finish_pod,
            47: lambda: self.put_pods(recorded(47), recorded(54), recorded(57)),
            54: lambda: self.put_node("InPlacePodLevelResourcesVerticalScaling"),
            57: lambda: self.put_node("GuaranteedQoSPodCPUResize"),
            58: self.put_node,
            72: lambda: self.world.put("nodes", recorded(67)),
            111: self.put_token_pods,
        }

    def put_class(self, name: str, value: int, policy: str) -> None:
        """A PriorityClass."""
        self.world.put("priorityclasses", {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy})

    def put_node(self, *features: str) -> None:
        """The node all pods are bound to."""
        status_ = {"allocatable": {"cpu": "4", "memory": "8Gi"}, "declaredFeatures": list(features)}
        self.world.put("nodes", {"metadata": {"name": NODE, "uid": "<uid:26>"}, "status": status_})

    def put_pods(self, *pods: Object) -> None:
        """Pods as they were before their first resize."""
        for index, pod in enumerate(copy.deepcopy(pods)):
            pod["metadata"]["generation"] = 1
            if index == 1:
                pod["spec"]["resources"]["requests"]["cpu"] = "1"
            else:
                pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1"
            self.world.put("pods", pod, "rec-adm")

    def put_token_pods(self) -> None:
        """Two pods of the node, with and without a token volume."""
        token = {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
        for name, uid, volumes in (("vol", "<uid:32>", [token]), ("nomount", "<uid:33>", [])):
            spec = {"nodeName": NODE, "volumes": volumes}
            self.world.put("pods", {"metadata": {"name": name, "uid": uid}, "spec": spec}, "rec-adm")

    def finish_pod(self) -> None:
        """The pod of the quota tests succeeded, and usage was counted anew."""
        self.world.objects["pods", "rec-rq", "q1"]["status"]["phase"] = "Succeeded"
        quota = self.world.objects["resourcequotas", "rec-rq", "q1"]
        pods = [from_value(pod, Pod) for pod in self.world.list("pods", "rec-rq")]
        claims = [pod_claim(pod, 0, Counting()) for pod in pods]
        quota["status"] = to_value(measure(from_value(quota, ResourceQuota), claims, {"pods"}))
        quota["status"]["used"]["secrets"] = "1"

    def request(self, line: Any) -> AdmissionRequest:
        """The recorded request as the pipeline would hand it to admission."""
        namespace, plural, name, subresource = parts_of(line)
        stored = self.world.get(KINDS[plural].storage_bucket, namespace, name) if name else None
        body = copy.deepcopy(line.get("request_body"))
        rest = {
            "user": user_of(line),
            "subresource": subresource,
            "name": name or ((body or {}).get("metadata") or {}).get("name", ""),
            "dry_run": (line.get("query") or {}).get("dryRun") == "All",
        }
        if line["method"] == "DELETE":
            return request_of("DELETE", plural, None, namespace, old=stored, **rest)
        if line["method"] == "PATCH":
            assert stored is not None, line
            return request_of("UPDATE", plural, patched(stored, body, subresource), namespace, old=stored, **rest)
        if plural == "pods" and not subresource:
            default_pod_dict(body)
        if plural == "certificatesigningrequests":
            body["spec"]["request"] = signing_request(line["status"] == 201)
        return request_of("CREATE", plural, body, namespace, **rest)


def recorded(seq: int) -> Object:
    """The answer of a line."""
    body: Object = LINES[seq - 1]["response_body"]
    return body


def security(mode: str, level: str) -> dict[str, str]:
    """A namespace label."""
    return {f"pod-security.kubernetes.io/{mode}": level}


def user_of(line: Any) -> User:
    """Who asked."""
    name = line.get("as_user", "")
    return node_user(name.removeprefix("system:node:")) if name.startswith("system:node:") else ADMIN


def patched(stored: Object, patch: Object, subresource: str) -> Object:
    """The object after a patch; containers merge by name, the generation follows the spec."""
    result: Object = merged(copy.deepcopy(stored), patch)
    if subresource == "resize":
        default_pod_dict(result)
        result["metadata"]["generation"] += result["spec"] != stored["spec"]
    return result


def merged(value: Any, patch: Any) -> Any:
    """A merge patch, except that lists of named things merge by name."""
    if isinstance(patch, dict) and isinstance(value, dict):
        return {**value, **{key: merged(value.get(key), part) for key, part in patch.items()}}
    if isinstance(patch, list) and isinstance(value, list) and all("name" in part for part in (*patch, *value)):
        changes = {part["name"]: part for part in patch}
        return [merged(part, changes.get(part["name"], {})) for part in value]
    return copy.deepcopy(patch)


def signing_request(is_own: bool) -> str:
    """A certificate request, for the node or for another one."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{NODE if is_own else 'other'}")])
    key = ec.generate_private_key(ec.SECP256R1())
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


def admitted_part(pod: Object) -> Object:
    """What of a pod admission decides on."""
    part = {key: pod["spec"].get(key) for key in OF_ADMISSION}
    part["annotations"] = pod["metadata"].get("annotations")
    part["containers"] = [(c["resources"], c.get("volumeMounts")) for c in pod["spec"]["containers"]]
    result: Object = json.loads(RANDOM.sub("kube-api-access-<rand>", json.dumps(part)))
    return result


async def test_every_recorded_write_has_the_recorded_outcome() -> None:
    session = Session()
    checked = 0
    for line in LINES:
        session.prepare.get(line["seq"], lambda: None)()
        if line["seq"] == 41:
            await session.world.create("secrets", {"metadata": {"name": "a"}}, "rec-rq")
        if is_decided_by_admission(line):
            await check(session, line)
            checked += 1
        elif line["path"].startswith("/api/v1/namespaces/rec-rq/resourcequotas/q1"):
            stored = session.world.objects.get(("resourcequotas", "rec-rq", "q1"), line["response_body"])
            assert without_config_maps(stored) == without_config_maps(line["response_body"]), line["seq"]
    assert checked == 91


async def check(session: Session, line: Any) -> None:
    """One write: refused as recorded, or let through and stored as recorded."""
    request = session.request(line)
    namespace, plural, name, subresource = parts_of(line)
    if line["status"] == 403:
        assert await session.world.refusal(request) == line["response_body"], line["seq"]
        return
    obj = await session.world.admit(request)
    answer = line["response_body"]
    if plural == "pods" and line["method"] == "POST" and not subresource:
        assert admitted_part(obj) == admitted_part(answer), line["seq"]
    if plural == "nodes" and line["method"] == "POST":
        assert obj["spec"] == answer["spec"], line["seq"]
    if subresource == "binding":
        session.world.objects["pods", namespace, name]["spec"]["nodeName"] = obj["target"]["name"]
    texts = (line.get("response_headers") or {}).get("Warning")
    if line["seq"] == 19:
        assert [f"299 - {json.dumps(warning)}" for warning in request.warnings] == [texts]
    if answer.get("kind") == KINDS[plural].kind and not request.dry_run and line["method"] != "DELETE":
        session.world.put(plural, answer, namespace)


def without_config_maps(quota: Object) -> Any:
    """The status; how many ConfigMaps there were depends on steps the session does not show."""
    return {
        key: {name: amount for name, amount in part.items() if name != "count/configmaps"}
        for key, part in quota["status"].items()
    }
