"""Records: what the agent asks of people, and what reviews it.

Written by tests/tools/make_rollout_types.py from the schemas that the binaries
0.136.0 to 0.171.0 print of themselves; not edited by hand.
"""

from __future__ import annotations

from byred.codex.rollout.record import (
    Record,
    anything,
    many,
    maybe_flag,
    maybe_many,
    maybe_table,
    maybe_text,
    maybe_whole,
    table,
    text,
    whole,
)


class ApplyPatchApprovalRequestEvent(Record):
    """`apply_patch_approval_request`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "apply_patch_approval_request"
    call_id = text()
    changes = table()
    grant_root = maybe_text()
    reason = maybe_text()
    started_at_ms = whole()
    turn_id = maybe_text()


class ElicitationAbandonedEvent(Record):
    """`elicitation_abandoned`: 0.163.0 to 0.171.0."""

    __slots__ = ()
    tag = "elicitation_abandoned"
    id = anything()
    server_name = text()


class ElicitationRequestEvent(Record):
    """`elicitation_request`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "elicitation_request"
    environment_id = maybe_text()
    id = anything()
    request = table()
    server_name = text()
    turn_id = maybe_text()


class EnteredReviewModeEvent(Record):
    """`entered_review_mode`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "entered_review_mode"
    item_id = maybe_text()
    target = table()
    turn_id = maybe_text()
    user_facing_hint = maybe_text()


class ExecApprovalRequestEvent(Record):
    """`exec_approval_request`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "exec_approval_request"
    additional_permissions = maybe_table()
    approval_id = maybe_text()
    available_decisions = maybe_many()
    call_id = text()
    command = many()
    cwd = text()
    environment_id = maybe_text("environmentId")
    kind = maybe_text()
    network_approval_context = maybe_table()
    parsed_cmd = many()
    plugin_id = maybe_text()
    proposed_execpolicy_amendment = maybe_many()
    proposed_network_policy_amendments = maybe_many()
    reason = maybe_text()
    script_path = maybe_text()
    started_at_ms = whole()
    turn_id = maybe_text()


class ExitedReviewModeEvent(Record):
    """`exited_review_mode`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "exited_review_mode"
    item_id = maybe_text()
    review_output = maybe_table()
    turn_id = maybe_text()


class GuardianAssessmentEvent(Record):
    """`guardian_assessment`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "guardian_assessment"
    action = table()
    completed_at_ms = maybe_whole()
    decision_source = maybe_text()
    id = text()
    plugin_id = maybe_text()
    rationale = maybe_text()
    review_reason = maybe_text()
    risk_level = maybe_text()
    script_path = maybe_text()
    started_at_ms = maybe_whole()
    status = text()
    target_item_id = maybe_text()
    turn_id = maybe_text()
    user_authorization = maybe_text()


class GuardianWarningEvent(Record):
    """`guardian_warning`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "guardian_warning"
    message = text()


class RequestPermissionsEvent(Record):
    """`request_permissions`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "request_permissions"
    call_id = text()
    cwd = maybe_text()
    environment_id = maybe_text("environmentId")
    permissions = table()
    reason = maybe_text()
    started_at_ms = whole()
    turn_id = maybe_text()


class RequestUserInputEvent(Record):
    """`request_user_input`: 0.136.0 to 0.171.0."""

    __slots__ = ()
    tag = "request_user_input"
    auto_resolution_ms = maybe_whole("autoResolutionMs")
    call_id = text()
    is_blocking = maybe_flag("isBlocking")
    questions = many()
    turn_id = maybe_text()


ASKING: dict[str, type[Record]] = {
    "apply_patch_approval_request": ApplyPatchApprovalRequestEvent,
    "elicitation_abandoned": ElicitationAbandonedEvent,
    "elicitation_request": ElicitationRequestEvent,
    "entered_review_mode": EnteredReviewModeEvent,
    "exec_approval_request": ExecApprovalRequestEvent,
    "exited_review_mode": ExitedReviewModeEvent,
    "guardian_assessment": GuardianAssessmentEvent,
    "guardian_warning": GuardianWarningEvent,
    "request_permissions": RequestPermissionsEvent,
    "request_user_input": RequestUserInputEvent,
}
"""The classes of this module by their tag."""
