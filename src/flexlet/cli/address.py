"""Where to listen, as people write it: ``127.0.0.1:6443``, ``[::1]:6443``, ``:0``."""

from flexlet.errors import ConfigError

HIGHEST_PORT = 65535


def parse(text: str) -> tuple[str, int]:
    """Host and port of HOST:PORT; an empty host is loopback."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > HIGHEST_PORT:
        raise ConfigError(f"cannot listen on {text!r}: write HOST:PORT, such as 127.0.0.1:6443")
    return host.strip("[]") or "127.0.0.1", int(port)
