"""The form in which the server keeps an object, in place: what `flexlet.api.schema.canonical` makes new.

Strategies work on settled objects: structs that Go always writes are there (``status``, a node's ``nodeInfo``),
null and empty lists are not, so rules need not ask twice.
"""

import functools

from flexlet.api.schema import canonical, types
from flexlet.apiserver.contract.kind import Object


def settle(obj: Object, type_name: str) -> None:
    """Bring an object into its stored form."""
    settled = _rule(type_name)(obj)
    if settled is not obj:
        obj.clear()
        obj.update(settled)


def zero(type_name: str) -> Object:
    """A fresh empty value of a type: ``{}`` but for the fields that are always written."""
    empty: Object = _rule(type_name)({})
    return dict(empty)


@functools.cache
def _rule(type_name: str) -> canonical.Rule:
    return canonical.rule_of(types.named(type_name))
