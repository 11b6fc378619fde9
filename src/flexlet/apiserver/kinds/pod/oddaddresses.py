"""Warnings about IP addresses in a spelling that is accepted and unusual."""

import ipaddress

from flexlet.apiserver.contract.kind import Object


def address_warnings(spec: Object, path: str) -> list[str]:
    """Warnings about name servers and host aliases."""
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or ()
    found = [(f"{path}.dnsConfig.nameservers[{i}]", server) for i, server in enumerate(servers)]
    aliases = spec.get("hostAliases") or ()
    found += [(f"{path}.hostAliases[{i}].ip", alias.get("ip") or "") for i, alias in enumerate(aliases)]
    return [text for field, address in found for text in spelling_warnings(field, address)]


def spelling_warnings(path: str, address: str) -> list[str]:
    """An IPv6 address should be written the one way RFC 5952 allows."""
    try:
        canonical = str(ipaddress.ip_address(address))
    except ValueError:
        return []
    if ":" not in address or canonical == address:
        return []
    return [f'{path}: IPv6 address "{address}" should be in RFC 5952 canonical format ("{canonical}")']
