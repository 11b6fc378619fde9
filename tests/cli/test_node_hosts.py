"""``--node-host`` and ``--kubelet-certificate-authority``: what is taken, and what is said of the rest."""

from pathlib import Path

import pytest

from flexlet.apiserver.proxy.trust import load_authorities
from flexlet.cli import address
from flexlet.errors import ConfigError


def test_nodes_and_where_they_are() -> None:
    assert address.node_hosts(["vm=127.0.0.1", "b=FE80::1", "c=Host"]) == {
        "vm": "127.0.0.1",
        "b": "fe80::1",
        "c": "host",
    }


@pytest.mark.parametrize("text", ["vm", "=127.0.0.1", "vm=", "vm=127.0.0.1:80", "vm=a/b"])
def test_what_names_no_host(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^cannot read --node-host .*; write NAME=HOST, such as vm="):
        address.node_hosts([text])


@pytest.mark.parametrize("text", ["", "no certificate", "\u00e9"])
def test_a_file_without_authorities(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ca.crt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^cannot read --kubelet-certificate-authority .*ca\.crt: "):
        load_authorities(path)
