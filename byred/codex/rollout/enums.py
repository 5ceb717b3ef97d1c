"""The enums of codex's configuration and records: the exact strings, by version.

Written by tests/tools/make_rollout_types.py from the schemas that the binaries print of
themselves; not edited by hand. A variant with data counts by its key or its tag. What a
later version adds is a string like any other to the readers of this package.
"""

from __future__ import annotations

from enum import StrEnum

VERSIONS = ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0")
"""The versions that the tables were taken from."""


class AskForApproval(StrEnum):
    """Values of `AskForApproval`."""

    UNTRUSTED = "untrusted"
    ON_FAILURE = "on-failure"
    ON_REQUEST = "on-request"
    GRANULAR = "granular"
    NEVER = "never"


class ApprovalsReviewer(StrEnum):
    """Values of `ApprovalsReviewer`."""

    USER = "user"
    AUTO_REVIEW = "auto_review"
    GUARDIAN_SUBAGENT = "guardian_subagent"


class SandboxMode(StrEnum):
    """Values of `SandboxMode`."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    DANGER_FULL_ACCESS = "danger-full-access"


class SandboxPolicy(StrEnum):
    """Values of `SandboxPolicy`."""

    DANGER_FULL_ACCESS = "danger-full-access"
    READ_ONLY = "read-only"
    EXTERNAL_SANDBOX = "external-sandbox"
    WORKSPACE_WRITE = "workspace-write"


class PermissionProfile(StrEnum):
    """Values of `PermissionProfile`."""

    MANAGED = "managed"
    DISABLED = "disabled"
    EXTERNAL = "external"


class NetworkAccess(StrEnum):
    """Values of `NetworkAccess`."""

    RESTRICTED = "restricted"
    ENABLED = "enabled"


class NetworkSandboxPolicy(StrEnum):
    """Values of `NetworkSandboxPolicy`."""

    RESTRICTED = "restricted"
    ENABLED = "enabled"


class FileSystemAccessMode(StrEnum):
    """Values of `FileSystemAccessMode`."""

    READ = "read"
    WRITE = "write"
    DENY = "deny"


class ShellEnvironmentPolicyInherit(StrEnum):
    """Values of `ShellEnvironmentPolicyInherit`."""

    CORE = "core"
    ALL = "all"
    NONE = "none"


class WebSearchMode(StrEnum):
    """Values of `WebSearchMode`."""

    DISABLED = "disabled"
    CACHED = "cached"
    LIVE = "live"
    INDEXED = "indexed"


class AutoCompactTokenLimitScope(StrEnum):
    """Values of `AutoCompactTokenLimitScope`."""

    TOTAL = "total"
    BODY_AFTER_PREFIX = "body_after_prefix"


class ReasoningEffort(StrEnum):
    """Values of `ReasoningEffort`."""

    NONE = "none"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"


class ReasoningSummary(StrEnum):
    """Values of `ReasoningSummary`."""

    AUTO = "auto"
    CONCISE = "concise"
    DETAILED = "detailed"
    NONE = "none"


class Verbosity(StrEnum):
    """Values of `Verbosity`."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Personality(StrEnum):
    """Values of `Personality`."""

    NONE = "none"
    FRIENDLY = "friendly"
    PRAGMATIC = "pragmatic"


class ModeKind(StrEnum):
    """Values of `ModeKind`."""

    PLAN = "plan"
    DEFAULT = "default"


class MultiAgentVersion(StrEnum):
    """Values of `MultiAgentVersion`."""

    DISABLED = "disabled"
    V1 = "v1"
    V2 = "v2"


class ThreadHistoryMode(StrEnum):
    """Values of `ThreadHistoryMode`."""

    LEGACY = "legacy"
    PAGINATED = "paginated"


class MessagePhase(StrEnum):
    """Values of `MessagePhase`."""

    COMMENTARY = "commentary"
    FINAL_ANSWER = "final_answer"
    PARTIAL_ANSWER = "partial_answer"


class ReviewDecision(StrEnum):
    """Values of `ReviewDecision`."""

    APPROVED = "approved"
    APPROVED_EXECPOLICY_AMENDMENT = "approved_execpolicy_amendment"
    APPROVED_FOR_SESSION = "approved_for_session"
    NETWORK_POLICY_AMENDMENT = "network_policy_amendment"
    DENIED = "denied"
    TIMED_OUT = "timed_out"
    ABORT = "abort"
    APPROVED_MCP_POLICY_AMENDMENT = "approved_mcp_policy_amendment"


class TurnAbortReason(StrEnum):
    """Values of `TurnAbortReason`."""

    INTERRUPTED = "interrupted"
    REPLACED = "replaced"
    REVIEW_ENDED = "review_ended"
    BUDGET_LIMITED = "budget_limited"


class CodexErrorInfo(StrEnum):
    """Values of `CodexErrorInfo`."""

    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    USAGE_LIMIT_EXCEEDED = "usage_limit_exceeded"
    SERVER_OVERLOADED = "server_overloaded"
    CYBER_POLICY = "cyber_policy"
    INTERNAL_SERVER_ERROR = "internal_server_error"
    UNAUTHORIZED = "unauthorized"
    BAD_REQUEST = "bad_request"
    SANDBOX_ERROR = "sandbox_error"
    THREAD_ROLLBACK_FAILED = "thread_rollback_failed"
    OTHER = "other"
    HTTP_CONNECTION_FAILED = "http_connection_failed"
    RESPONSE_STREAM_CONNECTION_FAILED = "response_stream_connection_failed"
    RESPONSE_STREAM_DISCONNECTED = "response_stream_disconnected"
    RESPONSE_TOO_MANY_FAILED_ATTEMPTS = "response_too_many_failed_attempts"
    ACTIVE_TURN_NOT_STEERABLE = "active_turn_not_steerable"
    SESSION_BUDGET_EXCEEDED = "session_budget_exceeded"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"
    MISALIGNMENT_POLICY_VIOLATION = "misalignment_policy_violation"
    FLEX_UNAVAILABLE = "flex_unavailable"
    BIO_POLICY = "bio_policy"
    TOO_MANY_DENIALS = "too_many_denials"
    INVALID_PROMPT = "invalid_prompt"
    MODEL_NOT_FOUND = "model_not_found"
    POLICY_CAPACITY_UNAVAILABLE = "policy_capacity_unavailable"
    INFERENCE_HOOK_DENIED = "inference_hook_denied"


class ExecCommandStatus(StrEnum):
    """Values of `ExecCommandStatus`."""

    COMPLETED = "completed"
    FAILED = "failed"
    DECLINED = "declined"


class ExecCommandSource(StrEnum):
    """Values of `ExecCommandSource`."""

    AGENT = "agent"
    USER_SHELL = "user_shell"
    UNIFIED_EXEC_STARTUP = "unified_exec_startup"
    UNIFIED_EXEC_INTERACTION = "unified_exec_interaction"


class PatchApplyStatus(StrEnum):
    """Values of `PatchApplyStatus`."""

    COMPLETED = "completed"
    FAILED = "failed"
    DECLINED = "declined"


KNOWN: dict[type[StrEnum], dict[str, tuple[str, ...]]] = {
    AskForApproval: {
        "untrusted": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "on-failure": ("0.136.0",),
        "on-request": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "granular": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "never": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    ApprovalsReviewer: {
        "user": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "auto_review": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "guardian_subagent": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    SandboxMode: {
        "read-only": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "workspace-write": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "danger-full-access": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    SandboxPolicy: {
        "danger-full-access": ("0.136.0", "0.144.4", "0.154.0", "0.163.0"),
        "read-only": ("0.136.0", "0.144.4", "0.154.0", "0.163.0"),
        "external-sandbox": ("0.136.0", "0.144.4", "0.154.0", "0.163.0"),
        "workspace-write": ("0.136.0", "0.144.4", "0.154.0", "0.163.0"),
    },
    PermissionProfile: {
        "managed": ("0.136.0", "0.154.0", "0.163.0", "0.171.0"),
        "disabled": ("0.136.0", "0.154.0", "0.163.0", "0.171.0"),
        "external": ("0.136.0", "0.154.0", "0.163.0", "0.171.0"),
    },
    NetworkAccess: {
        "restricted": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "enabled": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    NetworkSandboxPolicy: {
        "restricted": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "enabled": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    FileSystemAccessMode: {
        "read": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "write": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "deny": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    ShellEnvironmentPolicyInherit: {
        "core": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "all": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "none": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    WebSearchMode: {
        "disabled": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "cached": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "live": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "indexed": ("0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    AutoCompactTokenLimitScope: {
        "total": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "body_after_prefix": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    ReasoningEffort: {
        "none": ("0.136.0",),
        "minimal": ("0.136.0",),
        "low": ("0.136.0",),
        "medium": ("0.136.0",),
        "high": ("0.136.0",),
        "xhigh": ("0.136.0",),
    },
    ReasoningSummary: {
        "auto": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "concise": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "detailed": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "none": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    Verbosity: {
        "low": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "medium": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "high": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    Personality: {
        "none": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "friendly": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "pragmatic": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    ModeKind: {
        "plan": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "default": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    MultiAgentVersion: {
        "disabled": ("0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "v1": ("0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "v2": ("0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    ThreadHistoryMode: {
        "legacy": ("0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "paginated": ("0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    MessagePhase: {
        "commentary": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "final_answer": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "partial_answer": ("0.163.0", "0.171.0"),
    },
    ReviewDecision: {
        "approved": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "approved_execpolicy_amendment": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "approved_for_session": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "network_policy_amendment": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "denied": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "timed_out": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "abort": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "approved_mcp_policy_amendment": ("0.154.0", "0.163.0", "0.171.0"),
    },
    TurnAbortReason: {
        "interrupted": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "replaced": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "review_ended": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "budget_limited": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    CodexErrorInfo: {
        "context_window_exceeded": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "usage_limit_exceeded": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "server_overloaded": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "cyber_policy": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "internal_server_error": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "unauthorized": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "bad_request": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "sandbox_error": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "thread_rollback_failed": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "other": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "http_connection_failed": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "response_stream_connection_failed": (
            "0.136.0",
            "0.144.4",
            "0.154.0",
            "0.163.0",
            "0.171.0",
        ),
        "response_stream_disconnected": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "response_too_many_failed_attempts": (
            "0.136.0",
            "0.144.4",
            "0.154.0",
            "0.163.0",
            "0.171.0",
        ),
        "active_turn_not_steerable": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "session_budget_exceeded": ("0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "rate_limit_exceeded": ("0.154.0", "0.163.0", "0.171.0"),
        "misalignment_policy_violation": ("0.154.0", "0.163.0", "0.171.0"),
        "flex_unavailable": ("0.163.0", "0.171.0"),
        "bio_policy": ("0.163.0", "0.171.0"),
        "too_many_denials": ("0.163.0", "0.171.0"),
        "invalid_prompt": ("0.163.0", "0.171.0"),
        "model_not_found": ("0.171.0",),
        "policy_capacity_unavailable": ("0.171.0",),
        "inference_hook_denied": ("0.171.0",),
    },
    ExecCommandStatus: {
        "completed": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "failed": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "declined": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    ExecCommandSource: {
        "agent": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "user_shell": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "unified_exec_startup": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "unified_exec_interaction": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
    PatchApplyStatus: {
        "completed": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "failed": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
        "declined": ("0.136.0", "0.144.4", "0.154.0", "0.163.0", "0.171.0"),
    },
}
"""Which of `VERSIONS` have a value."""
