"""Files with variables, as the kubelet reads them."""

import pytest
from tests.core.agent.builders import SETUP, UID, container, pod

from flexlet.api import decode
from flexlet.api.nodepod.container import EnvVar
from flexlet.api.nodepod.volumes import Volume
from flexlet.core.agent.containers import envfiles, environment
from flexlet.core.agent.containers.contents import FileReference, Material, Problem

BAD = "invalid environment variable format"
VOLUME = f"{SETUP.root}/pods/{UID}/volumes/kubernetes.io~empty-dir/v"
PLACE = FileReference(VOLUME, "./a/b.env")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("K='v'", "v"),
        ("", ""),
        ("OTHER='x'\n", ""),
        ("  \t K='v' # why\n", "v"),
        ("# K='no'\n\n \t\nK='v'", "v"),
        ("K='first'\nK='second'\n", "first"),
        ("K='$HOME \\n \"q\" #'\n", '$HOME \\n "q" #'),
        ("K=''\nK='later'\n", ""),
        ("K= 'v'\n", ""),
        ("X= rubbish 'with' quotes\nK='v'", "v"),
        ("A='1\nK=no\n'\nK='two\n\n lines'\n", "two\n\n lines"),
        ("K='v'\r\n", "v"),
        ("K='v'\nthis is never read\n", "v"),
        ("X Y='1'\nK='v'", "v"),
        ("K='\N{SNOWMAN}'", "\N{SNOWMAN}"),
        ("rubbish", Problem(f"{BAD} at line 1: missing '='")),
        ("\n='v'", Problem(f"{BAD} at line 2: empty variable name")),
        ("\t ='v'", Problem(f"{BAD} at line 1: empty variable name")),
        ("K ='v'", Problem(f"{BAD} at line 1: whitespace before '=' is not allowed")),
        ("K=v", Problem(f"{BAD} at line 1: value must be enclosed in single quotes")),
        ("K=", Problem(f"{BAD} at line 1: value must be enclosed in single quotes")),
        ('K="v"', Problem(f"{BAD} at line 1: value must be enclosed in single quotes")),
        ("K='v'x", Problem(f"{BAD} at line 1: unexpected content after closing quote")),
        ("A='1\n2'3'", Problem(f"{BAD} at line 2: unexpected content after closing quote")),
        ("\nA='1\n2\n", Problem(f"{BAD} starting at line 2: unclosed single quote")),
        (f"A='{'x' * envfiles.LONGEST_LINE}'", Problem("line 1 is longer than 65536 bytes")),
        (f"A='\n{'x' * envfiles.LONGEST_LINE}'", Problem("line 2 is longer than 65536 bytes")),
    ],
)
def test_a_variable_is_found_or_the_file_is_refused(text: str, expected: str | Problem) -> None:
    assert envfiles.value(text.encode(), "K") == expected


def test_bytes_that_are_no_text_are_kept() -> None:
    assert envfiles.value(b"K='\xff'", "K") == "\udcff"


@pytest.mark.parametrize(
    ("data", "more", "expected"),
    [
        (b"K='v'", {}, (("V", "v"),)),
        (b"K='$(V)'", {}, (("V", "$(V)"),)),
        (b"K=''", {"optional": True}, ()),
        (b"", {"optional": True}, ()),
        (b"", {}, Problem(f'environment variable key "K" not found in file "{VOLUME}/a/b.env"')),
        (b"K=", {}, Problem("couldn't parse env file")),
        (None, {"optional": True}, Problem("couldn't parse env file")),
        (b"", {"volumeName": "w"}, Problem('cannot find the volume "w" referenced by FileKeyRef')),
    ],
)
def test_a_container_has_the_variable_or_does_not_start(
    data: bytes | None, more: dict[str, object], expected: object
) -> None:
    selector = {"volumeName": "v", "path": "./a/b.env", "key": "K", **more}
    given = container("c", env=(decode.from_value({"name": "V", "valueFrom": {"fileKeyRef": selector}}, EnvVar),))
    whole = pod(given, volumes=(decode.from_value({"name": "v", "emptyDir": {}}, Volume),))
    needed = environment.files(whole, given, SETUP)
    assert needed == (frozenset() if "volumeName" in more else {PLACE})
    assert environment.resolve(whole, given, SETUP, Material(files={PLACE: data}), ()) == expected


def test_a_variable_with_a_value_needs_no_file() -> None:
    source = {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "K"}}
    given = container("c", env=(decode.from_value({"name": "V", "value": "x", "valueFrom": source}, EnvVar),))
    whole = pod(given, volumes=(decode.from_value({"name": "v", "emptyDir": {}}, Volume),))
    assert environment.files(whole, given, SETUP) == frozenset()
