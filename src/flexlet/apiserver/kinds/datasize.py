"""Sizes and keys of ConfigMaps and Secrets: both hold up to a mebibyte under file-like names."""

from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError

MAX_BYTES: Final = 1024 * 1024


def check_keys(field: str, keys: Iterable[str]) -> list[FieldError]:
    """Keys must be usable as file names."""
    return [
        fielderrors.invalid(f"{field}[{key}]", key, complaint)
        for key in keys
        for complaint in names.config_map_key(key)
    ]


def text_bytes(data: Mapping[str, str]) -> int:
    """The size of plain text values."""
    return sum(len(value.encode(errors="surrogatepass")) for value in data.values())


def decoded_bytes(data: Mapping[str, str]) -> int:
    """The size behind base64 values, without decoding them."""
    return sum(len(value) // 4 * 3 - value[-2:].count("=") for value in data.values())
