"""``$(NAME)`` in commands, arguments and values: replaced if known, left as it stands otherwise.

``$$`` is a dollar sign, so ``$$(NAME)`` is the plain text ``$(NAME)``. Follows Kubernetes' own small language.
"""

from collections.abc import Callable, Mapping


def expanded(text: str, known: Mapping[str, str]) -> str:
    """The text with references to known names replaced."""
    return _walk(text, lambda name: known.get(name, f"$({name})"))


def missing(text: str, known: Mapping[str, str]) -> list[str]:
    """Names that are referred to and are unknown or empty, sorted."""
    found: set[str] = set()

    def note(name: str) -> str:
        if not known.get(name):
            found.add(name)
        return ""

    _walk(text, note)
    return sorted(found)


def _walk(text: str, replace: Callable[[str], str]) -> str:
    parts: list[str] = []
    position = 0
    while (dollar := text.find("$", position)) != -1 and dollar + 1 < len(text):
        parts.append(text[position:dollar])
        taken, size = _reference(text[dollar + 1 :], replace)
        parts.append(taken)
        position = dollar + 1 + size
    parts.append(text[position:])
    return "".join(parts)


def _reference(rest: str, replace: Callable[[str], str]) -> tuple[str, int]:
    """What follows a dollar sign: the text it stands for, and how many characters it took."""
    if rest[0] == "$":
        return "$", 1
    if rest[0] != "(":
        return "$" + rest[0], 1
    end = rest.find(")")
    if end == -1:
        return "$(", 1
    return replace(rest[1:end]), end + 1
