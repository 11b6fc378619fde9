"""Health, pods, configuration and metrics."""

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.adapters.nodeserver.stage import Stage, pod_source

from flexlet.core.stats.sources import NodeSource

CGROUP = {"cpu.stat": "usage_usec 1000000\n", "memory.current": "100", "memory.stat": "inactive_file 40\n"}


async def get(client: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with client.get(path) as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/healthz", (200, "ok")),
        ("/healthz/ping", (200, "ok")),
        ("/healthz/log", (200, "ok")),
        ("/healthz/syncloop", (200, "ok")),
        ("/healthz?verbose", (200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n")),
        ("/pods", (200, '{"kind":"PodList","items":[]}')),
        ("/pods/", (200, '{"kind":"PodList","items":[]}')),
        ("/runningpods/", (200, '{"kind":"PodList","items":[{}]}')),
        ("/configz", (200, '{"kubeletconfig":{"maxPods":110}}')),
        ("/", (404, "404: Page Not Found")),
        ("/healthz/other", (404, "404: Page Not Found")),
        ("/stats/container", (404, "404: Page Not Found")),
        ("/checkpoint/a/b/c", (404, "404: Page Not Found")),
        ("/debug/pprof/", (404, "404: Page Not Found")),
        ("/run/default/web/app", (405, "405: Method Not Allowed")),
    ],
)
async def test_pages(client: aiohttp.ClientSession, path: str, expected: tuple[int, str]) -> None:
    assert await get(client, path) == expected


async def test_a_stuck_loop_is_unhealthy_and_why_is_told_only_by_name(
    stage: Stage, client: aiohttp.ClientSession
) -> None:
    stage.views.trouble = "the loop has not turned for 3m"
    failed = "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"
    assert await get(client, "/healthz") == (500, failed)
    assert await get(client, "/healthz/syncloop") == (
        500,
        "internal server error: the loop has not turned for 3m\n",
    )
    assert await get(client, "/healthz/ping") == (200, "ok")
    assert await get(client, "/healthz?exclude=syncloop") == (200, "ok")


async def test_metrics_tell_what_was_counted_and_what_the_process_takes(
    stage: Stage, client: aiohttp.ClientSession
) -> None:
    stage.ledger.count("kubelet_evictions", {"eviction_signal": "memory.available"})
    await get(client, "/pods")
    await get(client, "/no/such/page")
    status, text = await get(client, "/metrics")
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    of_pods = {"long_running": "false", "method": "GET", "path": "pods", "server_type": "readwrite"}
    labels, others = (tuple(sorted((of_pods | {"path": path}).items())) for path in ("pods", "other"))
    assert status == 200
    assert samples["kubelet_evictions_total", (("eviction_signal", "memory.available"),)] == 1
    assert "\nkubelet_evictions{" in text
    assert samples["kubelet_http_requests_total", labels] == 1
    assert samples["kubelet_http_requests_total", others] == 1
    assert samples["kubelet_http_inflight_requests", labels] == 0
    assert samples["kubelet_http_requests_duration_seconds_count", labels] == 1
    assert samples["process_resident_memory_bytes", ()] > 1 << 20
    assert samples["process_cpu_seconds_total", ()] > 0
    assert samples["process_open_fds", ()] > 0


async def test_probes_have_a_page_of_their_own(stage: Stage, client: aiohttp.ClientSession) -> None:
    labels = dict.fromkeys(("probe_type", "result", "container", "pod", "namespace", "pod_uid"), "x")
    stage.ledger.count("prober_probe_total", labels)
    _, text = await get(client, "/metrics/probes")
    named = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert named == ["prober_probe_total", "process_start_time_seconds"]


async def test_resource_metrics_of_a_pod(stage: Stage, client: aiohttp.ClientSession) -> None:
    """At the time of the reading; a container whose cgroup is gone is left out."""
    gone = pod_source("kubepods/podgone", name="gone")
    stage.views.source = NodeSource(name="n1", pods=(pod_source(), gone))
    stage.cgroups.files = {"kubepods/podu1": CGROUP, "kubepods/podu1/c1": CGROUP}
    _, text = await get(client, "/metrics/resource")
    assert [line for line in text.splitlines() if line.startswith(("container", "pod", "resource"))] == [
        'container_cpu_usage_seconds_total{container="app",pod="web",namespace="default"} 1 1780000000000',
        'container_memory_working_set_bytes{container="app",pod="web",namespace="default"} 60 1780000000000',
        'container_start_time_seconds{container="app",pod="web",namespace="default"} 1779999000',
        'container_start_time_seconds{container="app",pod="gone",namespace="default"} 1779999000',
        'pod_cpu_usage_seconds_total{pod="web",namespace="default"} 1 1780000000000',
        'pod_memory_working_set_bytes{pod="web",namespace="default"} 60 1780000000000',
        "resource_scrape_error 0",
    ]


async def test_cadvisor_metrics_of_a_pod(stage: Stage, client: aiohttp.ClientSession) -> None:
    stage.views.source = NodeSource(name="n1", pods=(pod_source(),))
    stage.cgroups.files = {"kubepods/podu1/c1": CGROUP | {"cpu.max": "max 100000", "pids.current": "3"}}
    stage.cgroups.pids = {"kubepods/podu1/c1": (1, 2)}
    _, text = await get(client, "/metrics/cadvisor")
    labels = '{container="app",id="/kubepods/podu1/c1",image="img",name="c1",namespace="default",pod="web"}'
    found = {line.split()[0]: line.split()[1] for line in text.splitlines() if labels in line}
    assert found[f"container_threads{labels}"] == "3"
    assert found[f"container_processes{labels}"] == "2"
    assert found[f"container_spec_cpu_period{labels}"] == "100000"
    assert f"container_spec_cpu_quota{labels}" not in found


async def test_the_summary_has_a_rate_from_the_second_reading_on(
    stage: Stage, client: aiohttp.ClientSession
) -> None:
    stage.views.source = NodeSource(name="n1", pods=(pod_source(),))
    stage.cgroups.files = {"kubepods/podu1/c1": CGROUP}

    async def cpu(query: str = "") -> dict[str, int]:
        async with client.get(f"/stats/summary{query}") as answer:
            body = await answer.json()
        return dict(body["pods"][0]["containers"][0]["cpu"])

    first = await cpu()
    stage.clock.time += 10
    stage.cgroups.files = {"kubepods/podu1/c1": {"cpu.stat": "usage_usec 6000000\n"}}
    second = await cpu("?only_cpu_and_memory=true")
    stage.clock.time += 0.5
    third = await cpu()
    assert first == {"time": "2026-05-28T20:26:40Z", "usageCoreNanoSeconds": 10**9}
    assert second == {
        "time": "2026-05-28T20:26:50Z",
        "usageCoreNanoSeconds": 6 * 10**9,
        "usageNanoCores": 500_000_000,
    }
    assert third["usageNanoCores"] == 500_000_000


async def test_pages_that_are_switched_off() -> None:
    async with Stage().serving(debugging_handlers=False) as stage:
        connector = aiohttp.TCPConnector(ssl=stage.admin())
        async with aiohttp.ClientSession(stage.url, connector=connector) as client:
            for path in ("/containerLogs/default/web/app", "/runningpods/", "/logs/"):
                assert await get(client, path) == (405, "Debug endpoints are disabled.\n")
            assert (await get(client, "/pods"))[0] == 200
    async with Stage().serving(system_log_handler=False) as stage:
        connector = aiohttp.TCPConnector(ssl=stage.admin())
        async with aiohttp.ClientSession(stage.url, connector=connector) as client:
            assert await get(client, "/logs/") == (405, "logs endpoint is disabled.\n")


async def test_a_bug_in_a_page_is_an_answer_and_not_the_end(
    stage: Stage, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> bytes:
        raise KeyError("oops")

    monkeypatch.setattr(stage.views, "desired_pods", broken)
    assert await get(client, "/pods") == (500, "Internal Server Error\n")
    assert await get(client, "/healthz") == (200, "ok")
