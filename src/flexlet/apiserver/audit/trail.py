"""One request's trail in the audit log: what becomes known of it, stage by stage, as Events.

A trail is opened for every request while auditing is on; the policy's verdict comes once the caller is known, and
a verdict of None keeps it silent. Whatever is heavy (reading bodies again, writing) is left to the sink's thread:
here an Event is a plain dict with finished bytes in it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from flexlet.apiserver.audit import policy as levels
from flexlet.apiserver.audit.policy import Policy, Verdict
from flexlet.apiserver.contract.request import Attributes, Decision, User

MAX_ID: Final = 64
MAX_AGENT: Final = 1024
TRUNCATED: Final = "...TRUNCATED"
DECISION: Final = "authorization.k8s.io/decision"
REASON: Final = "authorization.k8s.io/reason"
# What upstream calls long-running: the answer begins long before it ends, so its beginning is an Event too.
_LONG_VERBS: Final = frozenset({"watch", "proxy"})
_LONG_SUBRESOURCES: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
_STATUS_FIELDS: Final = ("status", "message", "reason", "details", "code")
_STATUS_OPENING: Final = b'{"kind":"Status"'
_NO_USER: Final = User(name="")

Json = dict[str, Any]
Emit = Callable[[Json], None]


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a request before anybody looks into it."""

    audit_id: str
    uri: str
    agent: str
    addresses: tuple[str, ...]
    at: float


class Trail:
    """What is known of one request so far."""

    def __init__(self, policy: Policy, received: Received, emit: Emit, now: Callable[[], float]) -> None:
        self._policy = policy
        self._received = received
        self._emit = emit
        self._now = now
        self._verdict = Verdict(levels.NONE)
        self._event: Json = {}
        self._reference: Json = {}
        self._annotations: dict[str, str] = {}
        self._long_running = False
        self._is_started = False
        self._is_refused = False
        self._is_finished = False
        self._requested: bytes | None = None
        self._answered: bytes | None = None

    @property
    def audit_id(self) -> str:
        """What ties all Events of the request together; the answer carries it too."""
        return self._received.audit_id

    def identified(self, attributes: Attributes) -> None:
        """The caller is known: from here on the policy decides."""
        self._begin(attributes)
        self._send(levels.RECEIVED, self._received.at)

    def refused(self, attributes: Attributes) -> None:
        """The caller's credentials are not good; nobody is named, as upstream names nobody."""
        self._begin(msgspec.structs.replace(attributes, user=_NO_USER))
        self._long_running = False
        self._is_refused = True

    def impersonating(self, user: User, constraint: str = "") -> None:
        """The request goes on as somebody else."""
        self._event["impersonatedUser"] = _shown(user)
        if constraint:
            self._event["authenticationMetadata"] = {"impersonationConstraint": constraint}

    def decided(self, decision: Decision) -> None:
        """What authorization said."""
        self._annotations[DECISION] = "allow" if decision.allowed else "forbid"
        self._annotations[REASON] = decision.reason

    def annotate(self, name: str, value: str) -> None:
        """A word of an admission plugin."""
        self._annotations[name] = value

    @property
    def wants_request(self) -> bool:
        """Whether the request's object is written."""
        return self._verdict.includes(levels.REQUEST)

    @property
    def wants_response(self) -> bool:
        """Whether the response's object is written."""
        return self._verdict.includes(levels.REQUEST_RESPONSE)

    def names(self, metadata: Mapping[str, Any]) -> None:
        """An object came along: it says what the path may have left open."""
        for key in ("namespace", "name", "uid", "resourceVersion"):
            if self._reference and not self._reference.get(key) and metadata.get(key):
                self._reference[key] = metadata[key]

    def requested(self, body: bytes) -> None:
        """The object of the request, as JSON."""
        self._requested = body

    def answered(self, body: bytes) -> None:
        """The object of the response, as JSON."""
        self._answered = body

    def started(self, code: int) -> None:
        """The headers of an answer that lasts are out."""
        if self._long_running and not self._is_started:
            self._is_started = True
            self._event["responseStatus"] = {"metadata": {}, "code": code}
            self._send(levels.STARTED, self._now())

    def complete(self, code: int) -> None:
        """The answer is out."""
        self.started(code)
        body = self._answered or b""
        problem = msgspec.json.decode(body) if body.startswith(_STATUS_OPENING) else {}
        self._finish(levels.STARTED if self._is_refused else levels.COMPLETE, _bounded(problem, code))

    def cut_off(self) -> None:
        """The client left, or the server stops, before the answer was out."""
        early = {"status": "Success", "message": "Connection closed early"}
        self._finish(levels.COMPLETE, self._event.get("responseStatus") or _bounded(early, 200))

    def panicked(self, message: str) -> None:
        """The server failed at it."""
        found = {"status": "Failure", "message": f"APIServer panic'd: {message}", "reason": "InternalError"}
        self._finish(levels.PANIC, _bounded(found, 500))

    def _begin(self, attributes: Attributes) -> None:
        self._verdict = self._policy.evaluate(attributes)
        if self._verdict.level == levels.NONE:
            return
        received = self._received
        self._long_running = (
            attributes.verb in _LONG_VERBS or attributes.subresource.partition("/")[0] in _LONG_SUBRESOURCES
        )
        self._reference = _reference(attributes)
        self._event = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": self._verdict.level,
            "auditID": received.audit_id,
            "stage": "",
            "requestURI": received.uri,
            "verb": attributes.verb,
            "user": _shown(attributes.user),
            "impersonatedUser": None,
            "authenticationMetadata": None,
            "sourceIPs": received.addresses,
            "userAgent": received.agent,
            "objectRef": None,
            "responseStatus": None,
            "requestObject": None,
            "responseObject": None,
            "requestReceivedTimestamp": received.at,
        }

    def _finish(self, stage: str, status: Json) -> None:
        if self._is_finished:
            return
        self._is_finished = True
        self._event["responseStatus"] = status
        if self._requested and self.wants_request:
            self._event["requestObject"] = self._requested
        if self._answered and self.wants_response:
            self._event["responseObject"] = self._answered
        self._send(stage, self._now())

    def _send(self, stage: str, at: float) -> None:
        if self._verdict.level == levels.NONE or stage in self._verdict.omitted:
            return
        event = {**self._event, "stage": stage, "stageTimestamp": at}
        event["objectRef"] = dict(self._reference) or None
        event["annotations"] = dict(self._annotations) or None
        event["pruned"] = self._verdict.without_managed_fields
        self._emit(event)


def received(
    raw_path: str, headers: Mapping[str, str], remote: str | None, at: float, new_id: Callable[[], str]
) -> Received:
    """A request as it came in; the client may choose the id, as clients that call on behalf of others do."""
    agent = headers.get("User-Agent", "")
    forwarded = headers.get("X-Forwarded-For", "").split(",")
    addresses = [text.strip() for text in (*forwarded, headers.get("X-Real-Ip", ""), remote or "") if text.strip()]
    return Received(
        audit_id=headers.get("Audit-ID", "")[:MAX_ID] or new_id(),
        uri=raw_path,
        agent=agent if len(agent) <= MAX_AGENT else agent[:MAX_AGENT] + TRUNCATED,
        addresses=tuple(dict.fromkeys(addresses)),
        at=at,
    )


def _shown(user: User) -> Json:
    found = {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra}
    return {key: value for key, value in found.items() if value}


def _reference(attributes: Attributes) -> Json:
    if not attributes.resource:
        return {}
    return {
        "resource": attributes.resource,
        "namespace": attributes.namespace,
        "name": attributes.name,
        "uid": "",
        "apiGroup": attributes.group,
        "apiVersion": attributes.version,
        "resourceVersion": "",
        "subresource": attributes.subresource,
    }


def _bounded(problem: Mapping[str, Any], code: int) -> Json:
    """The fields of a Status that cannot become large."""
    found = {key: problem[key] for key in _STATUS_FIELDS if problem.get(key)}
    return {"metadata": {}, **found, "code": code}
