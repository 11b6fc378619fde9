"""A pod's resolv.conf: the cluster's servers, the host's, or its own.

`ClusterFirst` falls back to the host's file on the host network and where the node knows no cluster DNS. Lists are
cut at the resolver's limits; `notices` says what people must be told of that, in the kubelet's words. Options are
sorted where the kubelet's order is random.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.pod import DnsConfig
from flexlet.core.agent.containers import names
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.runtime.configs import Dns

MISSING_CLUSTER_DNS: Final = "MissingClusterDNS"
CONFIG_FORMING: Final = "DNSConfigForming"
NO_CLUSTER_DNS: Final = (
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
    'Falling back to "Default" policy.'
)
"""What the node itself is told, too."""
_SERVERS: Final = 3
_SEARCHES: Final = 32
_SEARCH_CHARACTERS: Final = 2048
_DOMAIN_CHARACTERS: Final = 253
_NDOTS: Final = "ndots:5"
_HOST_POLICIES: Final = frozenset({"Default", "None"})


class Notice(msgspec.Struct, frozen=True):
    """Something that a Warning event about the pod tells."""

    reason: str
    message: str


def config(pod: NodePod, setup: NodeSetup) -> Dns:
    """What the runtime writes into the file."""
    return _limited(_full(pod, setup))


def notices(pod: NodePod, setup: NodeSetup) -> tuple[Notice, ...]:
    """What is to be told whenever the pod's sandbox is made."""
    full = _full(pod, setup)
    kept = _limited(full)
    found = []
    if misses_cluster_dns(pod, setup):
        text = f'pod: "{names.full_name(pod)}". {NO_CLUSTER_DNS}'
        found.append(Notice(MISSING_CLUSTER_DNS, text))
    for kind, several, line, before, after in (
        ("Nameserver", "nameservers", "nameserver line", full.servers, kept.servers),
        ("Search Line", "search paths", "search line", full.searches, kept.searches),
    ):
        if before != after:
            text = f"{kind} limits were exceeded, some {several} have been omitted, the applied {line} is: "
            found.append(Notice(CONFIG_FORMING, text + " ".join(after)))
    return tuple(found)


def misses_cluster_dns(pod: NodePod, setup: NodeSetup) -> bool:
    """Whether the pod wants the cluster's names and the node has no server to ask."""
    return _wants_cluster(pod) and not setup.cluster_dns


def _wants_cluster(pod: NodePod) -> bool:
    policy = pod.spec.dns_policy
    return policy not in _HOST_POLICIES and not (policy == "ClusterFirst" and pod.spec.host_network)


def _full(pod: NodePod, setup: NodeSetup) -> Dns:
    more = pod.spec.dns_config
    base = _base(pod, setup)
    return base if more == DnsConfig() else _extended(base, more)


def _base(pod: NodePod, setup: NodeSetup) -> Dns:
    host = parse(setup.resolv_conf)
    if pod.spec.dns_policy == "None":
        return Dns()
    if not _wants_cluster(pod) or not setup.cluster_dns:
        return host
    zone = setup.cluster_domain
    if not zone:
        return Dns(servers=setup.cluster_dns, searches=host.searches, options=(_NDOTS,))
    own = (f"{pod.metadata.namespace}.svc.{zone}", f"svc.{zone}", zone)
    return Dns(servers=setup.cluster_dns, searches=_distinct((*own, *host.searches)), options=(_NDOTS,))


def _extended(base: Dns, more: DnsConfig) -> Dns:
    options = dict(_split(each) for each in base.options)
    options |= {each.name: each.value or "" for each in more.options}
    return Dns(
        servers=_distinct((*base.servers, *more.nameservers)),
        searches=_distinct((*base.searches, *more.searches)),
        options=tuple(sorted(f"{name}:{value}" if value else name for name, value in options.items())),
    )


def _limited(full: Dns) -> Dns:
    few = [each for each in full.searches[:_SEARCHES] if len(each) <= _DOMAIN_CHARACTERS]
    while len(" ".join(few)) > _SEARCH_CHARACTERS:
        few.pop()
    return Dns(servers=full.servers[:_SERVERS], searches=tuple(few), options=full.options)


def parse(text: str) -> Dns:
    """A resolv.conf; the last search line and the last word on each option win, a root domain is left out."""
    servers: list[str] = []
    searches: tuple[str, ...] = ()
    options: dict[str, str] = {}
    for line in text.split("\n"):
        words = line.split()
        match words[:1]:
            case ["nameserver"]:
                servers += words[1:2]
            case ["search"]:
                searches = tuple(word.removesuffix(".") for word in words[1:] if word != ".")
            case ["options"]:
                options |= {_split(word)[0]: word for word in words[1:]}
            case _:
                continue
    return Dns(servers=tuple(servers), searches=searches, options=tuple(sorted(options.values())))


def _split(option: str) -> tuple[str, str]:
    name, _, value = option.partition(":")
    return name, value


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
