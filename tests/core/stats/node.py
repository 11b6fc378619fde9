"""A node with one pod, read completely; texts as a 6.1 kernel writes them."""

from flexlet.core.stats import procfiles, readings
from flexlet.core.stats.readings import (
    CgroupReading,
    ContainerReading,
    FsReading,
    NodeReading,
    PodReading,
    SystemReading,
    VolumeReading,
)

NOW = 1_780_000_000.25
STARTED = 1_779_999_000.0
PSI = "some avg10=1.50 avg60=0.20 avg300=0.00 total=3000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"
FILES = {
    "cpu.stat": "usage_usec 2500000\nuser_usec 1500000\nsystem_usec 1000000\nnr_periods 10\nnr_throttled 4\n"
    "throttled_usec 250000\nnr_bursts 0\nburst_usec 0\n",
    "memory.current": "10485760",
    "memory.max": "67108864",
    "memory.stat": "anon 4194304\nfile 6291456\nkernel 524288\nfile_mapped 1048576\ninactive_file 2097152\n"
    "active_file 4194304\npgfault 1000\npgmajfault 3\n",
    "memory.swap.current": "4096",
    "memory.swap.max": "max",
    "cpu.pressure": PSI,
    "memory.pressure": PSI,
    "io.pressure": PSI,
    "memory.peak": "12582912",
    "memory.min": "0",
    "memory.events": "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n",
    "cpu.max": "50000 100000",
    "cpu.weight": "20",
    "io.stat": "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n254:16 \n",
    "pids.current": "5",
    "pids.max": "max",
}
NET = """Inter-|   Receive                                            |  Transmit
face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
lo:      100       1    0    0    0     0          0        0    100       1    0    0    0     0       0         0
eth0:   2000      20    1    2    0     0          0        0   3000      30    3    4    0     0       0         0
veth0a:    9       9    9    9    0     0          0        0      9       9    9    9    0     0       0         0
"""
MEMINFO = "MemTotal: 2000000 kB\nMemFree: 500000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nHugePages_Total: 0\n"
FS = FsReading(time=NOW, capacity=1000, available=400, used=600, inodes=100, inodes_free=60, inodes_used=40)


def cgroup() -> CgroupReading:
    """A cgroup with everything in it."""
    reading = readings.read_cgroup(FILES, NOW, in_detail=True)
    assert reading is not None
    return reading


def node() -> NodeReading:
    """All of the node."""
    root = readings.of_root(cgroup(), procfiles.meminfo(MEMINFO))
    network = procfiles.interfaces(NET)
    container = ContainerReading(
        name="app",
        id="c1",
        image="img:1",
        cgroup="kubepods/podu1/c1",
        started_at=STARTED + 5,
        usage=readings.with_rate(cgroup(), CgroupReading(time=NOW - 2, cpu={"usage_usec": 500_000})),
        processes=2,
        rootfs=FS,
        logs=FS,
    )
    pod = PodReading(
        namespace="ns",
        name="web",
        uid="u1",
        cgroup="kubepods/podu1",
        started_at=STARTED,
        usage=cgroup(),
        containers=(container,),
        network=network,
        volumes=(VolumeReading(name="data", fs=FS),),
        ephemeral_storage=FS,
        processes=3,
    )
    return NodeReading(
        name="n1",
        time=NOW,
        started_at=STARTED - 100,
        usage=root,
        network=network,
        fs=FS,
        image_fs=FS,
        container_fs=FS,
        max_tasks=4194304,
        tasks=123,
        systems=(SystemReading(name="pods", cgroup="kubepods", started_at=STARTED, usage=cgroup()),),
        pods=(pod,),
    )
