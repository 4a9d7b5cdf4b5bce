"""Who decides a sending option, and what is refused before anything is sent."""

from __future__ import annotations

import threading
from contextvars import copy_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmframe
from llmframe.errors import UsageError
from llmframe.options import CONCURRENCY_BOUND, SENDING_OPTIONS, UNSET, SendOptions, refuse_unknown, resolve_options

LAYERS = ("environment", "use", "scope", "call")


def test_the_defaults_are_as_documented():
    options = resolve_options({})
    assert options == SendOptions()
    assert (options.model, options.base_url, options.api_key, options.client) == (None, None, None, None)
    assert (options.timeout, options.max_attempts, options.reask) == (60.0, 5, 1)
    assert (options.max_concurrency, CONCURRENCY_BOUND) == (256, 256)
    assert (options.requests_per_minute, options.tokens_per_minute) == (None, None)
    assert (options.priority, options.hedge, options.budget, options.prices) == ("normal", False, None, {})
    assert (options.cache, options.output_mode, options.params) == (True, "auto", {})


@pytest.mark.parametrize("said", [LAYERS[:count] for count in range(1, 5)], ids=lambda said: said[-1])
def test_the_call_decides_over_the_scope_over_use_over_the_environment(
    said: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    if "environment" in said:
        monkeypatch.setenv("LLMFRAME_MODEL", "environment")
    if "use" in said:
        llmframe.use(model="use")
    call = {"model": "call"} if "call" in said else {}
    if "scope" in said:
        with llmframe.use(model="scope"):
            assert resolve_options(call).model == said[-1]
    else:
        assert resolve_options(call).model == said[-1]


def test_params_are_merged_key_by_key_along_the_same_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMFRAME_PARAMS", '{"a": "environment", "b": "environment", "c": "environment", "d": 0}')
    llmframe.use(params={"b": "use", "c": "use"})
    llmframe.use(params={"d": "use"})
    with llmframe.use(params={"c": "scope"}):
        options = resolve_options({"params": {"d": "call"}})
    assert options.params == {"a": "environment", "b": "use", "c": "scope", "d": "call"}


def test_none_says_something_and_unset_says_nothing():
    llmframe.use(requests_per_minute=60)
    assert resolve_options({"requests_per_minute": UNSET}).requests_per_minute == 60
    assert resolve_options({"requests_per_minute": None}).requests_per_minute is None
    assert repr(UNSET) == "UNSET"


def test_use_adds_to_what_was_said_before_and_stays():
    llmframe.use(model="m")
    llmframe.use(timeout=5)
    options = resolve_options({})
    assert (options.model, options.timeout) == ("m", 5)


def test_under_with_only_the_block_is_changed():
    llmframe.use(model="outside", timeout=5)
    with llmframe.use(model="inside"):
        assert (resolve_options({}).model, resolve_options({}).timeout) == ("inside", 5)
        with llmframe.use(timeout=7):
            assert (resolve_options({}).model, resolve_options({}).timeout) == ("inside", 7)
        assert resolve_options({}).timeout == 5
    assert resolve_options({}).model == "outside"


def test_a_block_ends_with_an_exception_too():
    with pytest.raises(KeyError), llmframe.use(model="inside"):
        raise KeyError
    assert resolve_options({}).model is None


def test_a_scope_can_be_entered_again_and_within_itself():
    scope = llmframe.use(model="inside")
    with scope:
        pass
    assert resolve_options({}).model is None
    llmframe.use(timeout=5)
    with scope:
        with scope:
            assert resolve_options({}).model == "inside"
        assert resolve_options({}).model == "inside"
        assert resolve_options({}).timeout == 5
    assert (resolve_options({}).model, resolve_options({}).timeout) == (None, 5)


def test_what_was_said_after_a_scope_was_made_stays():
    scope = llmframe.use(model="inside")
    llmframe.use(timeout=5)
    with scope:
        pass
    assert resolve_options({}).timeout == 5


def test_a_block_holds_in_its_own_context_alone():
    seen: list[str | None] = []

    def look() -> None:
        seen.append(resolve_options({}).model)

    with llmframe.use(model="inside"):
        other = threading.Thread(target=look)
        other.start()
        other.join()
        carried = threading.Thread(target=copy_context().run, args=(look,))
        carried.start()
        carried.join()
    assert seen == [None, "inside"]


def test_scopes_made_before_one_of_them_is_entered_leave_nothing_behind():
    """As two threads do that say `with use(...)` at the same time."""
    first, second = llmframe.use(model="a", params={"seed": 1}), llmframe.use(timeout=5.0, params={"top_p": 0.5})
    with first, second:
        assert (resolve_options({}).model, resolve_options({}).timeout, resolve_options({}).params) == (
            "a",
            5.0,
            {"seed": 1, "top_p": 0.5},
        )
    assert resolve_options({}) == SendOptions()


def test_what_is_said_over_and_over_is_kept_once():
    for number in range(1, 100):
        llmframe.use(timeout=float(number), params={f"p{number % 3}": number})
    assert resolve_options({}).timeout == 99.0
    assert resolve_options({}).params == {"p0": 99, "p1": 97, "p2": 98}
    assert len(llmframe.options._process_default) <= 2  # the last one may still be taken back


def test_one_scope_serves_several_threads_at_once():
    scope = llmframe.use(model="inside")
    with scope:
        pass
    barrier = threading.Barrier(2)
    seen: list[tuple[str | None, str | None]] = []

    def work() -> None:
        with scope:
            barrier.wait(timeout=60)
            inside = resolve_options({}).model
            barrier.wait(timeout=60)
        seen.append((inside, resolve_options({}).model))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [("inside", None)] * 2


def test_the_process_default_holds_in_other_threads():
    llmframe.use(model="m")
    seen: list[str | None] = []
    thread = threading.Thread(target=lambda: seen.append(resolve_options({}).model))
    thread.start()
    thread.join()
    assert seen == ["m"]


def test_a_refused_value_changes_nothing():
    llmframe.use(timeout=5)
    with pytest.raises(UsageError):
        llmframe.use(timeout=-1, model="m")
    assert (resolve_options({}).timeout, resolve_options({}).model) == (5, None)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("model", 4, "`model` must be text, got int"),
        ("base_url", b"http://x", "`base_url` must be text, got bytes"),
        ("api_key", ["sk-secret"], "`api_key` must be text, got list"),
        ("params", "hot", "`params` must be a dict such as {'temperature': 0}, got str"),
        ("params", None, "`params` must be a dict such as {'temperature': 0}, got NoneType"),
        ("max_concurrency", 0, "`max_concurrency` must be a whole number of at least 1, got 0"),
        ("max_concurrency", 2.0, "`max_concurrency` must be a whole number of at least 1, got 2.0"),
        ("max_concurrency", True, "`max_concurrency` must be a whole number of at least 1, got True"),
        ("max_attempts", 0, "`max_attempts` must be a whole number of at least 1, got 0"),
        ("reask", -1, "`reask` must be a whole number of at least 0, got -1"),
        ("timeout", 0, "`timeout` must be a number above 0, got 0"),
        ("timeout", float("nan"), "`timeout` must be a number above 0, got nan"),
        ("timeout", float("inf"), "`timeout` must be a number above 0, got inf"),
        ("timeout", None, "`timeout` must be a number above 0, got None"),
        ("requests_per_minute", -5, "`requests_per_minute` must be a number above 0, got -5"),
        ("requests_per_minute", "500", "`requests_per_minute` must be a number above 0, got '500'"),
        ("tokens_per_minute", 0, "`tokens_per_minute` must be a number above 0, got 0"),
        ("tokens_per_minute", "9k", "`tokens_per_minute` must be a number above 0, got '9k'"),
        ("priority", "urgent", "`priority` must be one of 'high', 'normal', 'low', got 'urgent'"),
        ("priority", None, "`priority` must be one of 'high', 'normal', 'low', got None"),
        ("hedge", 1, "`hedge` must be True or False, got 1"),
        ("budget", 0, "`budget` must be a number of dollars above 0, got 0: say budget=1.0"),
        ("budget", True, "`budget` must be dollars, a mapping or a llmframe.Budget, got True: say budget=1.0"),
        ("budget", {"second": 9}, "`budget` has no limit 'second'; did you mean 'seconds'? limits: usd, tokens,"),
        ("prices", None, '`prices` must be a dict such as {"my-model": {"input": 0.15, "output": 0.6}}'),
        ("prices", {"m": {"input": -1, "output": 0}}, "`prices['m']['input']` must be a number of at least 0, got -1"),
        ("cache", "refrech", "`cache` must be True, False, 'refresh', a path or a store, got 'refrech'; did you mean"),
        ("cache", " ", "`cache` must be True, False, 'refresh', a path or a store, got ' '"),
        ("cache", None, "`cache` must be True, False, 'refresh', a path or a store, got None"),
        ("cache", dict, "`cache` must be True, False, 'refresh', a path or a store, got <class 'dict'>"),
        ("output_mode", "tool", "`output_mode` must be one of 'auto', 'json_schema', 'tools', 'json', 'score', got"),
    ],
)
def test_a_value_that_can_not_work_is_refused_by_name(name: str, value: object, message: str):
    with pytest.raises(UsageError) as caught:
        resolve_options({name: value})
    assert str(caught.value).startswith(message)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("name", "value", "near"), [("output_mode", "tool", "tools"), ("priority", "hihg", "high")])
def test_a_misspelt_word_names_the_near_one(name: str, value: str, near: str):
    with pytest.raises(UsageError, match=f"did you mean '{near}'"):
        resolve_options({name: value})


def test_a_budget_is_dollars_limits_by_name_or_one_for_several_calls():
    shared = llmframe.Budget(5)
    for said in (1, 2.5, {"tokens": 10, "seconds": 2.5}, shared, None):
        assert resolve_options({"budget": said}).budget is said
    with llmframe.use(budget=shared):
        assert resolve_options({}).budget is shared
        assert resolve_options({"budget": None}).budget is None


def test_prices_are_merged_model_by_model(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMFRAME_PRICES", '{"a": {"input": 1, "output": 1}, "b": {"input": 1, "output": 1}}')
    llmframe.use(prices={"b": {"input": 2, "output": 2, "cached": 1}})
    prices = resolve_options({"prices": {"c": {"input": 3, "output": 3}}}).prices
    assert {model: rates["input"] for model, rates in prices.items()} == {"a": 1, "b": 2, "c": 3}
    assert prices["b"]["cached"] == 1


def test_the_names_of_the_module_are_these():
    names = """CONCURRENCY_BOUND PROVIDER_WORDS SENDING_OPTIONS SYNONYMS UNSET BudgetOption CacheOption KeepsAnswers
    OutputMode Prices Priority Scope SendOptions Unset refuse_unknown resolve_options use"""
    assert sorted(llmframe.options.__all__) == sorted(names.split())
    assert all(hasattr(llmframe.options, name) for name in llmframe.options.__all__)


@given(st.text(min_size=8))
def test_no_repr_shows_a_key(key: str):
    key = f"sk-{key}"
    assert key not in repr(SendOptions(api_key=key))
    scope = llmframe.use(api_key=key)
    with scope:
        pass
    assert repr(scope) == "<llmframe options: api_key>"


def test_a_providers_word_is_sent_to_params():
    with pytest.raises(UsageError, match=r'`temperature` is a word of the provider: give it as params=\{"temp'):
        llmframe.use(temperature=0)
    with pytest.raises(UsageError, match=r'params=\{"extra_headers": \.\.\.\}'):
        llmframe.use(extra_headers={"Authorization": "Bearer sk-secret"})


def test_an_unknown_argument_names_the_near_one_and_all_there_are():
    with pytest.raises(UsageError) as caught:
        refuse_unknown({"modell": "m"}, SENDING_OPTIONS, verb="map")
    text = str(caught.value)
    assert text.startswith("`map` has no argument 'modell'; did you mean 'model'? arguments: ")
    assert text.endswith(", ".join(SENDING_OPTIONS))
    with pytest.raises(UsageError, match="no argument 'zzz'; arguments: model, "):
        refuse_unknown({"zzz": 1}, SENDING_OPTIONS, verb="use")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("prompt", "prompt_template"),
        ("template", "prompt_template"),
        ("response_model", "schema"),
        ("output_schema", "schema"),
        ("model_class", "schema"),
        ("max_workers", "max_concurrency"),
        ("concurrency", "max_concurrency"),
        ("workers", "max_concurrency"),
        ("name", "into"),
        ("column", "into"),
        ("output_column", "into"),
        ("rpm", "requests_per_minute"),
        ("tpm", "tokens_per_minute"),
        ("retries", "max_attempts"),
        ("max_retries", "max_attempts"),
        ("api_base", "base_url"),
        ("deadline", "budget"),
    ],
)
def test_other_libraries_words_name_the_argument_here(said: str, meant: str):
    known = ("prompt_template", "schema", "into", *SENDING_OPTIONS)
    with pytest.raises(UsageError, match=f"`map` has no argument '{said}'; did you mean '{meant}'\\? arguments: "):
        refuse_unknown({said: 1}, known, verb="map")


def test_a_word_for_something_that_the_verb_has_not_suggests_nothing():
    with pytest.raises(UsageError, match="`use` has no argument 'column'; arguments: "):
        refuse_unknown({"column": "x"}, SENDING_OPTIONS, verb="use")


def test_a_nearer_client_sets_an_address_and_a_key_aside(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMFRAME_BASE_URL", "http://127.0.0.1:1/v1")
    llmframe.use(api_key="k")
    client = object()
    for options in (resolve_options({"client": client}), _within({"client": client}, {})):
        assert (options.client, options.base_url, options.api_key) == (client, None, None)


def test_a_nearer_address_sets_a_client_aside():
    llmframe.use(client=object())
    options = resolve_options({"base_url": "http://127.0.0.1:1/v1", "api_key": "k"})
    assert (options.client, options.base_url, options.api_key) == (None, "http://127.0.0.1:1/v1", "k")
    with llmframe.use(base_url="http://127.0.0.1:1/v1"):
        assert resolve_options({}).client is None
        client = object()
        assert _within({"client": client}, {}).base_url is None
        assert _within({"client": client}, {"base_url": "http://127.0.0.1:2/v1"}).client is None


def test_a_client_and_an_address_said_together_stay_for_the_call_to_refuse():
    options = resolve_options({"client": 1, "base_url": "http://127.0.0.1:1/v1"})
    assert (options.client, options.base_url) == (1, "http://127.0.0.1:1/v1")
    llmframe.use(client=1)
    assert (resolve_options({"api_key": "k"}).client, resolve_options({"api_key": "k"}).api_key) == (1, "k")


def test_layers_of_use_that_were_put_together_decide_the_same():
    for options in ({"api_key": "k"}, {"client": 1}, {"base_url": "http://127.0.0.1:1/v1"}, {"client": 2}, {}, {}):
        llmframe.use(**options)
    options = resolve_options({})
    assert (options.client, options.base_url, options.api_key) == (2, None, None)


def _within(scope: dict[str, object], call: dict[str, object]) -> SendOptions:
    with llmframe.use(**scope):  # pyright: ignore[reportArgumentType] - the test's own names
        return resolve_options(call)
