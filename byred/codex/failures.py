"""From what codex says of a failed turn to a `TurnFailed` that somebody can act on."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from byred.codex.errors import FailureKind, TurnFailed

_KINDS: Final = {
    "contextWindowExceeded": FailureKind.CONTEXT_FULL,
    "usageLimitExceeded": FailureKind.USAGE_LIMIT,
    "rateLimitExceeded": FailureKind.RATE_LIMIT,
    "serverOverloaded": FailureKind.OVERLOADED,
    "flexUnavailable": FailureKind.OVERLOADED,
    "modelNotFound": FailureKind.MODEL_NOT_FOUND,
    "internalServerError": FailureKind.UPSTREAM,
    "unauthorized": FailureKind.UNAUTHORIZED,
    "badRequest": FailureKind.BAD_REQUEST,
    "cyberPolicy": FailureKind.BAD_REQUEST,
    "misalignmentPolicyViolation": FailureKind.BAD_REQUEST,
    "activeTurnNotSteerable": FailureKind.BAD_REQUEST,
    "sandboxError": FailureKind.SANDBOX,
    "httpConnectionFailed": FailureKind.UPSTREAM,
    "responseStreamConnectionFailed": FailureKind.UPSTREAM,
    "responseStreamDisconnected": FailureKind.UPSTREAM,
    "responseTooManyFailedAttempts": FailureKind.UPSTREAM,
}
_BY_STATUS: Final = {
    400: FailureKind.BAD_REQUEST,
    401: FailureKind.UNAUTHORIZED,
    402: FailureKind.UNAUTHORIZED,
    403: FailureKind.UNAUTHORIZED,
    404: FailureKind.BAD_REQUEST,
    422: FailureKind.BAD_REQUEST,
    429: FailureKind.RATE_LIMIT,
    503: FailureKind.OVERLOADED,
}
_MODEL_MISSING: Final = re.compile(
    r"model\b.{0,80}\b(not found|does not exist|not supported)|model_not_found", re.IGNORECASE
)
_STATUS: Final = re.compile(r"\bunexpected status (\d{3})\b")
"""How versions below 0.163 tell of an HTTP status that they have no kind for."""
_CLOCK: Final = re.compile(
    r"try again (?:at|after) (?:(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2})(?:st|nd|rd|th)?,?"
    r" (?P<year>\d{4}),? )?(?P<hour>\d{1,2}):(?P<minute>\d\d) ?(?P<half>[AP]M)",
    re.IGNORECASE,
)
_SPAN: Final = re.compile(
    r"try again in (?P<span>(?:\d+(?:\.\d+)? ?(?:days?|hours?|minutes?|seconds?|ms|[dhms])[ ,]*"
    r"(?:and )?)+)",
    re.IGNORECASE,
)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?) ?(ms|[dhms])", re.IGNORECASE)
_UNITS: Final = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_MINUTE: Final = timedelta(minutes=1)
_JUST_PASSED: Final = timedelta(minutes=5)
"""A time of day that is less than this ago is not tomorrow's: the words took a while to arrive."""
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905 - it reads better


def turn_failed(error: dict[str, Any], *, now: datetime) -> TurnFailed:
    """Return what a turn's `error` object means; `now` (aware) anchors times without a date."""
    info = error.get("codexErrorInfo")
    message = str(error.get("message") or "the turn failed without a message")
    details = error.get("additionalDetails")
    name, status = _read_info(info)
    kind = _KINDS.get(name, FailureKind.OTHER)
    told = _STATUS.search(message) if kind is FailureKind.OTHER else None
    if told is not None:
        status, kind = int(told[1]), FailureKind.UPSTREAM
    refused = _read_refusal(message) if kind is FailureKind.OTHER else None
    if refused is not None:
        kind, message = FailureKind.BAD_REQUEST, refused
    if kind is FailureKind.UPSTREAM:
        kind = _BY_STATUS.get(status or 0, kind)
    if kind in (FailureKind.OTHER, FailureKind.UPSTREAM, FailureKind.BAD_REQUEST) and (
        _MODEL_MISSING.search(message)
    ):
        kind = FailureKind.MODEL_NOT_FOUND
    return TurnFailed(
        message,
        kind=kind,
        info=info,
        http_status=status,
        resets_at=read_reset(message, now) if kind is FailureKind.USAGE_LIMIT else None,
        details=details if isinstance(details, str) else None,
    )


def _read_info(info: Any) -> tuple[str, int | None]:
    if isinstance(info, str):
        return info, None
    if isinstance(info, dict) and info:
        name, body = next(iter(info.items()))
        status = body.get("httpStatusCode") if isinstance(body, dict) else None
        return str(name), status if isinstance(status, int) else None
    return "", None


def _read_refusal(message: str) -> str | None:
    """Return what the model's server refused, where codex passes its HTTP 400 on as JSON."""
    if not message.startswith("{"):
        return None
    try:
        body = msgspec.json.decode(message)
        error = body["error"]
        return str(error["message"]) if error["type"] == "invalid_request_error" else None
    except (msgspec.DecodeError, LookupError, TypeError):
        return None


def read_reset(message: str, now: datetime) -> datetime | None:
    """Return when a usage limit ends (UTC), read from codex's prose; None when it does not say.

    codex writes a time of day in the machine's zone, which is `now`'s.
    """
    span = _SPAN.search(message)
    if span is not None:
        parts = _PART.findall(span["span"])
        seconds = sum(float(number) * _UNITS[unit.lower()] for number, unit in parts)
        return (now + timedelta(seconds=seconds)).astimezone(UTC)
    clock = _CLOCK.search(message)
    if clock is None:
        return None
    hour = int(clock["hour"]) % 12 + (12 if clock["half"].upper() == "PM" else 0)
    try:
        if clock["month"] is not None:
            month = _MONTHS.index(clock["month"].lower()) + 1
            when = now.replace(year=int(clock["year"]), month=month, day=int(clock["day"]))
        else:
            when = now
        when = when.replace(hour=hour, minute=int(clock["minute"]), second=0, microsecond=0)
    except ValueError:
        return None
    if clock["month"] is None and when <= now:
        # The minute alone is told: within it, its end is the first moment that surely is after.
        passed = now - when
        when += _MINUTE if passed < _JUST_PASSED else timedelta(days=1)
    return when.astimezone(UTC)
