"""The audit log of one server: its policy, its sink, and a trail for each request."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from flexlet.apiserver import yamltext
from flexlet.apiserver.audit import policy as policies
from flexlet.apiserver.audit.policy import Policy
from flexlet.apiserver.audit.sink import Rotation, Sink
from flexlet.apiserver.audit.trail import Trail, received
from flexlet.apiserver.rest.uids import new_uid
from flexlet.apiserver.yamltext import YamlFault
from flexlet.errors import ConfigError
from flexlet.ports.clock import Clock

TRAIL: Final = web.RequestKey("flexlet.audit", Trail)
"""Under this key a request carries its trail, for those who answer it themselves."""
MAX_POLICY_BYTES: Final = 1024 * 1024


class AuditSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Upstream's flags: the policy, where the log goes (``-`` is standard output), how it is turned over."""

    policy_file: Path | None = None
    log_path: str = ""
    rotation: Rotation = Rotation()


class Auditor:
    """Opens trails."""

    def __init__(self, policy: Policy, sink: Sink, clock: Clock) -> None:
        self._policy = policy
        self._sink = sink
        self._clock = clock

    def open(self, request: web.BaseRequest) -> Trail:
        """The trail of a request that has just come in."""
        found = received(request.raw_path, request.headers, request.remote, self._clock.now(), new_uid)
        trail = Trail(self._policy, found, self._sink.put, self._clock.now)
        request[TRAIL] = trail
        return trail

    def counters(self) -> Mapping[str, tuple[str, int]]:
        """What ``/metrics`` says of the log, with a help text each."""
        return {
            "apiserver_audit_event_total": ("Audit events written to the log.", self._sink.written),
            "apiserver_audit_error_total": (
                "Audit events dropped: the queue was full, or the log could not be written.",
                self._sink.dropped,
            ),
        }

    def close(self) -> None:
        """Write what is queued and end; blocks for a moment."""
        self._sink.close()


def open_auditor(settings: AuditSettings, clock: Clock) -> Auditor | None:
    """The auditor that the flags ask for, None if they ask for none; like upstream, it takes both of them.

    Raises:
        ConfigError: the policy or the log cannot be used.
    """
    if settings.policy_file is None and not settings.log_path:
        return None
    if settings.policy_file is None:
        raise ConfigError("--audit-log-path needs --audit-policy-file, which says what is logged")
    if not settings.log_path:
        raise ConfigError("--audit-policy-file needs --audit-log-path: a file, or - for standard output")
    policy = load_policy(settings.policy_file)
    return Auditor(policy, Sink(settings.log_path, settings.rotation), clock)


def load_policy(path: Path) -> Policy:
    """The policy of a file, YAML or JSON; ConfigError if it is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_POLICY_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read the audit policy {path}: {error.strerror}") from error
    if len(data) > MAX_POLICY_BYTES:
        raise ConfigError(f"cannot read the audit policy {path}: it is larger than 1 MiB")
    try:
        value = yamltext.load(data)
    except YamlFault as error:
        raise ConfigError(f"cannot read the audit policy {path}: {error.message}") from None
    return policies.read(value, str(path))
