from flexlet.api.pod import Container


def test_sidecars() -> None:
    """A sidecar is an init container that keeps running."""
    assert Container(restart_policy="Always").is_sidecar
    assert not Container(restart_policy="OnFailure").is_sidecar
    assert not Container().is_sidecar
