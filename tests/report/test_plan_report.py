"""What a plan tells, word for word."""

from __future__ import annotations

import dataclasses

from llmframe.report import PlanReport
from llmframe.report.plan_report import bounded, summed

PLAN = PlanReport(
    model="gpt-4o-mini",
    rows=1000,
    null_rows=3,
    failed_rows=1,
    not_asked=40,
    requests=700,
    cached=100,
    input_tokens=21000,
    output_tokens=3500,
    characters_per_token=4.0,
    usd=0.00525,
    prompts=([{"role": "user", "content": "a secret cell"}],),
    schema={"type": "object"},
)


def test_a_plan_says_what_would_be_sent():
    assert repr(PLAN).splitlines() == [
        "llmframe plan · gpt-4o-mini · nothing sent",
        "  rows      1,000 (40 not asked, 3 with a null, 1 that can't be rendered)",
        "  requests  700 to send, 100 answered already",
        "  tokens    about 21,000 in, 3,500 out",
        "  cost      about $0.00525",
    ]
    assert "<td style='text-align:left'>about $0.00525</td>" in PLAN._repr_html_()
    failing = dataclasses.replace(PLAN, problems=("render: KeyError: 'x' in the prompt callable",))
    assert repr(failing).splitlines()[2] == "  problem   render: KeyError: 'x' in the prompt callable"


def test_a_plan_says_how_far_its_budget_goes():
    """700 requests take $0.00525 and 24,500 tokens: $0.003 are enough for 400 of them, 300 calls for 300."""

    def told(**budget: float) -> tuple[str, int]:
        plan = dataclasses.replace(PLAN, budget=budget)
        return repr(plan).splitlines()[-1], plan.affordable

    assert told(usd=1.0, seconds=600) == ("  budget    $1.00, 600 s: enough", 700)
    assert told(usd=0.003) == ("  budget    $0.003: enough for about 400 requests", 400)
    assert told(usd=0.003, calls=300) == ("  budget    $0.003, 300 calls: enough for about 300 requests", 300)
    assert told(tokens=24_500) == ("  budget    24,500 tokens: enough", 700)
    assert dataclasses.replace(PLAN, requests=0, usd=0.0, budget={"usd": 1}).affordable == 0


def test_a_plan_says_between_what_its_cost_lies_and_how_long_the_rates_make_it():
    plan = dataclasses.replace(PLAN, usd_range=(0.0036, 0.0102), seconds=84.0)
    assert repr(plan).splitlines()[-2:] == [
        "  cost      about $0.00525, between $0.0036 and $0.0102",
        "  time      at least 1.4 min by the given rates",
    ]


BATCHED = dataclasses.replace(
    PLAN,
    usd_range=(0.0036, 0.0102),
    seconds=84.0,
    batch_api=True,
    usd_batch=0.002625,
    usd_batch_range=(0.0018, 0.0051),
    batches=1,
    batch_seconds=86_400.0,
)


def test_a_live_plan_says_what_batches_would_save_and_how_long_they_may_take():
    assert repr(BATCHED).splitlines()[-3:] == [
        "  cost      about $0.00525, between $0.0036 and $0.0102",
        "  time      at least 1.4 min by the given rates",
        "  batch     about $0.002625 in 1 batch, $0.002625 less; usually within 24 h, then the provider gives up",
    ]
    assert BATCHED.saving == 0.002625


def test_a_plan_in_batch_mode_says_the_batches_first_and_asking_live_beside_them():
    plan = dataclasses.replace(BATCHED, mode="batch", batches=3, budget={"usd": 0.003})
    assert repr(plan).splitlines()[-5:] == [
        "  batches   3",
        "  cost      about $0.002625, between $0.0018 and $0.0051",
        "  time      usually within 24 h, then the provider gives up",
        "  live      about $0.00525, $0.002625 more; at least 1.4 min by the given rates",
        "  budget    $0.003: enough",  # at the live price it would be for 400 of 700 requests
    ]
    assert dataclasses.replace(plan, mode="live").affordable == 400


def test_a_plan_says_where_there_is_no_batch_api_or_nobody_knows():
    def told(**changes: object) -> str:
        return repr(dataclasses.replace(BATCHED, **changes)).splitlines()[-1]  # pyright: ignore[reportArgumentType]

    without = {"usd_batch": None, "usd_batch_range": None, "batches": None, "batch_seconds": None}
    assert told(batch_api=False, **without) == (
        "  batch     none for this provider: OpenAI's Batch API and Anthropic's are spoken"
    )
    unsure = told(batch_api=None)
    assert unsure.startswith("  batch     about $0.002625 in 1 batch")
    assert unsure.endswith(" (if the endpoint has a Batch API)")
    in_batches = repr(dataclasses.replace(BATCHED, mode="batch", batch_api=None)).splitlines()
    assert "  batches   1, if the endpoint has a Batch API" in in_batches
    unpriced = told(usd=None, usd_batch=None, usd_batch_range=None, batches=2)
    assert unpriced.startswith("  batch     2 batches, half the price as a rule; usually within 24 h")
    assert told(requests=0, usd=0.0, usd_batch=0.0, batches=0).startswith("  time")  # nothing to send
    assert told(usd=0.0, usd_batch=0.0) == "  batch     1 batch; usually within 24 h, then the provider gives up"
    assert dataclasses.replace(BATCHED, usd_batch=None).saving is None


def test_no_cell_gets_into_any_form_of_a_plan():
    assert not any("secret" in text for text in (repr(PLAN), PLAN._repr_html_()))


def test_a_plan_by_votes_says_between_how_many_requests():
    plan = dataclasses.replace(PLAN, least=420, usd_range=(0.002, 0.0102))
    assert repr(plan).splitlines()[2:] == [
        "  requests  420 to 700 to send, 100 answered already; votes end when they're settled",
        "  tokens    up to about 21,000 in, 3,500 out",
        "  cost      up to about $0.00525, between $0.002 and $0.0102",
    ]
    assert repr(dataclasses.replace(PLAN, least=700)) == repr(PLAN)


def test_plans_over_the_same_rows_add_up():
    first = dataclasses.replace(
        PLAN, least=500, usd_range=(0.25, 0.75), changes={"text": 600, "kept": 100}, seconds=7.0, batches=2
    )
    second = dataclasses.replace(
        PLAN, model="other", null_rows=5, requests=10, cached=0, usd_range=(0.5, 1.0), changes={"text": 10}, batches=1
    )
    both = summed([first, second])
    assert (both.model, both.rows, both.null_rows, both.not_asked) == ("gpt-4o-mini, other", 1000, 5, 40)
    assert (both.requests, both.least, both.cached) == (710, 510, 100)  # without a least all of them are asked
    assert (both.input_tokens, both.output_tokens) == (42000, 7000)
    assert (both.usd, both.usd_range, both.seconds) == (0.0105, (0.75, 1.75), 7.0)
    assert (dict(both.changes), both.batches) == ({"text": 610, "kept": 100}, 3)
    assert summed([first, dataclasses.replace(second, batches=None)]).batches is None  # votes, which are live alone
    assert summed([first]) is first


def test_a_sum_with_an_unknown_price_is_unknown():
    both = summed([PLAN, dataclasses.replace(PLAN, usd=None, batch_api=False)])
    assert (both.usd, both.usd_range, both.batch_api) == (None, None, False)
    assert summed([PLAN, dataclasses.replace(PLAN, batch_api=True)]).batch_api is None


def test_later_maps_that_ask_what_is_left_are_at_most_all_of_them():
    first = dataclasses.replace(PLAN, requests=600, least=200, usd_range=(0.001, 0.004))
    whole = dataclasses.replace(PLAN, requests=1200, least=900, usd_range=(0.003, 0.02))
    found = bounded(first, whole)
    assert (found.least, found.requests, found.usd_range) == (200, 1200, (0.001, 0.02))
    assert "200 to 1,200 to send, 100 answered already; rows that an earlier tier is sure of end there" in repr(found)
    plain = bounded(dataclasses.replace(PLAN, usd=0.5), dataclasses.replace(PLAN, requests=900, usd=2.0))
    assert (plain.least, plain.usd_range) == (700, (0.5, 2.0))
    assert bounded(dataclasses.replace(PLAN, usd=None), PLAN).usd_range is None
