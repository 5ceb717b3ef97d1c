"""What the model's server does, and what a failed turn then says."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.codex import FailureKind
from byred.codex.failures import read_reset, turn_failed
from byred.testing.script import Error, Step

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def usage_limit(**more) -> Error:
    body = {
        "error": {"type": "usage_limit_reached", "message": "limit", "plan_type": "plus"} | more
    }
    return Error(status=429, body=body)


@pytest.mark.parametrize(
    ("error", "kind", "status", "whose", "retryable"),
    [
        (Error(status=500), FailureKind.UPSTREAM, None, "machine", True),
        (usage_limit(), FailureKind.USAGE_LIMIT, None, "account", True),
        (Error(status=429, code="slow_down"), FailureKind.RATE_LIMIT, 429, "account", True),
        (Error(status=401, code="x"), FailureKind.UNAUTHORIZED, 401, "account", False),
        (
            Error(status=503, code="server_is_overloaded"),
            FailureKind.OVERLOADED,
            None,
            "machine",
            True,
        ),
        (
            Error(code="context_length_exceeded", message="too long"),
            FailureKind.CONTEXT_FULL,
            None,
            "task",
            False,
        ),
        (
            Error(status=400, code="invalid_request_error"),
            FailureKind.BAD_REQUEST,
            None,
            "task",
            False,
        ),
    ],
    ids=["500", "usage", "429", "401", "503", "context", "400"],
)
async def test_the_models_trouble_ends_the_turn_with_its_kind(
    home, script, open_stdio, error, kind, status, whose, retryable
):
    await script(Step(error=error, times=20, say="later"))
    async with open_stdio() as client:
        thread = await client.start_thread(home.options())
        turn = await thread.start_turn("hi")
        retries = [event.data["willRetry"] async for event in turn if event.method == "error"]
        result = await turn.result()
        assert result.status == "failed"
        assert result.error is not None
        assert (result.error.kind, result.error.http_status) == (kind, status), result.error.info
        assert (result.error.whose, result.error.retryable) == (whose, retryable)
        assert retries[-1] is False


async def test_an_error_that_is_retried_does_not_end_the_turn(home, script, open_stdio):
    await script(Step(error=Error(status=500), times=1, say="recovered"), Step(say="again"))
    async with open_stdio() as client:
        thread = await client.start_thread(home.options())
        result = await (await thread.start_turn("hi")).result()
        assert (result.status, result.final_text) == ("completed", "recovered")


async def test_the_turn_after_a_failed_one_works(home, script, open_stdio):
    await script(Step(error=Error(status=400), times=1), Step(say="fine"))
    async with open_stdio() as client:
        thread = await client.start_thread(home.options())
        assert (await (await thread.start_turn("hi")).result()).status == "failed"
        assert thread.status == "systemError"
        assert (await (await thread.start_turn("on")).result()).final_text == "fine"


async def test_when_a_usage_limit_ends_is_read_from_codexs_words(home, script, open_stdio):
    ends = datetime.now(UTC) + timedelta(hours=3)
    await script(Step(error=usage_limit(resets_at=int(ends.timestamp())), times=9, say="x"))
    async with open_stdio() as client:
        thread = await client.start_thread(home.options())
        result = await (await thread.start_turn("hi")).result()
        assert result.error is not None
        assert result.error.resets_at is not None, result.error.message
        assert abs(result.error.resets_at - ends) < timedelta(minutes=2)


@pytest.mark.parametrize(
    ("info", "kind"),
    [
        ("contextWindowExceeded", FailureKind.CONTEXT_FULL),
        ("sessionBudgetExceeded", FailureKind.OTHER),
        ("usageLimitExceeded", FailureKind.USAGE_LIMIT),
        ("rateLimitExceeded", FailureKind.RATE_LIMIT),
        ("serverOverloaded", FailureKind.OVERLOADED),
        ("modelNotFound", FailureKind.MODEL_NOT_FOUND),
        ("internalServerError", FailureKind.UPSTREAM),
        ("unauthorized", FailureKind.UNAUTHORIZED),
        ("badRequest", FailureKind.BAD_REQUEST),
        ("sandboxError", FailureKind.SANDBOX),
        ("other", FailureKind.OTHER),
        ("neverSeenBefore", FailureKind.OTHER),
        (None, FailureKind.OTHER),
        (17, FailureKind.OTHER),
        ({}, FailureKind.OTHER),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, FailureKind.UNAUTHORIZED),
        ({"httpConnectionFailed": {"httpStatusCode": None}}, FailureKind.UPSTREAM),
        ({"httpConnectionFailed": {}}, FailureKind.UPSTREAM),
        ({"responseStreamConnectionFailed": {"httpStatusCode": 502}}, FailureKind.UPSTREAM),
        ({"responseStreamDisconnected": {"httpStatusCode": 503}}, FailureKind.OVERLOADED),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, FailureKind.RATE_LIMIT),
        ({"activeTurnNotSteerable": {"turnKind": "review"}}, FailureKind.BAD_REQUEST),
        ({"newKind": {"httpStatusCode": 500}}, FailureKind.OTHER),
        ({"newKind": "text"}, FailureKind.OTHER),
    ],
)
def test_every_error_info_has_a_kind(info, kind):
    failed = turn_failed({"message": "m", "codexErrorInfo": info}, now=NOW)
    assert failed.kind is kind
    assert failed.info == info


def test_a_missing_model_is_told_by_its_words():
    message = "The model `gpt-9` does not exist or you do not have access to it."
    failed = turn_failed({"message": message, "codexErrorInfo": "badRequest"}, now=NOW)
    assert failed.kind is FailureKind.MODEL_NOT_FOUND


@pytest.mark.parametrize(
    ("message", "kind", "status"),
    [
        ("unexpected status 401 Unauthorized: x, url: y", FailureKind.UNAUTHORIZED, 401),
        ("unexpected status 502 Bad Gateway: x", FailureKind.UPSTREAM, 502),
        ('{"error":{"type":"invalid_request_error","message":"m"}}', FailureKind.BAD_REQUEST, None),
        ('{"error":{"type":"else","message":"m"}}', FailureKind.OTHER, None),
        ("{not json", FailureKind.OTHER, None),
        ("{}", FailureKind.OTHER, None),
    ],
)
def test_what_codex_has_no_kind_for_is_told_by_its_words(message, kind, status):
    failed = turn_failed({"message": message, "codexErrorInfo": "other"}, now=NOW)
    assert (failed.kind, failed.http_status) == (kind, status)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("or try again at 3:45 PM.", datetime(2026, 3, 1, 15, 45, tzinfo=UTC)),
        ("try again at 12:05 AM", datetime(2026, 3, 2, 0, 5, tzinfo=UTC)),
        ("try again at 11:55 AM", datetime(2026, 3, 2, 11, 55, tzinfo=UTC)),
        ("try again at 11:59 AM", datetime(2026, 3, 1, 12, 0, tzinfo=UTC)),
        ("try again at 12:00 PM", datetime(2026, 3, 1, 12, 1, tzinfo=UTC)),
        ("try again at Mar 4th, 2026 1:05 AM.", datetime(2026, 3, 4, 1, 5, tzinfo=UTC)),
        ("try again at Dec 31st, 2026 12:00 PM.", datetime(2026, 12, 31, 12, 0, tzinfo=UTC)),
        ("Try again in 2 days 3 hours 5 minutes.", NOW + timedelta(days=2, hours=3, minutes=5)),
        ("try again in 1.5h", NOW + timedelta(minutes=90)),
        ("Please try again in 20s.", NOW + timedelta(seconds=20)),
        ("try again in 350ms", NOW + timedelta(milliseconds=350)),
        ("try again later.", None),
        ("try again at Feb 31st, 2026 1:05 AM.", None),
        ("", None),
    ],
)
def test_the_end_of_a_limit_is_read_from_prose(text, when):
    assert read_reset(f"You've hit your usage limit, {text}", NOW) == when


def test_a_time_of_day_is_in_the_machines_zone():
    zone = timezone(timedelta(hours=-5))
    now = datetime(2026, 3, 1, 12, 0, tzinfo=zone)
    assert read_reset("try again at 1:00 PM", now) == datetime(2026, 3, 1, 18, 0, tzinfo=UTC)


@given(st.text())
def test_no_text_breaks_the_reading_of_a_limit(text):
    read_reset(f"try again at {text}", NOW)
    read_reset(f"try again in {text}", NOW)
