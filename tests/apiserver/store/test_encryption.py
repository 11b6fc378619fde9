"""Values encrypted at rest: plain in memory, sealed in the file, unreadable without the key."""

import asyncio
import base64
import sqlite3
from pathlib import Path

import pytest

from flexlet.apiserver.encryptionconfig import load_encryption
from flexlet.apiserver.store import Options, Row, Store
from flexlet.apiserver.store.checksum import checksum
from flexlet.errors import ConfigError

SECRET = b'{"data":"hunter2"}'
FILE = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"


def config(folder: Path, providers: str, resources: str = "[secrets]") -> Options:
    file = folder / "encryption.yaml"
    file.write_text(f"{FILE}- resources: {resources}\n  providers: {providers}\n")
    file.chmod(0o600)
    return Options(encryption=load_encryption(file), lock_timeout_s=0.0)


def aes(*names: str) -> str:
    keys = [f"{{name: {name}, secret: {base64.b64encode(name.encode() * 16).decode()}}}" for name in names]
    return f"{{aesgcm: {{keys: [{', '.join(keys)}]}}}}"


def values(path: Path) -> list[bytes]:
    connection = sqlite3.connect(path)
    found = [row[0] for row in connection.execute("SELECT value FROM revisions ORDER BY revision")]
    connection.close()
    return found


async def written(path: Path, options: Options) -> None:
    store = await Store.open(path, options)
    await store.create("secrets", f"default/s{store.revision}", lambda _: SECRET)
    await store.close()


async def test_keys_rotate_and_the_file_never_shows_a_secret(path: Path, tmp_path: Path) -> None:
    old = await asyncio.to_thread(config, tmp_path, f"[{aes('k1')}, {{identity: {{}}}}]")
    await written(path, old)
    new = await asyncio.to_thread(config, tmp_path, f"[{aes('k2', 'k1')}]")
    await written(path, new)
    first, second = await asyncio.to_thread(values, path)
    assert (first[:21], second[:21]) == (b"k8s:enc:aesgcm:v1:k1:", b"k8s:enc:aesgcm:v1:k2:")
    assert b"hunter2" not in await asyncio.to_thread(path.read_bytes)
    store = await Store.open(path, new)
    assert store.list("secrets") == [Row("default/s0", 1, SECRET), Row("default/s1", 2, SECRET)]
    await store.close()


async def test_a_start_without_the_key_is_refused(path: Path, tmp_path: Path) -> None:
    await written(path, await asyncio.to_thread(config, tmp_path, f"[{aes('k1')}]"))
    refusal = r"cannot read 1 records of secrets encrypted by key 'k1' in data file .*data\.db: no key of"
    for options in (Options(), await asyncio.to_thread(config, tmp_path, f"[{aes('k2')}]")):
        with pytest.raises(ConfigError, match=refusal):
            await Store.open(path, options)


async def test_plain_values_need_the_identity_provider(path: Path, tmp_path: Path) -> None:
    await written(path, Options())
    strict = await asyncio.to_thread(config, tmp_path, f"[{aes('k1')}]")
    with pytest.raises(ConfigError, match="1 records of secrets that are not encrypted"):
        await Store.open(path, strict)


async def test_a_sealed_value_does_not_open_in_another_place(path: Path, tmp_path: Path) -> None:
    options = await asyncio.to_thread(config, tmp_path, f"[{aes('k1')}]")
    await written(path, options)
    await written(path, options)

    def swap() -> None:
        sealed = values(path)[0]
        record = (2, 0, False, "secrets", "default/s1", sealed)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("DELETE FROM revisions WHERE revision = 2")
        connection.execute("INSERT INTO revisions VALUES (?,?,?,?,?,?,?)", (*record, checksum(*record)))
        connection.close()

    await asyncio.to_thread(swap)
    with pytest.raises(ConfigError, match="cannot read 1 records of secrets encrypted by key 'k1'"):
        await Store.open(path, options)


@pytest.mark.parametrize(
    ("resources", "sealed"),
    [
        ("[secrets]", {"secrets"}),
        ("['*.']", {"secrets", "pods"}),
        ("['*.apps']", {"apps/deployments"}),
        ("['*.*']", {"secrets", "pods", "apps/deployments"}),
        ("[deployments.apps]", {"apps/deployments"}),
    ],
)
def test_resources_are_chosen_as_upstream_does(tmp_path: Path, resources: str, sealed: set[str]) -> None:
    encryption = config(tmp_path, f"[{aes('k1')}]", resources).encryption
    buckets = ("secrets", "pods", "apps/deployments")
    assert {bucket for bucket in buckets if encryption.seal(bucket, "k", b"{}") != b"{}"} == sealed


@pytest.mark.parametrize(
    ("providers", "complaint"),
    [
        ("[{secretbox: {keys: []}}]", "provider 'secretbox' is not supported; aesgcm and identity are"),
        ("[{kms: {}}]", "provider 'kms' is not supported"),
        ("[{aesgcm: {keys: [{name: a, secret: AAAA}]}}]", "key 'a' has 3 bytes; AES takes 16, 24 or 32"),
        ("[{aesgcm: {keys: [{name: 'a:b', secret: AAAA}]}}]", "key name 'a:b' is empty or contains ':'"),
        ("[]", "there is no provider for secrets"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(tmp_path: Path, providers: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        config(tmp_path, providers)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    config(tmp_path, f"[{aes('k1')}]")
    (tmp_path / "encryption.yaml").chmod(0o640)
    with pytest.raises(ConfigError, match="it holds keys and others can read it; run `chmod 600"):
        load_encryption(tmp_path / "encryption.yaml")
