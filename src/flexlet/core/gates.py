"""Feature gates as data: a name, a default, and what the user switched.

The names are Kubernetes' own, so that ``--feature-gates`` and a KubeletConfiguration's ``featureGates`` mean here
what they mean there. A gate that flexlet does not know is an error, never a silent no-op. Defaults are those of
1.36.3: what is alpha there is off.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.errors import ConfigError

DEFAULTS: Final[Mapping[str, bool]] = {
    "CPUManagerPolicyAlphaOptions": False,
    "CPUManagerPolicyBetaOptions": True,
    "DisableCPUQuotaWithExclusiveCPUs": True,
    "InPlacePodLevelResourcesVerticalScaling": True,
    "InPlacePodVerticalScaling": True,
    "InPlacePodVerticalScalingExclusiveCPUs": False,
    "InPlacePodVerticalScalingExclusiveMemory": False,
    "InPlacePodVerticalScalingInitContainers": True,
    "MemoryQoS": False,
    "NodeDeclaredFeatures": True,
    "NodeResourceHotPlug": False,
    "NodeResourceHotUnPlug": False,
    "OOMScoreRewrite": True,
    "PodLevelResources": True,
    "TopologyManagerPolicyAlphaOptions": False,
    "TopologyManagerPolicyBetaOptions": True,
}
STAGES: Final[Mapping[str, str]] = {
    name: "BETA" if enabled else "ALPHA"
    for name, enabled in DEFAULTS.items()
    if name != "InPlacePodVerticalScaling"
}
"""How far each has come, as ``kubernetes_feature_enabled`` names it; what is generally available has no name."""
NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "InPlacePodLevelResourcesVerticalScaling": (
        "InPlacePodVerticalScaling",
        "NodeDeclaredFeatures",
        "PodLevelResources",
    ),
    "InPlacePodVerticalScalingExclusiveCPUs": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingExclusiveMemory": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingInitContainers": ("InPlacePodVerticalScaling", "NodeDeclaredFeatures"),
    "NodeResourceHotUnPlug": ("NodeResourceHotPlug",),
}
"""Which gates must be on for one to be on."""
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "InPlaceNodeResourceResize": ("NodeResourceHotPlug", "NodeResourceHotUnPlug"),
}
"""Names that switch several gates at once."""
WORDS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


class Gates(msgspec.Struct, frozen=True):
    """Which features are on; `gates["PodLevelResources"]`."""

    enabled: Mapping[str, bool] = msgspec.field(default_factory=lambda: DEFAULTS)

    def __getitem__(self, name: str) -> bool:
        return self.enabled[name]


def parse(text: str) -> Gates:
    """Read ``A=true,B=false`` on top of the defaults, or raise ConfigError."""
    return switch(parse_switches(text))


def parse_switches(text: str) -> dict[str, bool]:
    """Only what was said, by name; ConfigError for what is no switch."""
    switched: dict[str, bool] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, word = (piece.strip() for piece in part.partition("="))
        value = WORDS.get(word.lower())
        if not equals or value is None:
            raise ConfigError(f"cannot read feature gate {part!r}: write NAME=true or NAME=false")
        switched[name] = value
    return switched


def switch(values: Mapping[str, bool]) -> Gates:
    """The defaults with some gates switched; an unknown name raises ConfigError."""
    values = _spelt_out(values)
    unknown = sorted(set(values) - set(DEFAULTS))
    if unknown:
        known = ", ".join(DEFAULTS)
        raise ConfigError(f"unknown feature gate {', '.join(unknown)}; flexlet knows {known}")
    return Gates({**DEFAULTS, **values})


def _spelt_out(values: Mapping[str, bool]) -> dict[str, bool]:
    """Aliases as the gates they stand for; a gate that is named itself has the last word."""
    meant = {gate: on for name, on in values.items() for gate in ALIASES.get(name, ())}
    return meant | {name: on for name, on in values.items() if name not in ALIASES}
