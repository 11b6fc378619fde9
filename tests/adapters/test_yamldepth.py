"""Files nested so deep that PyYAML's composer would end the process are refused by every reader of files."""

import pytest

from flexlet.adapters import kubeletconfig
from flexlet.adapters.manifests.documents import manifest
from flexlet.cli.documents import documents
from flexlet.errors import ConfigError

DEEP = "a: " + "[" * 60_000
DETAIL = "the document is nested more than 200 deep"


def test_a_deep_configuration_file_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        kubeletconfig.parse(DEEP, "kubelet.yaml")
    assert str(error.value) == f"kubelet.yaml, line 1: {DETAIL}"


def test_a_deep_manifest_is_a_manifest_with_a_problem() -> None:
    problem = manifest("pod.yaml", DEEP.encode()).problem
    assert problem.startswith(f"couldn't parse as pod: {DETAIL}")


def test_a_deep_document_is_a_document_with_a_problem() -> None:
    (found,) = documents(DEEP.encode(), "pods.yaml")
    assert found.problem == f"not YAML: line 1, column 203: {DETAIL}"
