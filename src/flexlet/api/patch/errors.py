"""What can be wrong with a patch, sorted by the HTTP status it becomes."""

from typing import ClassVar

from flexlet.errors import InputError


class PatchFault(InputError):
    """Base: the patch cannot be read or applied; `message` is upstream's."""

    code: ClassVar[int] = 500


class PatchMalformed(PatchFault):
    """400: the document is no patch of its kind."""

    code = 400


class PatchTooLarge(PatchFault):
    """413: more operations than one patch may have."""

    code = 413


class PatchFailed(PatchFault):
    """422: the patch is well formed and does not apply to this object."""

    code = 422


class MergeFault(PatchFault):
    """500: a strategic merge patch contradicts the type; upstream calls it an internal error."""


class MergeKeyMissing(MergeFault):
    """500: an item of a merged list lacks the key it would be found by."""
