"""Reading refusals."""

from flexlet.core.observations import Failed


def is_ending_namespace(failed: Failed) -> bool:
    """Whether nothing can be created because the namespace is going away: no news to anyone."""
    return failed.code == 403 and "because it is being terminated" in failed.message
