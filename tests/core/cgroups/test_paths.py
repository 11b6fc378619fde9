import pytest
from tests.pods import amounts

from flexlet.api.units import PodUid
from flexlet.core.cgroups import hugetlb
from flexlet.core.cgroups.paths import CGROUPFS, SYSTEMD, name_of, pod_of, pod_path, tier_path

UID = PodUid("12-ab")


@pytest.mark.parametrize(
    ("qos", "cgroupfs", "systemd"),
    [
        ("Guaranteed", "kubepods/pod12-ab", "kubepods.slice/kubepods-pod12_ab.slice"),
        (
            "Burstable",
            "kubepods/burstable/pod12-ab",
            "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_ab.slice",
        ),
        (
            "BestEffort",
            "kubepods/besteffort/pod12-ab",
            "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12_ab.slice",
        ),
    ],
)
def test_pods(qos: str, cgroupfs: str, systemd: str) -> None:
    """A dash means nesting to systemd, so those of a UID become underscores."""
    assert (pod_path(qos, UID), pod_path(qos, UID, SYSTEMD)) == (cgroupfs, systemd)


@pytest.mark.parametrize("qos", ["Guaranteed", "Burstable", "BestEffort"])
@pytest.mark.parametrize("uid", ["0f7c2a9e-1b2c-4d3e-8f90-a1b2c3d4e5f6", "d41d8cd98f00b204e9800998ecf8427e"])
@pytest.mark.parametrize("driver", [CGROUPFS, SYSTEMD])
def test_whose_cgroup_it_is(qos: str, uid: str, driver: str) -> None:
    """The name of a pod's cgroup leads back to the pod."""
    assert pod_of(pod_path(qos, PodUid(uid), driver).rpartition("/")[2]) == uid


def test_not_every_cgroup_is_a_pods() -> None:
    """Tiers and whatever others put there are left alone."""
    names = ("burstable", "kubepods-burstable.slice", "podman", "pod", "cri-containerd-pod12.scope", "pod../x")
    assert [pod_of(name) for name in names] == [None] * len(names)


def test_tiers() -> None:
    assert tier_path("Guaranteed") == "kubepods"
    assert tier_path("Burstable", SYSTEMD) == "kubepods.slice/kubepods-burstable.slice"


@pytest.mark.parametrize(
    ("size", "text"),
    [(2 << 20, "2MB"), (1 << 30, "1GB"), (64 << 10, "64KB"), (1000, "1000B"), (1 << 60, "1024PB"), (0, "0B")],
)
def test_page_sizes(size: int, text: str) -> None:
    assert hugetlb.size_text(size) == text


def test_huge_pages_by_size() -> None:
    """Two spellings of one size are one size; a size that cannot be read counts as none."""
    found = hugetlb.by_size(amounts("1,1Gi,hugepages-2Mi=4Mi,hugepages-2048Ki=2Mi,hugepages-big=1Mi"))
    assert found == {2 << 20: 6 << 20, 0: 1 << 20}


@pytest.mark.parametrize("name", ["a1", "crio-a1", "cri-containerd-a1.scope", "crio-a1.scope", "libpod-a1.scope"])
def test_containers_are_found_by_their_ids(name: str) -> None:
    others = ("b1", "ba1", "a1b", "crio-conmon-a1", "crio-conmon-a1.scope", "cri-containerd-b1.scope")
    assert name_of("a1", (*others, name)) == name
    assert name_of("a1", others) == ""
