"""News from where pods come from: the API, files, and the node's own books."""

from msgspec.structs import replace

from flexlet.api.meta import ObjectMeta
from flexlet.core.agent.observations import API, AllocationRead, PodSeen
from flexlet.core.agent.record import PodRecord


def seen(record: PodRecord, news: PodSeen, now: float) -> PodRecord:
    """The pod as its source has it now; one with another uid is another pod, and this one is gone.

    Nothing comes back to the API under its old uid: news of such a one were on their way when it went.
    """
    if news.pod.metadata.uid != record.uid:
        return gone(record)
    if record.gone and record.source == API:
        return record
    if news.pod == record.pod and not record.gone:
        return record
    before, after = record.pod, news.pod
    is_other = before.spec != after.spec or _words(before.metadata) != _words(after.metadata)
    return replace(
        record,
        pod=after,
        unsupported=news.unsupported,
        gone=False,
        # Volumes may tell of labels, annotations and amounts.
        refresh_volumes_at=min(record.refresh_volumes_at, now) if is_other else record.refresh_volumes_at,
    )


def gone(record: PodRecord) -> PodRecord:
    """Nobody asks for the pod any more: everything of it goes, also what is kept of one that has ended."""
    return record if record.gone else replace(record, gone=True, cleaned=False)


def remembered(record: PodRecord, news: AllocationRead) -> PodRecord:
    """What an earlier agent had written down."""
    return replace(
        record,
        allocation=news.allocation or record.allocation,
        actuated=news.actuated or record.actuated,
    )


def _words(meta: ObjectMeta) -> tuple[dict[str, str], dict[str, str]]:
    return meta.labels, meta.annotations
