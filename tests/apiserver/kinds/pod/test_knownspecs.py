"""What may be remembered of a pod spec: only what its bytes alone decide."""

from typing import Any

from flexlet.apiserver.kinds.pod.knownspecs import MAX_BYTES, MAX_SPECS, KnownSpecs, fingerprint


def pod(*volumes: str, mount: str = "", **meta: Any) -> dict[str, Any]:
    mounts = [{"name": mount}] if mount else []
    spec = {"volumes": [{"name": name} for name in volumes], "containers": [{"name": "c", "volumeMounts": mounts}]}
    return {"metadata": {"name": "p", **meta}, "spec": spec}


def test_pods_of_a_template_differ_in_the_name_of_the_token_volume_alone() -> None:
    first = fingerprint(pod("kube-api-access-aaaaa", mount="kube-api-access-aaaaa"))
    assert first is not None
    assert first == fingerprint(pod("kube-api-access-bbbbb", mount="kube-api-access-bbbbb"))


def test_a_mount_of_another_volume_is_another_spec() -> None:
    """Or a pod that mounts a volume it does not have would pass for one that mounts its own."""
    right = fingerprint(pod("kube-api-access-aaaaa", mount="kube-api-access-aaaaa"))
    assert right != fingerprint(pod("kube-api-access-aaaaa", mount="kube-api-access-bbbbb"))
    assert right != fingerprint(
        pod("kube-api-access-bbbbb", "kube-api-access-aaaaa", mount="kube-api-access-bbbbb")
    )


def test_what_more_than_bytes_decide_is_not_remembered() -> None:
    named_after_the_pod = pod()
    named_after_the_pod["spec"]["volumes"] = [{"name": "v", "ephemeral": {}}]
    assert fingerprint(named_after_the_pod) is None
    assert fingerprint(pod(annotations={"a": "b"})) is None
    assert fingerprint(pod("?")) is None
    assert fingerprint(pod("v" * MAX_BYTES)) is None


def test_the_oldest_is_forgotten() -> None:
    known = KnownSpecs()
    for number in range(MAX_SPECS + 1):
        known.add(b"%d" % number)
    assert (b"0" in known, b"1" in known, None in known) == (False, True, False)
