"""Definitions that could not work are refused; what nobody will do is said."""

import pytest
from tests.apiserver.crd.definitions import Object, around, definition, lines, version

from flexlet.api.status import Invalid
from flexlet.apiserver.contract.request import LOOPBACK, AdmissionRequest
from flexlet.apiserver.crd.definitioncheck import DefinitionCheck
from flexlet.apiserver.kinds.crd.kind import CUSTOM_RESOURCE_DEFINITION
from flexlet.apiserver.rest.backend import StoreView
from flexlet.apiserver.store import Store

FIELD = "spec.validation.openAPIV3Schema.properties[spec].properties[f]"


async def admitted(crd: Object) -> list[str]:
    """The warnings of a definition that passes."""
    request = AdmissionRequest(
        operation="CREATE",
        user=LOOPBACK,
        kind=CUSTOM_RESOURCE_DEFINITION,
        subresource="",
        namespace="",
        name=crd["metadata"]["name"],
        obj=crd,
        warnings=[],
    )
    store = await Store.open(None)
    try:
        await DefinitionCheck().validate(request, StoreView(store))
    finally:
        await store.close()
    return request.warnings


async def test_a_rule_that_is_not_evaluated_is_warned_of() -> None:
    field = {"type": "string", "x-kubernetes-validations": [{"rule": "isSemver(self)"}]}
    place = "spec.validation.openAPIV3Schema.properties[spec].properties[f].x-kubernetes-validations[0].rule"
    assert await admitted(definition(version(around(field)))) == [
        f'{place}: "isSemver(self)" is not evaluated by this server: function isSemver is not known here'
    ]


async def test_a_rule_that_is_no_expression_is_refused() -> None:
    field = {"type": "string", "x-kubernetes-validations": [{"rule": "self =="}]}
    with pytest.raises(Invalid) as found:
        await admitted(definition(version(around(field)), version(around({"type": "string"}), name="v2")))
    assert found.value.status.details
    (cause,) = found.value.status.details.causes
    place = (
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[f].x-kubernetes-validations[0].rule"
    )
    assert (cause.field, cause.reason) == (place, "FieldValueInvalid")


async def test_a_webhook_nobody_calls_is_warned_of() -> None:
    crd = definition(version(around({"type": "string"})))
    crd["spec"]["conversion"] = {"strategy": "Webhook"}
    assert await admitted(crd) == [
        "spec.conversion: webhooks are not called by this server: all versions show the same fields"
    ]


@pytest.mark.parametrize("line", lines("defaults.jsonl"))
async def test_a_default_is_a_value_of_its_own_schema(line: Object) -> None:
    """As a real server answered."""
    crd = definition(version(around(line["schema"])))
    if not line["causes"]:
        assert await admitted(crd) == []
        return
    with pytest.raises(Invalid) as found:
        await admitted(crd)
    assert found.value.status.details
    causes = [
        [cause.field.replace(FIELD, "F"), cause.reason, cause.message]
        for cause in found.value.status.details.causes
    ]
    assert sorted(causes) == line["causes"]
