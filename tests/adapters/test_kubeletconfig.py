"""KubeletConfiguration files."""

import ssl
from pathlib import Path

import pytest

from flexlet.adapters import kubeletconfig
from flexlet.core.kubeletconfig import tls
from flexlet.core.kubeletconfig.config import Authentication, KubeletConfiguration, X509Authentication
from flexlet.core.kubeletconfig.noderesize import NodeResizeConfiguration
from flexlet.errors import ConfigError

DATA = Path(__file__).parent.parent / "data" / "kubeletconfig"
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def test_a_file_that_kubeadm_wrote_is_taken() -> None:
    """Its many zeroes mean the defaults."""
    assert kubeletconfig.load(DATA / "kubeadm.yaml") == KubeletConfiguration(
        authentication=Authentication(x509=X509Authentication(client_ca_file="/etc/kubernetes/pki/ca.crt")),
        cgroup_driver="systemd",
        cluster_dns=("10.96.0.10",),
        cluster_domain="cluster.local",
        rotate_certificates=True,
        static_pod_path="/etc/kubernetes/manifests",
    )


def test_without_a_file_there_are_the_defaults() -> None:
    assert kubeletconfig.load(None) == KubeletConfiguration()


def test_json_is_yaml(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.json"
    path.write_text(
        '{"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1",\n\t"maxPods": 7}'
    )
    assert kubeletconfig.load(path) == KubeletConfiguration(max_pods=7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maxPods: 1\nmaxPods: 2\n", "{path}, line 4: key 'maxPods' is there twice"),
        ("a: [\n", "{path}, line 4: did not find expected node content"),
        ("---\nmaxPods: 1\n", "{path}, line 3: but found another document"),
        ("maxPods: 2026-01-01\n", "{path}: maxPods: Expected `int`, got `str`"),
    ],
)
def test_a_broken_file_is_named_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_text(HEAD + text)
    with pytest.raises(ConfigError) as error:
        kubeletconfig.load(path)
    assert str(error.value) == message.format(path=path)


def test_how_a_node_follows_its_machine_is_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "resize.yaml"
    path.write_text("apiVersion: flexlet.io/v1alpha1\nkind: NodeResizeConfiguration\norder: creation\n")
    assert kubeletconfig.load_resize(path) == NodeResizeConfiguration(order="creation")
    assert kubeletconfig.load_resize(None) == NodeResizeConfiguration()
    path.unlink()
    with pytest.raises(
        ConfigError, match=r"^cannot read .*; name a NodeResizeConfiguration file with --node-resize-config$"
    ):
        kubeletconfig.load_resize(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"^cannot read .*/nope: .*; name a KubeletConfiguration file with --config$"
    ):
        kubeletconfig.load(tmp_path / "nope")


def test_openssl_knows_all_suites_and_versions() -> None:
    """What the rules let through can be offered."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(f"{tls.openssl_ciphers(tls.SUITES)}:@SECLEVEL=0")
    offered = {cipher["name"] for cipher in context.get_ciphers()}
    assert set(tls.SUITES.values()) <= offered
    assert {ssl.TLSVersion[name].name for name in tls.VERSIONS.values()} == {"TLSv1_2", "TLSv1_3"}
