"""Acting as somebody else: the ``Impersonate-*`` headers.

Upstream 1.36 tries several modes in order; the first that allows wins and the first refusal is the one shown.
Constrained modes ask two questions (may the caller do *this* while being somebody else, verb
``impersonate-on:MODE:VERB``; may it be *that* somebody, verb ``impersonate:MODE``); the last, the one everybody
knows, asks only for verb ``impersonate``. Upstream's caches are left out: our authorizer answers from memory.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote

import msgspec

from flexlet.api import status
from flexlet.api.gotext import quote
from flexlet.apiserver.auth.accounttokens import NODE_NAME, account_groups
from flexlet.apiserver.auth.authorize import MASTERS, Authorizer, forbidden
from flexlet.apiserver.auth.node import NODES_GROUP, PREFIX
from flexlet.apiserver.contract.request import ANONYMOUS, Attributes, User

_MARK: Final = "impersonate-"
_EXTRA: Final = "impersonate-extra-"
_ACCOUNT: Final = "system:serviceaccount:"
_AUTHENTICATION: Final = "authentication.k8s.io"


def wanted_user(headers: Mapping[str, str]) -> User | None:
    """Whom the headers ask to be, None where they ask nothing.

    Raises:
        BadRequest: groups, uid or extra without a user.
    """
    # Names first: nearly every request has none of these headers.
    if not any(name[:12].lower() == _MARK for name in headers):
        return None
    groups: list[str] = []
    extra: dict[str, tuple[str, ...]] = {}
    single: dict[str, str] = {}
    for header, value in headers.items():
        name = header.lower()
        if name == "impersonate-group":
            groups.append(value)
        elif name.startswith(_EXTRA):
            key = unquote(name.removeprefix(_EXTRA))
            extra[key] = (*extra.get(key, ()), value)
        elif name.startswith(_MARK):
            single.setdefault(name, value)
    uid = single.get("impersonate-uid", "")
    user = User(name=single.get("impersonate-user", ""), uid=uid, groups=tuple(groups), extra=extra)
    if not user.name and (user.uid or user.groups or user.extra):
        raise status.bad_request(f"requested {_go_syntax(user)} without impersonating a user name")
    return user if user.name else None


def impersonated(wanted: User, attributes: Attributes, authorizer: Authorizer) -> User:
    """The user to go on with, once the caller of `attributes` may be `wanted` for this request.

    Raises:
        Forbidden: it may not.
    """
    refusal: status.ApiError | None = None
    for mode in _modes(wanted, attributes.user):
        try:
            for question in _questions(mode, wanted, attributes):
                authorizer.require(question)
        except status.Forbidden as error:
            refusal = refusal or error
        else:
            return _completed(mode, wanted)
    raise refusal or forbidden(attributes, "all impersonation modes failed")


class Mode(NamedTuple):
    """One way to be allowed; the last one has no name."""

    name: str

    @property
    def verb(self) -> str:
        """What the caller must be allowed to do to the user's name, groups, uid and extra."""
        return f"impersonate:{self.name}" if self.name else "impersonate"

    @property
    def group(self) -> str:
        """The API group users and groups are asked for in."""
        return _AUTHENTICATION if self.name else ""


def _modes(wanted: User, caller: User) -> Iterator[Mode]:
    only_name = not (wanted.uid or wanted.groups or wanted.extra)
    node = _node(wanted)
    if node and only_name:
        if caller.name.startswith(_ACCOUNT) and caller.extra.get(NODE_NAME) == (node,):
            yield Mode("associated-node")
        yield Mode("arbitrary-node")
    elif _account(wanted) and only_name:
        yield Mode("serviceaccount")
    if not node and not _account(wanted):
        yield Mode("user-info")
    yield Mode("")


def _questions(mode: Mode, wanted: User, attributes: Attributes) -> Iterable[Attributes]:
    """Everything the caller must be allowed to do."""
    caller = attributes.user
    if mode.name:
        verb = f"impersonate-on:{mode.name}:{attributes.verb}"
        yield msgspec.structs.replace(attributes, verb=verb)
    yield _name_question(mode, wanted, caller)
    if wanted.uid:
        yield _question(mode, caller, _AUTHENTICATION, "uids", wanted.uid)
    for group in wanted.groups:
        question = _question(mode, caller, mode.group, "groups", group)
        if mode.name and group in {"", MASTERS}:
            what = f"the {group} group" if group else "the empty string group"
            raise forbidden(question, f"impersonating {what} is not allowed")
        yield question
    for key, values in wanted.extra.items():
        for value in values:
            question = _question(mode, caller, _AUTHENTICATION, "userextras", value)
            yield msgspec.structs.replace(question, subresource=key)


def _name_question(mode: Mode, wanted: User, caller: User) -> Attributes:
    account, node = _account(wanted), _node(wanted)
    if account:
        namespace, name = account
        question = _question(mode, caller, mode.group, "serviceaccounts", name)
        return msgspec.structs.replace(question, namespace=namespace)
    if mode.name and node:
        # The right to be one's own node is not a right to one node by name.
        return _question(mode, caller, mode.group, "nodes", "*" if mode.name == "associated-node" else node)
    return _question(mode, caller, mode.group, "users", wanted.name)


def _question(mode: Mode, caller: User, group: str, resource: str, name: str) -> Attributes:
    return Attributes(user=caller, verb=mode.verb, group=group, version="v1", resource=resource, name=name)


def _completed(mode: Mode, wanted: User) -> User:
    """The user with the groups that come with being it."""
    groups, account = wanted.groups, _account(wanted)
    if mode.name and _node(wanted):
        groups = (NODES_GROUP,)
    elif account and not groups:
        groups = account_groups(account[0])
    if wanted.name == ANONYMOUS.name:
        added = "system:unauthenticated"
    elif "system:unauthenticated" in groups:
        added = ""
    else:
        added = "system:authenticated"
    if added and added not in groups:
        groups = (*groups, added)
    return msgspec.structs.replace(wanted, groups=groups)


def _node(user: User) -> str:
    return user.name.removeprefix(PREFIX) if user.name.startswith(PREFIX) else ""


def _account(user: User) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name."""
    parts = user.name.removeprefix(_ACCOUNT).split(":") if user.name.startswith(_ACCOUNT) else []
    return (parts[0], parts[1]) if len(parts) == 2 and all(parts) else None


def _go_syntax(user: User) -> str:
    """The user as Go's ``%#v`` prints it, for the one message that shows it so."""
    groups = f"{{{', '.join(map(quote, user.groups))}}}" if user.groups else "(nil)"
    pairs = (f"{quote(key)}:[]string{{{', '.join(map(quote, user.extra[key]))}}}" for key in sorted(user.extra))
    extra = f"{{{', '.join(pairs)}}}" if user.extra else "(nil)"
    return (
        f"&user.DefaultInfo{{Name:{quote(user.name)}, UID:{quote(user.uid)}, "
        f"Groups:[]string{groups}, Extra:map[string][]string{extra}}}"
    )
