"""The rules of a new definition: what is no CEL is wrong, what is not evaluated here is warned of."""

from collections.abc import Iterator
from typing import Any, Final

from flexlet.api import fielderrors, gotext
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.cel.compiler import Compiled
from flexlet.apiserver.crd.cel.syntax import Unsupported, WrongExpression

_SHOWN: Final = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")


def check_rules(schema: Any, field: str, warnings: list[str]) -> Iterator[FieldError]:
    """What is wrong with the rules of a schema and everything below it."""
    if not isinstance(schema, dict):
        return
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _check(rule, f"{field}.x-kubernetes-validations[{index}]", warnings)
    for name, below in (schema.get("properties") or {}).items():
        yield from check_rules(below, f"{field}.properties[{name}]", warnings)
    for word in ("items", "additionalProperties"):
        yield from check_rules(schema.get(word), f"{field}.{word}", warnings)
    for index, part in enumerate(schema.get("allOf") or ()):
        yield from check_rules(part, f"{field}.allOf[{index}]", warnings)


def _check(rule: Object, field: str, warnings: list[str]) -> Iterator[FieldError]:
    for word in ("rule", "messageExpression"):
        text = rule.get(word) or ""
        try:
            if text.strip():
                Compiled(text)
        except WrongExpression as fault:
            shown = {name[0].upper() + name[1:]: rule.get(name, "") for name in _SHOWN}
            yield fielderrors.invalid(f"{field}.{word}", shown, f"compilation failed: ERROR: {fault.message}")
        except Unsupported as fault:
            quoted = gotext.quote(text.strip())
            warnings.append(f"{field}.{word}: {quoted} is not evaluated by this server: {fault.message}")
