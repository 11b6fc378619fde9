"""IP addresses and CIDRs, in upstream's words.

Fields that are older than the strict rules (hostAliases, podCIDRs, dnsConfig, status IPs) use the ``legacy``
validators: any spelling of an address, but no leading zeros and no IPv4-mapped IPv6 (gate StrictIPCIDRValidation,
on in 1.36). Newer fields want the canonical spelling too. Follows ``apimachinery/pkg/util/validation/ip.go``.
"""

import ipaddress
import re
from typing import Final

from flexlet.api.names import Complaints

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NO_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_OCTET_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9])")
_DOTTED: Final = re.compile(r"(?<![0-9.])(?=[0-9.]+\.[0-9.])[0-9.]++$", re.ASCII)


def ip(value: str) -> Complaints:
    """An IP address in its canonical spelling."""
    complaints = legacy_ip(value)
    if complaints:
        return complaints
    canonical = str(ipaddress.ip_address(value))
    return [] if value == canonical else [f'must be in canonical form ("{canonical}")']


def legacy_ip(value: str) -> Complaints:
    """An IP address in any unambiguous spelling."""
    address = _sloppy(value)
    if address is None:
        return [_NO_IP]
    complaints = [] if _parses(value) else ["must not have leading 0s"]
    return [*complaints, "must not be an IPv4-mapped IPv6 address"] if _mapped(address) else complaints


def cidr(value: str) -> Complaints:
    """A subnet in its canonical spelling."""
    complaints = legacy_cidr(value)
    if complaints:
        return complaints
    canonical = str(ipaddress.ip_network(value))
    return [] if value == canonical else [f'must be in canonical form ("{canonical}")']


def legacy_cidr(value: str) -> Complaints:
    """A subnet in any unambiguous spelling, without bits beyond the prefix."""
    text, _, length = value.partition("/")
    address = _sloppy(text)
    if address is None or not _is_length(length, address):
        return [_NO_CIDR]
    if not _parses(text) or (length[0] == "0" and length != "0"):
        return ["must not have leading 0s in IP or prefix length"]
    if _mapped(address):
        return ["must not have an IPv4-mapped IPv6 address"]
    masked = ipaddress.ip_network(value, strict=False).network_address
    return [] if masked == address else ["must not have bits set beyond the prefix length"]


def _is_length(text: str, address: _Address) -> bool:
    return text.isascii() and text.isdigit() and int(text) <= address.max_prefixlen


def _sloppy(value: str) -> _Address | None:
    """The address, with zeros before octets read as decimal, or None."""
    without_zeros = _DOTTED.sub(lambda match: _OCTET_ZEROS.sub("", match[0]), value)
    if "%" in value or not _parses(without_zeros):
        return None
    return ipaddress.ip_address(without_zeros)


def _parses(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _mapped(address: _Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
