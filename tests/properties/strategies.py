"""Hypothesis strategies for the values of the Kubernetes vocabulary, shared by all property tests.

Pods come as the API server would accept them as far as resources go: no negative amounts, requests within limits.
Amounts are small numbers on purpose, so that coincidences (equal sums, equal requests and limits) happen; CPU
comes in tenths of a thousandth, so that rounding has something to do.
"""

from hypothesis import strategies as st

from flexlet.api.cpuset import CpuSet
from flexlet.api.pod import Container, Pod, PodSpec, PodStatus, ResourceList, ResourceRequirements
from flexlet.api.quantity import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, NANO, Quantity

NAMES = ("cpu", "memory", "hugepages-2Mi", "example.com/gpu")

families = st.sampled_from((DECIMAL_SI, BINARY_SI, DECIMAL_EXPONENT))


def quantities(largest: int = 10**15) -> st.SearchStrategy[Quantity]:
    """Any amount, negative and fractional ones included, in any family."""
    nano = st.integers(-largest * NANO, largest * NANO) | st.integers(-largest, largest).map(lambda n: n * NANO)
    return st.builds(Quantity, nano, families)


quantity_texts = st.from_regex(r"\A[+-]?[0-9]{1,12}(\.[0-9]{0,12})?([numkMGTP]|[KMGTP]i|[eE][+-]?[0-9]{1,2})?\Z")
"""Texts that are quantities."""

cpu_sets = st.sets(st.integers(0, 300)).map(CpuSet.of)


def _amount(name: str, low: int = 0) -> st.SearchStrategy[Quantity]:
    if name == "cpu":
        return st.integers(low, 5000).map(lambda milli: Quantity(milli * 100_000, DECIMAL_SI))
    return st.integers(low, 5000).map(lambda count: Quantity(count * NANO, BINARY_SI))


def resource_lists(names: tuple[str, ...] = NAMES) -> st.SearchStrategy[ResourceList]:
    """Amounts of some of the names."""
    return st.fixed_dictionaries({}, optional={name: _amount(name) for name in names})


@st.composite
def requirements(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> ResourceRequirements:
    """Requests and limits; where both name a resource, the limit is the larger."""
    requests, limits = draw(resource_lists(names)), draw(resource_lists(names))
    raised = {name: max(limit, requests.get(name, limit)) for name, limit in limits.items()}
    equal = {name: requests.get(name, limit) for name, limit in limits.items()}
    return ResourceRequirements(requests=requests, limits=equal if draw(st.booleans()) else raised)


@st.composite
def containers(draw: st.DrawFn, name: str, *, init: bool = False) -> Container:
    """A container of that name; an init container may be a sidecar."""
    sidecar = init and draw(st.booleans())
    return Container(name=name, resources=draw(requirements()), restart_policy="Always" if sidecar else None)


@st.composite
def pods(draw: st.DrawFn, *, pod_level: bool = True) -> Pod:
    """One to three containers, up to three init containers, perhaps pod level and overhead."""
    spec = PodSpec(
        containers=tuple(draw(containers(f"c{i}")) for i in range(draw(st.integers(1, 3)))),
        init_containers=tuple(draw(containers(f"i{i}", init=True)) for i in range(draw(st.integers(0, 3)))),
        resources=draw(st.none() | requirements(NAMES[:3])) if pod_level else None,
        overhead=draw(resource_lists(NAMES[:2])),
    )
    return Pod(spec=spec, status=PodStatus())
