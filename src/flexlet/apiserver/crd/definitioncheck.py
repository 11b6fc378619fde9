"""What a new definition asks for, as far as the rules of definitions (`kinds.crd`) cannot tell.

An admission plugin, because only here is known how values are checked and rules are evaluated.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.api import status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.apiserver.crd.defaultcheck import check_defaults
from flexlet.apiserver.crd.node import compiled
from flexlet.apiserver.crd.rulecheck import check_rules
from flexlet.apiserver.kinds.crd.internalform import internal
from flexlet.apiserver.kinds.crd.kind import CUSTOM_RESOURCE_DEFINITION

UNCONVERTED: Final = "spec.conversion: webhooks are not called by this server: all versions show the same fields"


class DefinitionCheck(Plugin):
    """Looks at the schemas of definitions."""

    name = "CustomResourceDefinitions"

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse defaults and rules that are wrong; say what nobody will do."""
        del view
        obj, kind = request.obj, request.kind
        if obj is None or kind is not CUSTOM_RESOURCE_DEFINITION or request.subresource:
            return
        if request.old is not None and obj["spec"] == request.old["spec"]:
            return
        if (obj["spec"].get("conversion") or {}).get("strategy") == "Webhook":
            request.warnings.append(UNCONVERTED)
        errors = list(_errors(obj["spec"], request.warnings))
        if errors:
            raise status.invalid(kind.kind, kind.group, request.name, errors)


def _errors(spec: Object, warnings: list[str]) -> Iterator[FieldError]:
    for schema, field in _schemas(spec):
        yield from check_rules(schema, field, warnings)
        yield from check_defaults(compiled(schema), field)


def _schemas(spec: Object) -> Iterator[tuple[Object, str]]:
    """The schemas of a definition with the paths that errors give them."""
    form = internal(spec)
    shared = (form.shared.get("validation") or {}).get("openAPIV3Schema")
    if shared:
        yield shared, "spec.validation.openAPIV3Schema"
    for index, version in enumerate(form.versions):
        own = (version.get("schema") or {}).get("openAPIV3Schema")
        if own:
            yield own, f"spec.versions[{index}].schema.openAPIV3Schema"
