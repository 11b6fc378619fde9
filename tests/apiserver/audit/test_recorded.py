"""The audit log beside that of kube-apiserver 1.36.3 for the same requests (``tests/data/audit``)."""

import json
import re
from pathlib import Path
from typing import Any

from tests.apiserver.http.client import Client

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.audit.auditor import AuditSettings
from flexlet.apiserver.server import Settings, serving

DATA = Path("tests/data/audit")
RANDOM = {
    "auditID": r"[0-9a-f-]{36}",
    "requestReceivedTimestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
    "stageTimestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
}
# What differs from pod to pod, from object to object and from certificate to certificate.
VALUES = {
    r'"uid":"[0-9a-f-]{36}"': '"uid":"UID"',
    r'"resourceVersion":"\d+"': '"resourceVersion":"RV"',
    r"kube-api-access-\w{5}": "kube-api-access-XXXXX",
    r"X509SHA256=\w{64}": "X509SHA256=SUM",
    r'"creationTimestamp":"[^"]+"': '"creationTimestamp":"TIME"',
}
# Upstream also says which kind of impersonation let a request through, and what Pod Security enforced.
LEFT_OUT = ("authenticationMetadata",)
PLUGINS = "pod-security.kubernetes.io/enforce-policy"


async def test_events_are_those_of_kube_apiserver(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    audit = AuditSettings(policy_file=DATA / "policy.yaml", log_path=str(log))
    async with serving(Settings(data=tmp_path / "data", audit=audit), SystemClock()) as server:
        clients = {
            "admin": Client(server, tmp_path, "admin", ["system:masters"]),
            "stranger": Client(server, tmp_path, "stranger", ["people"]),
            "nobody": Client(server, tmp_path, "", []),
        }
        for request in json.loads((DATA / "requests.json").read_text()):
            await _send(clients, request)
        for client in clients.values():
            await client.close()
    recorded = (DATA / "kube-apiserver-1.36.3.jsonl").read_text()
    assert _events(log.read_text()) == _events(recorded)
    assert log.stat().st_mode & 0o777 == 0o600


async def _send(clients: dict[str, Client], request: dict[str, Any]) -> None:
    user = request.get("as", "admin")
    headers = {"User-Agent": "recorder", **request.get("headers", {})}
    if user == "token":
        headers["Authorization"] = "Bearer nonsense"
        user = "nobody"
    if "type" in request:
        headers["Content-Type"] = request["type"]
    answer = await clients[user].ask(request["method"], request["path"], request.get("body"), **headers)
    if "Audit-ID" in headers:
        assert answer.headers["Audit-Id"] == headers["Audit-ID"]


def _events(text: str) -> list[dict[str, Any]]:
    lines = [line for line in text.splitlines() if '"/api/v1/namespaces/default/serviceaccounts"' not in line]
    return [_comparable(json.loads(_settled(line))) for line in lines]


def _settled(line: str) -> str:
    for pattern, value in VALUES.items():
        line = re.sub(pattern, value, line)
    return line


def _comparable(event: dict[str, Any]) -> dict[str, Any]:
    for key, pattern in RANDOM.items():
        if event[key] != "chosen-by-the-client":
            assert re.fullmatch(pattern, event.pop(key))
    for key in LEFT_OUT:
        event.pop(key, None)
    event.get("annotations", {}).pop(PLUGINS, None)
    return event
