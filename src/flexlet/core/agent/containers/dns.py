"""A pod's resolv.conf: the cluster's servers, the host's, or its own.

`ClusterFirst` falls back to the host's file on the host network and where the node knows no cluster DNS. Lists are
cut at the resolver's limits.
"""

from typing import Final

from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.pod import DnsConfig
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.runtime.configs import Dns

_SERVERS: Final = 3
_SEARCHES: Final = 32
_SEARCH_CHARACTERS: Final = 2048
_NDOTS: Final = "ndots:5"


def config(pod: NodePod, setup: NodeSetup) -> Dns:
    """What the runtime writes into the file."""
    base = _base(pod, setup)
    return _limited(_extended(base, pod.spec.dns_config))


def misses_cluster_dns(pod: NodePod, setup: NodeSetup) -> bool:
    """Whether the pod wants the cluster's names and the node has no server to ask: worth an event."""
    return _wants_cluster(pod) and not setup.cluster_dns


def _wants_cluster(pod: NodePod) -> bool:
    policy = pod.spec.dns_policy
    return policy == "ClusterFirstWithHostNet" or (policy == "ClusterFirst" and not pod.spec.host_network)


def _base(pod: NodePod, setup: NodeSetup) -> Dns:
    host = parse(setup.resolv_conf)
    if pod.spec.dns_policy == "None":
        return Dns()
    if not _wants_cluster(pod) or not setup.cluster_dns:
        return host
    zone = setup.cluster_domain
    own = (f"{pod.metadata.namespace}.svc.{zone}", f"svc.{zone}", zone) if zone else ()
    return Dns(servers=setup.cluster_dns, searches=(*own, *host.searches), options=(_NDOTS,))


def _extended(base: Dns, more: DnsConfig) -> Dns:
    options = {_option_name(each): each for each in base.options}
    for each in more.options:
        options[each.name] = each.name if each.value is None else f"{each.name}:{each.value}"
    return Dns(
        servers=_distinct((*base.servers, *more.nameservers)),
        searches=_distinct((*base.searches, *more.searches)),
        options=tuple(options.values()),
    )


def _limited(full: Dns) -> Dns:
    searches: list[str] = []
    for each in full.searches[:_SEARCHES]:
        if len(" ".join([*searches, each])) > _SEARCH_CHARACTERS:
            break
        searches.append(each)
    return Dns(servers=full.servers[:_SERVERS], searches=tuple(searches), options=full.options)


def parse(text: str) -> Dns:
    """A resolv.conf; the last search line wins, a root domain is left out."""
    servers: list[str] = []
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    for line in text.splitlines():
        words = line.split()
        match words[:1]:
            case ["nameserver"]:
                servers += words[1:2]
            case ["search"]:
                searches = tuple(word.rstrip(".") for word in words[1:] if word != ".")
            case ["options"]:
                options = tuple(words[1:])
            case _:
                continue
    return Dns(servers=tuple(servers), searches=searches, options=options)


def _option_name(option: str) -> str:
    return option.partition(":")[0]


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
