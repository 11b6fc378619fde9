"""The fields of a LimitRange that flexlet reads."""

from flexlet.api.meta import KubeStruct, ObjectMeta
from flexlet.api.pod import ResourceList


class LimitRangeItem(KubeStruct, frozen=True, kw_only=True):
    """The bounds of one type of object: ``Container`` or ``Pod``."""

    type: str = ""
    max: ResourceList = {}
    min: ResourceList = {}
    default: ResourceList = {}
    default_request: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class LimitRangeSpec(KubeStruct, frozen=True, kw_only=True):
    """All bounds of a range."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(KubeStruct, frozen=True, kw_only=True):
    """Bounds on single objects of a namespace."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LimitRangeSpec = LimitRangeSpec()
