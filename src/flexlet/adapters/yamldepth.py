"""A bound on the depth of YAML files, checked before PyYAML's composer follows it on the C stack.

Some fifty kilobytes of ``[`` end the process there. The parser gives one event after the other without a stack, so
the depth is known first; the files of people are small enough to be parsed twice.
"""

from typing import Any, Final

import yaml

MAX_DEPTH: Final = 200


def require(text: str | bytes) -> None:
    """Refuse a text that is nested too deep, as PyYAML refuses what it cannot read.

    Raises:
        YAMLError: it is, or it is no YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                problem = f"the document is nested more than {MAX_DEPTH} deep"
                mark: Any = event.start_mark
                raise yaml.composer.ComposerError(None, None, problem, mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
