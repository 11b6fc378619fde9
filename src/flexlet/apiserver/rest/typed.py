"""Values into objects of a kind, by its schema: known fields only, canonical, with what strict reading found.

What the complaints become is the client's choice (``fieldValidation``): warnings, an error, or nothing. Custom
resources have no schema here; their own rules come with their definition.
"""

from typing import Final

from flexlet.api import schema
from flexlet.api.schema import Type
from flexlet.apiserver.contract.kind import Kind

STRICT: Final = "Strict"
IGNORE: Final = "Ignore"


def type_of(kind: Kind) -> Type | None:
    """The kind's schema; None for custom resources."""
    return None if kind.schema is None else schema.named(kind.schema)


def strict_error(complaints: tuple[str, ...]) -> str:
    """All complaints in one text."""
    return f"strict decoding error: {', '.join(complaints)}"
