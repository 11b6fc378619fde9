"""The files of a volume that is made from objects, from the pod itself, or from several of these.

Of a projected volume every part is asked, so that people learn of all problems at once. A token is readable only
by the one user that all containers run as, or by the pod's group; where neither is known, by everybody.
"""

from typing import Final

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.volumes import DownwardApi, DownwardFile, KeyToPath, Projected, ProjectionSource, Volume
from flexlet.core.agent.containers import downward
from flexlet.core.agent.containers.contents import File, Material, Problem, Reference, TokenRequest, joined
from flexlet.core.agent.containers.security import everybody, user_of
from flexlet.core.agent.setup import NodeSetup

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105 the kind's name
_MODE: Final = 0o644
_TOKEN_MODE: Final = 0o600
_MISSING_KEY: Final = {
    CONFIG_MAP: "configmap references non-existent config key: ",
    SECRET: "references non-existent secret key: ",
}
Files = dict[str, File]


class Sources(msgspec.Struct, frozen=True):
    """What files are made from."""

    pod: NodePod
    setup: NodeSetup
    material: Material
    ips: tuple[str, ...] = ()


def files(volume: Volume, sources: Sources) -> Files | Problem:
    """The files of a volume by their path in it."""
    if volume.config_map is not None:
        made = volume.config_map
        reference = Reference(CONFIG_MAP, made.name)
        return _keys(reference, made.items, made.default_mode, sources, optional=bool(made.optional))
    if volume.secret is not None:
        secret = volume.secret
        reference = Reference(SECRET, secret.secret_name)
        return _keys(reference, secret.items, secret.default_mode, sources, optional=bool(secret.optional))
    if volume.downward_api is not None:
        return _downward(volume.downward_api, volume.downward_api.default_mode, sources)
    if volume.projected is not None:
        return _projected(volume.projected, sources)
    return Problem("no volume plugin matched")


def _keys(
    reference: Reference, items: tuple[KeyToPath, ...], mode: int | None, sources: Sources, *, optional: bool
) -> Files | Problem:
    content = sources.material.objects.get(reference)
    if content is None:
        return {} if optional else Problem(f'{reference.kind.lower()} "{reference.name}" not found')
    data = {**content.binary, **content.data}
    usual = _MODE if mode is None else mode
    if not items:
        return {key: File(value, usual) for key, value in data.items()}
    found: Files = {}
    for item in items:
        if item.key in data:
            found[clean(item.path)] = File(data[item.key], usual if item.mode is None else item.mode)
        elif not optional:
            return Problem(_MISSING_KEY[reference.kind] + item.key)
    return found


def _downward(source: DownwardApi, mode: int | None, sources: Sources) -> Files | Problem:
    usual = _MODE if mode is None else mode
    found: Files = {}
    problems: list[Problem] = []
    for item in source.items:
        text = _told(item, sources)
        if isinstance(text, Problem):
            problems.append(text)
        else:
            found[clean(item.path)] = File(text.encode(), usual if item.mode is None else item.mode)
    return joined(problems) if problems else found


def _told(item: DownwardFile, sources: Sources) -> str | Problem:
    if item.field_ref is not None:
        return downward.field(sources.pod, item.field_ref, sources.setup, sources.ips)
    if item.resource_field_ref is not None:
        return downward.amount_by_name(sources.pod, item.resource_field_ref, sources.setup)
    return ""


def _projected(source: Projected, sources: Sources) -> Files | Problem:
    found: Files = {}
    problems: list[Problem] = []
    for part in source.sources:
        made = _part(part, source.default_mode, sources)
        if isinstance(made, Problem):
            problems.append(made)
        else:
            found |= made
    return joined(problems) if problems else found


def _part(part: ProjectionSource, mode: int | None, sources: Sources) -> Files | Problem:
    if part.secret is not None:
        reference, optional = Reference(SECRET, part.secret.name), bool(part.secret.optional)
        return _keys(reference, part.secret.items, mode, sources, optional=optional)
    if part.config_map is not None:
        reference, optional = Reference(CONFIG_MAP, part.config_map.name), bool(part.config_map.optional)
        return _keys(reference, part.config_map.items, mode, sources, optional=optional)
    if part.downward_api is not None:
        return _downward(part.downward_api, mode, sources)
    if part.service_account_token is None:
        return {}
    wanted = part.service_account_token
    token = sources.material.tokens[TokenRequest(wanted.audience, wanted.expiration_seconds)]
    return {clean(wanted.path): _token(token, mode, sources.pod)}


def _token(text: str, mode: int | None, pod: NodePod) -> File:
    user = only_user(pod)
    if user is not None or pod.spec.security_context.fs_group is not None:
        return File(text.encode(), _TOKEN_MODE, user)
    return File(text.encode(), _MODE if mode is None else mode)


def only_user(pod: NodePod) -> int | None:
    """The user that every container of the pod runs as; None if one does not say or there are two."""
    users = {user_of(pod, each) for each in everybody(pod)}
    return users.pop() if len(users) == 1 else None


def clean(path: str) -> str:
    """The path without empty parts and single dots; two dots are left for `atomic` to refuse."""
    kept = [part for part in path.split("/") if part not in {"", "."}]
    return ("/" if path.startswith("/") else "") + "/".join(kept)
