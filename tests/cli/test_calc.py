import io
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from flexlet.cli.main import run

VECTORS = Path(__file__).parent.parent / "data" / "vectors"

WRONG_SHAPE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: a
    resources:
      requests: {cpu: 100m, memory: 128Mi}
"""


class Stdin(io.TextIOWrapper):
    """A standard input of fixed content."""

    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()))


Answer = tuple[int, str, list[str]]


@pytest.fixture
def flexlet(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Any:
    """Run the command line: exit code, stdout, and the lines of stderr."""

    def call(*args: str, stdin: str = "") -> Answer:
        monkeypatch.setattr(sys, "stdin", Stdin(stdin))
        code = run(list(args))
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode().splitlines()

    return call


def pod_json(**changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": "Pod", "spec": {"containers": [{"name": "a"}]}}
    return body | changes


def test_vectors_as_json_lines(flexlet: Any) -> None:
    """JSON lines in, JSON lines out: exactly the keys of the vectors, and nothing more."""
    recorded = [json.loads(line) for line in (VECTORS / "pod.jsonl").read_text().splitlines()][:30]
    lines = [json.dumps({"pod": r["pod"], "node_memory": r["want"]["node_memory"]}) for r in recorded]
    code, out, err = flexlet("calc", "pod", "--jsonl", "-o", "jsonl", stdin="\n".join(lines) + "\n\n")
    assert (code, err) == (0, [])
    assert [json.loads(line) for line in out.splitlines()] == [r["want"] for r in recorded]


def test_quantity_vectors(flexlet: Any) -> None:
    recorded = (VECTORS / "quantity.jsonl").read_text()
    code, out, err = flexlet("calc", "quantity", "--jsonl", stdin=recorded)
    assert (code, err) == (0, [])
    assert [json.loads(line) for line in out.splitlines()] == [json.loads(line) for line in recorded.splitlines()]


def test_table(flexlet: Any) -> None:
    """A person sees where each figure comes from."""
    code, out, err = flexlet("calc", "pod", stdin=POD)
    assert (code, err) == (0, [])
    rows = [line.rstrip() for line in out.splitlines()]
    assert rows == [
        "default/web on a node with 16Gi of memory",
        "FIGURE              VALUE       WHERE IT COMES FROM",
        "QoS class           Burstable   in container a cpu has no limit",
        "cpu request         100m        the only container; pod level not set",
        "memory request      134217728   the only container; pod level not set",
        "cpu limit           unlimited   no container names it; pod level not set",
        "memory limit        unlimited   no container names it; pod level not set",
        "cpu.weight          17          shares 102; the kubelet's own linear formula gives 4",
        "cpu.max             max 100000  left alone: no cpu limit in a",
        "memory.max          max         left alone: no memory limit in a",
        "oom_score_adj of a  993         requests 134217728 of 17179869184 bytes",
        "",
    ]


def test_json_array(flexlet: Any) -> None:
    code, out, err = flexlet("calc", "pod", "-o", "json", stdin=f"{POD}---{POD}")
    first, second = json.loads(out)
    assert (code, err, first) == (0, [], second)
    assert first["requests"] == {"cpu": 100, "memory": 134217728}


@pytest.mark.parametrize(
    ("arguments", "memory"),
    [((), 16 << 30), (("--node-memory", "1Gi"), 1 << 30), (("--node-memory", "1e9"), 10**9)],
)
def test_node_memory(flexlet: Any, arguments: tuple[str, ...], memory: int) -> None:
    """What a line does not say comes from the option."""
    line = json.dumps({"pod": pod_json()})
    _, out, _ = flexlet("calc", "pod", "--jsonl", *arguments, stdin=line)
    assert json.loads(out)["node_memory"] == memory


def test_files(flexlet: Any, tmp_path: Path) -> None:
    """Files, standard input, and files that are not there: each on its own."""
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    code, out, err = flexlet("calc", "pod", str(path), "-", "-f", "missing.yaml", "-o", "jsonl", stdin=POD)
    assert (code, err) == (1, ["error: missing.yaml: cannot read it: No such file or directory"])
    assert len(out.splitlines()) == 2


def test_a_person_at_the_terminal_is_told_what_is_awaited(flexlet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stdin, "isatty", lambda _self: True)
    assert flexlet("calc", "pod")[2] == ["reading pods from standard input; Ctrl-D ends them"]


def container(**resources: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "a", "resources": resources}]}}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("x: [1", "not YAML: line 2, column 1: did not find expected ',' or ']'"),
        ("[]", "$: expected a Pod, got list"),
        ("7", "$: expected a Pod, got int"),
        ("kind: Service", "$.kind: expected Pod, got Service"),
        ("{apiVersion: v2, kind: Pod}", "$.apiVersion: expected v1, got v2"),
        ("kind: Pod", "$.spec.containers: a pod needs at least one container"),
        (
            json.dumps(container(limits={"cpu": "1 core"})),
            f"$.spec.containers[0].resources.limits.cpu: '1 core' is not a quantity: {WRONG_SHAPE}",
        ),
        (json.dumps(container(limits={"cpu": -1})), "$.spec.containers[0].resources.limits.cpu: -1 is negative"),
        (
            json.dumps(container(limits={"cpu": 1}, requests={"cpu": 2})),
            "$.spec.containers[0].resources.requests.cpu: request 2 is above limit 1",
        ),
    ],
)
def test_bad_documents(flexlet: Any, document: str, problem: str) -> None:
    """One line names the place and the reason; the other documents are still done."""
    code, out, err = flexlet("calc", "pod", "-o", "jsonl", stdin=f"{document}\n---{POD}")
    assert (code, err) == (1, [f"error: stdin, document 1: {problem}"])
    assert json.loads(out)["qos"] == "Burstable"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "$: Input data was truncated"),
        ("{}", "$.pod: there is no pod in this line"),
        ('{"pod": null}', "$.pod: there is no pod in this line"),
        ('{"pod": 1}', "$.pod: Expected `object | null`, got `int`"),
        ('{"pod": {}}', "$.pod.spec.containers: a pod needs at least one container"),
        (
            json.dumps({"pod": container(requests={"cpu": "-1"})}),
            "$.pod.spec.containers[0].resources.requests.cpu: -1 is negative",
        ),
        (json.dumps({"pod": pod_json(), "node_memory": 0}), "$.node_memory: 0 is not positive"),
        (
            json.dumps({"pod": pod_json(), "node_memory": "1Gi"}),
            "$.node_memory: Expected `int | null`, got `str`",
        ),
    ],
)
def test_bad_lines(flexlet: Any, line: str, problem: str) -> None:
    good = json.dumps({"pod": pod_json()})
    code, out, err = flexlet("calc", "pod", "--jsonl", stdin=f"{good}\n{line}\n{good}\n")
    assert (code, err) == (1, [f"error: stdin, line 2: {problem}"])
    assert len(out.splitlines()) == 2


def test_unknown_fields(flexlet: Any) -> None:
    """Ignored as everywhere in Kubernetes, unless somebody wants to know."""
    misspelt = pod_json(spec={"containers": [{"name": "a", "resource": {}}], "nodename": "x"})
    text = json.dumps(misspelt)
    assert flexlet("calc", "pod", "-o", "jsonl", stdin=text)[0] == 0
    path = "$.spec.containers[0].resource"
    code, out, err = flexlet("calc", "pod", "--strict", stdin=text)
    assert (code, out, err) == (1, "", [f"error: stdin, document 1: {path}: unknown field, and 1 more"])
    code, out, err = flexlet("calc", "pod", "--strict", "--jsonl", stdin=json.dumps({"pod": misspelt}))
    in_line = path.replace("$", "$.pod")
    assert (code, out, err) == (1, "", [f"error: stdin, line 1: {in_line}: unknown field, and 1 more"])
    assert flexlet("calc", "pod", "--strict", "-o", "jsonl", stdin=POD)[0] == 0


def test_quantities_for_people(flexlet: Any) -> None:
    code, out, err = flexlet("calc", "quantity", "1.5Gi", "250m", "1x", "--", "-1")
    assert (code, err) == (1, ["error: '1x' is not a quantity"])
    assert out.splitlines() == [
        "QUANTITY  CANONICAL  VALUE       MILLI",
        "1.5Gi     1536Mi     1610612736  1610612736000",
        "250m      250m       1           250",
        "-1        -1         -1          -1000",
    ]
    assert flexlet("calc", "quantity", "x") == (1, "", ["error: 'x' is not a quantity"])


def test_quantities_as_json(flexlet: Any) -> None:
    """For a program a text that is no quantity is an answer, not an error."""
    code, out, err = flexlet("calc", "quantity", "1.5Gi", "x", "-o", "json")
    answer = {"in": "1.5Gi", "ok": True, "canonical": "1536Mi", "value": 1610612736, "milli": 1610612736000}
    assert (code, err, json.loads(out)) == (0, [], [answer, {"in": "x", "ok": False}])


def test_bad_quantity_lines(flexlet: Any) -> None:
    code, out, err = flexlet("calc", "quantity", "--jsonl", stdin='{"in": "1"}\n\n{"in": 1}\n{\n')
    assert (code, json.loads(out)["value"]) == (1, 1)
    assert err == [
        "error: stdin, line 3: Expected `str`, got `int` - at `$.in`",
        "error: stdin, line 4: Input data was truncated",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("calc", "pod", "-o", "xml"),
        ("calc", "pod", "--node-memory", "lots"),
        ("calc", "pod", "--node-memory", "0"),
        ("calc", "quantity"),
        ("calc", "quantity", "1", "--jsonl"),
        ("calc", "nothing"),
        ("nothing",),
    ],
)
def test_wrong_usage(flexlet: Any, arguments: tuple[str, ...]) -> None:
    code, out, err = flexlet(*arguments)
    assert (code, out) == (2, "")
    assert err[-1].startswith("Error: ")


def test_all_figures_have_stable_keys(flexlet: Any) -> None:
    _, out, _ = flexlet("calc", "pod", "-o", "jsonl", stdin=POD)
    assert list(msgspec.json.decode(out)) == [
        "aggregated_requests",
        "defaulted_container_resources",
        "defaulted_resources",
        "limits",
        "node_memory",
        "oom_score_adj",
        "pod_cgroup",
        "qos",
        "requests",
        "scheduler_requests",
    ]
