"""What is counted, on whole lives of pods and on single observations."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.core.agent.builders import NOW, UID, container, pod, record, run, runtime
from tests.engine.agent.nodes import NODE, node
from tests.engine.agent.nodes import run as lived

from flexlet.adapters.meters import Ledger
from flexlet.api.status import ApiError
from flexlet.core.agent import deeds
from flexlet.core.agent.household import Settlement
from flexlet.core.agent.observations import Done, Failed, Finished, PodSeen, Shown
from flexlet.core.agent.record import REJECTED, Ending
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.world import World
from flexlet.core.resize.allocation import NOTHING
from flexlet.core.resize.steps import StopContainer
from flexlet.core.stats import labels
from flexlet.core.stats.declared import METRICS, PROBES
from flexlet.engine.agent.counting import Counting
from flexlet.engine.agent.gauges import Gauges
from flexlet.engine.agent.timing import OPERATIONS, VERBS, counted, timed
from flexlet.errors import RuntimeFault
from flexlet.ports.cluster import PODS, Cluster
from flexlet.ports.runtime import Runtime

APP = container("app", "100m", "200m")
RUNS = {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}
Counted = dict[str, float]


def values(meters: Ledger, page: str = METRICS) -> Counted:
    """Every sample by name and labels, but for the buckets."""
    found = {}
    for family in meters.families(page):
        for sample in family.samples:
            words = ",".join(value for _, value in sample.labels)
            if sample.suffix != "_bucket":
                found[f"{family.name}{sample.suffix}{{{words}}}"] = sample.value
    return found


def finished(deed: Any, outcome: Any, seconds: float = 2.0) -> Finished:
    return Finished(deed=deed, outcome=outcome, began_at=NOW, ended_at=NOW + seconds)


def test_the_life_of_a_pod_is_counted(tmp_path: Path) -> None:
    """From its first sight to its probes and its end; and what the runtime was asked meanwhile."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            meters = Ledger()
            runtime = timed(at.sim.runtime, meters, at.clock)
            agent = at.make(witness=Counting(meters), runtime=runtime)
            meters.refresh = Gauges(meters, agent.loop, agent.watching).refresh
            await at.resume(agent)
            probe = {"exec": {"command": ["true"]}, "periodSeconds": 5}
            app = {"name": "app", "image": "busybox:1", "command": ["sleep", "99"], "readinessProbe": probe}
            await at.pod("web", containers=[app])
            await at.passes(12)
            found = values(meters)
            assert {name: found[name] for name in found if name in LIFE} == LIFE
            assert found["kubelet_runtime_operations_total{list_podsandbox}"] > 1
            assert found["kubelet_pleg_relist_duration_seconds_count{}"] > 1
            assert found["kubelet_pleg_relist_interval_seconds_count{}"] > 0
            assert found["flexlet_agent_rounds_total{}"] > 3
            probes = values(meters, PROBES)
            assert [name for name in probes if name.startswith("prober_probe_total{Readiness,successful,app,web")]
            await at.cluster.delete("web")
            await at.passes(10)
            assert values(meters, PROBES) == {}
            ended = values(meters)
            assert ended["kubelet_terminated_containers_total{container,137,Error}"] == 1
            assert ended["kubelet_desired_pods{}"] == 0

    lived(tale())


LIFE = {
    "kubelet_started_pods_total{}": 1,
    "kubelet_started_containers_total{container}": 1,
    "kubelet_containers_per_pod_count_count{}": 1,
    "kubelet_pod_start_duration_seconds_count{}": 1,
    "kubelet_pod_start_sli_duration_seconds_count{}": 1,
    "kubelet_pod_start_total_duration_seconds_count{}": 1,
    "kubelet_image_manager_ensure_image_requests_total{true,ifnotpresent,false}": 1,
    "kubelet_runtime_operations_total{run_podsandbox}": 1,
    "kubelet_runtime_operations_total{create_container}": 1,
    "kubelet_cgroup_manager_duration_seconds_count{create}": 1,
    "kubelet_running_pods{}": 1,
    "kubelet_running_containers{running}": 1,
    "kubelet_running_containers{exited}": 0,
    "kubelet_desired_pods{}": 1,
    "kubelet_desired_pods{true}": 0,
    "kubelet_active_pods{}": 1,
    "kubelet_working_pods{sync,desired,}": 1,
    "kubelet_mirror_pods{}": 0,
    "kubelet_pod_in_progress_resizes{}": 0,
    "kubelet_pod_pending_resizes{deferred}": 0,
}


def test_a_resize_is_counted_as_it_was_asked_and_as_it_went(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            meters = Ledger()
            agent = at.make(witness=Counting(meters))
            await at.resume(agent)
            small = {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}
            app = {"name": "app", "image": "busybox:1", "command": ["sleep", "99"], "resources": small}
            await at.pod("web", containers=[app])
            await at.passes(5)
            larger = {"requests": {"cpu": "200m"}, "limits": {"cpu": "300m"}}
            await at.cluster.resize("web", {"spec": {"containers": [{"name": "app", "resources": larger}]}})
            await at.passes(5)
            found = {
                name: value for name, value in values(meters).items() if "resize" in name and "node" not in name
            }
            assert found == {
                "kubelet_container_requested_resizes_total{cpu,requests,increase}": 1,
                "kubelet_container_requested_resizes_total{cpu,limits,increase}": 1,
                "kubelet_pod_resize_duration_milliseconds_sum{true}": found[
                    "kubelet_pod_resize_duration_milliseconds_sum{true}"
                ],
                "kubelet_pod_resize_duration_milliseconds_count{true}": 1,
            }

    lived(tale())


@pytest.mark.parametrize(
    ("news", "counted"),
    [
        (
            finished(deeds.RunSandbox(uid=UID, attempt=0), Failed(message="no")),
            {
                "kubelet_started_pods_total{}": 1,
                "kubelet_started_pods_errors_total{}": 1,
                "kubelet_run_podsandbox_errors_total{}": 1,
                "kubelet_run_podsandbox_duration_seconds_sum{}": 2,
            },
        ),
        (
            finished(
                deeds.StartContainer(
                    uid=UID, container="app", attempt=0, sandbox_id="s", image_ref="i", actuated=NOTHING
                ),
                Failed(reason="CreateContainerError", message="no"),
            ),
            {
                "kubelet_started_containers_total{container}": 1,
                "kubelet_started_containers_errors_total{container,CreateContainerError}": 1,
            },
        ),
        (
            finished(
                deeds.PullImage(uid=UID, container="app", image="i", policy="Always"),
                Done(pulled=True, size=20 << 20),
            ),
            {
                "kubelet_image_pull_duration_seconds_sum{10MB-100MB}": 2,
                "kubelet_image_manager_ensure_image_requests_total{false,always,true}": 1,
            },
        ),
        (
            finished(deeds.TakeStep(uid=UID, step=StopContainer("app")), Failed(message="no")),
            {"kubelet_pod_resize_duration_milliseconds_sum{false}": 2000},
        ),
        (
            finished(deeds.RemovePodCgroup(uid=UID, path="p"), Done()),
            {"kubelet_cgroup_manager_duration_seconds_sum{destroy}": 2},
        ),
    ],
)
def test_ends_of_deeds_are_counted(news: Finished, counted: Counted) -> None:
    meters = Ledger()
    before = record(pod(APP))
    Counting(meters).learned(before, before, news, NOW)
    found = values(meters)
    assert {name: found[name] for name in counted} == counted


def test_a_pod_that_had_started_before_is_no_start() -> None:
    """An agent that comes back does not count what others saw."""
    meters = Ledger()
    counting = Counting(meters)
    old = pod(APP)
    old = msgspec.structs.replace(
        old, status=msgspec.structs.replace(old.status, start_time="1970-01-01T00:00:00Z")
    )
    known = record(old)
    counting.learned(None, known, PodSeen(old), NOW)
    told = deeds.ReportStatus(
        uid=UID, status={"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}
    )
    counting.learned(known, known, finished(told, Done()), NOW)
    assert values(meters)["kubelet_pod_start_duration_seconds_count{}"] == 0


def test_a_start_leaves_out_pulls_and_init_containers() -> None:
    """What the network and the image cost is not the node's doing."""
    meters = Ledger()
    counting = Counting(meters)
    init = container("init")
    new = pod(APP, init=(init,), meta={"creation_timestamp": "1970-01-12T13:46:40Z"})
    second = 10**9
    shown = runtime(
        run(init, state="EXITED", started_at=int(NOW) * second, finished_at=int(NOW + 3) * second), run(APP)
    )
    known = record(new, shown)
    counting.learned(None, known, PodSeen(new), NOW + 1)
    pull = deeds.PullImage(uid=UID, container="app", image="i", policy="Always")
    counting.learned(known, known, finished(pull, Done(pulled=True), 2.0), NOW)
    for _ in range(2):
        counting.learned(known, known, finished(deeds.ReportStatus(uid=UID, status=RUNS), Done(), 9.0), NOW)
    found = values(meters)
    assert {name: value for name, value in found.items() if "start" in name and "_sum" in name and value} == {
        "kubelet_pod_start_duration_seconds_sum{}": 8,
        "kubelet_pod_start_total_duration_seconds_sum{}": 9,
        "kubelet_pod_start_sli_duration_seconds_sum{}": 4,
    }
    assert found["kubelet_first_network_pod_start_sli_duration_seconds{}"] == 4


def test_only_runs_that_were_seen_running_end() -> None:
    meters = Ledger()
    before = record(pod(APP), runtime(run(APP)))
    ended = runtime(run(APP, state="EXITED", exit_code=3, reason="Error"), run(APP, 1, state="EXITED"))
    after = record(pod(APP), ended)
    Counting(meters).learned(before, after, Shown(pod=ended), NOW)
    found = {name: value for name, value in values(meters).items() if "terminated_containers" in name}
    assert found == {"kubelet_terminated_containers_total{container,3,Error}": 1}


def test_rejections_and_preemptions_are_counted() -> None:
    meters = Ledger()
    setup = NodeSetup(name="n")
    known = record(pod(APP))
    before = World(setup=setup, pods={UID: known})
    for changed in (
        record(pod(APP), admission=REJECTED, ending=Ending(reason="OutOfcpu")),
        record(
            pod(APP),
            ending=Ending(disruption="Pod was preempted by Kubelet to accommodate a critical pod."),
        ),
    ):
        world = World(setup=setup, pods={UID: changed})
        settlement = Settlement(
            world=world, touched=frozenset({UID}), trigger="pods_removed", accepted=2, infeasible=("windows",)
        )
        Counting(meters).settled(before, settlement)
    found = values(meters)
    assert found["kubelet_admission_rejections_total{OutOfcpu}"] == 1
    assert found["kubelet_preemptions{}"] == 1
    assert found["kubelet_pod_deferred_accepted_resizes_total{pods_removed}"] == 4
    assert found["kubelet_pod_infeasible_resizes_total{windows}"] == 2


@pytest.mark.parametrize(
    ("reason", "word"),
    [("OutOfmemory", "OutOfmemory"), ("OutOfexample.com/gpu", "OutOfExtendedResources"), ("NodePorts", "Other")],
)
def test_reasons_are_a_fixed_choice(reason: str, word: str) -> None:
    assert labels.rejection(reason) == word


@pytest.mark.parametrize(("size", "word"), [(0, "N/A"), (1, "0-10MB"), (2 << 30, "1GB-5GB"), (1 << 40, "GT100GB")])
def test_image_sizes_are_a_fixed_choice(size: int, word: str) -> None:
    assert labels.image_size(size) == word


def test_calls_that_fail_are_counted_as_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            meters = Ledger()

            async def refuse() -> None:
                raise RuntimeFault("gone")

            monkeypatch.setattr(at.sim.runtime, "images", refuse)
            with pytest.raises(RuntimeFault):
                await timed(at.sim.runtime, meters, at.clock).images()
            found = values(meters)
            assert found["kubelet_runtime_operations_errors_total{list_images}"] == 1
            assert found["kubelet_runtime_operations_duration_seconds_count{list_images}"] == 1

    lived(tale())


def test_requests_to_the_api_are_counted_by_their_answers(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            meters = Ledger()
            agent = at.make(cluster=counted(at.cluster.as_node(NODE), meters, at.clock, "api:6443"))
            await at.resume(agent)
            await at.passes(1)
            missing = "rest_client_requests_total{404,api:6443,GET}"
            before = values(meters).get(missing, 0)
            with pytest.raises(ApiError):
                await agent.tools.cluster.get(PODS, "default", "nobody")
            found = values(meters)
            assert found[missing] == before + 1
            assert found["rest_client_requests_total{201,api:6443,POST}"] > 0
            assert found["rest_client_requests_total{200,api:6443,GET}"] > 0
            assert found["rest_client_request_duration_seconds_count{api:6443,POST}"] > 0

    lived(tale())


def test_every_call_of_the_port_is_timed() -> None:
    """A new method of the runtime cannot be forgotten; the stream of events alone has no duration."""
    methods = {name for kind in Runtime.__mro__ for name in vars(kind) if not name.startswith("_")}
    assert methods - {"events"} == set(OPERATIONS)
    assert {name for name in vars(Cluster) if not name.startswith("_")} - {"watch"} == set(VERBS)
