"""What may become of a lifecycle hook; the journal and the log name it so."""

from typing import Final

POST_START: Final = "postStart"
PRE_STOP: Final = "preStop"

STARTED: Final = "started"
SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"
ABANDONED: Final = "abandoned"

NOT_COMPLETED: Final = "PreStop hook not completed in grace period"
"""Why an abandoned hook counts as failed; the kubelet's words."""
