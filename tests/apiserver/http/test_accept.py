import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import status
from flexlet.apiserver.http import accept
from flexlet.apiserver.http.accept import JSON, YAML, Form

TABLES = ",".join(
    f"application/json{form}" for form in (";as=Table;v=v1;g=meta.k8s.io", ";as=Table;v=v1beta1;g=meta.k8s.io", "")
)
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("header", "form"),
    [
        (None, Form(JSON)),
        ("", Form(JSON)),
        ("*/*", Form(JSON)),
        ("application/json, */*", Form(JSON)),
        ("text/html;q=0.9,*/*;q=0.8", Form(JSON)),
        ("application/yaml", Form(YAML)),
        ("application/json;q=0.2,application/yaml", Form(YAML)),
        ("application/vnd.kubernetes.protobuf,application/json", Form(JSON)),
        (TABLES, Form(JSON, "Table", "v1")),
        ("application/json;as=Foo;v=v1;g=meta.k8s.io,application/json", Form(JSON)),
        (
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Form(JSON, "PartialObjectMetadata", "v1"),
        ),
    ],
)
def test_what_a_client_gets(header: str | None, form: Form) -> None:
    assert accept.choose(header) == form


@pytest.mark.parametrize(
    ("header", "asked", "message"),
    [
        (
            "text/html",
            {},
            (
                "406: Not Acceptable\n\nAvailable representations: "
                "application/json, application/yaml, application/vnd.kubernetes.protobuf"
            ),
        ),
        (
            "text/html",
            {"collection": True},
            (
                "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
                "application/vnd.kubernetes.protobuf;stream=watch"
            ),
        ),
        (
            "application/json;as=Table;v=v9;g=meta.k8s.io",
            {},
            (
                "only the following media types are accepted: "
                "application/json, application/yaml, application/vnd.kubernetes.protobuf"
            ),
        ),
        (
            "application/yaml",
            {"watch": True},
            (
                "only the following media types are accepted: "
                "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
            ),
        ),
        (
            AGGREGATED.replace("v2", "v2beta1"),
            {"discovery": True},
            (
                "only the following media types are accepted: "
                "application/json, application/yaml, application/vnd.kubernetes.protobuf"
            ),
        ),
    ],
)
def test_what_nobody_offers(header: str, asked: dict[str, bool], message: str) -> None:
    with pytest.raises(status.ApiError) as error:
        accept.choose(header, **asked)
    assert (error.value.code, error.value.reason, str(error.value)) == (406, "NotAcceptable", message)


def test_the_aggregated_form_is_for_discovery_only() -> None:
    assert accept.choose(AGGREGATED, discovery=True) == Form(JSON, "APIGroupDiscoveryList", "v2")
    assert accept.choose(f"{AGGREGATED},application/json") == Form(JSON)


@given(st.text())
def test_any_header_gets_a_form_or_a_406(header: str) -> None:
    try:
        assert accept.choose(header).media in {JSON, YAML}
    except status.ApiError as error:
        assert error.code == 406  # noqa: PT017 both outcomes are fine
    assert accept.plain_media(header) in {JSON, YAML}
