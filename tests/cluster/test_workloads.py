"""What kubectl shows of the controllers, the scheduler and the nodes: deployments, jobs, pods that run."""

import json
from typing import Any

import pytest
from tests.cluster.kubectl import Kubectl
from tests.cluster.tables import ADDRESS, AGE, NODE, Like, cells, rows, section

pytestmark = pytest.mark.cluster

NAME = Like(r"web-[0-9a-z]+-[0-9a-z]{5}")
SET = Like(r"web-[0-9a-z]+")


def resources(cpu: str, memory: str, limit_cpu: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": limit_cpu, "memory": memory}}


def pod(name: str, **spec: Any) -> str:
    container = {"name": "main", "image": "x:1", "resources": resources("100m", "64Mi", "200m")}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
    body["spec"] |= spec  # type: ignore[operator]
    return json.dumps(body)


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """A deployment of two that has rolled out."""
    kubectl("create deployment web --image=nginx:1 --replicas=2")
    kubectl("rollout status deployment web --timeout=30s")
    return kubectl


def test_a_deployment_rolls_out(web: Kubectl) -> None:
    """Its pods run on nodes, and `get` shows deployment, replica set and pods in their usual columns."""
    assert web.lines("rollout status deployment web")[-1] == 'deployment "web" successfully rolled out'
    assert rows(web.lines("get deployments")) == [
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"],
        ["web", "2/2", "2", "2", AGE],
    ]
    assert rows(web.lines("get replicasets")) == [
        ["NAME", "DESIRED", "CURRENT", "READY", "AGE"],
        [SET, "2", "2", "2", AGE],
    ]
    running = [NAME, "1/1", "Running", "0", AGE, ADDRESS, NODE, "<none>", "<none>"]
    assert rows(web.lines("get pods -o wide --no-headers")) == [running, running]
    assert sorted({cells(line)[0].partition("/")[0] for line in web.lines("get all --no-headers") if line}) == [
        "deployment.apps",
        "pod",
        "replicaset.apps",
    ]


def test_a_change_is_rolled_out_and_back(web: Kubectl) -> None:
    """History counts revisions; undo goes back to the one before; a restart is a revision too."""
    assert web.lines("set image deployment web nginx=nginx:2") == ["deployment.apps/web image updated"]
    web("rollout status deployment web --timeout=30s")
    assert rows(web.lines("rollout history deployment web"))[:4] == [
        ["deployment.apps/web"],
        ["REVISION", "CHANGE-CAUSE"],
        ["1", "<none>"],
        ["2", "<none>"],
    ]
    assert "    Image:\tnginx:2" in web.lines("rollout history deployment web --revision=2")
    assert web.lines("rollout undo deployment web") == ["deployment.apps/web rolled back"]
    web("rollout status deployment web --timeout=30s")
    image = "-o jsonpath={.spec.template.spec.containers[0].image}"
    assert web(f"get deployment web {image}") == "nginx:1"
    assert web.lines("rollout restart deployment web") == ["deployment.apps/web restarted"]
    web("rollout status deployment web --timeout=30s")
    revisions = [line.split()[0] for line in web.lines("rollout history deployment web")[2:] if line]
    assert revisions == ["2", "3", "4"]
    assert web.refused("rollout undo deployment web --to-revision=99") == (
        "error: unable to find specified revision 99 in history"
    )


def test_a_paused_rollout_waits(web: Kubectl) -> None:
    """Nothing changes while a deployment is paused; resumed, it goes on."""
    assert web.lines("rollout pause deployment web") == ["deployment.apps/web paused"]
    web("set image deployment web nginx=nginx:2")
    assert web.refused("rollout status deployment web --timeout=1s").splitlines()[-1] == (
        "error: timed out waiting for the condition"
    )
    assert web("get pods -o jsonpath={.items[*].spec.containers[0].image}") == "nginx:1 nginx:1"
    assert web.lines("rollout resume deployment web") == ["deployment.apps/web resumed"]
    web("rollout status deployment web --timeout=30s")
    web("wait --for=jsonpath={.status.replicas}=2 deployment/web --timeout=30s")
    assert set(web("get pods -o jsonpath={.items[*].spec.containers[0].image}").split()) == {"nginx:2"}


def test_a_deployment_is_scaled(web: Kubectl) -> None:
    """Up and down through the scale subresource; the precondition is checked."""
    assert web.lines("scale deployment web --replicas=4") == ["deployment.apps/web scaled"]
    web("rollout status deployment web --timeout=30s")
    assert len(web.lines("get pods -o name")) == 4
    assert web.refused("scale deployment web --current-replicas=9 --replicas=1") == (
        "error: Expected replicas to be 9, was 4"
    )
    web("scale deployment web --replicas=0")
    web("wait --for=delete pod --all --timeout=30s")
    assert web.run("kubectl get pods").err == f"No resources found in {web.namespace} namespace.\n"


def test_deployments_and_their_parts_are_described(web: Kubectl) -> None:
    """Conditions, replica sets and events stand where people look for them."""
    described = web.lines("describe deployment web")
    assert rows(section(described, "Conditions:"))[2:] == [
        ["Available", "True", "MinimumReplicasAvailable"],
        ["Progressing", "True", "NewReplicaSetAvailable"],
    ] or rows(section(described, "Conditions:"))[2:] == [
        ["Progressing", "True", "NewReplicaSetAvailable"],
        ["Available", "True", "MinimumReplicasAvailable"],
    ]
    (chosen,) = [line for line in described if line.startswith("NewReplicaSet:")]
    assert cells(chosen) == ["NewReplicaSet:", Like(r"web-\w+ \(2/2 replicas created\)")]
    assert cells(section(described, "Events:")[-1]) == [
        "Normal",
        "ScalingReplicaSet",
        AGE,
        "deployment-controller",
        Like(r"Scaled up replica set web-\w+ from 0 to 2"),
    ]
    described = web.lines("describe replicasets")
    assert "Controlled By:  Deployment/web" in described
    assert "Pods Status:    2 Running / 0 Waiting / 0 Succeeded / 0 Failed" in described
    name = web.lines("get pods -o name")[0]
    described = web.lines(f"describe {name}")
    assert "Status:           Running" in described
    assert cells(section(described, "Events:")[2]) == [
        "Normal",
        "Scheduled",
        AGE,
        "default-scheduler",
        Like(rf"Successfully assigned {web.namespace}/web-\w+-\w+ to hollow-\d"),
    ]


def test_deleting_a_deployment_deletes_what_it_owns(web: Kubectl) -> None:
    """In the foreground the owner goes last; with orphans the pods stay."""
    web("delete deployment web --cascade=foreground --timeout=30s")
    assert web.run("kubectl get deployments,replicasets").out == ""
    web("create deployment web --image=nginx:1")
    web("rollout status deployment web --timeout=30s")
    web("delete deployment web --cascade=orphan --timeout=30s")
    assert rows(web.lines("get replicasets --no-headers")) == [[SET, "1", "1", "1", AGE]]
    web("delete replicasets --all --timeout=30s")
    web("wait --for=delete pod --all --timeout=30s")


def test_a_job_completes(kubectl: Kubectl) -> None:
    """A simulated node ends the pods of jobs at once; the job says so."""
    kubectl("create job once --image=busybox:1 -- true")
    assert kubectl.lines("wait --for=condition=complete job/once --timeout=30s") == [
        "job.batch/once condition met"
    ]
    assert rows(kubectl.lines("get jobs")) == [
        ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"],
        ["once", "Complete", "1/1", AGE, AGE],
    ]
    assert rows(kubectl.lines("get pods --no-headers")) == [[Like(r"once-\w{5}"), "0/1", "Completed", "0", AGE]]
    assert "Pods Statuses:    0 Active (0 Ready) / 1 Succeeded / 0 Failed" in kubectl.lines("describe job once")
    kubectl("delete job once")
    kubectl("wait --for=delete pod --all --timeout=30s")


def test_a_daemon_set_covers_every_node(kubectl: Kubectl) -> None:
    """One pod on each node; status, rollout and description count them."""
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "c", "image": "x:1"}]},
    }
    body = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }
    assert kubectl.lines("apply -f -", json.dumps(body)) == ["daemonset.apps/agent created"]
    kubectl("rollout status daemonset agent --timeout=30s")
    assert rows(kubectl.lines("get daemonsets --no-headers")) == [
        ["agent", "3", "3", "3", "3", "3", "<none>", AGE]
    ]
    nodes = kubectl("get pods -o jsonpath={.items[*].spec.nodeName}").split()
    assert sorted(nodes) == ["hollow-0", "hollow-1", "hollow-2"]
    assert "Pods Status:  3 Running / 0 Waiting / 0 Succeeded / 0 Failed" in kubectl.lines(
        "describe daemonset agent"
    )


def test_a_running_pod_is_resized(kubectl: Kubectl) -> None:
    """The node takes the new amounts; wait sees them in the status."""
    kubectl("apply -f -", pod("p"))
    kubectl("wait --for=condition=Ready pod/p --timeout=30s")
    wanted = {"spec": {"containers": [{"name": "main", "resources": resources("150m", "64Mi", "300m")}]}}
    assert kubectl.lines(f"patch pod p --subresource resize -p '{json.dumps(wanted)}'") == ["pod/p patched"]
    path = "{.status.containerStatuses[0].resources.requests.cpu}"
    assert kubectl.lines(f"wait --for=jsonpath='{path}'=150m pod/p --timeout=30s") == ["pod/p condition met"]
    too_much = {"spec": {"containers": [{"name": "main", "resources": resources("100", "64Mi", "200")}]}}
    assert kubectl.refused(f"patch pod p --subresource resize -p '{json.dumps(too_much)}'") == (
        'Error from server (Forbidden): pods "p" is forbidden: node didn\'t have enough allocatable resources:'
        " cpu, requested: 100000, allocatable: 8000"
    )


def test_a_pod_that_fits_nowhere_says_why(kubectl: Kubectl) -> None:
    """Describe and events carry the scheduler's reason."""
    kubectl("apply -f -", pod("p", nodeSelector={"example.com/where": "nowhere"}))
    kubectl("wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/p --timeout=30s")
    reason = (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. preemption: 0/3 nodes are"
        " available: 3 Preemption is not helpful for scheduling."
    )
    assert cells(section(kubectl.lines("describe pod p"), "Events:")[-1]) == [
        "Warning",
        "FailedScheduling",
        AGE,
        "default-scheduler",
        reason,
    ]
    assert rows(kubectl.lines("events --for pod/p --no-headers")) == [
        [AGE, "Warning", "FailedScheduling", "Pod/p", reason]
    ]
    assert [row[1:3] for row in rows(kubectl.lines("get events --no-headers"))] == [
        ["Warning", "FailedScheduling"]
    ]


def test_simulated_nodes_have_no_logs_and_no_commands(kubectl: Kubectl) -> None:
    """The refusal says which node, and that it is simulated."""
    kubectl("apply -f -", pod("p", nodeName="hollow-0"))
    kubectl("wait --for=condition=Ready pod/p --timeout=30s")
    text = "node hollow-0 is simulated: its pods have no logs and can run no commands"
    assert kubectl.refused("logs p") == f"Error from server (NotImplemented): {text}"
    for command in ("exec p -- ls", "attach p", "port-forward p 8080:80"):
        assert kubectl.refused(command).endswith(text)
    assert "container nope is not valid for pod p" in kubectl.refused("exec p -c nope -- ls")
    assert kubectl.refused("logs nope") == (
        f'error: error from server (NotFound): pods "nope" not found in namespace "{kubectl.namespace}"'
    )


def test_a_namespace_takes_everything_with_it(kubectl: Kubectl) -> None:
    """Delete waits until the namespace is gone, pods that run included."""
    other = f"{kubectl.namespace}-other"
    kubectl(f"create namespace {other}")
    kubectl(f"wait --for=create serviceaccount/default -n {other} --timeout=20s")
    kubectl(f"create deployment web --image=nginx:1 --replicas=2 -n {other}")
    kubectl(f"rollout status deployment web -n {other} --timeout=30s")
    assert kubectl.lines(f"delete namespace {other} --timeout=30s") == [f'namespace "{other}" deleted']
    assert kubectl.refused(f"get namespace {other}") == (
        f'Error from server (NotFound): namespaces "{other}" not found'
    )
