from __future__ import annotations

import pytest

from llmframe.errors import UsageError
from llmframe.testing import Provider


@pytest.mark.parametrize(
    ("form", "param"), [("json_schema", "response_format"), ("json_object", "response_format"), ("tools", "tools")]
)
@pytest.mark.parametrize("named", [True, False])
def test_a_refused_form_is_a_400_that_names_its_parameter_or_not(make_provider, http_kit, form, param, named):
    provider = make_provider(refuses=[form], refusal_param=named)
    requests = {
        "json_schema": {"response_format": http_kit.json_schema(http_kit.schema)},
        "json_object": {"response_format": {"type": "json_object"}},
        "tools": {"tools": [http_kit.function("Answer", http_kit.schema)]},
    }
    got = http_kit.ask(provider, **requests.pop(form))
    assert (got.status, got.error["param"]) == (400, param if named else None)
    assert f"does not support {form}" in got.error["message"]
    assert [http_kit.ask(provider, **request).status for request in requests.values()] == [200, 200]


def test_a_refused_parameter_is_named(make_provider, http_kit):
    provider = make_provider(refuses_params=["max_tokens"])
    got = http_kit.ask(provider, max_tokens=5)
    assert (got.status, got.error["code"], got.error["param"]) == (400, "unsupported_parameter", "max_tokens")
    assert http_kit.ask(provider, max_completion_tokens=5).status == 200


def test_ignored_tools_are_answered_in_json_text(make_provider, http_kit):
    provider = make_provider(ignores=["tools"])
    got = http_kit.ask(provider, "row-8", tools=[http_kit.function("Answer", http_kit.schema)])
    assert "tool_calls" not in got.choice["message"]
    assert got.object["echo"] == "row-8"


def test_an_ignored_schema_leaves_plain_text(make_provider, http_kit):
    provider = make_provider(ignores=["json_schema"])
    got = http_kit.ask(provider, response_format=http_kit.json_schema(http_kit.schema))
    assert got.content.startswith("answer ")


def test_a_server_that_does_not_stream_and_one_without_stream_options(make_provider, http_kit):
    options = {"include_usage": True}
    got = http_kit.ask(make_provider(refuses_params=("stream",)), stream=True)
    assert (got.status, got.error["param"]) == (400, "stream")
    got = http_kit.ask(make_provider(refuses_params=("stream_options",)), stream=True, stream_options=options)
    assert (got.status, got.error["param"]) == (400, "stream_options")
    got = http_kit.ask(make_provider(), stream_options=options)
    assert (got.status, got.error["param"]) == (400, "stream_options")  # nothing is streamed


def test_another_key_is_a_401_only_when_keys_are_checked(make_provider, http_kit):
    checking = make_provider(check_key=True)
    got = http_kit.ask(checking, key="sk-other")
    assert (got.status, got.error["code"]) == (401, "invalid_api_key")
    assert "sk-other" not in got.text
    assert http_kit.ask(checking).status == 200
    assert http_kit.ask(make_provider(), key="sk-other").status == 200


def test_an_unknown_form_and_a_bare_str_are_usage_errors():
    with pytest.raises(UsageError, match="refuses holds 'function'; known forms: 'json_schema'"):
        Provider(refuses=["function"])
    with pytest.raises(
        UsageError, match=r"refuses_params='max_tokens' is a str; write `refuses_params=\('max_tokens',\)`"
    ):
        Provider(refuses_params="max_tokens")
