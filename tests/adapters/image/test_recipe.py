"""The name of an image follows from what it is made of."""

import msgspec
import pytest

from flexlet.adapters.image import recipe
from flexlet.adapters.image.recipe import Recipe


def test_equal_recipes_have_equal_names() -> None:
    assert recipe.digest(Recipe()) == recipe.digest(Recipe(suite="trixie"))


@pytest.mark.parametrize("field", [field.name for field in msgspec.structs.fields(Recipe)])
def test_every_ingredient_changes_the_name(field: str) -> None:
    changed = msgspec.structs.replace(Recipe(), **{field: ("other",)})
    assert recipe.digest(changed) != recipe.digest(Recipe())


@pytest.mark.parametrize("name", ["customize", "initramfs-init"])
def test_the_scripts_of_the_build_change_the_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = recipe.digest(Recipe())
    original = recipe.script
    monkeypatch.setattr(recipe, "script", lambda asked: original(asked) + ("# more" if asked == name else ""))
    assert recipe.digest(Recipe()) != before
