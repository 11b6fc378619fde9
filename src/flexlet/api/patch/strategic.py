"""Strategic merge patches: merge patches that know the type.

Lists with a merge key merge item by item, lists of scalars marked ``merge`` unite, all other lists are replaced.
Directives steer it: ``$patch: replace|delete`` in objects and list items, ``$retainKeys``,
``$deleteFromPrimitiveList/F``, ``$setElementOrder/F`` (in `ordering`). Follows
``apimachinery/pkg/util/strategicpatch``, with its corners: directives inside something that is new to the document
stay (except ``$patch``) and then are unknown fields; an item added to a merged list keeps its nulls.

`apply` works on a copy of the patch and shares unchanged parts of the original. `Merged.patch` is that copy
without the directives already spent, which is how upstream shows a patch whose result does not fit the type.
"""

from typing import Any, Final

import msgspec

from flexlet.api import gotext
from flexlet.api.patch import documents, lists, ordering
from flexlet.api.patch.documents import Document
from flexlet.api.patch.errors import MergeFault, PatchMalformed
from flexlet.api.patch.merge import without_nulls
from flexlet.api.schema.types import Field, ListOf, Shape, Type

Object = dict[str, Any]

_DIRECTIVE: Final = lists.DIRECTIVE
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_SCALARS: Final = "$deleteFromPrimitiveList"
_ELEMENT_ORDER: Final = "$setElementOrder"
_GONE: Final = object()


class Merged(msgspec.Struct, frozen=True):
    """The patched object, and what is left of the patch."""

    value: Object
    patch: Object


def read(body: bytes, *, checked: bool = True) -> Document:
    """Read a strategic merge patch; PatchMalformed if it is none."""
    document = documents.read_object(body, checked=checked)
    return Document(document.value or {}, document.complaints)


def apply(of: Type, original: Object, patch: Object) -> Merged:
    """Merge a patch into an object of a type; PatchFault if that cannot be done."""
    own = _copied(patch)
    return Merged(_merge(original, own, of), own)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _merge(original: Object, patch: Object, shape: Shape) -> Object:
    """Merge `patch`, which is ours to spend, into `original`, which is not."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    result = dict(original)
    _retain_keys(result, patch)
    _set_element_order(result, patch, shape)
    for key, value in patch.items():
        if key.startswith(_DELETE_SCALARS):
            _delete_scalars(result, key, value, shape)
        elif value is None:
            result.pop(key, None)
        else:
            _merge_member(result, patch, key, shape)
    return result


def _directed(patch: Object) -> Object:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        del patch[_DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise MergeFault(f"unknown patch type: {gotext.sprint(directive)} in map: {gotext.sprint(patch)}")


def _merge_member(result: Object, patch: Object, key: str, shape: Shape) -> None:
    old, new = result.get(key), patch[key]
    if isinstance(old, dict) and isinstance(new, dict):
        field = _field(shape, key)
        result[key] = new if field.strategy == "replace" else _merge(old, new, field.shape)
    elif isinstance(old, list) and isinstance(new, list):
        field = _field(shape, key)
        item = _item_shape(field)
        merging = field.strategy == "merge"
        result[key] = lists.merge(old, new, field.merge_key, _merger(item)) if merging else new
    else:
        _take(result, patch, key)


def _take(result: Object, patch: Object, key: str) -> None:
    """Accept a value as it is, less its nulls and whatever a ``$patch`` inside marks."""
    value = _without_directives(without_nulls(patch[key]))
    if value is _GONE:
        result.pop(key, None)
    else:
        result[key] = patch[key] = value


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return _GONE
        members = ((key, _without_directives(item)) for key, item in value.items())
        return {key: item for key, item in members if item is not _GONE}
    if isinstance(value, list):
        return [item for item in map(_without_directives, value) if item is not _GONE]
    return value


def _merger(item: Shape) -> lists.MergeItems:
    return lambda original, patch: _merge(original, patch, item)


def _retain_keys(result: Object, patch: Object) -> None:
    if _RETAIN_KEYS not in patch:
        return
    retained = patch.pop(_RETAIN_KEYS)
    if not isinstance(retained, list):
        raise PatchMalformed("invalid patch format of retainKeys")
    named = {key for key in retained if isinstance(key, str)}
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE_SCALARS, _ELEMENT_ORDER)) and key not in named:
            raise PatchMalformed("invalid patch format of retainKeys")
    for key in [key for key in result if key not in named]:
        del result[key]


def _delete_scalars(result: Object, key: str, value: Any, shape: Shape) -> None:
    name = _directed_name(key, _DELETE_SCALARS, "invalid patch format of primitive list")
    old = result.get(name)
    if value is None:
        result.pop(name, None)
    elif isinstance(old, list) and isinstance(value, list):
        _item_shape(_field(shape, name))
        result[name] = lists.without(old, value)


def _set_element_order(result: Object, patch: Object, shape: Shape) -> None:
    for key in [key for key in patch if key.startswith(_ELEMENT_ORDER)]:
        order = _list(patch.pop(key))
        name = _directed_name(key, _ELEMENT_ORDER, "invalid patch format of setElementOrder list")
        old = _list(result[name]) if name in result else None
        new = _list(patch[name]) if name in patch else None
        field = _field(shape, name)
        item = _item_shape(field)
        ordering.check(new or [], order, field.merge_key)
        if old is None and new is None:
            continue
        merged = _merged_list(old, new, field, item)
        lists.are_objects(old or [], new or [])
        result[name] = ordering.arranged(merged, order, old or [], field.merge_key)
        patch.pop(name, None)


def _merged_list(old: list[Any] | None, new: list[Any] | None, field: Field, item: Shape) -> list[Any]:
    if new is None:
        return old or []
    if old is None:
        return list(_without_directives(new))
    return lists.merge(old, new, field.merge_key, _merger(item)) if field.strategy == "merge" else new


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise MergeFault(ordering.wrong_type([], value))
    return value


def _directed_name(key: str, prefix: str, fault: str) -> str:
    head, slash, name = key.partition("/")
    if head != prefix or not slash:
        raise PatchMalformed(fault)
    return name


def _field(shape: Shape, name: str) -> Field:
    if not isinstance(shape, Type):
        kind = "slice" if isinstance(shape, ListOf) else "map"
        raise MergeFault(f"merging an object in json but data type is not struct, instead is: {kind}")
    field = shape.fields.get(name)
    if field is None:
        raise MergeFault(f'unable to find api field in struct {shape.short} for the json field "{name}"')
    return field


def _item_shape(field: Field) -> Shape:
    if not isinstance(field.shape, ListOf):
        raise MergeFault("expected slice or array type, but got: struct")
    return field.shape.item
