from tests.pods import amounts, texts

from flexlet.api.quantity import Quantity
from flexlet.core.resources import amounts as arithmetic
from flexlet.core.resources.names import is_extended, is_hugepages, is_native, is_pod_level


def test_sums_and_maxima() -> None:
    """A missing name is absent: it adds nothing and beats nothing."""
    lists = [amounts("1,1Gi"), amounts("500m"), amounts(",2Gi,pods=1")]
    assert texts(arithmetic.total(lists)) == {"cpu": "1500m", "memory": "3Gi", "pods": "1"}
    assert texts(arithmetic.largest(lists)) == {"cpu": "1", "memory": "2Gi", "pods": "1"}


def test_differences_keep_the_names_of_the_left() -> None:
    assert texts(arithmetic.without(amounts("1,1Gi"), amounts("2,,pods=1"))) == {"cpu": "-1", "memory": "1Gi"}


def test_integers() -> None:
    """CPU counts in thousandths, everything else whole; both round up, and only at the end."""
    assert arithmetic.as_integers(amounts("0.0001,0.1,pods=3")) == {"cpu": 1, "memory": 1, "pods": 3}
    halves = arithmetic.total([amounts("0.0005,0.5"), amounts("0.0005,0.5")])
    assert (arithmetic.cpu_milli(halves), arithmetic.memory_bytes(halves)) == (1, 1)
    assert (arithmetic.cpu_milli({}), arithmetic.memory_bytes({})) == (0, 0)
    assert arithmetic.as_integer("cpu", Quantity.parse("2")) == 2000


def test_kinds_of_names() -> None:
    names = ["cpu", "memory", "hugepages-2Mi", "ephemeral-storage", "example.com/gpu", "requests.example.com/gpu"]
    assert [name for name in names if is_pod_level(name)] == ["cpu", "memory", "hugepages-2Mi"]
    assert [name for name in names if is_hugepages(name)] == ["hugepages-2Mi"]
    assert [name for name in names if is_extended(name)] == ["example.com/gpu"]
    assert is_native("attachable-volumes-aws-ebs")
    assert is_native("pod.alpha.kubernetes.io/opaque-int-resource-x")
