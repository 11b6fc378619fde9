"""What a node asks for."""

from base64 import b64decode, b64encode

import pytest
from msgspec.structs import replace

from flexlet.core.certificates import wanted
from flexlet.core.certificates.wanted import Held, Wanted

PUBLIC_KEY = b64decode(
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEBJHLgrMr8KiOnoVrLg+eDn12D2CpHRjos1TQNU1TxIP2PV/apL/8"
    "KETieooo8H/nzUA5khAqXU2nB4KhCrJqyQ=="
)


def test_a_client_certificate_names_the_node_and_nothing_else() -> None:
    assert wanted.client("n1") == Wanted(
        signer="kubernetes.io/kube-apiserver-client-kubelet",
        common_name="system:node:n1",
        organizations=("system:nodes",),
        usages=("digital signature", "client auth"),
    )


def test_a_serving_certificate_has_every_name_and_address() -> None:
    """Sorted and once each; a host name that is an address counts as one."""
    addresses = [
        ("Hostname", "n1"),
        ("InternalIP", "fd00::0:2"),
        ("InternalIP", "10.0.0.2"),
        ("ExternalIP", "10.0.0.2"),
        ("ExternalIP", "nonsense"),
        ("InternalDNS", "n1.lan"),
        ("ExternalDNS", "a.example.com"),
        ("InternalDNS", ""),
        ("Other", "x"),
    ]
    assert wanted.serving("n1", addresses) == Wanted(
        signer="kubernetes.io/kubelet-serving",
        common_name="system:node:n1",
        dns_names=("a.example.com", "n1", "n1.lan"),
        ips=("10.0.0.2", "fd00::2"),
        usages=("digital signature", "server auth"),
    )
    numbered = wanted.serving("n1", [("Hostname", "10.0.0.3")])
    assert numbered is not None
    assert (numbered.dns_names, numbered.ips) == ((), ("10.0.0.3",))


def test_without_an_address_nothing_is_asked_for() -> None:
    assert wanted.serving("n1", [("Hostname", "n1"), ("InternalDNS", "n1.lan")]) is None


HELD = Held(
    begins=0,
    ends=1,
    common_name="system:node:n1",
    organizations=("system:nodes", "more"),
    dns_names=("a", "b"),
    ips=("10.0.0.1", "10.0.0.2"),
)
NEED = Wanted(
    signer="s", common_name="system:node:n1", dns_names=("a",), ips=("10.0.0.2",), usages=("server auth",)
)


@pytest.mark.parametrize(
    ("changed", "enough"),
    [
        ({}, True),
        ({"common_name": "system:node:n2"}, False),
        ({"organizations": ("system:masters",)}, False),
        ({"dns_names": ("a", "c")}, False),
        ({"ips": ("10.0.0.3",)}, False),
        ({"dns_names": (), "ips": ()}, True),
    ],
)
def test_a_certificate_with_more_than_wanted_is_enough(changed: dict[str, object], enough: bool) -> None:
    assert wanted.satisfies(HELD, replace(NEED, **changed)) is enough


def test_the_name_of_the_first_request_is_the_kubelets() -> None:
    """Digested as upstream digests it (run with Go for this key)."""
    name = wanted.digested_name(PUBLIC_KEY, wanted.client("n1"))
    assert name == "node-csr-_aV-OpsBtHXsrhp3WKpo8b0YqgkEzBosA-fEyYHMB00"


def test_a_request_carries_signer_usages_and_text() -> None:
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"},
        "spec": {
            "request": b64encode(b"pem").decode(),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    }
    assert wanted.request_body(wanted.client("n1"), b"pem") == body
    assert wanted.request_body(wanted.client("n1"), b"pem", "me") == body | {"metadata": {"name": "me"}}
