"""CEL's macros over lists and maps: ``all``, ``exists``, ``map``, ``filter``."""

from collections.abc import Callable
from typing import Any, Final

from flexlet.apiserver.crd.cel.scope import Program, Scope
from flexlet.apiserver.crd.cel.values import NO_OVERLOAD, CelError

PAIR: Final = "@pair"


def with_variable(scope: Scope, name: str, value: Any, body: Program) -> Any:
    """The body's value with a variable set, and put back afterwards."""
    scope.spend()
    outer = scope.variables
    scope.variables = {**outer, name: value}
    try:
        return body(scope)
    finally:
        scope.variables = outer


def members_of(value: Any) -> list[Any]:
    """What a loop goes over: the items of a list, the keys of a map."""
    if isinstance(value, dict | list):
        return list(value)
    raise CelError(NO_OVERLOAD)


def pairs_of(value: Any) -> list[tuple[Any, Any]]:
    """What a loop with two variables goes over: indices and items of a list, keys and values of a map."""
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(members_of(value)))


def paired(names: tuple[str, str], body: Program) -> Program:
    """A body that takes a pair apart into two variables."""

    def evaluate(scope: Scope) -> Any:
        first, second = scope.variables[PAIR]
        outer = scope.variables
        scope.variables = {**outer, names[0]: first, names[1]: second}
        try:
            return body(scope)
        finally:
            scope.variables = outer

    return evaluate


def _decide(scope: Scope, members: list[Any], name: str, body: Program, *, decided: bool) -> bool:
    """Whether one member decides the question; an error only counts if nobody does."""
    fault: CelError | None = None
    for member in members:
        try:
            if with_variable(scope, name, member, body) is decided:
                return True
        except CelError as error:
            fault = error
    if fault is not None:
        raise fault
    return False


def _all(scope: Scope, members: list[Any], name: str, body: Program) -> bool:
    return not _decide(scope, members, name, body, decided=False)


def _exists(scope: Scope, members: list[Any], name: str, body: Program) -> bool:
    return _decide(scope, members, name, body, decided=True)


def _exists_one(scope: Scope, members: list[Any], name: str, body: Program) -> bool:
    return sum(with_variable(scope, name, member, body) is True for member in members) == 1


def _filter(scope: Scope, members: list[Any], name: str, body: Program) -> list[Any]:
    return [member for member in members if with_variable(scope, name, member, body) is True]


def _map(scope: Scope, members: list[Any], name: str, first: Program, second: Program | None = None) -> list[Any]:
    if second is None:
        return [with_variable(scope, name, member, first) for member in members]
    return [with_variable(scope, name, member, second) for member in _filter(scope, members, name, first)]


LOOPS: Final[dict[str, Callable[..., Any]]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
}
