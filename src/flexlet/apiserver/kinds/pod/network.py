"""Names and addresses of a pod: DNS, hosts file, host name, host namespaces."""

from typing import Final

from flexlet.api import addresses, names
from flexlet.api.fielderrors import forbidden, invalid, not_supported, required, too_long
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerlists import containers_with_paths
from flexlet.apiserver.kinds.pod.scope import Errors

DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
MAX_NAMESERVERS: Final = 3
MAX_SEARCHES: Final = 32
MAX_SEARCH_BYTES: Final = 2048
MAX_HOSTNAME: Final = 64


def validate_dns_policy(policy: str | None, path: str, errors: Errors) -> None:
    """Where names are looked up."""
    if not policy:
        errors.append(required(path))
    elif policy not in DNS_POLICIES:
        errors.append(not_supported(path, policy, DNS_POLICIES))


def validate_dns_config(config: Object | None, policy: str | None, path: str, errors: Errors) -> None:
    """The pod's own resolver settings; with policy None they are all there is."""
    if policy == "None":
        if config is None:
            errors.append(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.append(required(f"{path}.nameservers", text))
            return
    if config is not None:
        _validate_nameservers(config.get("nameservers") or [], f"{path}.nameservers", errors)
        _validate_searches(config.get("searches") or [], f"{path}.searches", errors)
        for i, option in enumerate(config.get("options") or ()):
            if not option.get("name"):
                errors.append(required(f"{path}.options[{i}]", "must not be empty"))


def _validate_nameservers(servers: list[str], path: str, errors: Errors) -> None:
    if len(servers) > MAX_NAMESERVERS:
        errors.append(invalid(path, servers, f"must not have more than {MAX_NAMESERVERS} nameservers"))
    for i, server in enumerate(servers):
        errors += [invalid(f"{path}[{i}]", server, text) for text in addresses.legacy_ip(server)]


def _validate_searches(searches: list[str], path: str, errors: Errors) -> None:
    if len(searches) > MAX_SEARCHES:
        errors.append(invalid(path, searches, f"must not have more than {MAX_SEARCHES} search paths"))
    if len(" ".join(searches).encode()) > MAX_SEARCH_BYTES:
        text = f"must not have more than {MAX_SEARCH_BYTES} characters (including spaces) in the search list"
        errors.append(invalid(path, searches, text))
    for i, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            complaints = names.dns1123_subdomain_with_underscore(domain)
            errors += [invalid(f"{path}[{i}]", domain, text) for text in complaints]


def validate_host_aliases(aliases: list[Object], path: str, errors: Errors) -> None:
    """Lines of the pod's hosts file."""
    for i, alias in enumerate(aliases):
        address = alias.get("ip") or ""
        errors += [invalid(f"{path}[{i}].ip", address, text) for text in addresses.legacy_ip(address)]
        for j, name in enumerate(alias.get("hostnames") or ()):
            complaints = names.dns1123_subdomain(name)
            errors += [invalid(f"{path}[{i}].hostnames[{j}]", name, text) for text in complaints]


def validate_hostname_override(spec: Object, path: str, errors: Errors) -> None:
    """A host name that replaces the pod's name."""
    override, field = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if override is None:
        return
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(field, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(field, "may not be specified when hostNetwork is true"))
    if len(override.encode()) > MAX_HOSTNAME:
        errors.append(too_long(field, MAX_HOSTNAME))
    errors += [invalid(field, override, text) for text in names.dns1123_subdomain(override)]


def validate_host_users(spec: Object, path: str, errors: Errors) -> None:
    """A pod with users of its own shares nothing else with the host."""
    if spec.get("hostUsers") is not False:
        return
    text = "when `hostUsers` is false"
    # Upstream spells two of these with a capital.
    for key, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(key):
            errors.append(forbidden(f"{path}.{shown}", text))
    for container, field in containers_with_paths(spec, path):
        if container.get("volumeDevices"):
            errors.append(forbidden(f"{field}.volumeDevices", text))
