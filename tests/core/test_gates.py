import pytest

from flexlet.core import gates
from flexlet.errors import ConfigError


def test_what_is_alpha_upstream_is_off_by_default_and_the_rest_on() -> None:
    off = {name for name, enabled in gates.Gates().enabled.items() if not enabled}
    assert off == {
        "CPUManagerPolicyAlphaOptions",
        "InPlacePodVerticalScalingExclusiveCPUs",
        "InPlacePodVerticalScalingExclusiveMemory",
        "MemoryQoS",
        "NodeResourceHotPlug",
        "NodeResourceHotUnPlug",
        "TopologyManagerPolicyAlphaOptions",
    }
    assert gates.parse("") == gates.Gates()


def test_the_defaults_have_what_they_need() -> None:
    enabled = gates.Gates()
    assert [
        name for name, needed in gates.NEEDS.items() if enabled[name] and not all(map(enabled.__getitem__, needed))
    ] == []


def test_switches_are_laid_over_the_defaults() -> None:
    switched = gates.parse(" PodLevelResources=false, InPlacePodVerticalScaling=True,")
    assert not switched["PodLevelResources"]
    assert switched.enabled == {**gates.DEFAULTS, "PodLevelResources": False}


def test_an_alias_switches_all_it_stands_for_unless_one_is_named() -> None:
    both = {"NodeResourceHotPlug": True, "NodeResourceHotUnPlug": True}
    assert gates.parse("InPlaceNodeResourceResize=true").enabled == {**gates.DEFAULTS, **both}
    assert gates.parse("InPlaceNodeResourceResize=true,NodeResourceHotUnPlug=false").enabled == {
        **gates.DEFAULTS,
        "NodeResourceHotPlug": True,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PodLevelResources", "cannot read feature gate 'PodLevelResources': write NAME=true or NAME=false"),
        ("A=maybe", "cannot read feature gate 'A=maybe': write NAME=true or NAME=false"),
        ("Nope=true", f"unknown feature gate Nope; flexlet knows {', '.join(gates.DEFAULTS)}"),
    ],
)
def test_what_cannot_be_meant_is_an_error_that_helps(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        gates.parse(text)
    assert str(error.value) == message
