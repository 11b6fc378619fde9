"""Expressions into closures: an expression is compiled once and then only called.

``&&`` and ``||`` know the answer as soon as one side does, whatever error the other is.
"""

from collections.abc import Callable
from typing import Any, Final

from flexlet.apiserver.crd.cel.access import has, indexed, optional, selected
from flexlet.apiserver.crd.cel.functions import FUNCTIONS, METHODS, NAMESPACES
from flexlet.apiserver.crd.cel.loops import LOOPS, PAIR, members_of, paired, pairs_of, with_variable
from flexlet.apiserver.crd.cel.operators import BINARY, negate
from flexlet.apiserver.crd.cel.parser import parse
from flexlet.apiserver.crd.cel.scope import Program, Scope
from flexlet.apiserver.crd.cel.syntax import (
    Call,
    Expression,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Select,
    Unsupported,
    WrongExpression,
)
from flexlet.apiserver.crd.cel.values import NO_OVERLOAD, TYPES, CelError, Optional, Type

_TYPES: Final = {name: Type(name) for _, name in TYPES}
MACROS: Final = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})


MAX_SIZE: Final = 100_000
_TOO_DEEP: Final = "expression recursion limit exceeded"


class Compiled:
    """A program and the variables it uses."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_SIZE:
            size = f"size: {len(text)}, limit {MAX_SIZE}"
            raise WrongExpression(f"expression code point size exceeds limit: {size}")
        compiler = _Compiler()
        try:
            self._program = compiler.program(parse(text), frozenset({"self", "oldSelf"}))
        except RecursionError:  # a long chain of operators is a deep tree
            raise WrongExpression(_TOO_DEEP) from None
        self.uses_old = "oldSelf" in compiler.used

    def evaluate(self, scope: Scope) -> Any:
        """The value of the expression; whatever its functions stumble over is an error of the rule."""
        try:
            return self._program(scope)
        except RecursionError:
            raise CelError(_TOO_DEEP) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise CelError(NO_OVERLOAD) from None


class _Compiler:
    def __init__(self) -> None:
        self.used: set[str] = set()

    def program(self, node: Expression, known: frozenset[str]) -> Program:
        if isinstance(node, Literal):
            value = node.value
            return lambda _: value
        if isinstance(node, Name):
            return self._name(node.name, known)
        if isinstance(node, Select):
            return self._select(node, known)
        if isinstance(node, Index):
            return self._index(node, known)
        if isinstance(node, ListOf):
            items = [self.program(item, known) for item in node.items]
            return lambda scope: [item(scope) for item in items]
        if isinstance(node, MapOf):
            entries = [(self.program(key, known), self.program(value, known)) for key, value in node.entries]
            return lambda scope: {key(scope): value(scope) for key, value in entries}
        return self._call(node, known)

    def _name(self, name: str, known: frozenset[str]) -> Program:
        if name not in known and name in _TYPES:
            kind = _TYPES[name]
            return lambda _: kind
        if name not in known:
            raise WrongExpression(f"undeclared reference to '{name}' (in container '')")
        self.used.add(name)
        return lambda scope: scope.variables[name]

    def _select(self, node: Select, known: frozenset[str]) -> Program:
        operand, field = self.program(node.operand, known), node.field
        if node.optional:
            return lambda scope: optional(operand(scope), field)
        return lambda scope: selected(operand(scope), field)

    def _index(self, node: Index, known: frozenset[str]) -> Program:
        operand, index = self.program(node.operand, known), self.program(node.index, known)
        if node.optional:
            return lambda scope: optional(operand(scope), index(scope))
        return lambda scope: indexed(operand(scope), index(scope))

    def _call(self, node: Call, known: frozenset[str]) -> Program:
        if node.target is None:
            return self._function(node, known)
        if node.function in MACROS and len(node.args) in {2, 3}:
            return self._macro(node, node.target, known)
        if isinstance(node.target, Name) and node.target.name in NAMESPACES and node.target.name not in known:
            return self._applied(FUNCTIONS, f"{node.target.name}.{node.function}", node.args, known)
        if node.function == "optMap" and len(node.args) == 2:
            return self._opt_map(node, node.target, known)
        return self._applied(METHODS, node.function, (node.target, *node.args), known)

    def _function(self, node: Call, known: frozenset[str]) -> Program:
        name, args = node.function, node.args
        if name in {"&&", "||"}:
            return _logical(self.program(args[0], known), self.program(args[1], known), decided=name == "||")
        if name == "?:":
            return _conditional(*(self.program(arg, known) for arg in args))
        if name == "has":
            return self._has(args, known)
        if name in BINARY:
            return _operation(name, self.program(args[0], known), self.program(args[1], known))
        if name in {"!", "negate"}:
            inner, change = self.program(args[0], known), _inverted if name == "!" else negate
            return lambda scope: change(inner(scope))
        return self._applied(FUNCTIONS, name, args, known)

    def _applied(
        self, table: dict[str, Callable[..., Any]], name: str, args: tuple[Expression, ...], known: frozenset[str]
    ) -> Program:
        function = table.get(name)
        if function is None:
            raise Unsupported(f"function {name} is not known here")
        programs = [self.program(arg, known) for arg in args]

        def apply(scope: Scope) -> Any:
            try:
                values = [program(scope) for program in programs]
                scope.spend_for_call(name, values)
                result = function(*values)
            except (TypeError, AttributeError, OverflowError):
                raise CelError(NO_OVERLOAD) from None
            scope.spend_for_size(result)
            return result

        return apply

    def _has(self, args: tuple[Expression, ...], known: frozenset[str]) -> Program:
        if len(args) != 1 or not isinstance(args[0], Select):
            raise WrongExpression("invalid argument to has() macro")
        operand, field = self.program(args[0].operand, known), args[0].field

        return lambda scope: has(operand(scope), field)

    def _paired(
        self, name: str, first: str, bodies: list[Expression], operand: Program, known: frozenset[str]
    ) -> Program:
        """A loop with two variables."""
        second, body = bodies
        if not isinstance(second, Name):
            raise WrongExpression("argument must be a simple name")
        if name == "filter":
            raise Unsupported("filter with two variables")
        inner = paired((first, second.name), self.program(body, known | {first, second.name}))
        loop = LOOPS[name]
        return lambda scope: loop(scope, pairs_of(operand(scope)), PAIR, inner)

    def _opt_map(self, node: Call, target: Expression, known: frozenset[str]) -> Program:
        variable, body = node.args
        if not isinstance(variable, Name):
            raise WrongExpression("optMap() variable name must be a simple identifier")
        operand, inner = self.program(target, known), self.program(body, known | {variable.name})

        def mapped(scope: Scope) -> Any:
            found = operand(scope)
            if not isinstance(found, Optional):
                raise CelError(NO_OVERLOAD)
            return (
                Optional(with_variable(scope, variable.name, found.value, inner), True) if found.present else found
            )

        return mapped

    def _macro(self, node: Call, target: Expression, known: frozenset[str]) -> Program:
        variable, *bodies = node.args
        if not isinstance(variable, Name):
            raise WrongExpression("argument must be a simple name")
        operand = self.program(target, known)
        if len(bodies) == 2 and node.function != "map":
            return self._paired(node.function, variable.name, bodies, operand, known)
        inner = [self.program(body, known | {variable.name}) for body in bodies]
        loop = LOOPS[node.function]
        return lambda scope: loop(scope, members_of(operand(scope)), variable.name, *inner)


def _logical(left: Program, right: Program, *, decided: bool) -> Program:
    """``||`` is decided by a true side, ``&&`` by a false one."""

    def evaluate(scope: Scope) -> bool:
        fault: CelError | None = None
        for side in (left, right):
            try:
                value = _truth(side(scope))
            except CelError as error:
                fault = fault or error
                continue
            if value == decided:
                return decided
        if fault is not None:
            raise fault
        return not decided

    return evaluate


def _operation(name: str, left: Program, right: Program) -> Program:
    """An operator; comparing or joining what is long costs steps."""
    operator = BINARY[name]

    def evaluate(scope: Scope) -> Any:
        first, second = left(scope), right(scope)
        scope.spend_for_call(name, [first, second])
        return operator(first, second)

    return evaluate


def _conditional(condition: Program, chosen: Program, other: Program) -> Program:
    return lambda scope: chosen(scope) if _truth(condition(scope)) else other(scope)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError(NO_OVERLOAD)
    return value


def _inverted(value: Any) -> bool:
    return not _truth(value)
