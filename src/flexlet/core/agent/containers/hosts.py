"""A pod's /etc/hosts."""

from typing import Final

from flexlet.api.nodepod import NodePod
from flexlet.core.agent.containers import sandbox
from flexlet.core.agent.setup import NodeSetup

PATH: Final = "/etc/hosts"
_OWN: Final = (
    "# Kubernetes-managed hosts file.\n"
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)
_HOST: Final = "# Kubernetes-managed hosts file (host network).\n"


def text(pod: NodePod, setup: NodeSetup, ips: tuple[str, ...]) -> str | None:
    """The file, None if there is nothing to manage: no address yet and not the host's network."""
    if pod.spec.host_network:
        return _HOST + setup.hosts_file + _aliases(pod)
    if not ips:
        return None
    name, zone = sandbox.short_name(pod), sandbox.domain(pod, setup)
    full = f"{name}.{zone}\t{name}" if zone else name
    return _OWN + "".join(f"{ip}\t{full}\n" for ip in ips) + _aliases(pod)


def _aliases(pod: NodePod) -> str:
    if not pod.spec.host_aliases:
        return ""
    lines = "".join(f"{alias.ip}\t{chr(9).join(alias.hostnames)}\n" for alias in pod.spec.host_aliases)
    return "\n# Entries added by HostAliases.\n" + lines
