"""Resources as tables write them, ``cpu,memory / cpu,memory`` (requests, limits), and as the kernel does."""

from typing import Any, Final

from tests import pods

_PERIOD_US: Final = 100_000


def resources(text: str) -> dict[str, Any]:
    """``"50m,32Mi / 100m,64Mi"`` as it stands in a pod; what is empty is left out."""
    requests, _, limits = text.partition("/")
    sides = {"requests": requests.strip(), "limits": limits.strip()}
    return {name: pods.texts(pods.amounts(side)) for name, side in sides.items() if side}


def quota(milli: int) -> str:
    """cpu.max of a limit: never less than a hundredth of a CPU."""
    return f"{max(milli * _PERIOD_US // 1000, 1000)} {_PERIOD_US}" if milli else f"max {_PERIOD_US}"


def weight(milli: int) -> str:
    """cpu.weight of a request, which runtimes reach through shares."""
    shares = max(milli * 1024 // 1000, 2)
    return str(1 + (shares - 2) * 9999 // 262142)


def memory(limit: int) -> str:
    """memory.max of a limit."""
    return str(limit) if limit else "max"
