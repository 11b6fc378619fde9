from typing import Any

import pytest
from tests.apiserver.rest.world import World, config

from flexlet.api import status
from flexlet.apiserver.contract.request import WriteOptions
from flexlet.apiserver.rest import patching

STRICT = WriteOptions(field_validation="Strict")
IGNORE = WriteOptions(field_validation="Ignore")


@pytest.mark.parametrize(
    ("how", "patch"),
    [
        ("merge", {"data": {"a": None, "b": "2"}}),
        ("json", [{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/b", "value": "2"}]),
        ("strategic", {"data": {"a": None, "b": "2"}}),
    ],
)
async def test_three_ways_to_say_the_same(world: World, how: str, patch: Any) -> None:
    await world.create("configmaps", config("c", {"a": "1"}))
    patched = await world.patch("configmaps", "c", patch, how)
    assert patched["data"] == {"b": "2"}


async def test_a_version_inside_makes_a_patch_conditional(world: World) -> None:
    await world.create("configmaps", config("c"))
    with pytest.raises(status.Conflict):
        await world.patch("configmaps", "c", {"metadata": {"resourceVersion": "99"}, "data": {"a": "1"}})


async def test_a_patch_may_not_change_who_the_object_is(world: World) -> None:
    await world.create("configmaps", config("c"))
    with pytest.raises(status.BadRequest):
        await world.patch("configmaps", "c", {"metadata": {"name": "other"}})
    with pytest.raises(status.Invalid) as error:
        await world.patch("configmaps", "c", {"metadata": {"uid": "other"}})
    assert {cause.field for cause in error.value.status.details.causes} == {"metadata.uid"}  # type: ignore[union-attr]


async def test_a_missing_object_cannot_be_patched(world: World) -> None:
    with pytest.raises(status.NotFound):
        await world.patch("configmaps", "none", {})


async def test_a_failing_operation_is_refused_without_saying_which(world: World) -> None:
    await world.create("configmaps", config("c"))
    with pytest.raises(status.Invalid) as error:
        await world.patch("configmaps", "c", [{"op": "test", "path": "/data/a", "value": "1"}], "json")
    assert str(error.value) == "the server rejected our request due to an error in our request"


async def test_unknown_fields_warn_refuse_or_vanish(world: World) -> None:
    await world.create("configmaps", config("c", {"a": "1"}))
    call = world.call("configmaps", "c")
    patch = patching.Patch("merge", {"dataa": {"x": "1"}})
    await world.rest.patch(call, patch)
    assert call.warnings == ['unknown field "dataa"']
    with pytest.raises(status.Invalid) as error:
        await world.rest.patch(world.call("configmaps", "c", options=STRICT), patch)
    assert str(error.value).endswith('strict decoding error: unknown field "dataa"')
    ignored = world.call("configmaps", "c", options=IGNORE)
    await world.rest.patch(ignored, patch)
    assert ignored.warnings == []
    assert "dataa" not in world.get("configmaps", "c")


async def test_a_result_that_is_no_object_of_the_kind_is_refused(world: World) -> None:
    await world.create("configmaps", config("c", {"a": "1"}))
    with pytest.raises(status.Invalid) as error:
        await world.patch("configmaps", "c", {"data": {"x": 1}})
    text = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    assert str(error.value).endswith(text)


@pytest.mark.parametrize(
    ("how", "body", "code", "message"),
    [
        (
            "merge",
            b"{bad",
            400,
            "error decoding patch: invalid character 'b' looking for beginning of object key string",
        ),
        (
            "json",
            b"{}",
            400,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
    ],
)
def test_bodies_that_are_no_patch(how: str, body: bytes, code: int, message: str) -> None:
    with pytest.raises(status.ApiError) as error:
        patching.read(how, body, checked=True)
    assert (error.value.code, str(error.value)) == (code, message)
