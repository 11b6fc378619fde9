"""``audit.k8s.io/v1`` Policy: which requests are written to the audit log, and how much of them.

Pure. Rules are tried in order and the first that matches decides; what no rule matches is not logged. Follows
``apiserver/pkg/audit/policy`` and its validation. Unlike upstream, which only warns, a field nobody knows is an
error: a rule with a misspelt field would match more than was meant.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from flexlet.apiserver.contract.request import Attributes
from flexlet.errors import ConfigError

NONE: Final = "None"
METADATA: Final = "Metadata"
REQUEST: Final = "Request"
REQUEST_RESPONSE: Final = "RequestResponse"
LEVELS: Final = (NONE, METADATA, REQUEST, REQUEST_RESPONSE)

RECEIVED: Final = "RequestReceived"
STARTED: Final = "ResponseStarted"
COMPLETE: Final = "ResponseComplete"
PANIC: Final = "Panic"

Level = Literal["None", "Metadata", "Request", "RequestResponse"]
Stage = Literal["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is read from the file."""


class GroupResources(_Strict, frozen=True, kw_only=True):
    """Resources of one API group; no names mean all of them."""

    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def matches(self, wanted: Attributes) -> bool:
        """Whether the request is about one of them."""
        if self.group != wanted.group:
            return False
        if not self.resources:
            return True
        if self.resource_names and wanted.name not in self.resource_names:
            return False
        return any(_matches_resource(name, wanted) for name in self.resources)


class PolicyRule(_Strict, frozen=True, kw_only=True):
    """One rule: every list that is not empty must match."""

    level: Level
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    namespaces: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool | None = None

    def matches(self, wanted: Attributes) -> bool:
        """Whether the rule is about the request."""
        user = wanted.user
        if self.users and user.name not in self.users:
            return False
        if self.user_groups and not set(self.user_groups) & set(user.groups):
            return False
        if self.verbs and wanted.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return bool(wanted.resource) and self._matches_resource(wanted)
        if self.non_resource_urls:
            return not wanted.resource and any(_matches_path(url, wanted.path) for url in self.non_resource_urls)
        return True

    def _matches_resource(self, wanted: Attributes) -> bool:
        if self.namespaces and wanted.namespace not in self.namespaces:
            return False
        return not self.resources or any(group.matches(wanted) for group in self.resources)


class Policy(_Strict, frozen=True, kw_only=True):
    """The file."""

    api_version: Literal["audit.k8s.io/v1"]
    kind: Literal["Policy"]
    metadata: dict[str, Any] = {}
    rules: tuple[PolicyRule, ...] = ()
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool = False

    def evaluate(self, wanted: Attributes) -> "Verdict":
        """What is written of a request."""
        for rule in self.rules:
            if rule.matches(wanted):
                omitted = frozenset((*self.omit_stages, *rule.omit_stages))
                managed = rule.omit_managed_fields
                return Verdict(rule.level, omitted, self.omit_managed_fields if managed is None else managed)
        return Verdict(NONE, frozenset(self.omit_stages), self.omit_managed_fields)


class Verdict(msgspec.Struct, frozen=True):
    """The level of a request, the stages that are left out, and whether managedFields are."""

    level: str
    omitted: frozenset[str] = frozenset()
    without_managed_fields: bool = False

    def includes(self, level: str) -> bool:
        """Whether as much as `level` is written."""
        return LEVELS.index(self.level) >= LEVELS.index(level)


def read(value: Any, source: str) -> Policy:
    """A policy from the document of a file.

    Raises:
        ConfigError: it is none, or one of its rules cannot mean anything.
    """
    try:
        policy = msgspec.convert(value, Policy)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source} is no audit policy: {error}; see audit.k8s.io/v1 Policy") from None
    problems = list(_problems(policy))
    if problems:
        raise ConfigError(f"{source} is no audit policy: {'; '.join(problems)}")
    return policy


def _problems(policy: Policy) -> Iterator[str]:
    if not policy.rules:
        yield "it has no rules, so nothing would be logged"
    for i, rule in enumerate(policy.rules):
        path = f"rules[{i}]"
        if rule.non_resource_urls and (rule.resources or rule.namespaces):
            yield f"{path}: a rule cannot be about both resources and nonResourceURLs"
        for url in rule.non_resource_urls:
            if url != "*" and (not url.startswith("/") or "*" in url[:-1]):
                yield f"{path}.nonResourceURLs: {url!r} must begin with / and may have a * only at its end"
        for j, group in enumerate(rule.resources):
            if group.resource_names and not group.resources:
                yield f"{path}.resources[{j}].resourceNames: needs at least one resource beside it"
            if "/" in group.group:
                yield f"{path}.resources[{j}].group: {group.group!r} must be a group without a version"


def _matches_resource(pattern: str, wanted: Attributes) -> bool:
    """``*``, ``pods``, ``pods/log``, ``pods/*`` (which includes pods) or ``*/status``."""
    whole = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    if pattern in {"*", whole}:
        return True
    if wanted.subresource and pattern == f"*/{wanted.subresource}":
        return True
    return pattern == f"{wanted.resource}/*"


def _matches_path(pattern: str, path: str) -> bool:
    if pattern in {"*", path}:
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))
