"""The YAML files that the server's flags name are read with the bounds of request bodies."""

from collections.abc import Callable
from pathlib import Path

import pytest

from flexlet.apiserver.audit.auditor import load_policy
from flexlet.apiserver.encryptionconfig import load_encryption
from flexlet.errors import ConfigError

HEAD = "error converting YAML to JSON: yaml: "
ALIASES = "anchors, aliases and merge keys are not accepted: write out what they stand for"
FILES: dict[str, Callable[[Path], object]] = {
    "the audit policy": load_policy,
    "encryption configuration": load_encryption,
}


@pytest.mark.parametrize("what", list(FILES))
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("[" * 5_000 + "]" * 5_000, f"{HEAD}exceeded max depth of 200"),
        ("a: &a [x]\nb: [*a, *a]\n", HEAD + ALIASES),
        ("a: " + "x" * 1024 * 1024, "it is larger than 1 MiB"),
    ],
)
def test_a_file_without_bounds_is_refused(tmp_path: Path, what: str, content: str, fault: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError) as refused:
        FILES[what](path)
    assert str(refused.value) == f"cannot read {what} {path}: {fault}"
