"""cgroups that belong to systemd: slices and scopes are units, and their values are properties of units.

`wire` is D-Bus as bytes, `connection` one connection to a peer, `manager` what is asked of systemd, `tree` is
`flexlet.ports.cgroups.CgroupTree` on it. Follows the D-Bus specification 0.43 and org.freedesktop.systemd1(5).

What must stay true: systemd knows every value that it can express, since it writes what it knows at any time, and
it never waits for the kernel because of us.
"""
