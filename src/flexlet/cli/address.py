"""Where to listen, as people write it: ``127.0.0.1:6443``, ``[::1]:6443``, ``:0``."""

from collections.abc import Iterable

from flexlet.errors import ConfigError

HIGHEST_PORT = 65535


def parse(text: str) -> tuple[str, int]:
    """Host and port of HOST:PORT; an empty host is loopback."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > HIGHEST_PORT:
        raise ConfigError(f"cannot listen on {text!r}: write HOST:PORT, such as 127.0.0.1:6443")
    return host.strip("[]") or "127.0.0.1", int(port)


def node_hosts(texts: Iterable[str]) -> dict[str, str]:
    """Nodes and where they are reached, of NAME=HOST."""
    from flexlet.apiserver.proxy import hosts

    found = {}
    for text in texts:
        name, equals, host = text.partition("=")
        try:
            if not (name and equals):
                raise hosts.Unusable("a name, = and a host are needed")
            found[name] = hosts.parse(host).text
        except hosts.Unusable as error:
            raise ConfigError(
                f"cannot read --node-host {text!r}: {error}; write NAME=HOST, such as vm=127.0.0.1"
            ) from error
    return found
