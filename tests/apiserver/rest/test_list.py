import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apiserver.rest.world import World, config

from flexlet.api import status
from flexlet.apiserver.rest import listing, listoptions, paging
from flexlet.apiserver.rest.listoptions import ListOptions
from flexlet.apiserver.store import Store


async def test_pages_are_one_list_at_one_version(world: World) -> None:
    """What is created or deleted between two pages belongs to the next list."""
    for name in "abcde":
        await world.create("configmaps", config(name))
    kind = world.kind("configmaps")
    first = await world.rest.list(kind, "ns", ListOptions(limit=2))
    assert ([row.key for row in first.rows], first.remaining) == (["ns/a", "ns/b"], 3)
    await world.create("configmaps", config("aa"))
    await world.create("configmaps", config("ca"))
    await world.delete("configmaps", "d")
    second = await world.rest.list(kind, "ns", ListOptions(limit=2, continue_=first.continue_))
    assert ([row.key for row in second.rows], second.remaining) == (["ns/c", "ns/d"], 1)
    assert second.revision == first.revision
    last = await world.rest.list(kind, "ns", ListOptions(limit=2, continue_=second.continue_))
    assert ([row.key for row in last.rows], last.continue_, last.remaining) == (["ns/e"], "", None)


async def test_an_expired_page_offers_to_go_on_inconsistently(world: World) -> None:
    for name in "abc":
        await world.create("configmaps", config(name))
    kind = world.kind("configmaps")
    first = await world.rest.list(kind, "ns", ListOptions(limit=1))
    await world.create("configmaps", config("bb"))
    await world.store.compact(world.store.revision)
    with pytest.raises(status.Gone) as error:
        await world.rest.list(kind, "ns", ListOptions(limit=1, continue_=first.continue_))
    assert error.value.reason == "Expired"
    resume = error.value.status.metadata.continue_
    rest = await world.rest.list(kind, "ns", ListOptions(continue_=resume))
    assert [row.key for row in rest.rows] == ["ns/b", "ns/bb", "ns/c"]


async def test_version_zero_ignores_the_limit(world: World) -> None:
    for name in "abc":
        await world.create("configmaps", config(name))
    assert await world.names("configmaps", resource_version="0", limit=1) == ["ns/a", "ns/b", "ns/c"]


async def test_an_exact_version_shows_the_past_while_it_is_kept(world: World) -> None:
    await world.create("configmaps", config("a"))
    await world.create("configmaps", config("b"))
    await world.delete("configmaps", "a")
    exact: dict[str, Any] = {"resource_version": "1", "match": "Exact"}
    assert await world.names("configmaps", **exact) == ["ns/a"]
    assert await world.names("configmaps", resource_version="1", match="NotOlderThan") == ["ns/b"]
    await world.store.compact(3)
    with pytest.raises(status.Gone) as error:
        await world.names("configmaps", **exact)
    assert str(error.value) == "The resourceVersion for the provided list is too old."


async def test_a_version_to_come_is_waited_for(world: World) -> None:
    async def create_later() -> None:
        await asyncio.sleep(0.01)
        await world.create("configmaps", config("a"))

    task = asyncio.create_task(create_later())
    assert await world.names("configmaps", resource_version="1") == ["ns/a"]
    await task


async def test_a_version_that_does_not_come_is_a_timeout(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "FUTURE_WAIT_S", 0.01)
    with pytest.raises(status.ApiError) as error:
        await world.names("configmaps", resource_version="99")
    assert msgspec.json.decode(status.encode(error.value.status)) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Timeout: Too large resource version: 99, current: 0",
        "reason": "Timeout",
        "details": {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
        "code": 504,
    }


async def test_selectors_choose_by_label_name_and_field(world: World) -> None:
    await world.pod("a", node="n1", labels={"app": "x"})
    await world.pod("b", node="n2", labels={"app": "y"})
    await world.pod("c")
    assert await world.names("pods", label_selector="app in (x,y),app!=y") == ["ns/a"]
    assert await world.names("pods", label_selector="app!=x") == ["ns/b", "ns/c"]
    assert await world.names("pods", field_selector="spec.nodeName=n2") == ["ns/b"]
    assert await world.names("pods", field_selector="spec.nodeName=") == ["ns/c"]
    assert await world.names("pods", field_selector="metadata.name!=a,metadata.namespace=ns") == ["ns/b", "ns/c"]


async def test_a_page_of_selected_objects_does_not_count_the_rest(world: World) -> None:
    """Whether anything else matches is only known by looking, so a page may turn out empty."""
    await world.create("configmaps", config("a", labels={"k": "1"}))
    await world.create("configmaps", config("b"))
    kind = world.kind("configmaps")
    first = await world.rest.list(kind, "ns", ListOptions(limit=1, label_selector="k"))
    assert ([row.key for row in first.rows], first.remaining) == (["ns/a"], None)
    options = ListOptions(limit=1, label_selector="k", continue_=first.continue_)
    second = await world.rest.list(kind, "ns", options)
    assert (second.rows, second.continue_) == ([], "")


@pytest.mark.parametrize(
    ("plural", "options", "message"),
    [
        (
            "configmaps",
            {"label_selector": "a===b"},
            "unable to parse requirement: found '=', expected: identifier",
        ),
        ("configmaps", {"field_selector": "x"}, "invalid selector: 'x'; can't understand 'x'"),
        (
            "configmaps",
            {"field_selector": "data.x=1"},
            '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("pods", {"field_selector": "spec.nope=1"}, "field label not supported: spec.nope"),
        (
            "configmaps",
            {"resource_version": "abc"},
            (
                'invalid resource version: resourceVersion: Invalid value: "abc": '
                'strconv.ParseUint: parsing "abc": invalid syntax'
            ),
        ),
        (
            "configmaps",
            {"continue_": "xyz"},
            (
                "invalid continue token: continue key is not valid: "
                "invalid character 'Ç' looking for beginning of value"
            ),
        ),
        (
            "configmaps",
            {"continue_": "xyz", "resource_version": "5"},
            "specifying resource version is not allowed when using continue",
        ),
    ],
)
async def test_questions_that_cannot_be_understood(
    world: World, plural: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(status.BadRequest) as error:
        await world.names(plural, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("watch", "options", "details"),
    [
        (
            False,
            {"match": "Exact"},
            [
                (
                    "resourceVersionMatch: Forbidden: "
                    "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            ],
        ),
        (
            False,
            {"match": "Exact", "resource_version": "0"},
            ['resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
        ),
        (
            False,
            {"match": "Foo", "resource_version": "5"},
            ['resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""'],
        ),
        (
            False,
            {"send_initial_events": True},
            ["sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
        ),
        (
            True,
            {"match": "NotOlderThan", "resource_version": "5"},
            [
                (
                    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless "
                    "sendInitialEvents is provided"
                )
            ],
        ),
        (
            True,
            {"match": "Exact", "resource_version": "5", "send_initial_events": True},
            [
                (
                    "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
                    "NotOlderThan"
                ),
                'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"',
            ],
        ),
    ],
)
def test_options_that_contradict_each_other(watch: bool, options: dict[str, Any], details: list[str]) -> None:
    with pytest.raises(status.Invalid) as error:
        listoptions.check(ListOptions(**options), watch=watch)
    causes = error.value.status.details.causes  # type: ignore[union-attr]
    assert [f"{cause.field}: {cause.message}" for cause in causes] == details


def test_the_query_is_read_as_upstream_reads_it() -> None:
    query = {
        "watch": "1",
        "limit": "-1",
        "allowWatchBookmarks": "FALSE",
        "sendInitialEvents": "",
        "timeoutSeconds": "",
    }
    assert listoptions.parse(query) == ListOptions(
        watch=True, limit=-1, allow_bookmarks=False, send_initial_events=True, timeout_seconds=None
    )
    with pytest.raises(status.BadRequest) as error:
        listoptions.parse({"limit": "abc"})
    assert str(error.value) == 'strconv.ParseInt: parsing "abc": invalid syntax'


@given(st.text(min_size=1).filter(lambda text: "\x00" not in text), st.integers(min_value=1, max_value=2**63))
def test_a_token_says_where_to_go_on(after: str, revision: int) -> None:
    token = paging.Token(after, revision)
    assert paging.read(paging.write(token)) == token


@given(st.text())
def test_any_text_is_a_token_or_a_bad_request(text: str) -> None:
    try:
        paging.read(text)
    except status.BadRequest as error:
        assert str(error).startswith("invalid continue token: ")  # noqa: PT017 both outcomes are fine


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.integers(min_value=1, max_value=4))
def test_pages_put_together_are_the_list(names: list[str], limit: int) -> None:
    async def run() -> tuple[list[str], list[str]]:
        store = await Store.open(None)
        world = World(store)
        for name in names:
            await world.create("configmaps", config(name))
        found, token = [], ""
        while True:
            page = await world.rest.list(world.kind("configmaps"), "ns", ListOptions(limit=limit, continue_=token))
            found += [row.key for row in page.rows]
            token = page.continue_
            if not token:
                break
        whole = await world.names("configmaps")
        await store.close()
        return found, whole

    found, whole = asyncio.run(run())
    assert found == whole == [f"ns/{name}" for name in sorted(names)]
