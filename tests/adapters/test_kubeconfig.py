"""What a kubeconfig says, and what is said about a bad one."""

import base64
from pathlib import Path

import pytest

from flexlet.adapters.kube.kubeconfig import Credentials, load
from flexlet.errors import ConfigError

GOOD = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443/", certificate-authority: ca.pem}}]
users: [{name: u, user: {client-certificate-data: %s, client-key: key.pem, token: t}}]
contexts: [{name: here, context: {cluster: c, user: u}}, {name: lost, context: {cluster: x}}]
"""
PLUGIN = """
contexts: [{name: a, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: s}}]
users: [{name: u, user: {exec: {command: aws}}}]
"""


def test_embedded_data_and_files_beside_the_config(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"CA")
    (tmp_path / "key.pem").write_bytes(b"KEY")
    config = tmp_path / "config"
    config.write_text(GOOD % base64.b64encode(b"CERT").decode())
    assert load(config) == Credentials(
        server="https://127.0.0.1:6443", ca=b"CA", certificate=b"CERT", key=b"KEY", token="t"
    )


@pytest.mark.parametrize(
    ("text", "context", "complaint"),
    [
        ("", "", "is empty or not a mapping"),
        ("{", "", "is not valid YAML"),
        (GOOD % "", "lost", "there is no cluster named 'x'"),
        (GOOD % "", "nowhere", "there is no context named 'nowhere'"),
        (GOOD % "", "here", "cannot read certificate-authority"),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c}]",
            "",
            "names no server",
        ),
        (
            PLUGIN,
            "a",
            "user plugin 'exec' is not supported",
        ),
    ],
)
def test_a_bad_kubeconfig_is_named(tmp_path: Path, text: str, context: str, complaint: str) -> None:
    config = tmp_path / "config"
    config.write_text(text)
    with pytest.raises(ConfigError, match=complaint) as raised:
        load(config, context)
    assert str(config) in str(raised.value)


def test_a_missing_kubeconfig_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="flexlet up"):
        load(tmp_path / "none")
