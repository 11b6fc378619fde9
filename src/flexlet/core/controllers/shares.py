"""Numbers given as a count or as a share: ``maxUnavailable: 25%`` of ten is 2, or 3 rounded up."""

IntOrString = int | str


def scaled(value: IntOrString | None, total: int, *, up: bool) -> int:
    """The count that the value stands for; what cannot be read, or is unset, is none."""
    if isinstance(value, int):
        return value
    digits = (value or "0%").removesuffix("%")
    percent = int(digits) if digits.isdecimal() else 0
    return -(-percent * total // 100) if up else percent * total // 100
