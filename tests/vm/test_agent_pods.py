"""Ordinary pods on a real runtime: probes, hooks, volumes, workloads, and what goes wrong with them."""

import pytest
from tests.vm.node import Hands, Object, condition, container, eventually, pod, runs, together

from flexlet.api.units import MIB
from flexlet.ports.cluster import PODS, Ref

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1200)]
CONFIG_MAPS = Ref("", "v1", "configmaps")
SECRETS = Ref("", "v1", "secrets")
DEPLOYMENTS = Ref("apps", "v1", "deployments")
JOBS = Ref("batch", "v1", "jobs")
POLITE = "trap 'exit 0' TERM; "
WEB = "mkdir -p /tmp/web; busybox httpd -p 8080 -h /tmp/web; trap 'exit 0' TERM; sleep 1000000 & wait"


async def test_probes(hands: Hands) -> None:
    """Not ready until the probe says so; restarted when it is not alive; left alone until it has started."""
    page = {"httpGet": {"path": "/ok", "port": 8080}, "periodSeconds": 1}
    port = {"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 600}
    fine = {"exec": {"command": ["true"]}, "periodSeconds": 5, "timeoutSeconds": 60}
    never = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 60}
    probed = container(script=WEB, startupProbe=port, readinessProbe=page, livenessProbe=fine)
    await hands.create(PODS, pod("probed", probed))
    await hands.create(PODS, pod("ill", container(livenessProbe=never)))
    found = await hands.until("it has started", "probed", lambda found: runs(found).get("c", {}).get("started"))
    assert (condition(found, "Ready"), runs(found)["c"]["ready"]) == ("False", False)
    await hands.within(found, "c", "echo yes >/tmp/web/ok")
    found = await hands.ready("probed")
    await hands.within(found, "c", "rm /tmp/web/ok")
    found = await hands.until("it is not ready", "probed", lambda found: condition(found, "Ready") == "False")
    assert runs(found)["c"]["restartCount"] == 0
    ill = await hands.until("it restarts", "ill", lambda found: runs(found).get("c", {}).get("restartCount"))
    told = await hands.events(ill)
    assert {"Unhealthy", "Killing", "Started"} <= set(told)
    await hands.delete("probed", "ill")


async def test_hooks_and_the_end(hands: Hands) -> None:
    """After the start, before the end, then TERM, then as much time as was promised."""
    script = "trap 'sleep 1; echo term >>/host/said; exit 0' TERM; sleep 1000000 & wait; wait"
    hooks = {
        "postStart": {"exec": {"command": ["sh", "-c", "echo start >>/host/said"]}},
        "preStop": {"exec": {"command": ["sh", "-c", "echo stop >>/host/said"]}},
    }
    mount = {"name": "host", "mountPath": "/host"}
    volume = {"name": "host", "hostPath": {"path": "/opt/hooks", "type": "DirectoryOrCreate"}}
    hooked = container(script=script, lifecycle=hooks, volumeMounts=[mount])
    await hands.start("hooked", hooked, volumes=[volume], terminationGracePeriodSeconds=120)
    await hands.delete("hooked")
    assert await hands.inside("cat /opt/hooks/said; rm -r /opt/hooks") == "start\nstop\nterm"


MOUNTS: dict[str, Object] = {
    "fast": {"emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}},
    "settings": {"configMap": {"name": "settings"}},
    "keys": {"secret": {"secretName": "keys", "defaultMode": 0o400}},
    "about": {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    "all": {
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                {"configMap": {"name": "settings", "items": [{"key": "color", "path": "deep/color"}]}},
                {
                    "downwardAPI": {
                        "items": [
                            {
                                "path": "most",
                                "resourceFieldRef": {"containerName": "c", "resource": "limits.memory"},
                            }
                        ]
                    }
                },
            ]
        }
    },
}


async def test_volumes(hands: Hands) -> None:
    """Each kind shows in the container what it was made from; a config map's news arrive."""
    await hands.create(CONFIG_MAPS, _named("settings", data={"color": "blue"}))
    await hands.create(SECRETS, _named("keys", stringData={"key": "secret"}))
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in MOUNTS]
    mounts.append({"name": "settings", "mountPath": "/single/color", "subPath": "color"})
    holder = container(volumeMounts=mounts, resources={"limits": {"cpu": "1", "memory": "32Mi"}})
    volumes = [{"name": name, **source} for name, source in MOUNTS.items()]
    found = await hands.start("holder", holder, volumes=volumes)
    seen = await hands.within(
        found,
        "c",
        "cat /settings/color /keys/key /about/name /all/deep/color /all/most /single/color | xargs -n 1 echo; "
        "cut -d . -f 1 /all/token | wc -l; stat -c %a /keys/..data/key; "
        "stat -f -c '%T %b %S' /fast",
    )
    words = seen.split()
    assert words[:1] == ["bluesecretholderblue" + str(32 * MIB) + "blue"]
    assert words[1:] == ["1", "400", "tmpfs", str(8 * MIB // 4096), "4096"]
    await hands.api.patch(CONFIG_MAPS, "default", "settings", {"data": {"color": "green"}})

    async def arrived() -> bool:
        return (
            await hands.within(found, "c", "cat /settings/color /all/deep/color /single/color") == "greengreenblue"
        )

    await eventually(arrived)
    await hands.delete("holder")
    await hands.delete("settings", ref=CONFIG_MAPS)
    await hands.delete("keys", ref=SECRETS)


def _named(name: str, **more: object) -> Object:
    return {"metadata": {"name": name}, **more}


async def test_what_goes_wrong_is_said(hands: Hands) -> None:
    """Too much memory, an image that nobody has, one that must not be pulled: the reasons are in the status."""
    hungry = container(script="exec tail /dev/zero", resources={"limits": {"cpu": "1", "memory": "24Mi"}})
    absent = container() | {"image": "127.0.0.1:1/none:1"}
    banned = container() | {"image": "flexlet/none:1", "imagePullPolicy": "Never"}
    await hands.create(PODS, pod("hungry", hungry, restartPolicy="Never"))
    await hands.create(PODS, pod("absent", absent))
    await hands.create(PODS, pod("banned", banned))
    found = await hands.until("it ends", "hungry", lambda found: found["status"].get("phase") == "Failed")
    ended = runs(found)["c"]["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    await together(
        hands.until("it waits", "absent", lambda found: _waits(found) == "ImagePullBackOff"),
        hands.until("it is refused", "banned", lambda found: _waits(found) == "ErrImageNeverPull"),
    )
    await hands.delete("hungry", "absent", "banned")


def _waits(found: Object) -> str:
    return str(runs(found).get("c", {}).get("state", {}).get("waiting", {}).get("reason", ""))


async def test_workloads(hands: Hands) -> None:
    """A Deployment rolls, a Job completes."""
    labels = {"app": "d"}
    spec = pod("", container())["spec"]
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await hands.create(DEPLOYMENTS, _named("d", spec=body))
    job = pod("", container(script="true"), restartPolicy="Never")["spec"]
    await hands.create(JOBS, _named("j", spec={"template": {"spec": job}}))
    await hands.until("it is there", "d", _rolled, DEPLOYMENTS)
    old = await _uids(hands)
    renewed = {"name": "c", "env": [{"name": "ROUND", "value": "2"}]}
    patch = {"spec": {"template": {"spec": {"containers": [renewed]}}}}
    await hands.api.patch(DEPLOYMENTS, "default", "d", patch, kind="strategic")
    await hands.until("it has rolled", "d", _rolled, DEPLOYMENTS)

    async def replaced() -> bool:
        now = await _uids(hands)
        return len(now) == 1 and now != old

    await eventually(replaced)
    await hands.until("it completes", "j", lambda found: condition(found, "Complete") == "True", JOBS)
    for ref, name in ((DEPLOYMENTS, "d"), (JOBS, "j")):
        await hands.api.delete(ref, "default", name, {"propagationPolicy": "Background"})

    async def gone() -> bool:
        return not await _uids(hands) and not await hands.listed(PODS, label_selector="job-name=j")

    await eventually(gone)


def _rolled(found: Object) -> bool:
    status = found.get("status") or {}
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    return counts == [1, 1, 1] and status.get("observedGeneration") == found["metadata"]["generation"]


async def _uids(hands: Hands) -> list[str]:
    return [each["metadata"]["uid"] for each in await hands.listed(PODS, label_selector="app=d")]
