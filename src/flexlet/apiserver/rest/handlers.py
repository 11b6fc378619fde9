"""Paths that are no stored object: reviews, tokens, binding, eviction, scale.

A handler is found by (group, plural, subresource); what registers them is whoever knows the subject.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.rest.call import Answer, Call
from flexlet.apiserver.rest.patching import Patch


class Handled(msgspec.Struct, frozen=True):
    """A request to a handler: the verb, the call, and the body or patch that came with it."""

    verb: str
    call: Call
    body: Object | None = None
    patch: Patch | None = None


Handler: TypeAlias = Callable[[Handled], Awaitable[Answer]]
Handlers: TypeAlias = dict[tuple[str, str, str], Handler]
