"""Label and field selectors: read, matched, and printed in upstream's canonical form.

Label selectors come as text (``app in (a,b),!gone``, query parameters) or as LabelSelector objects
(``matchLabels``, ``matchExpressions``); field selectors only as text (``status.phase!=Running``). Both compile to
tuples of small requirements that must all hold. Follows ``apimachinery/pkg/labels``, ``pkg/fields`` and
``meta/v1/helpers.go``.

What must stay true: ``!=`` and ``notin`` match where the key is missing, ``=`` never does (labels); a field that
is missing counts as empty text (fields); the text of a parsed selector parses to an equal selector.
"""

from flexlet.api.selectors.faults import SelectorFault
from flexlet.api.selectors.fields import FieldRequirement, FieldSelector, parse_fields
from flexlet.api.selectors.labels import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    Requirement,
    from_labels,
    from_object,
    requirement,
)
from flexlet.api.selectors.query import parse_labels

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "FieldRequirement",
    "FieldSelector",
    "LabelSelector",
    "Requirement",
    "SelectorFault",
    "from_labels",
    "from_object",
    "parse_fields",
    "parse_labels",
    "requirement",
]
