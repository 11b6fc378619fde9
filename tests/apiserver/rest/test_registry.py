import msgspec

from flexlet.apiserver.contract.kind import Kind, Strategy
from flexlet.apiserver.rest.registry import Registry

WIDGET = Kind(
    group="example.com",
    version="v1",
    kind="Widget",
    plural="widgets",
    singular="widget",
    namespaced=True,
    strategy=Strategy(),
    custom=True,
)
OLD_WIDGET = msgspec.structs.replace(WIDGET, version="v1beta1", storage_version=False)


def test_a_kind_is_found_by_its_path_by_its_names_and_by_its_bucket() -> None:
    registry = Registry([WIDGET, OLD_WIDGET])
    assert registry.lookup("example.com", "v1", "widgets") is WIDGET
    assert registry.find("example.com/v1beta1", "Widget") is OLD_WIDGET
    assert registry.stored_in("example.com/widgets") is WIDGET
    assert registry.groups() == {"example.com": ("v1", "v1beta1")}


def test_what_was_removed_is_found_no_more() -> None:
    registry = Registry([WIDGET])
    registry.remove(WIDGET)
    assert registry.lookup("example.com", "v1", "widgets") is None
    assert registry.find("example.com/v1", "Widget") is None
    assert registry.stored_in("example.com/widgets") is None
    assert (registry.kinds(), registry.groups()) == ((), {})


def test_every_change_counts_and_is_told() -> None:
    registry = Registry()
    heard: list[tuple[str, bool]] = []
    stop = registry.listen(lambda kind, served: heard.append((kind.version, served)))
    registry.add(WIDGET)
    registry.remove(WIDGET)
    registry.remove(WIDGET)
    stop()
    registry.add(OLD_WIDGET)
    assert heard == [("v1", True), ("v1", False)]
    assert registry.generation == 3
