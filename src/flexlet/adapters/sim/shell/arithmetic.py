"""``$((...))``: whole numbers, variables by name, and the operators that scripts use."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from flexlet.adapters.sim.shell.lexer import SyntaxFault

_OPERATORS: Final[dict[type[Any], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.Lt: lambda left, right: int(left < right),
    ast.LtE: lambda left, right: int(left <= right),
    ast.Gt: lambda left, right: int(left > right),
    ast.GtE: lambda left, right: int(left >= right),
    ast.Eq: lambda left, right: int(left == right),
    ast.NotEq: lambda left, right: int(left != right),
}


def value(expression: str, variables: Mapping[str, str]) -> int:
    """The value of an expression; a variable that is not set counts as 0."""
    try:
        tree = ast.parse(expression.replace("$", "").strip() or "0", mode="eval").body
    except SyntaxError as error:
        raise SyntaxFault(f"arithmetic syntax error: {expression}") from error
    return _value(tree, variables)


def _value(node: ast.expr, variables: Mapping[str, str]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return int(variables.get(name) or 0)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, variables)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left, variables), _value(right, variables))
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left, variables), _value(right, variables))
    raise SyntaxFault("arithmetic syntax error")
