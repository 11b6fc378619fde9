import pytest

from flexlet.api import addresses

NO_IP = ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
NO_CIDR = ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]


@pytest.mark.parametrize(
    ("value", "strict", "legacy"),
    [
        ("10.0.0.1", [], []),
        ("::1", [], []),
        ("010.0.0.1", ["must not have leading 0s"], ["must not have leading 0s"]),
        ("::ffff:1.2.3.4", *[["must not be an IPv4-mapped IPv6 address"]] * 2),
        ("::ffff:01.2.3.4", *[["must not have leading 0s", "must not be an IPv4-mapped IPv6 address"]] * 2),
        ("FE80::1", ['must be in canonical form ("fe80::1")'], []),
        ("2001:db8:0:0::1", ['must be in canonical form ("2001:db8::1")'], []),
        ("fe80::1%eth0", NO_IP, NO_IP),
        ("1.2.3", NO_IP, NO_IP),
        ("", NO_IP, NO_IP),
    ],
)
def test_ip(value: str, strict: list[str], legacy: list[str]) -> None:
    """Old fields take any unambiguous spelling of an address, new ones only the canonical one."""
    assert (addresses.ip(value), addresses.legacy_ip(value)) == (strict, legacy)


@pytest.mark.parametrize(
    ("value", "strict", "legacy"),
    [
        ("10.0.0.0/8", [], []),
        ("0.0.0.0/0", [], []),
        ("2001:DB8::/32", ['must be in canonical form ("2001:db8::/32")'], []),
        ("10.0.0.1/8", *[["must not have bits set beyond the prefix length"]] * 2),
        ("10.0.0.0/08", *[["must not have leading 0s in IP or prefix length"]] * 2),
        ("010.0.0.0/8", *[["must not have leading 0s in IP or prefix length"]] * 2),
        ("::ffff:1.2.3.0/120", *[["must not have an IPv4-mapped IPv6 address"]] * 2),
        ("10.0.0.0/33", NO_CIDR, NO_CIDR),
        ("10.0.0.0/-1", NO_CIDR, NO_CIDR),
        ("10.0.0.0", NO_CIDR, NO_CIDR),
        ("x/8", NO_CIDR, NO_CIDR),
    ],
)
def test_cidr(value: str, strict: list[str], legacy: list[str]) -> None:
    """A subnet has no bits beyond its prefix; new fields want it in the canonical spelling."""
    assert (addresses.cidr(value), addresses.legacy_cidr(value)) == (strict, legacy)
