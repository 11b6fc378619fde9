"""What new definitions ask for: rules that are no CEL are refused, what is not done here is warned of.

An admission plugin, because the rules of the definition itself (`kinds.crd`) do not know how rules are evaluated.
"""

from collections.abc import Iterator
from typing import Any, Final

from flexlet.api import fielderrors, gotext, status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.apiserver.crd.cel.compiler import Compiled
from flexlet.apiserver.crd.cel.syntax import Unsupported, WrongExpression
from flexlet.apiserver.kinds.crd.internalform import internal
from flexlet.apiserver.kinds.crd.kind import CUSTOM_RESOURCE_DEFINITION

UNCONVERTED: Final = "spec.conversion: webhooks are not called by this server: all versions show the same fields"
_SHOWN: Final = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")


class RuleCheck(Plugin):
    """Looks at the rules of definitions."""

    name = "CustomResourceRules"

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse rules that cannot be read; say which ones nobody will ask."""
        del view
        obj, kind = request.obj, request.kind
        if obj is None or kind.plural != CUSTOM_RESOURCE_DEFINITION.plural or request.subresource:
            return
        if kind.group != CUSTOM_RESOURCE_DEFINITION.group or _is_same(obj, request.old):
            return
        if (obj["spec"].get("conversion") or {}).get("strategy") == "Webhook":
            request.warnings.append(UNCONVERTED)
        errors = list(_errors(obj["spec"], request.warnings))
        if errors:
            raise status.invalid(kind.kind, kind.group, request.name, errors)


def _is_same(obj: Object, old: Object | None) -> bool:
    return old is not None and obj["spec"] == old["spec"]


def _errors(spec: Object, warnings: list[str]) -> Iterator[FieldError]:
    form = internal(spec)
    shared = (form.shared.get("validation") or {}).get("openAPIV3Schema")
    schemas = [(shared, "spec.validation")] if shared else []
    for index, version in enumerate(form.versions):
        own = (version.get("schema") or {}).get("openAPIV3Schema")
        schemas += [(own, f"spec.versions[{index}].schema")] if own else []
    for schema, field in schemas:
        yield from _walk(schema, f"{field}.openAPIV3Schema", warnings)


def _walk(schema: Any, field: str, warnings: list[str]) -> Iterator[FieldError]:
    if not isinstance(schema, dict):
        return
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _check(rule, f"{field}.x-kubernetes-validations[{index}]", warnings)
    for name, below in (schema.get("properties") or {}).items():
        yield from _walk(below, f"{field}.properties[{name}]", warnings)
    for word in ("items", "additionalProperties"):
        yield from _walk(schema.get(word), f"{field}.{word}", warnings)
    for index, part in enumerate(schema.get("allOf") or ()):
        yield from _walk(part, f"{field}.allOf[{index}]", warnings)


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
