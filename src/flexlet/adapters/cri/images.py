"""Images: what is here, and fetching what is not."""

from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.cri.calls import NOT_FOUND, Calls, required
from flexlet.adapters.cri.sandboxes import sandbox_config
from flexlet.core.runtime.configs import PullCredentials, SandboxConfig
from flexlet.core.runtime.shown import FilesystemUse, Image
from flexlet.errors import RuntimeFault


class ImageCalls:
    """`flexlet.ports.runtime.Images` over CRI."""

    _images: Calls

    async def image(self, name: str) -> Image | None:
        """An image by name or id; None if it is not here."""
        request = pb.ImageStatusRequest(image=pb.ImageSpec(image=name))
        reply = await self._images.ask("ImageStatus", request, pb.ImageStatusResponse, name)
        return _shown(reply.image) if reply.HasField("image") else None

    async def images(self) -> tuple[Image, ...]:
        """All images."""
        reply = await self._images.ask("ListImages", pb.ListImagesRequest(), pb.ListImagesResponse)
        return tuple(_shown(each) for each in reply.images)

    async def pull(self, name: str, credentials: PullCredentials | None, sandbox: SandboxConfig | None) -> str:
        """Fetch an image, however long it takes."""
        annotations = sandbox.annotations if sandbox else {}
        request = pb.PullImageRequest(
            image=pb.ImageSpec(image=name, annotations=annotations),
            auth=_auth(credentials),
            sandbox_config=None if sandbox is None else sandbox_config(sandbox),
        )
        reply = await self._images.ask_within(None, "PullImage", request, pb.PullImageResponse, name)
        return required(reply.image_ref, "PullImage", "a reference")

    async def remove_image(self, name: str) -> None:
        """Remove an image with all its tags; one that is gone is removed."""
        request = pb.RemoveImageRequest(image=pb.ImageSpec(image=name))
        try:
            await self._images.ask("RemoveImage", request, pb.RemoveImageResponse, name)
        except RuntimeFault as fault:
            if fault.code != NOT_FOUND:
                raise

    async def image_filesystems(self) -> tuple[FilesystemUse, ...]:
        """Where images lie and how much they take."""
        reply = await self._images.ask("ImageFsInfo", pb.ImageFsInfoRequest(), pb.ImageFsInfoResponse)
        return tuple(
            FilesystemUse(
                mountpoint=each.fs_id.mountpoint,
                used_bytes=each.used_bytes.value,
                inodes_used=each.inodes_used.value,
            )
            for each in reply.image_filesystems
        )


def _auth(credentials: PullCredentials | None) -> pb.AuthConfig | None:
    if credentials is None:
        return None
    return pb.AuthConfig(
        username=credentials.username,
        password=credentials.password,
        auth=credentials.auth,
        server_address=credentials.server_address,
        identity_token=credentials.identity_token,
        registry_token=credentials.registry_token,
    )


def _shown(image: pb.Image) -> Image:
    return Image(
        id=image.id,
        tags=tuple(image.repo_tags),
        digests=tuple(image.repo_digests),
        size=image.size,
        uid=image.uid.value if image.HasField("uid") else None,
        username=image.username,
        pinned=image.pinned,
    )
