"""The kinds that definitions stand for, in the registry: added, replaced and removed as definitions change."""

import logging
from typing import Any, Final

from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd import establishing
from flexlet.apiserver.crd.definition import Definition, define
from flexlet.apiserver.crd.scale import CustomScales
from flexlet.apiserver.kinds.conditions import is_true
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.errors import InputError

log: Final = logging.getLogger(__name__)


class DefinedKinds:
    """Serves the kinds of definitions."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._served: dict[str, tuple[Any, Definition]] = {}
        """By name: what the kinds were made from, and the kinds."""
        self._scales = CustomScales(rest.backend)

    def find(self, name: str) -> Definition | None:
        """The kinds of a definition, if it is served."""
        return self._served.get(name, (None, None))[1]

    def serve(self, name: str, crd: Object) -> None:
        """Serve a definition as it is, or not at all; what did not change is not touched."""
        if not establishing.is_served(crd) or self.overlaps(crd):
            self.remove(name)
            return
        source = (crd["metadata"]["uid"], crd["spec"], crd["status"]["acceptedNames"], is_true(crd, "Terminating"))
        before = self._served.get(name)
        if before is not None and before[0] == source:
            return
        try:
            definition = define(crd)
        except InputError as fault:
            log.warning("definition cannot be served", extra={"definition": name, "error": str(fault)})
            self.remove(name)
            return
        self._served[name] = (source, definition)
        self._replace(before[1] if before is not None else None, definition)

    def _replace(self, before: Definition | None, after: Definition) -> None:
        registry = self._rest.registry
        kept = {(kind.version, kind.kind) for kind in after.served}
        for kind in before.served if before is not None else ():
            if (kind.version, kind.kind) not in kept:
                registry.remove(kind)
        for kind in after.served:
            registry.add(kind)
            self._rest.handlers[kind.group, kind.plural, "scale"] = self._scales.handle

    def remove(self, name: str) -> None:
        """Serve a definition no longer."""
        _, definition = self._served.pop(name, (None, None))
        for kind in definition.served if definition is not None else ():
            self._rest.registry.remove(kind)
            self._rest.handlers.pop((kind.group, kind.plural, "scale"), None)

    def overlaps(self, crd: Object) -> bool:
        """Whether the server itself has such a resource; it must not be taken over."""
        place = (crd["spec"]["group"], crd["spec"]["names"]["plural"])
        return any(not kind.custom and (kind.group, kind.plural) == place for kind in self._rest.registry.kinds())
