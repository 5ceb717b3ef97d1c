"""The types of the app-server's messages.

Written by `make protocol` from codex 0.163.0; do not edit.
"""
# ruff: noqa: D205, D415, E501, S105 - the schema's own words and names, as they come
# fmt: off

from __future__ import annotations

from typing import Any, Final

from byred.codex.record import ListOf, MapOf, Record, field


class AccountRoutingOverride:
    """Backend routing policy. Wire values match the accounts/check contract."""

    NO_CONSTRAINT: Final = "NO_CONSTRAINT"
    US: Final = "us"
    US_CR: Final = "us_cr"


class AccountType:
    """`AccountType` of the protocol."""

    API_KEY: Final = "apiKey"
    CHATGPT: Final = "chatgpt"
    AMAZON_BEDROCK: Final = "amazonBedrock"


class AdditionalContextKind:
    """`AdditionalContextKind` of the protocol."""

    UNTRUSTED: Final = "untrusted"
    APPLICATION: Final = "application"


class AgentMessageInputContentType:
    """`AgentMessageInputContentType` of the protocol."""

    INPUT_TEXT: Final = "input_text"
    ENCRYPTED_CONTENT: Final = "encrypted_content"


class AllowDenyRequirement:
    """`AllowDenyRequirement` of the protocol."""

    ALLOW: Final = "allow"
    DENY: Final = "deny"


class AppToolApproval:
    """`AppToolApproval` of the protocol."""

    AUTO: Final = "auto"
    PROMPT: Final = "prompt"
    WRITES: Final = "writes"
    APPROVE: Final = "approve"


class ApprovalsReviewer:
    """Configures who approval requests are routed to for review. Examples include sandbox escapes,
    blocked network access, MCP approval prompts, and ARC escalations. Defaults to `user`.
    `auto_review` uses a carefully prompted subagent to gather relevant context and apply a
    risk-based decision framework before approving or denying the request. The legacy value
    `guardian_subagent` is accepted for compatibility.
    """

    USER: Final = "user"
    AUTO_REVIEW: Final = "auto_review"
    GUARDIAN_SUBAGENT: Final = "guardian_subagent"


class AuthMode:
    """Authentication mode for OpenAI-backed providers."""

    APIKEY: Final = "apikey"
    CHATGPT: Final = "chatgpt"
    CHATGPT_AUTH_TOKENS: Final = "chatgptAuthTokens"
    HEADERS: Final = "headers"
    AGENT_IDENTITY: Final = "agentIdentity"
    PERSONAL_ACCESS_TOKEN: Final = "personalAccessToken"
    BEDROCK_API_KEY: Final = "bedrockApiKey"
    BEDROCK_ACCESS_KEYS: Final = "bedrockAccessKeys"


class AutoCompactTokenLimitScope:
    """Selects which part of the active context is charged against `model_auto_compact_token_limit`."""

    TOTAL: Final = "total"
    BODY_AFTER_PREFIX: Final = "body_after_prefix"


class CollabAgentStatus:
    """`CollabAgentStatus` of the protocol."""

    PENDING_INIT: Final = "pendingInit"
    RUNNING: Final = "running"
    INTERRUPTED: Final = "interrupted"
    COMPLETED: Final = "completed"
    ERRORED: Final = "errored"
    SHUTDOWN: Final = "shutdown"
    NOT_FOUND: Final = "notFound"


class CollabAgentTool:
    """`CollabAgentTool` of the protocol."""

    SPAWN_AGENT: Final = "spawnAgent"
    SEND_INPUT: Final = "sendInput"
    RESUME_AGENT: Final = "resumeAgent"
    WAIT: Final = "wait"
    CLOSE_AGENT: Final = "closeAgent"
    SEND_MESSAGE: Final = "sendMessage"
    FOLLOWUP_TASK: Final = "followupTask"
    INTERRUPT_AGENT: Final = "interruptAgent"
    LIST_AGENTS: Final = "listAgents"


class CollabAgentToolCallStatus:
    """`CollabAgentToolCallStatus` of the protocol."""

    IN_PROGRESS: Final = "inProgress"
    COMPLETED: Final = "completed"
    FAILED: Final = "failed"
    INTERRUPTED: Final = "interrupted"


class CommandActionType:
    """`CommandActionType` of the protocol."""

    READ: Final = "read"
    LIST_FILES: Final = "listFiles"
    SEARCH: Final = "search"
    UNKNOWN: Final = "unknown"


class CommandExecOutputStream:
    """Stream label for `command/exec/outputDelta` notifications."""

    STDOUT: Final = "stdout"
    STDERR: Final = "stderr"


class CommandExecutionApprovalKind:
    """Distinguishes a command approval from input sent to an existing terminal."""

    COMMAND: Final = "command"
    WRITE_STDIN: Final = "writeStdin"


class CommandExecutionSource:
    """`CommandExecutionSource` of the protocol."""

    AGENT: Final = "agent"
    USER_SHELL: Final = "userShell"
    UNIFIED_EXEC_STARTUP: Final = "unifiedExecStartup"
    UNIFIED_EXEC_INTERACTION: Final = "unifiedExecInteraction"


class CommandExecutionStatus:
    """`CommandExecutionStatus` of the protocol."""

    IN_PROGRESS: Final = "inProgress"
    COMPLETED: Final = "completed"
    FAILED: Final = "failed"
    DECLINED: Final = "declined"


class ConfigLayerSourceType:
    """`ConfigLayerSourceType` of the protocol."""

    PACKAGED_DEFAULTS: Final = "packagedDefaults"
    MDM: Final = "mdm"
    SYSTEM: Final = "system"
    ENTERPRISE_MANAGED: Final = "enterpriseManaged"
    USER: Final = "user"
    PROJECT: Final = "project"
    SESSION_FLAGS: Final = "sessionFlags"
    LEGACY_MANAGED_CONFIG_TOML_FROM_FILE: Final = "legacyManagedConfigTomlFromFile"
    LEGACY_MANAGED_CONFIG_TOML_FROM_MDM: Final = "legacyManagedConfigTomlFromMdm"


class ContentItemType:
    """`ContentItemType` of the protocol."""

    INPUT_TEXT: Final = "input_text"
    INPUT_IMAGE: Final = "input_image"
    INPUT_AUDIO: Final = "input_audio"
    OUTPUT_TEXT: Final = "output_text"


class CyberAccessProgram:
    """Requested cyber treatment for an OpenAI model turn. Authorization and model-tier restrictions
    remain server-owned.
    """

    STANDARD: Final = "standard"
    DAYBREAK_BLUE: Final = "daybreakBlue"
    DAYBREAK_RED: Final = "daybreakRed"


class DynamicToolCallOutputContentItemType:
    """`DynamicToolCallOutputContentItemType` of the protocol."""

    INPUT_TEXT: Final = "inputText"
    INPUT_IMAGE: Final = "inputImage"
    INPUT_AUDIO: Final = "inputAudio"


class DynamicToolCallStatus:
    """`DynamicToolCallStatus` of the protocol."""

    IN_PROGRESS: Final = "inProgress"
    COMPLETED: Final = "completed"
    FAILED: Final = "failed"


class DynamicToolSpecType:
    """`DynamicToolSpecType` of the protocol."""

    FUNCTION: Final = "function"
    NAMESPACE: Final = "namespace"


class ExternalAgentConfigMigrationItemType:
    """`ExternalAgentConfigMigrationItemType` of the protocol."""

    AGENTS_MD: Final = "AGENTS_MD"
    CONFIG: Final = "CONFIG"
    SKILLS: Final = "SKILLS"
    PLUGINS: Final = "PLUGINS"
    MCP_SERVER_CONFIG: Final = "MCP_SERVER_CONFIG"
    SUBAGENTS: Final = "SUBAGENTS"
    HOOKS: Final = "HOOKS"
    COMMANDS: Final = "COMMANDS"
    MEMORY: Final = "MEMORY"
    SESSIONS: Final = "SESSIONS"


class FileChangeApprovalDecision:
    """`FileChangeApprovalDecision` of the protocol."""

    ACCEPT: Final = "accept"
    ACCEPT_FOR_SESSION: Final = "acceptForSession"
    DECLINE: Final = "decline"
    CANCEL: Final = "cancel"


class FileChangeType:
    """`FileChangeType` of the protocol."""

    ADD: Final = "add"
    DELETE: Final = "delete"
    UPDATE: Final = "update"


class FileSystemAccessMode:
    """`FileSystemAccessMode` of the protocol."""

    READ: Final = "read"
    WRITE: Final = "write"
    DENY: Final = "deny"


class FileSystemPathType:
    """`FileSystemPathType` of the protocol."""

    PATH: Final = "path"
    GLOB_PATTERN: Final = "glob_pattern"
    SPECIAL: Final = "special"


class FileSystemSpecialPathKind:
    """`FileSystemSpecialPathKind` of the protocol."""

    ROOT: Final = "root"
    MINIMAL: Final = "minimal"
    PROJECT_ROOTS: Final = "project_roots"
    TMPDIR: Final = "tmpdir"
    SLASH_TMP: Final = "slash_tmp"
    UNKNOWN: Final = "unknown"


class ForcedLoginMethod:
    """`ForcedLoginMethod` of the protocol."""

    CHATGPT: Final = "chatgpt"
    API: Final = "api"


class FuzzyFileSearchMatchType:
    """`FuzzyFileSearchMatchType` of the protocol."""

    FILE: Final = "file"
    DIRECTORY: Final = "directory"


class GatewayOAuthStatus:
    """`GatewayOAuthStatus` of the protocol."""

    NOT_READY: Final = "notReady"
    STARTED: Final = "started"
    SUCCEEDED: Final = "succeeded"
    FAILED: Final = "failed"


class GuardianApprovalReviewActionType:
    """`GuardianApprovalReviewActionType` of the protocol."""

    COMMAND: Final = "command"
    EXECVE: Final = "execve"
    WRITE_STDIN: Final = "writeStdin"
    APPLY_PATCH: Final = "applyPatch"
    NETWORK_ACCESS: Final = "networkAccess"
    MCP_TOOL_CALL: Final = "mcpToolCall"
    REQUEST_PERMISSIONS: Final = "requestPermissions"


class GuardianApprovalReviewStatus:
    """[UNSTABLE] Lifecycle state for an approval auto-review."""

    IN_PROGRESS: Final = "inProgress"
    APPROVED: Final = "approved"
    DENIED: Final = "denied"
    TIMED_OUT: Final = "timedOut"
    ABORTED: Final = "aborted"


class GuardianCommandSource:
    """`GuardianCommandSource` of the protocol."""

    SHELL: Final = "shell"
    UNIFIED_EXEC: Final = "unifiedExec"


class GuardianRiskLevel:
    """[UNSTABLE] Risk level assigned by approval auto-review."""

    LOW: Final = "low"
    MEDIUM: Final = "medium"
    HIGH: Final = "high"
    CRITICAL: Final = "critical"


class GuardianUserAuthorization:
    """[UNSTABLE] Authorization level assigned by approval auto-review."""

    UNKNOWN: Final = "unknown"
    LOW: Final = "low"
    MEDIUM: Final = "medium"
    HIGH: Final = "high"


class HookEventName:
    """`HookEventName` of the protocol."""

    PRE_TOOL_USE: Final = "preToolUse"
    PERMISSION_REQUEST: Final = "permissionRequest"
    POST_TOOL_USE: Final = "postToolUse"
    PRE_COMPACT: Final = "preCompact"
    POST_COMPACT: Final = "postCompact"
    SESSION_START: Final = "sessionStart"
    SESSION_END: Final = "sessionEnd"
    USER_PROMPT_SUBMIT: Final = "userPromptSubmit"
    SUBAGENT_START: Final = "subagentStart"
    SUBAGENT_STOP: Final = "subagentStop"
    STOP: Final = "stop"
    INTERRUPT: Final = "interrupt"


class HookExecutionMode:
    """`HookExecutionMode` of the protocol."""

    SYNC: Final = "sync"
    ASYNC: Final = "async"


class HookHandlerType:
    """`HookHandlerType` of the protocol."""

    COMMAND: Final = "command"
    MCP_TOOL: Final = "mcpTool"
    PROMPT: Final = "prompt"
    AGENT: Final = "agent"


class HookOutputEntryKind:
    """`HookOutputEntryKind` of the protocol."""

    WARNING: Final = "warning"
    STOP: Final = "stop"
    FEEDBACK: Final = "feedback"
    CONTEXT: Final = "context"
    ERROR: Final = "error"


class HookRunStatus:
    """`HookRunStatus` of the protocol."""

    RUNNING: Final = "running"
    COMPLETED: Final = "completed"
    FAILED: Final = "failed"
    BLOCKED: Final = "blocked"
    STOPPED: Final = "stopped"


class HookScope:
    """`HookScope` of the protocol."""

    THREAD: Final = "thread"
    TURN: Final = "turn"


class HookSource:
    """`HookSource` of the protocol."""

    SYSTEM: Final = "system"
    USER: Final = "user"
    PROJECT: Final = "project"
    MDM: Final = "mdm"
    SESSION_FLAGS: Final = "sessionFlags"
    PLUGIN: Final = "plugin"
    CLOUD_REQUIREMENTS: Final = "cloudRequirements"
    CLOUD_MANAGED_CONFIG: Final = "cloudManagedConfig"
    LEGACY_MANAGED_CONFIG_FILE: Final = "legacyManagedConfigFile"
    LEGACY_MANAGED_CONFIG_MDM: Final = "legacyManagedConfigMdm"
    UNKNOWN: Final = "unknown"


class ImageDetail:
    """`ImageDetail` of the protocol."""

    AUTO: Final = "auto"
    LOW: Final = "low"
    HIGH: Final = "high"
    ORIGINAL: Final = "original"


class InputModality:
    """Canonical user-input modality tags advertised by a model."""

    TEXT: Final = "text"
    IMAGE: Final = "image"
    AUDIO: Final = "audio"


class LocalShellStatus:
    """`LocalShellStatus` of the protocol."""

    COMPLETED: Final = "completed"
    IN_PROGRESS: Final = "in_progress"
    INCOMPLETE: Final = "incomplete"


class LoginAccountParamsType:
    """`LoginAccountParamsType` of the protocol."""

    API_KEY: Final = "apiKey"
    CHATGPT: Final = "chatgpt"
    CHATGPT_DEVICE_CODE: Final = "chatgptDeviceCode"
    CHATGPT_AUTH_TOKENS: Final = "chatgptAuthTokens"
    AMAZON_BEDROCK: Final = "amazonBedrock"
    AMAZON_BEDROCK_ACCESS_KEYS: Final = "amazonBedrockAccessKeys"


class LoginAccountResponseType:
    """`LoginAccountResponseType` of the protocol."""

    API_KEY: Final = "apiKey"
    CHATGPT: Final = "chatgpt"
    CHATGPT_DEVICE_CODE: Final = "chatgptDeviceCode"
    CHATGPT_AUTH_TOKENS: Final = "chatgptAuthTokens"
    AMAZON_BEDROCK: Final = "amazonBedrock"


class LoginAppBrand:
    """`LoginAppBrand` of the protocol."""

    CODEX: Final = "codex"
    CHATGPT: Final = "chatgpt"


class McpAppDisplayMode:
    """`McpAppDisplayMode` of the protocol."""

    INLINE: Final = "inline"
    FULLSCREEN: Final = "fullscreen"


class McpAuthStatus:
    """`McpAuthStatus` of the protocol."""

    UNKNOWN: Final = "unknown"
    UNSUPPORTED: Final = "unsupported"
    NOT_LOGGED_IN: Final = "notLoggedIn"
    BEARER_TOKEN: Final = "bearerToken"
    O_AUTH: Final = "oAuth"


class McpServerConnectionStatus:
    """`McpServerConnectionStatus` of the protocol."""

    NOT_STARTED: Final = "notStarted"
    STARTING: Final = "starting"
    CONNECTED: Final = "connected"
    AUTHENTICATION_REQUIRED: Final = "authenticationRequired"
    FAILED: Final = "failed"
    CANCELLED: Final = "cancelled"
    DISABLED: Final = "disabled"


class McpServerElicitationAction:
    """`McpServerElicitationAction` of the protocol."""

    ACCEPT: Final = "accept"
    DECLINE: Final = "decline"
    CANCEL: Final = "cancel"


class McpServerElicitationRequestParamsMode:
    """`McpServerElicitationRequestParamsMode` of the protocol."""

    OPENAI_USER_VERIFICATION: Final = "openai/userVerification"
    FORM: Final = "form"
    OPENAI_FORM: Final = "openai/form"
    OPENAI_FORM_3: Final = "openaiForm"
    URL: Final = "url"


class McpServerStartupState:
    """`McpServerStartupState` of the protocol."""

    STARTING: Final = "starting"
    READY: Final = "ready"
    FAILED: Final = "failed"
    CANCELLED: Final = "cancelled"


class McpServerStatusDetail:
    """`McpServerStatusDetail` of the protocol."""

    FULL: Final = "full"
    TOOLS_AND_AUTH_ONLY: Final = "toolsAndAuthOnly"


class McpToolCallStatus:
    """`McpToolCallStatus` of the protocol."""

    IN_PROGRESS: Final = "inProgress"
    COMPLETED: Final = "completed"
    FAILED: Final = "failed"


class MessagePhase:
    """Classifies assistant text as commentary, a partial answer, or a terminal answer. Providers do
    not emit this consistently, so callers must treat `None` as "phase unknown" and keep
    compatibility behavior for legacy models.
    """

    COMMENTARY: Final = "commentary"
    PARTIAL_ANSWER: Final = "partial_answer"
    FINAL_ANSWER: Final = "final_answer"


class ModeKind:
    """Initial collaboration mode to use when the TUI starts."""

    PLAN: Final = "plan"
    DEFAULT: Final = "default"


class MultiAgentVersion:
    """Multi-agent runtime supported by a model."""

    DISABLED: Final = "disabled"
    V1: Final = "v1"
    V2: Final = "v2"


class NetworkAccess:
    """`NetworkAccess` of the protocol."""

    RESTRICTED: Final = "restricted"
    ENABLED: Final = "enabled"


class NetworkApprovalProtocol:
    """`NetworkApprovalProtocol` of the protocol."""

    HTTP: Final = "http"
    HTTPS: Final = "https"
    SOCKS5_TCP: Final = "socks5Tcp"
    SOCKS5_UDP: Final = "socks5Udp"


class NetworkPolicyRuleAction:
    """`NetworkPolicyRuleAction` of the protocol."""

    ALLOW: Final = "allow"
    DENY: Final = "deny"


class ParsedCommandType:
    """`ParsedCommandType` of the protocol."""

    READ: Final = "read"
    LIST_FILES: Final = "list_files"
    SEARCH: Final = "search"
    UNKNOWN: Final = "unknown"


class PatchApplyStatus:
    """`PatchApplyStatus` of the protocol."""

    IN_PROGRESS: Final = "inProgress"
    COMPLETED: Final = "completed"
    FAILED: Final = "failed"
    DECLINED: Final = "declined"


class PatchChangeKindType:
    """`PatchChangeKindType` of the protocol."""

    ADD: Final = "add"
    DELETE: Final = "delete"
    UPDATE: Final = "update"


class PermissionGrantScope:
    """`PermissionGrantScope` of the protocol."""

    TURN: Final = "turn"
    SESSION: Final = "session"


class Personality:
    """Deprecated: `friendly` and `pragmatic` no longer select a style."""

    NONE: Final = "none"
    FRIENDLY: Final = "friendly"
    PRAGMATIC: Final = "pragmatic"


class PlanType:
    """`PlanType` of the protocol."""

    FREE: Final = "free"
    GO: Final = "go"
    PLUS: Final = "plus"
    PRO: Final = "pro"
    PROLITE: Final = "prolite"
    PROMAX: Final = "promax"
    TEAM: Final = "team"
    SELF_SERVE_BUSINESS_PROLITE: Final = "self_serve_business_prolite"
    SELF_SERVE_BUSINESS_USAGE_BASED: Final = "self_serve_business_usage_based"
    BUSINESS: Final = "business"
    ENT26: Final = "ent26"
    ENTERPRISE_CBP_AUTOMATION: Final = "enterprise_cbp_automation"
    ENTERPRISE_CBP_USAGE_BASED: Final = "enterprise_cbp_usage_based"
    ENTERPRISE: Final = "enterprise"
    EDU: Final = "edu"
    EDU_PLUS: Final = "edu_plus"
    EDU_PRO: Final = "edu_pro"
    UNKNOWN: Final = "unknown"


class ProcessOutputStream:
    """Stream label for `process/outputDelta` notifications."""

    STDOUT: Final = "stdout"
    STDERR: Final = "stderr"


class ProjectChangeType:
    """`ProjectChangeType` of the protocol."""

    CREATED: Final = "created"
    UPDATED: Final = "updated"
    DELETED: Final = "deleted"


class RateLimitReachedType:
    """`RateLimitReachedType` of the protocol."""

    RATE_LIMIT_REACHED: Final = "rate_limit_reached"
    WORKSPACE_OWNER_CREDITS_DEPLETED: Final = "workspace_owner_credits_depleted"
    WORKSPACE_MEMBER_CREDITS_DEPLETED: Final = "workspace_member_credits_depleted"
    WORKSPACE_OWNER_USAGE_LIMIT_REACHED: Final = "workspace_owner_usage_limit_reached"
    WORKSPACE_MEMBER_USAGE_LIMIT_REACHED: Final = "workspace_member_usage_limit_reached"


class RateLimitResetCreditStatus:
    """`RateLimitResetCreditStatus` of the protocol."""

    AVAILABLE: Final = "available"
    REDEEMING: Final = "redeeming"
    REDEEMED: Final = "redeemed"
    UNKNOWN: Final = "unknown"


class RateLimitResetType:
    """`RateLimitResetType` of the protocol."""

    CODEX_RATE_LIMITS: Final = "codexRateLimits"
    UNKNOWN: Final = "unknown"


class RealtimeConversationVersion:
    """`RealtimeConversationVersion` of the protocol."""

    V1: Final = "v1"
    V2: Final = "v2"
    V3: Final = "v3"


class ReasoningItemContentType:
    """`ReasoningItemContentType` of the protocol."""

    REASONING_TEXT: Final = "reasoning_text"
    TEXT: Final = "text"


class ReasoningSummary:
    """A summary of the reasoning performed by the model. This can be useful for debugging and
    understanding the model's reasoning process. See
    https://platform.openai.com/docs/guides/reasoning?api-mode=responses#reasoning-summaries
    """

    AUTO: Final = "auto"
    CONCISE: Final = "concise"
    DETAILED: Final = "detailed"
    NONE: Final = "none"


class RemoteControlConnectionStatus:
    """`RemoteControlConnectionStatus` of the protocol."""

    DISABLED: Final = "disabled"
    CONNECTING: Final = "connecting"
    CONNECTED: Final = "connected"
    ERRORED: Final = "errored"


class ResponseItemType:
    """`ResponseItemType` of the protocol."""

    ADDITIONAL_TOOLS: Final = "additional_tools"
    MESSAGE: Final = "message"
    AGENT_MESSAGE: Final = "agent_message"
    REASONING: Final = "reasoning"
    LOCAL_SHELL_CALL: Final = "local_shell_call"
    FUNCTION_CALL: Final = "function_call"
    TOOL_SEARCH_CALL: Final = "tool_search_call"
    FUNCTION_CALL_OUTPUT: Final = "function_call_output"
    CUSTOM_TOOL_CALL: Final = "custom_tool_call"
    CUSTOM_TOOL_CALL_OUTPUT: Final = "custom_tool_call_output"
    TOOL_SEARCH_OUTPUT: Final = "tool_search_output"
    WEB_SEARCH_CALL: Final = "web_search_call"
    IMAGE_GENERATION_CALL: Final = "image_generation_call"
    COMPACTION: Final = "compaction"
    CONFIGURATION_UPDATE: Final = "configuration_update"
    COMPACTION_TRIGGER: Final = "compaction_trigger"
    CONTEXT_COMPACTION: Final = "context_compaction"
    OTHER: Final = "other"


class ResponsesApiWebSearchActionType:
    """`ResponsesApiWebSearchActionType` of the protocol."""

    SEARCH: Final = "search"
    OPEN_PAGE: Final = "open_page"
    FIND_IN_PAGE: Final = "find_in_page"
    OTHER: Final = "other"


class ReviewDelivery:
    """`ReviewDelivery` of the protocol."""

    INLINE: Final = "inline"
    DETACHED: Final = "detached"


class ReviewTargetType:
    """`ReviewTargetType` of the protocol."""

    UNCOMMITTED_CHANGES: Final = "uncommittedChanges"
    BASE_BRANCH: Final = "baseBranch"
    COMMIT: Final = "commit"
    CUSTOM: Final = "custom"


class SandboxMode:
    """`SandboxMode` of the protocol."""

    READ_ONLY: Final = "read-only"
    WORKSPACE_WRITE: Final = "workspace-write"
    DANGER_FULL_ACCESS: Final = "danger-full-access"


class SandboxPolicyType:
    """`SandboxPolicyType` of the protocol."""

    DANGER_FULL_ACCESS: Final = "dangerFullAccess"
    READ_ONLY: Final = "readOnly"
    EXTERNAL_SANDBOX: Final = "externalSandbox"
    WORKSPACE_WRITE: Final = "workspaceWrite"


class SortDirection:
    """`SortDirection` of the protocol."""

    ASC: Final = "asc"
    DESC: Final = "desc"


class SubAgentActivityKind:
    """`SubAgentActivityKind` of the protocol."""

    STARTED: Final = "started"
    INTERACTED: Final = "interacted"
    INTERRUPTED: Final = "interrupted"
    COMPLETED: Final = "completed"


class ThreadActiveFlag:
    """`ThreadActiveFlag` of the protocol."""

    WAITING_ON_APPROVAL: Final = "waitingOnApproval"
    WAITING_ON_USER_INPUT: Final = "waitingOnUserInput"


class ThreadAttachmentOperation:
    """The persisted attachment change represented by a notification."""

    CREATED: Final = "created"
    DELETED: Final = "deleted"


class ThreadGoalMutationOrigin:
    """Distinguishes explicit user actions from automatic goal lifecycle mutations."""

    USER: Final = "user"
    AUTOMATIC: Final = "automatic"


class ThreadGoalStatus:
    """`ThreadGoalStatus` of the protocol."""

    ACTIVE: Final = "active"
    PAUSED: Final = "paused"
    BLOCKED: Final = "blocked"
    USAGE_LIMITED: Final = "usageLimited"
    BUDGET_LIMITED: Final = "budgetLimited"
    COMPLETE: Final = "complete"


class ThreadHistoryMode:
    """`ThreadHistoryMode` of the protocol."""

    LEGACY: Final = "legacy"
    PAGINATED: Final = "paginated"


class ThreadItemType:
    """`ThreadItemType` of the protocol."""

    USER_MESSAGE: Final = "userMessage"
    HOOK_PROMPT: Final = "hookPrompt"
    AGENT_MESSAGE: Final = "agentMessage"
    FUNCTION_CALL_OUTPUT: Final = "functionCallOutput"
    PLAN: Final = "plan"
    REASONING: Final = "reasoning"
    COMMAND_EXECUTION: Final = "commandExecution"
    FILE_CHANGE: Final = "fileChange"
    MCP_TOOL_CALL: Final = "mcpToolCall"
    DYNAMIC_TOOL_CALL: Final = "dynamicToolCall"
    COLLAB_AGENT_TOOL_CALL: Final = "collabAgentToolCall"
    SUB_AGENT_ACTIVITY: Final = "subAgentActivity"
    WEB_SEARCH: Final = "webSearch"
    IMAGE_VIEW: Final = "imageView"
    SLEEP: Final = "sleep"
    IMAGE_GENERATION: Final = "imageGeneration"
    ENTERED_REVIEW_MODE: Final = "enteredReviewMode"
    EXITED_REVIEW_MODE: Final = "exitedReviewMode"
    CONTEXT_COMPACTION: Final = "contextCompaction"


class ThreadPredictionResultType:
    """`ThreadPredictionResultType` of the protocol."""

    COMPLETED: Final = "completed"
    FAILED: Final = "failed"


class ThreadRealtimeBemItemPresentationType:
    """`ThreadRealtimeBemItemPresentationType` of the protocol."""

    WHOLE_ITEM: Final = "wholeItem"
    INLINE_MARKDOWN: Final = "inlineMarkdown"
    INLINE_VISUALIZATION: Final = "inlineVisualization"


class ThreadRealtimeItemType:
    """`ThreadRealtimeItemType` of the protocol."""

    REALTIME_SESSION_STARTED: Final = "realtimeSessionStarted"
    TRANSCRIPT_SEGMENT: Final = "transcriptSegment"
    BEM_ITEM_PROMOTED: Final = "bemItemPromoted"
    REALTIME_SESSION_CLOSED: Final = "realtimeSessionClosed"


class ThreadRealtimeSessionOutcome:
    """`ThreadRealtimeSessionOutcome` of the protocol."""

    ENDED: Final = "ended"
    FAILED: Final = "failed"


class ThreadRealtimeTranscriptRole:
    """`ThreadRealtimeTranscriptRole` of the protocol."""

    USER: Final = "user"
    ASSISTANT: Final = "assistant"


class ThreadSortKey:
    """`ThreadSortKey` of the protocol."""

    CREATED_AT: Final = "created_at"
    UPDATED_AT: Final = "updated_at"
    RECENCY_AT: Final = "recency_at"
    SECTION_POSITION: Final = "section_position"


class ThreadSourceKind:
    """`ThreadSourceKind` of the protocol."""

    CLI: Final = "cli"
    VSCODE: Final = "vscode"
    EXEC: Final = "exec"
    APP_SERVER: Final = "appServer"
    SUB_AGENT: Final = "subAgent"
    SUB_AGENT_REVIEW: Final = "subAgentReview"
    SUB_AGENT_COMPACT: Final = "subAgentCompact"
    SUB_AGENT_THREAD_SPAWN: Final = "subAgentThreadSpawn"
    SUB_AGENT_OTHER: Final = "subAgentOther"
    UNKNOWN: Final = "unknown"


class ThreadStartSource:
    """`ThreadStartSource` of the protocol."""

    STARTUP: Final = "startup"
    CLEAR: Final = "clear"


class ThreadStatusType:
    """`ThreadStatusType` of the protocol."""

    NOT_LOADED: Final = "notLoaded"
    IDLE: Final = "idle"
    SYSTEM_ERROR: Final = "systemError"
    ACTIVE: Final = "active"


class ThreadUnreadPositionType:
    """`ThreadUnreadPositionType` of the protocol."""

    THREAD_START: Final = "threadStart"
    TURN: Final = "turn"


class ThreadUnsubscribeStatus:
    """`ThreadUnsubscribeStatus` of the protocol."""

    NOT_LOADED: Final = "notLoaded"
    NOT_SUBSCRIBED: Final = "notSubscribed"
    UNSUBSCRIBED: Final = "unsubscribed"


class TurnItemsView:
    """`TurnItemsView` of the protocol."""

    NOT_LOADED: Final = "notLoaded"
    SUMMARY: Final = "summary"
    FULL: Final = "full"


class TurnPlanStepStatus:
    """`TurnPlanStepStatus` of the protocol."""

    PENDING: Final = "pending"
    IN_PROGRESS: Final = "inProgress"
    COMPLETED: Final = "completed"


class TurnStatus:
    """`TurnStatus` of the protocol."""

    COMPLETED: Final = "completed"
    INTERRUPTED: Final = "interrupted"
    FAILED: Final = "failed"
    IN_PROGRESS: Final = "inProgress"


class UserInputType:
    """`UserInputType` of the protocol."""

    TEXT: Final = "text"
    IMAGE: Final = "image"
    LOCAL_IMAGE: Final = "localImage"
    AUDIO: Final = "audio"
    LOCAL_AUDIO: Final = "localAudio"
    SKILL: Final = "skill"
    MENTION: Final = "mention"


class Verbosity:
    """Controls output length/detail on GPT-5 models via the Responses API. Serialized with lowercase
    values to match the OpenAI API.
    """

    LOW: Final = "low"
    MEDIUM: Final = "medium"
    HIGH: Final = "high"


class WebSearchActionType:
    """`WebSearchActionType` of the protocol."""

    SEARCH: Final = "search"
    OPEN_PAGE: Final = "openPage"
    FIND_IN_PAGE: Final = "findInPage"
    OTHER: Final = "other"


class WebSearchContextSize:
    """`WebSearchContextSize` of the protocol."""

    LOW: Final = "low"
    MEDIUM: Final = "medium"
    HIGH: Final = "high"


class WebSearchMode:
    """`WebSearchMode` of the protocol."""

    DISABLED: Final = "disabled"
    CACHED: Final = "cached"
    INDEXED: Final = "indexed"
    LIVE: Final = "live"


class WindowsSandboxSetupMode:
    """`WindowsSandboxSetupMode` of the protocol."""

    ELEVATED: Final = "elevated"
    UNELEVATED: Final = "unelevated"


class Account(Record):
    """`Account` of the protocol."""

    __slots__ = ()
    type: str = field("type", str)
    email: str | None = field("email", str, default=None)
    plan_type: str | None = field("planType", str, default=None)
    uses_codex_managed_credentials: bool = field("usesCodexManagedCredentials", bool, default=False)


class AccountLoginCompletedNotification(Record):
    """`AccountLoginCompletedNotification` of the protocol."""

    __slots__ = ()
    error: str | None = field("error", str, default=None)
    login_id: str | None = field("loginId", str, default=None)
    onboarding_entrypoint: str | None = field("onboardingEntrypoint", str, default=None)
    success: bool = field("success", bool)


class AccountRateLimitsUpdatedNotification(Record):
    """Sparse rolling rate-limit update. Clients should merge available values into the most recent
    `account/rateLimits/read` response or refetch that snapshot. Nullable account metadata may be
    unavailable in a rolling update and does not clear a previously observed value.
    """

    __slots__ = ()
    rate_limits: RateLimitSnapshot = field("rateLimits", "RateLimitSnapshot")


class AccountUpdatedNotification(Record):
    """`AccountUpdatedNotification` of the protocol."""

    __slots__ = ()
    auth_mode: str | None = field("authMode", str, default=None)
    plan_type: str | None = field("planType", str, default=None)


class ActivePermissionProfile(Record):
    """`ActivePermissionProfile` of the protocol."""

    __slots__ = ()
    extends: str | None = field("extends", str, default=None)
    id: str = field("id", str)


class AdditionalContextEntry(Record):
    """`AdditionalContextEntry` of the protocol."""

    __slots__ = ()
    kind: str = field("kind", str)
    value: str = field("value", str)


class AdditionalFileSystemPermissions(Record):
    """`AdditionalFileSystemPermissions` of the protocol."""

    __slots__ = ()
    entries: list[FileSystemSandboxEntry] | None = field("entries", ListOf("FileSystemSandboxEntry"), default=None)
    glob_scan_max_depth: int | None = field("globScanMaxDepth", int, default=None)
    read: list[str] | None = field("read", ListOf(str), default=None)
    write: list[str] | None = field("write", ListOf(str), default=None)


class AdditionalNetworkPermissions(Record):
    """`AdditionalNetworkPermissions` of the protocol."""

    __slots__ = ()
    enabled: bool | None = field("enabled", bool, default=None)


class AdditionalPermissionProfile(Record):
    """`AdditionalPermissionProfile` of the protocol."""

    __slots__ = ()
    file_system: AdditionalFileSystemPermissions | None = field("fileSystem", "AdditionalFileSystemPermissions", default=None)
    network: AdditionalNetworkPermissions | None = field("network", "AdditionalNetworkPermissions", default=None)


class AgentMessageDeltaNotification(Record):
    """`AgentMessageDeltaNotification` of the protocol."""

    __slots__ = ()
    delta: str = field("delta", str)
    item_id: str = field("itemId", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class AgentMessageInputContent(Record):
    """`AgentMessageInputContent` of the protocol."""

    __slots__ = ()
    text: str | None = field("text", str, default=None)
    type: str = field("type", str)
    encrypted_content: str | None = field("encrypted_content", str, default=None)


class AnalyticsConfig(Record):
    """`AnalyticsConfig` of the protocol."""

    __slots__ = ()
    enabled: bool | None = field("enabled", bool, default=None)


class AppBranding(Record):
    """EXPERIMENTAL - app metadata returned by app-list APIs."""

    __slots__ = ()
    category: str | None = field("category", str, default=None)
    developer: str | None = field("developer", str, default=None)
    is_discoverable_app: bool = field("isDiscoverableApp", bool)
    privacy_policy: str | None = field("privacyPolicy", str, default=None)
    terms_of_service: str | None = field("termsOfService", str, default=None)
    website: str | None = field("website", str, default=None)


class AppInfo(Record):
    """EXPERIMENTAL - app metadata returned by app-list APIs."""

    __slots__ = ()
    app_metadata: AppMetadata | None = field("appMetadata", "AppMetadata", default=None)
    branding: AppBranding | None = field("branding", "AppBranding", default=None)
    description: str | None = field("description", str, default=None)
    distribution_channel: str | None = field("distributionChannel", str, default=None)
    icon_assets: dict[str, str] | None = field("iconAssets", MapOf(str), default=None)
    icon_dark_assets: dict[str, str] | None = field("iconDarkAssets", MapOf(str), default=None)
    id: str = field("id", str)
    install_url: str | None = field("installUrl", str, default=None)
    is_accessible: bool = field("isAccessible", bool, default=False)
    is_enabled: bool = field("isEnabled", bool, default=True)
    labels: dict[str, str] | None = field("labels", MapOf(str), default=None)
    logo_url: str | None = field("logoUrl", str, default=None)
    logo_url_dark: str | None = field("logoUrlDark", str, default=None)
    name: str = field("name", str)
    plugin_display_names: list[str] = field("pluginDisplayNames", ListOf(str), default=[])


class AppListUpdatedNotification(Record):
    """EXPERIMENTAL - notification emitted when the app list changes."""

    __slots__ = ()
    data: list[AppInfo] = field("data", ListOf("AppInfo"))


class AppMetadata(Record):
    """`AppMetadata` of the protocol."""

    __slots__ = ()
    categories: list[str] | None = field("categories", ListOf(str), default=None)
    developer: str | None = field("developer", str, default=None)
    first_party_requires_install: bool | None = field("firstPartyRequiresInstall", bool, default=None)
    review: AppReview | None = field("review", "AppReview", default=None)
    screenshots: list[AppScreenshot] | None = field("screenshots", ListOf("AppScreenshot"), default=None)
    seo_description: str | None = field("seoDescription", str, default=None)
    show_in_composer_when_unlinked: bool | None = field("showInComposerWhenUnlinked", bool, default=None)
    sub_categories: list[str] | None = field("subCategories", ListOf(str), default=None)
    version: str | None = field("version", str, default=None)
    version_id: str | None = field("versionId", str, default=None)
    version_notes: str | None = field("versionNotes", str, default=None)


class AppReview(Record):
    """`AppReview` of the protocol."""

    __slots__ = ()
    status: str = field("status", str)


class AppScreenshot(Record):
    """`AppScreenshot` of the protocol."""

    __slots__ = ()
    file_id: str | None = field("fileId", str, default=None)
    url: str | None = field("url", str, default=None)
    user_prompt: str = field("userPrompt", str)


class ApplyPatchApprovalParams(Record):
    """`ApplyPatchApprovalParams` of the protocol."""

    __slots__ = ()
    call_id: str = field("callId", str)
    conversation_id: str = field("conversationId", str)
    file_changes: dict[str, FileChange] = field("fileChanges", MapOf("FileChange"))
    grant_root: str | None = field("grantRoot", str, default=None)
    reason: str | None = field("reason", str, default=None)


class ApplyPatchApprovalResponse(Record):
    """`ApplyPatchApprovalResponse` of the protocol."""

    __slots__ = ()
    decision: Any = field("decision")


class AppsConfig(Record):
    """`AppsConfig` of the protocol."""

    __slots__ = ()
    default: AppsDefaultConfig | None = field("_default", "AppsDefaultConfig", default=None)


class AppsDefaultConfig(Record):
    """`AppsDefaultConfig` of the protocol."""

    __slots__ = ()
    approvals_reviewer: str | None = field("approvals_reviewer", str, default=None)
    default_tools_approval_mode: str | None = field("default_tools_approval_mode", str, default=None)
    destructive_enabled: bool = field("destructive_enabled", bool, default=True)
    enabled: bool = field("enabled", bool, default=True)
    open_world_enabled: bool = field("open_world_enabled", bool, default=True)


class AsyncUserInputQuestion(Record):
    """`AsyncUserInputQuestion` of the protocol."""

    __slots__ = ()
    options: list[str] | None = field("options", ListOf(str), default=None)
    title: str = field("title", str)


class AttestationGenerateParams(Record):
    """`AttestationGenerateParams` of the protocol."""

    __slots__ = ()


class AttestationGenerateResponse(Record):
    """`AttestationGenerateResponse` of the protocol."""

    __slots__ = ()
    token: str = field("token", str)


class AuthRecoveryNotification(Record):
    """`AuthRecoveryNotification` of the protocol."""

    __slots__ = ()
    message: str = field("message", str)
    provider: str = field("provider", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class BrowserUseConfig(Record):
    """`BrowserUseConfig` of the protocol."""

    __slots__ = ()
    allow_history_access: bool | None = field("allow_history_access", bool, default=None)
    default_origin_policy: BrowserUseOriginPolicyConfig | None = field("default_origin_policy", "BrowserUseOriginPolicyConfig", default=None)
    origins: dict[str, BrowserUseOriginPolicyConfig] | None = field("origins", MapOf("BrowserUseOriginPolicyConfig"), default=None)


class BrowserUseOriginPolicyConfig(Record):
    """`BrowserUseOriginPolicyConfig` of the protocol."""

    __slots__ = ()
    access: str | None = field("access", str, default=None)
    downloads: str | None = field("downloads", str, default=None)
    full_cdp_access: str | None = field("full_cdp_access", str, default=None)
    uploads: str | None = field("uploads", str, default=None)


class ByteRange(Record):
    """`ByteRange` of the protocol."""

    __slots__ = ()
    end: int = field("end", int)
    start: int = field("start", int)


class CapabilityRootLocation(Record):
    """A path owned by an execution environment."""

    __slots__ = ()
    environment_id: str = field("environmentId", str)
    path: str = field("path", str)
    type: str = field("type", str)


class ChatgptAuthTokensRefreshParams(Record):
    """`ChatgptAuthTokensRefreshParams` of the protocol."""

    __slots__ = ()
    previous_account_id: str | None = field("previousAccountId", str, default=None)
    reason: str = field("reason", str)


class ChatgptAuthTokensRefreshResponse(Record):
    """`ChatgptAuthTokensRefreshResponse` of the protocol."""

    __slots__ = ()
    access_token: str = field("accessToken", str)
    chatgpt_account_id: str = field("chatgptAccountId", str)
    chatgpt_plan_type: str | None = field("chatgptPlanType", str, default=None)


class ClientInfo(Record):
    """`ClientInfo` of the protocol."""

    __slots__ = ()
    name: str = field("name", str)
    title: str | None = field("title", str, default=None)
    version: str = field("version", str)


class CollabAgentState(Record):
    """`CollabAgentState` of the protocol."""

    __slots__ = ()
    message: str | None = field("message", str, default=None)
    status: str = field("status", str)


class CollaborationMode(Record):
    """Collaboration mode for a Codex session."""

    __slots__ = ()
    mode: str = field("mode", str)
    settings: Settings = field("settings", "Settings")


class CommandAction(Record):
    """`CommandAction` of the protocol."""

    __slots__ = ()
    command: str = field("command", str)
    name: str | None = field("name", str, default=None)
    path: str | None = field("path", str, default=None)
    type: str = field("type", str)
    query: str | None = field("query", str, default=None)


class CommandExecOutputDeltaNotification(Record):
    """Base64-encoded output chunk emitted for a streaming `command/exec` request. These notifications
    are connection-scoped. If the originating connection closes, the server terminates the process.
    """

    __slots__ = ()
    cap_reached: bool = field("capReached", bool)
    delta_base64: str = field("deltaBase64", str)
    process_id: str = field("processId", str)
    stream: str = field("stream", str)


class CommandExecutionOutputDeltaNotification(Record):
    """`CommandExecutionOutputDeltaNotification` of the protocol."""

    __slots__ = ()
    delta: str = field("delta", str)
    item_id: str = field("itemId", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class CommandExecutionRequestApprovalParams(Record):
    """`CommandExecutionRequestApprovalParams` of the protocol."""

    __slots__ = ()
    additional_permissions: AdditionalPermissionProfile | None = field("additionalPermissions", "AdditionalPermissionProfile", default=None)
    approval_id: str | None = field("approvalId", str, default=None)
    available_decisions: list[Any] | None = field("availableDecisions", ListOf(None), default=None)
    command: str | None = field("command", str, default=None)
    command_actions: list[CommandAction] | None = field("commandActions", ListOf("CommandAction"), default=None)
    cwd: str | None = field("cwd", str, default=None)
    environment_id: str | None = field("environmentId", str, default=None)
    item_id: str = field("itemId", str)
    kind: str = field("kind", str, default="command")
    network_approval_context: NetworkApprovalContext | None = field("networkApprovalContext", "NetworkApprovalContext", default=None)
    proposed_execpolicy_amendment: list[str] | None = field("proposedExecpolicyAmendment", ListOf(str), default=None)
    proposed_network_policy_amendments: list[NetworkPolicyAmendment] | None = field("proposedNetworkPolicyAmendments", ListOf("NetworkPolicyAmendment"), default=None)
    reason: str | None = field("reason", str, default=None)
    started_at_ms: int = field("startedAtMs", int)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class CommandExecutionRequestApprovalResponse(Record):
    """`CommandExecutionRequestApprovalResponse` of the protocol."""

    __slots__ = ()
    decision: Any = field("decision")


class ComputerUseConfig(Record):
    """`ComputerUseConfig` of the protocol."""

    __slots__ = ()
    default_app_access: str | None = field("default_app_access", str, default=None)
    macos: ComputerUseMacosConfig | None = field("macos", "ComputerUseMacosConfig", default=None)
    windows: ComputerUseWindowsConfig | None = field("windows", "ComputerUseWindowsConfig", default=None)


class ComputerUseMacosConfig(Record):
    """`ComputerUseMacosConfig` of the protocol."""

    __slots__ = ()
    bundle_ids: dict[str, str] | None = field("bundle_ids", MapOf(str), default=None)


class ComputerUseWindowsConfig(Record):
    """`ComputerUseWindowsConfig` of the protocol."""

    __slots__ = ()
    aumids: dict[str, str] | None = field("aumids", MapOf(str), default=None)
    exes: list[ComputerUseWindowsExeConfig] | None = field("exes", ListOf("ComputerUseWindowsExeConfig"), default=None)


class ComputerUseWindowsExeConfig(Record):
    """`ComputerUseWindowsExeConfig` of the protocol."""

    __slots__ = ()
    access: str = field("access", str)
    binary_name: str | None = field("binary_name", str, default=None)
    product_name: str = field("product_name", str)
    publisher_name: str = field("publisher_name", str)


class Config(Record):
    """`Config` of the protocol."""

    __slots__ = ()
    analytics: AnalyticsConfig | None = field("analytics", "AnalyticsConfig", default=None)
    approval_policy: Any = field("approval_policy", default=None)
    approvals_reviewer: str | None = field("approvals_reviewer", str, default=None)
    apps: AppsConfig | None = field("apps", "AppsConfig", default=None)
    browser_use: BrowserUseConfig | None = field("browser_use", "BrowserUseConfig", default=None)
    compact_prompt: str | None = field("compact_prompt", str, default=None)
    computer_use: ComputerUseConfig | None = field("computer_use", "ComputerUseConfig", default=None)
    desktop: dict[str, Any] | None = field("desktop", dict, default=None)
    developer_instructions: str | None = field("developer_instructions", str, default=None)
    forced_chatgpt_workspace_id: Any = field("forced_chatgpt_workspace_id", default=None)
    forced_login_method: str | None = field("forced_login_method", str, default=None)
    instructions: str | None = field("instructions", str, default=None)
    model: str | None = field("model", str, default=None)
    model_auto_compact_token_limit: int | None = field("model_auto_compact_token_limit", int, default=None)
    model_auto_compact_token_limit_scope: str | None = field("model_auto_compact_token_limit_scope", str, default=None)
    model_context_window: int | None = field("model_context_window", int, default=None)
    model_provider: str | None = field("model_provider", str, default=None)
    model_reasoning_effort: str | None = field("model_reasoning_effort", str, default=None)
    model_reasoning_summary: str | None = field("model_reasoning_summary", str, default=None)
    model_verbosity: str | None = field("model_verbosity", str, default=None)
    review_model: str | None = field("review_model", str, default=None)
    sandbox_mode: str | None = field("sandbox_mode", str, default=None)
    sandbox_workspace_write: SandboxWorkspaceWrite | None = field("sandbox_workspace_write", "SandboxWorkspaceWrite", default=None)
    service_tier: str | None = field("service_tier", str, default=None)
    tools: ToolsV2 | None = field("tools", "ToolsV2", default=None)
    web_search: str | None = field("web_search", str, default=None)


class ConfigLayer(Record):
    """`ConfigLayer` of the protocol."""

    __slots__ = ()
    config: Any = field("config")
    disabled_reason: str | None = field("disabledReason", str, default=None)
    name: ConfigLayerSource = field("name", "ConfigLayerSource")
    version: str = field("version", str)


class ConfigLayerMetadata(Record):
    """`ConfigLayerMetadata` of the protocol."""

    __slots__ = ()
    name: ConfigLayerSource = field("name", "ConfigLayerSource")
    version: str = field("version", str)


class ConfigLayerSource(Record):
    """`ConfigLayerSource` of the protocol."""

    __slots__ = ()
    file: str | None = field("file", str, default=None)
    type: str = field("type", str)
    domain: str | None = field("domain", str, default=None)
    key: str | None = field("key", str, default=None)
    id: str | None = field("id", str, default=None)
    name: str | None = field("name", str, default=None)
    profile: str | None = field("profile", str, default=None)
    dot_codex_folder: str | None = field("dotCodexFolder", str, default=None)


class ConfigReadParams(Record):
    """`ConfigReadParams` of the protocol."""

    __slots__ = ()
    cwd: str | None = field("cwd", str, default=None)
    include_layers: bool | None = field("includeLayers", bool, default=None)


class ConfigReadResponse(Record):
    """`ConfigReadResponse` of the protocol."""

    __slots__ = ()
    config: Config = field("config", "Config")
    layers: list[ConfigLayer] | None = field("layers", ListOf("ConfigLayer"), default=None)
    origins: dict[str, ConfigLayerMetadata] = field("origins", MapOf("ConfigLayerMetadata"))


class ConfigWarningNotification(Record):
    """`ConfigWarningNotification` of the protocol."""

    __slots__ = ()
    details: str | None = field("details", str, default=None)
    path: str | None = field("path", str, default=None)
    range: TextRange | None = field("range", "TextRange", default=None)
    summary: str = field("summary", str)


class ConfigurationReasoning(Record):
    """Reasoning settings interpreted by the backend for the routed model."""

    __slots__ = ()
    effort: str = field("effort", str)


class ContentItem(Record):
    """`ContentItem` of the protocol."""

    __slots__ = ()
    text: str | None = field("text", str, default=None)
    type: str = field("type", str)
    detail: str | None = field("detail", str, default=None)
    image_url: str | None = field("image_url", str, default=None)
    file_id: str | None = field("file_id", str, default=None)
    audio_url: str | None = field("audio_url", str, default=None)
    annotations: list[Any] | None = field("annotations", ListOf(None), default=None)
    logprobs: list[Any] | None = field("logprobs", ListOf(None), default=None)


class ContextCompactedNotification(Record):
    """Deprecated: Use `ContextCompaction` item type instead."""

    __slots__ = ()
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class CreditsSnapshot(Record):
    """`CreditsSnapshot` of the protocol."""

    __slots__ = ()
    balance: str | None = field("balance", str, default=None)
    has_credits: bool = field("hasCredits", bool)
    unlimited: bool = field("unlimited", bool)


class CurrentTimeReadParams(Record):
    """`CurrentTimeReadParams` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class CurrentTimeReadResponse(Record):
    """`CurrentTimeReadResponse` of the protocol."""

    __slots__ = ()
    current_time_at: int = field("currentTimeAt", int)


class DeprecationNoticeNotification(Record):
    """`DeprecationNoticeNotification` of the protocol."""

    __slots__ = ()
    details: str | None = field("details", str, default=None)
    summary: str = field("summary", str)


class DynamicToolCallOutputContentItem(Record):
    """`DynamicToolCallOutputContentItem` of the protocol."""

    __slots__ = ()
    text: str | None = field("text", str, default=None)
    type: str = field("type", str)
    image_url: str | None = field("imageUrl", str, default=None)
    audio_url: str | None = field("audioUrl", str, default=None)


class DynamicToolCallParams(Record):
    """`DynamicToolCallParams` of the protocol."""

    __slots__ = ()
    arguments: Any = field("arguments")
    call_id: str = field("callId", str)
    namespace: str | None = field("namespace", str, default=None)
    thread_id: str = field("threadId", str)
    tool: str = field("tool", str)
    turn_id: str = field("turnId", str)


class DynamicToolCallResponse(Record):
    """`DynamicToolCallResponse` of the protocol."""

    __slots__ = ()
    content_items: list[DynamicToolCallOutputContentItem] = field("contentItems", ListOf("DynamicToolCallOutputContentItem"))
    success: bool = field("success", bool)


class DynamicToolNamespaceTool(Record):
    """`DynamicToolNamespaceTool` of the protocol."""

    __slots__ = ()
    defer_loading: bool | None = field("deferLoading", bool, default=None)
    description: str = field("description", str)
    input_schema: Any = field("inputSchema")
    name: str = field("name", str)
    type: str = field("type", str)


class DynamicToolSpec(Record):
    """`DynamicToolSpec` of the protocol."""

    __slots__ = ()
    defer_loading: bool | None = field("deferLoading", bool, default=None)
    description: str = field("description", str)
    input_schema: Any = field("inputSchema", default=None)
    name: str = field("name", str)
    type: str = field("type", str)
    tools: list[DynamicToolNamespaceTool] | None = field("tools", ListOf("DynamicToolNamespaceTool"), default=None)


class EnvironmentConnectionNotification(Record):
    """`EnvironmentConnectionNotification` of the protocol."""

    __slots__ = ()
    environment_id: str = field("environmentId", str)
    thread_id: str = field("threadId", str)


class ErrorNotification(Record):
    """`ErrorNotification` of the protocol."""

    __slots__ = ()
    error: TurnError = field("error", "TurnError")
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)
    will_retry: bool = field("willRetry", bool)


class ExecCommandApprovalParams(Record):
    """`ExecCommandApprovalParams` of the protocol."""

    __slots__ = ()
    approval_id: str | None = field("approvalId", str, default=None)
    call_id: str = field("callId", str)
    command: list[str] = field("command", ListOf(str))
    conversation_id: str = field("conversationId", str)
    cwd: str = field("cwd", str)
    parsed_cmd: list[ParsedCommand] = field("parsedCmd", ListOf("ParsedCommand"))
    reason: str | None = field("reason", str, default=None)


class ExecCommandApprovalResponse(Record):
    """`ExecCommandApprovalResponse` of the protocol."""

    __slots__ = ()
    decision: Any = field("decision")


class ExternalAgentConfigImportCompletedNotification(Record):
    """`ExternalAgentConfigImportCompletedNotification` of the protocol."""

    __slots__ = ()
    import_id: str = field("importId", str)
    item_type_results: list[ExternalAgentConfigImportTypeResult] = field("itemTypeResults", ListOf("ExternalAgentConfigImportTypeResult"))


class ExternalAgentConfigImportItemTypeFailure(Record):
    """`ExternalAgentConfigImportItemTypeFailure` of the protocol."""

    __slots__ = ()
    cwd: str | None = field("cwd", str, default=None)
    error_type: str | None = field("errorType", str, default=None)
    failure_stage: str = field("failureStage", str)
    item_type: str = field("itemType", str)
    message: str = field("message", str)
    source: str | None = field("source", str, default=None)
    sub_error_type: str | None = field("subErrorType", str, default=None)


class ExternalAgentConfigImportItemTypeSuccess(Record):
    """`ExternalAgentConfigImportItemTypeSuccess` of the protocol."""

    __slots__ = ()
    cwd: str | None = field("cwd", str, default=None)
    item_type: str = field("itemType", str)
    source: str | None = field("source", str, default=None)
    target: str | None = field("target", str, default=None)
    title: str | None = field("title", str, default=None)


class ExternalAgentConfigImportProgressNotification(Record):
    """`ExternalAgentConfigImportProgressNotification` of the protocol."""

    __slots__ = ()
    import_id: str = field("importId", str)
    item_type_results: list[ExternalAgentConfigImportTypeResult] = field("itemTypeResults", ListOf("ExternalAgentConfigImportTypeResult"))


class ExternalAgentConfigImportTypeResult(Record):
    """`ExternalAgentConfigImportTypeResult` of the protocol."""

    __slots__ = ()
    failures: list[ExternalAgentConfigImportItemTypeFailure] = field("failures", ListOf("ExternalAgentConfigImportItemTypeFailure"))
    item_type: str = field("itemType", str)
    successes: list[ExternalAgentConfigImportItemTypeSuccess] = field("successes", ListOf("ExternalAgentConfigImportItemTypeSuccess"))


class FileChange(Record):
    """`FileChange` of the protocol."""

    __slots__ = ()
    content: str | None = field("content", str, default=None)
    type: str = field("type", str)
    move_path: str | None = field("move_path", str, default=None)
    unified_diff: str | None = field("unified_diff", str, default=None)


class FileChangeOutputDeltaNotification(Record):
    """Deprecated legacy notification for `apply_patch` textual output. The server no longer emits this
    notification.
    """

    __slots__ = ()
    delta: str = field("delta", str)
    item_id: str = field("itemId", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class FileChangePatchUpdatedNotification(Record):
    """`FileChangePatchUpdatedNotification` of the protocol."""

    __slots__ = ()
    changes: list[FileUpdateChange] = field("changes", ListOf("FileUpdateChange"))
    item_id: str = field("itemId", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class FileChangeRequestApprovalParams(Record):
    """`FileChangeRequestApprovalParams` of the protocol."""

    __slots__ = ()
    grant_root: str | None = field("grantRoot", str, default=None)
    item_id: str = field("itemId", str)
    reason: str | None = field("reason", str, default=None)
    started_at_ms: int = field("startedAtMs", int)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class FileChangeRequestApprovalResponse(Record):
    """`FileChangeRequestApprovalResponse` of the protocol."""

    __slots__ = ()
    decision: str = field("decision", str)


class FileSystemPath(Record):
    """`FileSystemPath` of the protocol."""

    __slots__ = ()
    path: str | None = field("path", str, default=None)
    type: str = field("type", str)
    pattern: str | None = field("pattern", str, default=None)
    value: FileSystemSpecialPath | None = field("value", "FileSystemSpecialPath", default=None)


class FileSystemSandboxEntry(Record):
    """`FileSystemSandboxEntry` of the protocol."""

    __slots__ = ()
    access: str = field("access", str)
    path: FileSystemPath = field("path", "FileSystemPath")


class FileSystemSpecialPath(Record):
    """`FileSystemSpecialPath` of the protocol."""

    __slots__ = ()
    kind: str = field("kind", str)
    subpath: str | None = field("subpath", str, default=None)
    path: str | None = field("path", str, default=None)


class FileUpdateChange(Record):
    """`FileUpdateChange` of the protocol."""

    __slots__ = ()
    diff: str = field("diff", str)
    kind: PatchChangeKind = field("kind", "PatchChangeKind")
    path: str = field("path", str)


class FsChangedNotification(Record):
    """Filesystem watch notification emitted for `fs/watch` subscribers."""

    __slots__ = ()
    changed_paths: list[str] = field("changedPaths", ListOf(str))
    watch_id: str = field("watchId", str)


class FuzzyFileSearchResult(Record):
    """Superset of [`codex_file_search::FileMatch`]"""

    __slots__ = ()
    file_name: str = field("file_name", str)
    indices: list[int] | None = field("indices", ListOf(int), default=None)
    match_type: str = field("match_type", str)
    path: str = field("path", str)
    root: str = field("root", str)
    score: int = field("score", int)


class FuzzyFileSearchSessionCompletedNotification(Record):
    """`FuzzyFileSearchSessionCompletedNotification` of the protocol."""

    __slots__ = ()
    session_id: str = field("sessionId", str)


class FuzzyFileSearchSessionUpdatedNotification(Record):
    """`FuzzyFileSearchSessionUpdatedNotification` of the protocol."""

    __slots__ = ()
    files: list[FuzzyFileSearchResult] = field("files", ListOf("FuzzyFileSearchResult"))
    query: str = field("query", str)
    session_id: str = field("sessionId", str)


class GatewayOAuthChangedNotification(Record):
    """`GatewayOAuthChangedNotification` of the protocol."""

    __slots__ = ()
    auth_url: str | None = field("authUrl", str, default=None)
    error: str | None = field("error", str, default=None)
    provider_id: str = field("providerId", str)
    status: str = field("status", str)


class GetAccountParams(Record):
    """`GetAccountParams` of the protocol."""

    __slots__ = ()
    refresh_token: bool | None = field("refreshToken", bool, default=None)


class GetAccountRateLimitsResponse(Record):
    """`GetAccountRateLimitsResponse` of the protocol."""

    __slots__ = ()
    account_id: str | None = field("accountId", str, default=None)
    ordinary_usage_allowed: bool | None = field("ordinaryUsageAllowed", bool, default=None)
    rate_limit_reset_credits: RateLimitResetCreditsSummary | None = field("rateLimitResetCredits", "RateLimitResetCreditsSummary", default=None)
    rate_limit_upsell: Any = field("rateLimitUpsell", default=None)
    rate_limits: RateLimitSnapshot = field("rateLimits", "RateLimitSnapshot")
    rate_limits_by_limit_id: dict[str, RateLimitSnapshot] | None = field("rateLimitsByLimitId", MapOf("RateLimitSnapshot"), default=None)


class GetAccountResponse(Record):
    """`GetAccountResponse` of the protocol."""

    __slots__ = ()
    account: Account | None = field("account", "Account", default=None)
    requires_openai_auth: bool = field("requiresOpenaiAuth", bool)
    workspace_routing: WorkspaceRouting | None = field("workspaceRouting", "WorkspaceRouting", default=None)


class GitInfo(Record):
    """`GitInfo` of the protocol."""

    __slots__ = ()
    branch: str | None = field("branch", str, default=None)
    origin_url: str | None = field("originUrl", str, default=None)
    sha: str | None = field("sha", str, default=None)


class GrantedPermissionProfile(Record):
    """`GrantedPermissionProfile` of the protocol."""

    __slots__ = ()
    file_system: AdditionalFileSystemPermissions | None = field("fileSystem", "AdditionalFileSystemPermissions", default=None)
    network: AdditionalNetworkPermissions | None = field("network", "AdditionalNetworkPermissions", default=None)


class GuardianApprovalReview(Record):
    """[UNSTABLE] Temporary approval auto-review payload used by `item/autoApprovalReview/*`
    notifications. This shape is expected to change soon.
    """

    __slots__ = ()
    rationale: str | None = field("rationale", str, default=None)
    risk_level: str | None = field("riskLevel", str, default=None)
    status: str = field("status", str)
    user_authorization: str | None = field("userAuthorization", str, default=None)


class GuardianApprovalReviewAction(Record):
    """`GuardianApprovalReviewAction` of the protocol."""

    __slots__ = ()
    command: str | None = field("command", str, default=None)
    cwd: str | None = field("cwd", str, default=None)
    source: str | None = field("source", str, default=None)
    type: str = field("type", str)
    argv: list[str] | None = field("argv", ListOf(str), default=None)
    program: str | None = field("program", str, default=None)
    approval_id: str | None = field("approvalId", str, default=None)
    process_id: str | None = field("processId", str, default=None)
    stdin: str | None = field("stdin", str, default=None)
    files: list[str] | None = field("files", ListOf(str), default=None)
    host: str | None = field("host", str, default=None)
    port: int | None = field("port", int, default=None)
    protocol: str | None = field("protocol", str, default=None)
    target: str | None = field("target", str, default=None)
    connector_id: str | None = field("connectorId", str, default=None)
    connector_name: str | None = field("connectorName", str, default=None)
    server: str | None = field("server", str, default=None)
    tool_name: str | None = field("toolName", str, default=None)
    tool_title: str | None = field("toolTitle", str, default=None)
    permissions: RequestPermissionProfile | None = field("permissions", "RequestPermissionProfile", default=None)
    reason: str | None = field("reason", str, default=None)


class GuardianWarningNotification(Record):
    """`GuardianWarningNotification` of the protocol."""

    __slots__ = ()
    message: str = field("message", str)
    thread_id: str = field("threadId", str)


class HookCompletedNotification(Record):
    """`HookCompletedNotification` of the protocol."""

    __slots__ = ()
    run: HookRunSummary = field("run", "HookRunSummary")
    thread_id: str = field("threadId", str)
    turn_id: str | None = field("turnId", str, default=None)


class HookOutputEntry(Record):
    """`HookOutputEntry` of the protocol."""

    __slots__ = ()
    kind: str = field("kind", str)
    text: str = field("text", str)


class HookPromptFragment(Record):
    """`HookPromptFragment` of the protocol."""

    __slots__ = ()
    hook_run_id: str = field("hookRunId", str)
    text: str = field("text", str)


class HookRunSummary(Record):
    """`HookRunSummary` of the protocol."""

    __slots__ = ()
    completed_at: int | None = field("completedAt", int, default=None)
    display_order: int = field("displayOrder", int)
    duration_ms: int | None = field("durationMs", int, default=None)
    entries: list[HookOutputEntry] = field("entries", ListOf("HookOutputEntry"))
    event_name: str = field("eventName", str)
    execution_mode: str = field("executionMode", str)
    handler_type: str = field("handlerType", str)
    id: str = field("id", str)
    scope: str = field("scope", str)
    source: str = field("source", str, default="unknown")
    source_path: str = field("sourcePath", str)
    started_at: int = field("startedAt", int)
    status: str = field("status", str)
    status_message: str | None = field("statusMessage", str, default=None)


class HookStartedNotification(Record):
    """`HookStartedNotification` of the protocol."""

    __slots__ = ()
    run: HookRunSummary = field("run", "HookRunSummary")
    thread_id: str = field("threadId", str)
    turn_id: str | None = field("turnId", str, default=None)


class ImageGenerationFailure(Record):
    """`ImageGenerationFailure` of the protocol."""

    __slots__ = ()
    limit_id: str = field("limitId", str)
    resets_at: int | None = field("resetsAt", int, default=None)
    type: str = field("type", str)


class InitializeCapabilities(Record):
    """Client-declared capabilities negotiated during initialize."""

    __slots__ = ()
    experimental_api: bool = field("experimentalApi", bool, default=False)
    explicit_gateway_oauth: bool | None = field("explicitGatewayOauth", bool, default=None)
    extensions: dict[str, Any] | None = field("extensions", dict, default=None)
    mcp_server_openai_form_elicitation: bool | None = field("mcpServerOpenaiFormElicitation", bool, default=None)
    opt_out_notification_methods: list[str] | None = field("optOutNotificationMethods", ListOf(str), default=None)
    request_attestation: bool = field("requestAttestation", bool, default=False)


class InitializeParams(Record):
    """`InitializeParams` of the protocol."""

    __slots__ = ()
    capabilities: InitializeCapabilities | None = field("capabilities", "InitializeCapabilities", default=None)
    client_info: ClientInfo = field("clientInfo", "ClientInfo")


class InitializeResponse(Record):
    """`InitializeResponse` of the protocol."""

    __slots__ = ()
    codex_home: str = field("codexHome", str)
    platform_family: str = field("platformFamily", str)
    platform_os: str = field("platformOs", str)
    user_agent: str = field("userAgent", str)


class InternalChatMessageMetadataPassthrough(Record):
    """Internal Responses API passthrough metadata copied into underlying chat messages. Responses API
    strongly types this payload. Do not modify it without first getting API approval and making the
    corresponding Responses API change.
    """

    __slots__ = ()
    turn_id: str | None = field("turn_id", str, default=None)


class ItemCompletedNotification(Record):
    """`ItemCompletedNotification` of the protocol."""

    __slots__ = ()
    completed_at_ms: int = field("completedAtMs", int)
    item: ThreadItem = field("item", "ThreadItem")
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class ItemGuardianApprovalReviewCompletedNotification(Record):
    """[UNSTABLE] Temporary notification payload for approval auto-review. This shape is expected to
    change soon.
    """

    __slots__ = ()
    action: GuardianApprovalReviewAction = field("action", "GuardianApprovalReviewAction")
    completed_at_ms: int = field("completedAtMs", int)
    decision_source: str = field("decisionSource", str)
    review: GuardianApprovalReview = field("review", "GuardianApprovalReview")
    review_id: str = field("reviewId", str)
    started_at_ms: int = field("startedAtMs", int)
    target_item_id: str | None = field("targetItemId", str, default=None)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class ItemGuardianApprovalReviewStartedNotification(Record):
    """[UNSTABLE] Temporary notification payload for approval auto-review. This shape is expected to
    change soon.
    """

    __slots__ = ()
    action: GuardianApprovalReviewAction = field("action", "GuardianApprovalReviewAction")
    review: GuardianApprovalReview = field("review", "GuardianApprovalReview")
    review_id: str = field("reviewId", str)
    started_at_ms: int = field("startedAtMs", int)
    target_item_id: str | None = field("targetItemId", str, default=None)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class ItemStartedNotification(Record):
    """`ItemStartedNotification` of the protocol."""

    __slots__ = ()
    item: ThreadItem = field("item", "ThreadItem")
    started_at_ms: int = field("startedAtMs", int)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class ListMcpServerStatusParams(Record):
    """`ListMcpServerStatusParams` of the protocol."""

    __slots__ = ()
    cursor: str | None = field("cursor", str, default=None)
    detail: str | None = field("detail", str, default=None)
    limit: int | None = field("limit", int, default=None)
    server_name: str | None = field("serverName", str, default=None)
    thread_id: str | None = field("threadId", str, default=None)


class ListMcpServerStatusResponse(Record):
    """`ListMcpServerStatusResponse` of the protocol."""

    __slots__ = ()
    data: list[McpServerStatus] = field("data", ListOf("McpServerStatus"))
    next_cursor: str | None = field("nextCursor", str, default=None)


class LocalShellAction(Record):
    """`LocalShellAction` of the protocol."""

    __slots__ = ()
    command: list[str] = field("command", ListOf(str))
    env: dict[str, str] | None = field("env", MapOf(str), default=None)
    timeout_ms: int | None = field("timeout_ms", int, default=None)
    type: str = field("type", str)
    user: str | None = field("user", str, default=None)
    working_directory: str | None = field("working_directory", str, default=None)


class LoginAccountParams(Record):
    """`LoginAccountParams` of the protocol."""

    __slots__ = ()
    api_key: str | None = field("apiKey", str, default=None)
    type: str = field("type", str)
    app_brand: str | None = field("appBrand", str, default=None)
    codex_streamlined_login: bool | None = field("codexStreamlinedLogin", bool, default=None)
    use_hosted_login_success_page: bool | None = field("useHostedLoginSuccessPage", bool, default=None)
    access_token: str | None = field("accessToken", str, default=None)
    chatgpt_account_id: str | None = field("chatgptAccountId", str, default=None)
    chatgpt_plan_type: str | None = field("chatgptPlanType", str, default=None)
    region: str | None = field("region", str, default=None)
    access_key_id: str | None = field("accessKeyId", str, default=None)
    secret_access_key: str | None = field("secretAccessKey", str, default=None)
    session_token: str | None = field("sessionToken", str, default=None)


class LoginAccountResponse(Record):
    """`LoginAccountResponse` of the protocol."""

    __slots__ = ()
    type: str = field("type", str)
    auth_url: str | None = field("authUrl", str, default=None)
    login_id: str | None = field("loginId", str, default=None)
    user_code: str | None = field("userCode", str, default=None)
    verification_url: str | None = field("verificationUrl", str, default=None)


class McpAppUi(Record):
    """UI resource and display preference for model invocations, captured from the tool descriptor."""

    __slots__ = ()
    preferred_model_display_mode: str = field("preferredModelDisplayMode", str)
    resource_uri: str = field("resourceUri", str)


class McpElicitationSchema(Record):
    """Typed form schema for MCP `elicitation/create` requests. This matches the `requestedSchema`
    shape from the MCP 2025-11-25 `ElicitRequestFormParams` schema.
    """

    __slots__ = ()
    _schema: str | None = field("$schema", str, default=None)
    properties: dict[str, Any] = field("properties", MapOf(None))
    required: list[str] | None = field("required", ListOf(str), default=None)
    type: str = field("type", str)


class McpServerElicitationRequestParams(Record):
    """`McpServerElicitationRequestParams` of the protocol."""

    __slots__ = ()
    server_name: str = field("serverName", str)
    thread_id: str = field("threadId", str)
    turn_id: str | None = field("turnId", str, default=None)
    meta: Any = field("_meta", default=None)
    challenge: str | None = field("challenge", str, default=None)
    description: str | None = field("description", str, default=None)
    mode: str = field("mode", str)
    title: str | None = field("title", str, default=None)
    message: str | None = field("message", str, default=None)
    requested_schema: Any = field("requestedSchema", default=None)
    elicitation_id: str | None = field("elicitationId", str, default=None)
    url: str | None = field("url", str, default=None)


class McpServerElicitationRequestResponse(Record):
    """`McpServerElicitationRequestResponse` of the protocol."""

    __slots__ = ()
    meta: Any = field("_meta", default=None)
    action: str = field("action", str)
    content: Any = field("content", default=None)


class McpServerEventNotification(Record):
    """`McpServerEventNotification` of the protocol."""

    __slots__ = ()
    method: str = field("method", str)
    params: Any = field("params")


class McpServerEventStreamNotification(Record):
    """`McpServerEventStreamNotification` of the protocol."""

    __slots__ = ()
    notification: McpServerEventNotification = field("notification", "McpServerEventNotification")
    subscription_id: str = field("subscriptionId", str)


class McpServerInfo(Record):
    """Presentation metadata advertised by an initialized MCP server."""

    __slots__ = ()
    description: str | None = field("description", str, default=None)
    icons: list[Any] | None = field("icons", ListOf(None), default=None)
    name: str = field("name", str)
    title: str | None = field("title", str, default=None)
    version: str = field("version", str)
    website_url: str | None = field("websiteUrl", str, default=None)


class McpServerOauthLoginCompletedNotification(Record):
    """`McpServerOauthLoginCompletedNotification` of the protocol."""

    __slots__ = ()
    error: str | None = field("error", str, default=None)
    login_id: str | None = field("loginId", str, default=None)
    name: str = field("name", str)
    success: bool = field("success", bool)
    thread_id: str | None = field("threadId", str, default=None)


class McpServerStatus(Record):
    """`McpServerStatus` of the protocol."""

    __slots__ = ()
    auth_status: str = field("authStatus", str)
    http_origin: str | None = field("httpOrigin", str, default=None)
    name: str = field("name", str)
    plugin_id: str | None = field("pluginId", str, default=None)
    resource_templates: list[ResourceTemplate] = field("resourceTemplates", ListOf("ResourceTemplate"))
    resources: list[Resource] = field("resources", ListOf("Resource"))
    runtime_status: str | None = field("runtimeStatus", str, default=None)
    server_capabilities: Any = field("serverCapabilities", default=None)
    server_info: McpServerInfo | None = field("serverInfo", "McpServerInfo", default=None)
    tools: dict[str, Tool] = field("tools", MapOf("Tool"))
    tools_error: str | None = field("toolsError", str, default=None)


class McpServerStatusUpdatedNotification(Record):
    """`McpServerStatusUpdatedNotification` of the protocol."""

    __slots__ = ()
    error: str | None = field("error", str, default=None)
    failure_reason: str | None = field("failureReason", str, default=None)
    name: str = field("name", str)
    status: str = field("status", str)
    thread_id: str | None = field("threadId", str, default=None)


class McpToolCallAppContext(Record):
    """`McpToolCallAppContext` of the protocol."""

    __slots__ = ()
    action_name: str | None = field("actionName", str, default=None)
    app_name: str | None = field("appName", str, default=None)
    connector_id: str = field("connectorId", str)
    link_id: str | None = field("linkId", str, default=None)
    resource_uri: str | None = field("resourceUri", str, default=None)


class McpToolCallError(Record):
    """`McpToolCallError` of the protocol."""

    __slots__ = ()
    message: str = field("message", str)


class McpToolCallProgressNotification(Record):
    """`McpToolCallProgressNotification` of the protocol."""

    __slots__ = ()
    item_id: str = field("itemId", str)
    message: str = field("message", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class McpToolCallResult(Record):
    """`McpToolCallResult` of the protocol."""

    __slots__ = ()
    meta: Any = field("_meta", default=None)
    content: list[Any] = field("content", ListOf(None))
    structured_content: Any = field("structuredContent", default=None)


class MemoryCitation(Record):
    """`MemoryCitation` of the protocol."""

    __slots__ = ()
    entries: list[MemoryCitationEntry] = field("entries", ListOf("MemoryCitationEntry"))
    thread_ids: list[str] = field("threadIds", ListOf(str))


class MemoryCitationEntry(Record):
    """`MemoryCitationEntry` of the protocol."""

    __slots__ = ()
    line_end: int = field("lineEnd", int)
    line_start: int = field("lineStart", int)
    note: str = field("note", str)
    path: str = field("path", str)


class MisalignmentErrorDetails(Record):
    """`MisalignmentErrorDetails` of the protocol."""

    __slots__ = ()
    detailed_explanation: str | None = field("detailedExplanation", str, default=None)
    error_type: str | None = field("errorType", str, default=None)
    review_target: str | None = field("reviewTarget", str, default=None)
    steer: MisalignmentSteer | None = field("steer", "MisalignmentSteer", default=None)


class MisalignmentSteer(Record):
    """`MisalignmentSteer` of the protocol."""

    __slots__ = ()
    message: str = field("message", str)


class Model(Record):
    """`Model` of the protocol."""

    __slots__ = ()
    additional_speed_tiers: list[str] = field("additionalSpeedTiers", ListOf(str), default=[])
    availability_nux: ModelAvailabilityNux | None = field("availabilityNux", "ModelAvailabilityNux", default=None)
    available_access_programs: ModelAccessPrograms | None = field("availableAccessPrograms", "ModelAccessPrograms", default=None)
    default_reasoning_effort: str = field("defaultReasoningEffort", str)
    default_service_tier: str | None = field("defaultServiceTier", str, default=None)
    description: str = field("description", str)
    display_name: str = field("displayName", str)
    hidden: bool = field("hidden", bool)
    id: str = field("id", str)
    input_modalities: list[str] | None = field("inputModalities", ListOf(str), default=None)
    is_default: bool = field("isDefault", bool)
    model: str = field("model", str)
    model_specialty: str | None = field("modelSpecialty", str, default=None)
    multi_agent_version: str | None = field("multiAgentVersion", str, default=None)
    service_tiers: list[ModelServiceTier] = field("serviceTiers", ListOf("ModelServiceTier"), default=[])
    supported_reasoning_efforts: list[ReasoningEffortOption] = field("supportedReasoningEfforts", ListOf("ReasoningEffortOption"))
    supports_personality: bool = field("supportsPersonality", bool, default=False)
    upgrade: str | None = field("upgrade", str, default=None)
    upgrade_info: ModelUpgradeInfo | None = field("upgradeInfo", "ModelUpgradeInfo", default=None)


class ModelAccessPrograms(Record):
    """Caller-specific explicit access programs advertised by model discovery."""

    __slots__ = ()
    cyber: list[str] = field("cyber", ListOf(str))


class ModelAvailabilityNux(Record):
    """`ModelAvailabilityNux` of the protocol."""

    __slots__ = ()
    message: str = field("message", str)


class ModelListParams(Record):
    """`ModelListParams` of the protocol."""

    __slots__ = ()
    cursor: str | None = field("cursor", str, default=None)
    include_hidden: bool | None = field("includeHidden", bool, default=None)
    limit: int | None = field("limit", int, default=None)


class ModelListResponse(Record):
    """`ModelListResponse` of the protocol."""

    __slots__ = ()
    data: list[Model] = field("data", ListOf("Model"))
    next_cursor: str | None = field("nextCursor", str, default=None)


class ModelReroutedNotification(Record):
    """`ModelReroutedNotification` of the protocol."""

    __slots__ = ()
    from_model: str = field("fromModel", str)
    reason: str = field("reason", str)
    thread_id: str = field("threadId", str)
    to_model: str = field("toModel", str)
    turn_id: str = field("turnId", str)


class ModelSafetyBufferingUpdatedNotification(Record):
    """`ModelSafetyBufferingUpdatedNotification` of the protocol."""

    __slots__ = ()
    faster_model: str | None = field("fasterModel", str, default=None)
    model: str = field("model", str)
    reasons: list[str] = field("reasons", ListOf(str))
    show_buffering_ui: bool = field("showBufferingUi", bool)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)
    use_cases: list[str] = field("useCases", ListOf(str))


class ModelServiceTier(Record):
    """`ModelServiceTier` of the protocol."""

    __slots__ = ()
    description: str = field("description", str)
    id: str = field("id", str)
    name: str = field("name", str)


class ModelUpgradeInfo(Record):
    """`ModelUpgradeInfo` of the protocol."""

    __slots__ = ()
    migration_markdown: str | None = field("migrationMarkdown", str, default=None)
    model: str = field("model", str)
    model_link: str | None = field("modelLink", str, default=None)
    retirement_at: int | None = field("retirementAt", int, default=None)
    upgrade_copy: str | None = field("upgradeCopy", str, default=None)


class ModelVerificationNotification(Record):
    """`ModelVerificationNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)
    verifications: list[str] = field("verifications", ListOf(str))


class NetworkApprovalContext(Record):
    """`NetworkApprovalContext` of the protocol."""

    __slots__ = ()
    host: str = field("host", str)
    protocol: str = field("protocol", str)


class NetworkPolicyAmendment(Record):
    """`NetworkPolicyAmendment` of the protocol."""

    __slots__ = ()
    action: str = field("action", str)
    host: str = field("host", str)


class ParsedCommand(Record):
    """`ParsedCommand` of the protocol."""

    __slots__ = ()
    cmd: str = field("cmd", str)
    name: str | None = field("name", str, default=None)
    path: str | None = field("path", str, default=None)
    type: str = field("type", str)
    query: str | None = field("query", str, default=None)


class PatchChangeKind(Record):
    """`PatchChangeKind` of the protocol."""

    __slots__ = ()
    type: str = field("type", str)
    move_path: str | None = field("move_path", str, default=None)


class PermissionsRequestApprovalParams(Record):
    """`PermissionsRequestApprovalParams` of the protocol."""

    __slots__ = ()
    cwd: str = field("cwd", str)
    environment_id: str | None = field("environmentId", str, default=None)
    item_id: str = field("itemId", str)
    permissions: RequestPermissionProfile = field("permissions", "RequestPermissionProfile")
    reason: str | None = field("reason", str, default=None)
    started_at_ms: int = field("startedAtMs", int)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class PermissionsRequestApprovalResponse(Record):
    """`PermissionsRequestApprovalResponse` of the protocol."""

    __slots__ = ()
    permissions: GrantedPermissionProfile = field("permissions", "GrantedPermissionProfile")
    scope: str = field("scope", str, default="turn")
    strict_auto_review: bool | None = field("strictAutoReview", bool, default=None)


class PlanDeltaNotification(Record):
    """EXPERIMENTAL - proposed plan streaming deltas for plan items. Clients should not assume
    concatenated deltas match the completed plan item content.
    """

    __slots__ = ()
    delta: str = field("delta", str)
    item_id: str = field("itemId", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class ProcessExitedNotification(Record):
    """Final process exit notification for `process/spawn`."""

    __slots__ = ()
    exit_code: int = field("exitCode", int)
    process_handle: str = field("processHandle", str)
    stderr: str = field("stderr", str)
    stderr_cap_reached: bool = field("stderrCapReached", bool)
    stdout: str = field("stdout", str)
    stdout_cap_reached: bool = field("stdoutCapReached", bool)


class ProcessOutputDeltaNotification(Record):
    """Base64-encoded output chunk emitted for a streaming `process/spawn` request."""

    __slots__ = ()
    cap_reached: bool = field("capReached", bool)
    delta_base64: str = field("deltaBase64", str)
    process_handle: str = field("processHandle", str)
    stream: str = field("stream", str)


class ProjectChangedNotification(Record):
    """`ProjectChangedNotification` of the protocol."""

    __slots__ = ()
    change_type: str = field("changeType", str)
    project_id: str = field("projectId", str)


class RateLimitResetCredit(Record):
    """`RateLimitResetCredit` of the protocol."""

    __slots__ = ()
    description: str | None = field("description", str, default=None)
    expires_at: int | None = field("expiresAt", int, default=None)
    granted_at: int = field("grantedAt", int)
    id: str = field("id", str)
    reset_type: str = field("resetType", str)
    status: str = field("status", str)
    title: str | None = field("title", str, default=None)


class RateLimitResetCreditsSummary(Record):
    """`RateLimitResetCreditsSummary` of the protocol."""

    __slots__ = ()
    available_count: int = field("availableCount", int)
    credits: list[RateLimitResetCredit] | None = field("credits", ListOf("RateLimitResetCredit"), default=None)


class RateLimitSnapshot(Record):
    """`RateLimitSnapshot` of the protocol."""

    __slots__ = ()
    credits: CreditsSnapshot | None = field("credits", "CreditsSnapshot", default=None)
    individual_limit: SpendControlLimitSnapshot | None = field("individualLimit", "SpendControlLimitSnapshot", default=None)
    limit_id: str | None = field("limitId", str, default=None)
    limit_name: str | None = field("limitName", str, default=None)
    normal_model_slug: str | None = field("normalModelSlug", str, default=None)
    plan_type: str | None = field("planType", str, default=None)
    primary: RateLimitWindow | None = field("primary", "RateLimitWindow", default=None)
    rate_limit_reached_type: str | None = field("rateLimitReachedType", str, default=None)
    secondary: RateLimitWindow | None = field("secondary", "RateLimitWindow", default=None)
    spend_control_reached: bool | None = field("spendControlReached", bool, default=None)


class RateLimitWindow(Record):
    """`RateLimitWindow` of the protocol."""

    __slots__ = ()
    resets_at: int | None = field("resetsAt", int, default=None)
    used_percent: int = field("usedPercent", int)
    window_duration_mins: int | None = field("windowDurationMins", int, default=None)


class ReasoningEffortOption(Record):
    """`ReasoningEffortOption` of the protocol."""

    __slots__ = ()
    description: str = field("description", str)
    reasoning_effort: str = field("reasoningEffort", str)


class ReasoningItemContent(Record):
    """`ReasoningItemContent` of the protocol."""

    __slots__ = ()
    text: str = field("text", str)
    type: str = field("type", str)


class ReasoningItemReasoningSummary(Record):
    """`ReasoningItemReasoningSummary` of the protocol."""

    __slots__ = ()
    text: str = field("text", str)
    type: str = field("type", str)


class ReasoningSummaryPartAddedNotification(Record):
    """`ReasoningSummaryPartAddedNotification` of the protocol."""

    __slots__ = ()
    item_id: str = field("itemId", str)
    summary_index: int = field("summaryIndex", int)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class ReasoningSummaryTextDeltaNotification(Record):
    """`ReasoningSummaryTextDeltaNotification` of the protocol."""

    __slots__ = ()
    delta: str = field("delta", str)
    item_id: str = field("itemId", str)
    summary_index: int = field("summaryIndex", int)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class ReasoningTextDeltaNotification(Record):
    """`ReasoningTextDeltaNotification` of the protocol."""

    __slots__ = ()
    content_index: int = field("contentIndex", int)
    delta: str = field("delta", str)
    item_id: str = field("itemId", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class RemoteControlStatusChangedNotification(Record):
    """Current remote-control connection status and remote identity exposed to clients."""

    __slots__ = ()
    environment_id: str | None = field("environmentId", str, default=None)
    installation_id: str = field("installationId", str)
    server_name: str = field("serverName", str)
    status: str = field("status", str)


class RequestPermissionProfile(Record):
    """`RequestPermissionProfile` of the protocol."""

    __slots__ = ()
    file_system: AdditionalFileSystemPermissions | None = field("fileSystem", "AdditionalFileSystemPermissions", default=None)
    network: AdditionalNetworkPermissions | None = field("network", "AdditionalNetworkPermissions", default=None)


class Resource(Record):
    """A known resource that the server is capable of reading."""

    __slots__ = ()
    meta: Any = field("_meta", default=None)
    annotations: Any = field("annotations", default=None)
    description: str | None = field("description", str, default=None)
    icons: list[Any] | None = field("icons", ListOf(None), default=None)
    mime_type: str | None = field("mimeType", str, default=None)
    name: str = field("name", str)
    size: int | None = field("size", int, default=None)
    title: str | None = field("title", str, default=None)
    uri: str = field("uri", str)


class ResourceTemplate(Record):
    """A template description for resources available on the server."""

    __slots__ = ()
    annotations: Any = field("annotations", default=None)
    description: str | None = field("description", str, default=None)
    mime_type: str | None = field("mimeType", str, default=None)
    name: str = field("name", str)
    title: str | None = field("title", str, default=None)
    uri_template: str = field("uriTemplate", str)


class ResponseItem(Record):
    """`ResponseItem` of the protocol."""

    __slots__ = ()
    id: str | None = field("id", str, default=None)
    role: str | None = field("role", str, default=None)
    tools: list[Any] | None = field("tools", ListOf(None), default=None)
    type: str = field("type", str)
    content: Any = field("content", default=None)
    encrypted_content: str | None = field("encrypted_content", str, default=None)
    internal_chat_message_metadata_passthrough: InternalChatMessageMetadataPassthrough | None = field("internal_chat_message_metadata_passthrough", "InternalChatMessageMetadataPassthrough", default=None)
    phase: str | None = field("phase", str, default=None)
    status: str | None = field("status", str, default=None)
    author: str | None = field("author", str, default=None)
    recipient: str | None = field("recipient", str, default=None)
    summary: list[ReasoningItemReasoningSummary] | None = field("summary", ListOf("ReasoningItemReasoningSummary"), default=None)
    action: Any = field("action", default=None)
    call_id: str | None = field("call_id", str, default=None)
    arguments: Any = field("arguments", default=None)
    encrypted_function_args: list[str] | None = field("encrypted_function_args", ListOf(str), default=None)
    name: str | None = field("name", str, default=None)
    namespace: str | None = field("namespace", str, default=None)
    execution: str | None = field("execution", str, default=None)
    output: Any = field("output", default=None)
    input: str | None = field("input", str, default=None)
    result: str | None = field("result", str, default=None)
    revised_prompt: str | None = field("revised_prompt", str, default=None)
    reasoning: ConfigurationReasoning | None = field("reasoning", "ConfigurationReasoning", default=None)


class ResponsesApiWebSearchAction(Record):
    """`ResponsesApiWebSearchAction` of the protocol."""

    __slots__ = ()
    queries: list[str] | None = field("queries", ListOf(str), default=None)
    query: str | None = field("query", str, default=None)
    type: str = field("type", str)
    url: str | None = field("url", str, default=None)
    pattern: str | None = field("pattern", str, default=None)


class ReviewStartParams(Record):
    """`ReviewStartParams` of the protocol."""

    __slots__ = ()
    delivery: str | None = field("delivery", str, default=None)
    target: ReviewTarget = field("target", "ReviewTarget")
    thread_id: str = field("threadId", str)


class ReviewStartResponse(Record):
    """`ReviewStartResponse` of the protocol."""

    __slots__ = ()
    review_thread_id: str = field("reviewThreadId", str)
    turn: Turn = field("turn", "Turn")


class ReviewTarget(Record):
    """`ReviewTarget` of the protocol."""

    __slots__ = ()
    type: str = field("type", str)
    branch: str | None = field("branch", str, default=None)
    sha: str | None = field("sha", str, default=None)
    title: str | None = field("title", str, default=None)
    instructions: str | None = field("instructions", str, default=None)


class SandboxPolicy(Record):
    """`SandboxPolicy` of the protocol."""

    __slots__ = ()
    type: str = field("type", str)
    network_access: Any = field("networkAccess", default=None)
    exclude_slash_tmp: bool = field("excludeSlashTmp", bool, default=False)
    exclude_tmpdir_env_var: bool = field("excludeTmpdirEnvVar", bool, default=False)
    writable_roots: list[str] = field("writableRoots", ListOf(str), default=[])


class SandboxWorkspaceWrite(Record):
    """`SandboxWorkspaceWrite` of the protocol."""

    __slots__ = ()
    exclude_slash_tmp: bool = field("exclude_slash_tmp", bool, default=False)
    exclude_tmpdir_env_var: bool = field("exclude_tmpdir_env_var", bool, default=False)
    network_access: bool = field("network_access", bool, default=False)
    writable_roots: list[str] = field("writable_roots", ListOf(str), default=[])


class SelectedCapabilityRoot(Record):
    """A user-selected root that can expose one or more runtime capabilities."""

    __slots__ = ()
    id: str = field("id", str)
    location: CapabilityRootLocation = field("location", "CapabilityRootLocation")


class ServerRequestResolvedNotification(Record):
    """`ServerRequestResolvedNotification` of the protocol."""

    __slots__ = ()
    request_id: int | str = field("requestId")
    thread_id: str = field("threadId", str)


class Settings(Record):
    """Settings for a collaboration mode."""

    __slots__ = ()
    developer_instructions: str | None = field("developer_instructions", str, default=None)
    model: str = field("model", str)
    reasoning_effort: str | None = field("reasoning_effort", str, default=None)


class SkillsChangedNotification(Record):
    """Notification emitted when watched local skill files change. Treat this as an invalidation signal
    and re-run `skills/list` with the client's current parameters when refreshed skill metadata is
    needed.
    """

    __slots__ = ()


class SpendControlLimitSnapshot(Record):
    """`SpendControlLimitSnapshot` of the protocol."""

    __slots__ = ()
    limit: str = field("limit", str)
    remaining_percent: int = field("remainingPercent", int)
    resets_at: int = field("resetsAt", int)
    used: str = field("used", str)


class StrictReviewRequiredNotification(Record):
    """`StrictReviewRequiredNotification` of the protocol."""

    __slots__ = ()
    started_at_ms: int = field("startedAtMs", int)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class TerminalInteractionNotification(Record):
    """`TerminalInteractionNotification` of the protocol."""

    __slots__ = ()
    item_id: str = field("itemId", str)
    process_id: str = field("processId", str)
    stdin: str = field("stdin", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class TextElement(Record):
    """`TextElement` of the protocol."""

    __slots__ = ()
    byte_range: ByteRange = field("byteRange", "ByteRange")
    placeholder: str | None = field("placeholder", str, default=None)


class TextPosition(Record):
    """`TextPosition` of the protocol."""

    __slots__ = ()
    column: int = field("column", int)
    line: int = field("line", int)


class TextRange(Record):
    """`TextRange` of the protocol."""

    __slots__ = ()
    end: TextPosition = field("end", "TextPosition")
    start: TextPosition = field("start", "TextPosition")


class Thread(Record):
    """`Thread` of the protocol."""

    __slots__ = ()
    agent_nickname: str | None = field("agentNickname", str, default=None)
    agent_role: str | None = field("agentRole", str, default=None)
    can_accept_direct_input: bool | None = field("canAcceptDirectInput", bool, default=None)
    cli_version: str = field("cliVersion", str)
    created_at: int = field("createdAt", int)
    cwd: str = field("cwd", str)
    daybreak_enabled: bool | None = field("daybreakEnabled", bool, default=None)
    environments: list[ThreadEnvironment] | None = field("environments", ListOf("ThreadEnvironment"), default=None)
    ephemeral: bool = field("ephemeral", bool)
    extra: ThreadExtra | None = field("extra", "ThreadExtra", default=None)
    forked_from_id: str | None = field("forkedFromId", str, default=None)
    git_info: GitInfo | None = field("gitInfo", "GitInfo", default=None)
    history_mode: str = field("historyMode", str, default="legacy")
    id: str = field("id", str)
    model: str | None = field("model", str, default=None)
    model_provider: str = field("modelProvider", str)
    name: str | None = field("name", str, default=None)
    originator: str | None = field("originator", str, default=None)
    parent_thread_id: str | None = field("parentThreadId", str, default=None)
    path: str | None = field("path", str, default=None)
    preview: str = field("preview", str)
    project_id: str | None = field("projectId", str, default=None)
    reasoning_effort: str | None = field("reasoningEffort", str, default=None)
    recency_at: int | None = field("recencyAt", int, default=None)
    section: ThreadSection | None = field("section", "ThreadSection", default=None)
    section_entered_at: int | None = field("sectionEnteredAt", int, default=None)
    session_id: str = field("sessionId", str)
    source: Any = field("source")
    status: ThreadStatus = field("status", "ThreadStatus")
    thread_source: str | None = field("threadSource", str, default=None)
    turns: list[Turn] = field("turns", ListOf("Turn"))
    updated_at: int = field("updatedAt", int)


class ThreadArchiveParams(Record):
    """`ThreadArchiveParams` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadArchiveResponse(Record):
    """`ThreadArchiveResponse` of the protocol."""

    __slots__ = ()


class ThreadArchivedNotification(Record):
    """`ThreadArchivedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadAttachmentUpdatedNotification(Record):
    """Notification published after a thread attachment is created or deleted."""

    __slots__ = ()
    attachment_id: str = field("attachmentId", str)
    attachment_type: str = field("attachmentType", str)
    identity_key: str = field("identityKey", str)
    operation: str = field("operation", str)
    thread_id: str = field("threadId", str)


class ThreadBackgroundTerminalsCleanParams(Record):
    """`ThreadBackgroundTerminalsCleanParams` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadBackgroundTerminalsCleanResponse(Record):
    """`ThreadBackgroundTerminalsCleanResponse` of the protocol."""

    __slots__ = ()


class ThreadClosedNotification(Record):
    """`ThreadClosedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadCompactStartParams(Record):
    """`ThreadCompactStartParams` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadCompactStartResponse(Record):
    """`ThreadCompactStartResponse` of the protocol."""

    __slots__ = ()


class ThreadDeletedNotification(Record):
    """`ThreadDeletedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadEnvironment(Record):
    """An environment selected by a loaded thread, independent of connection status."""

    __slots__ = ()
    cwd: str = field("cwd", str)
    environment_id: str = field("environmentId", str)
    runtime_workspace_roots: list[str] = field("runtimeWorkspaceRoots", ListOf(str))


class ThreadExtra(Record):
    """Extra app-server data for a thread."""

    __slots__ = ()


class ThreadForkParams(Record):
    """There are two ways to fork a thread: 1. By thread_id: load the thread from disk by thread_id and
    fork it into a new thread. 2. By path: load the thread from disk by path and fork it into a new
    thread. If using a non-empty path, the thread_id param will be ignored. Empty string path values
    are treated as absent. Prefer using thread_id whenever possible.
    """

    __slots__ = ()
    approval_policy: Any = field("approvalPolicy", default=None)
    approvals_reviewer: str | None = field("approvalsReviewer", str, default=None)
    base_instructions: str | None = field("baseInstructions", str, default=None)
    before_turn_id: str | None = field("beforeTurnId", str, default=None)
    config: dict[str, Any] | None = field("config", dict, default=None)
    cwd: str | None = field("cwd", str, default=None)
    defer_goal_continuation: bool | None = field("deferGoalContinuation", bool, default=None)
    developer_instructions: str | None = field("developerInstructions", str, default=None)
    ephemeral: bool | None = field("ephemeral", bool, default=None)
    exclude_turns: bool | None = field("excludeTurns", bool, default=None)
    experimental_prediction_mode: bool | None = field("experimentalPredictionMode", bool, default=None)
    last_turn_id: str | None = field("lastTurnId", str, default=None)
    model: str | None = field("model", str, default=None)
    model_provider: str | None = field("modelProvider", str, default=None)
    path: str | None = field("path", str, default=None)
    permissions: str | None = field("permissions", str, default=None)
    runtime_workspace_roots: list[str] | None = field("runtimeWorkspaceRoots", ListOf(str), default=None)
    sandbox: str | None = field("sandbox", str, default=None)
    service_tier: str | None = field("serviceTier", str, default=None)
    thread_id: str = field("threadId", str)
    thread_source: str | None = field("threadSource", str, default=None)


class ThreadForkResponse(Record):
    """`ThreadForkResponse` of the protocol."""

    __slots__ = ()
    active_permission_profile: ActivePermissionProfile | None = field("activePermissionProfile", "ActivePermissionProfile", default=None)
    approval_policy: Any = field("approvalPolicy")
    approvals_reviewer: str = field("approvalsReviewer", str)
    cwd: str = field("cwd", str)
    disabled_plugin_ids: list[str] = field("disabledPluginIds", ListOf(str), default=[])
    instruction_sources: list[str] = field("instructionSources", ListOf(str), default=[])
    model: str = field("model", str)
    model_provider: str = field("modelProvider", str)
    multi_agent_mode: Any = field("multiAgentMode", default=None)
    reasoning_effort: str | None = field("reasoningEffort", str, default=None)
    runtime_workspace_roots: list[str] = field("runtimeWorkspaceRoots", ListOf(str), default=[])
    sandbox: SandboxPolicy = field("sandbox", "SandboxPolicy")
    service_tier: str | None = field("serviceTier", str, default=None)
    thread: Thread = field("thread", "Thread")


class ThreadGoal(Record):
    """`ThreadGoal` of the protocol."""

    __slots__ = ()
    created_at: int = field("createdAt", int)
    objective: str = field("objective", str)
    status: str = field("status", str)
    thread_id: str = field("threadId", str)
    time_used_seconds: int = field("timeUsedSeconds", int)
    token_budget: int | None = field("tokenBudget", int, default=None)
    tokens_used: int = field("tokensUsed", int)
    updated_at: int = field("updatedAt", int)


class ThreadGoalClearParams(Record):
    """`ThreadGoalClearParams` of the protocol."""

    __slots__ = ()
    origin: str | None = field("origin", str, default=None)
    thread_id: str = field("threadId", str)


class ThreadGoalClearResponse(Record):
    """`ThreadGoalClearResponse` of the protocol."""

    __slots__ = ()
    cleared: bool = field("cleared", bool)


class ThreadGoalClearedNotification(Record):
    """`ThreadGoalClearedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadGoalGetParams(Record):
    """`ThreadGoalGetParams` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadGoalGetResponse(Record):
    """`ThreadGoalGetResponse` of the protocol."""

    __slots__ = ()
    goal: ThreadGoal | None = field("goal", "ThreadGoal", default=None)


class ThreadGoalSetParams(Record):
    """`ThreadGoalSetParams` of the protocol."""

    __slots__ = ()
    objective: str | None = field("objective", str, default=None)
    origin: str | None = field("origin", str, default=None)
    status: str | None = field("status", str, default=None)
    thread_id: str = field("threadId", str)
    token_budget: int | None = field("tokenBudget", int, default=None)


class ThreadGoalSetResponse(Record):
    """`ThreadGoalSetResponse` of the protocol."""

    __slots__ = ()
    goal: ThreadGoal = field("goal", "ThreadGoal")


class ThreadGoalUpdatedNotification(Record):
    """`ThreadGoalUpdatedNotification` of the protocol."""

    __slots__ = ()
    goal: ThreadGoal = field("goal", "ThreadGoal")
    thread_id: str = field("threadId", str)
    turn_id: str | None = field("turnId", str, default=None)


class ThreadInjectItemsParams(Record):
    """`ThreadInjectItemsParams` of the protocol."""

    __slots__ = ()
    items: list[Any] = field("items", ListOf(None))
    thread_id: str = field("threadId", str)


class ThreadInjectItemsResponse(Record):
    """`ThreadInjectItemsResponse` of the protocol."""

    __slots__ = ()


class ThreadItem(Record):
    """`ThreadItem` of the protocol."""

    __slots__ = ()
    client_id: str | None = field("clientId", str, default=None)
    content: Any = field("content", default=None)
    id: str = field("id", str)
    type: str = field("type", str)
    fragments: list[HookPromptFragment] | None = field("fragments", ListOf("HookPromptFragment"), default=None)
    delivery: str | None = field("delivery", str, default=None)
    memory_citation: MemoryCitation | None = field("memoryCitation", "MemoryCitation", default=None)
    phase: str | None = field("phase", str, default=None)
    questions: list[AsyncUserInputQuestion] | None = field("questions", ListOf("AsyncUserInputQuestion"), default=None)
    text: str | None = field("text", str, default=None)
    name: str | None = field("name", str, default=None)
    namespace: str | None = field("namespace", str, default=None)
    output: Any = field("output", default=None)
    summary: list[str] = field("summary", ListOf(str), default=[])
    aggregated_output: str | None = field("aggregatedOutput", str, default=None)
    command: str | None = field("command", str, default=None)
    command_actions: list[CommandAction] | None = field("commandActions", ListOf("CommandAction"), default=None)
    cwd: str | None = field("cwd", str, default=None)
    duration_ms: int | None = field("durationMs", int, default=None)
    exit_code: int | None = field("exitCode", int, default=None)
    plugin_id: str | None = field("pluginId", str, default=None)
    process_id: str | None = field("processId", str, default=None)
    script_path: str | None = field("scriptPath", str, default=None)
    source: str = field("source", str, default="agent")
    status: str | None = field("status", str, default=None)
    changes: list[FileUpdateChange] | None = field("changes", ListOf("FileUpdateChange"), default=None)
    app_context: McpToolCallAppContext | None = field("appContext", "McpToolCallAppContext", default=None)
    arguments: Any = field("arguments", default=None)
    error: McpToolCallError | None = field("error", "McpToolCallError", default=None)
    mcp_app_resource_uri: str | None = field("mcpAppResourceUri", str, default=None)
    mcp_app_ui: McpAppUi | None = field("mcpAppUi", "McpAppUi", default=None)
    read_only_hint: bool | None = field("readOnlyHint", bool, default=None)
    result: Any = field("result", default=None)
    server: str | None = field("server", str, default=None)
    tool: str | None = field("tool", str, default=None)
    content_items: list[DynamicToolCallOutputContentItem] | None = field("contentItems", ListOf("DynamicToolCallOutputContentItem"), default=None)
    success: bool | None = field("success", bool, default=None)
    agents_states: dict[str, CollabAgentState] | None = field("agentsStates", MapOf("CollabAgentState"), default=None)
    model: str | None = field("model", str, default=None)
    prompt: str | None = field("prompt", str, default=None)
    reasoning_effort: str | None = field("reasoningEffort", str, default=None)
    receiver_thread_ids: list[str] | None = field("receiverThreadIds", ListOf(str), default=None)
    sender_thread_id: str | None = field("senderThreadId", str, default=None)
    agent_path: str | None = field("agentPath", str, default=None)
    agent_thread_id: str | None = field("agentThreadId", str, default=None)
    kind: str | None = field("kind", str, default=None)
    action: WebSearchAction | None = field("action", "WebSearchAction", default=None)
    query: str | None = field("query", str, default=None)
    results: list[Any] | None = field("results", ListOf(None), default=None)
    path: str | None = field("path", str, default=None)
    failure: ImageGenerationFailure | None = field("failure", "ImageGenerationFailure", default=None)
    revised_prompt: str | None = field("revisedPrompt", str, default=None)
    saved_path: str | None = field("savedPath", str, default=None)
    transparent_background: bool | None = field("transparentBackground", bool, default=None)
    review: str | None = field("review", str, default=None)


class ThreadItemEntry(Record):
    """`ThreadItemEntry` of the protocol."""

    __slots__ = ()
    completed_at_ms: int | None = field("completedAtMs", int, default=None)
    item: ThreadItem = field("item", "ThreadItem")
    started_at_ms: int | None = field("startedAtMs", int, default=None)
    turn_id: str = field("turnId", str)


class ThreadItemsListParams(Record):
    """`ThreadItemsListParams` of the protocol."""

    __slots__ = ()
    cursor: Any = field("cursor", default=None)
    limit: int | None = field("limit", int, default=None)
    sort_direction: str | None = field("sortDirection", str, default=None)
    thread_id: str = field("threadId", str)
    turn_id: str | None = field("turnId", str, default=None)


class ThreadItemsListResponse(Record):
    """`ThreadItemsListResponse` of the protocol."""

    __slots__ = ()
    backwards_cursor: str | None = field("backwardsCursor", str, default=None)
    data: list[ThreadItemEntry] = field("data", ListOf("ThreadItemEntry"))
    next_cursor: str | None = field("nextCursor", str, default=None)


class ThreadListParams(Record):
    """`ThreadListParams` of the protocol."""

    __slots__ = ()
    ancestor_thread_id: str | None = field("ancestorThreadId", str, default=None)
    archived: bool | None = field("archived", bool, default=None)
    cursor: str | None = field("cursor", str, default=None)
    cwd: Any = field("cwd", default=None)
    excluded_thread_ids: list[str] | None = field("excludedThreadIds", ListOf(str), default=None)
    limit: int | None = field("limit", int, default=None)
    model_providers: list[str] | None = field("modelProviders", ListOf(str), default=None)
    originators: list[str] | None = field("originators", ListOf(str), default=None)
    parent_thread_id: str | None = field("parentThreadId", str, default=None)
    project_id: str | None = field("projectId", str, default=None)
    search_term: str | None = field("searchTerm", str, default=None)
    section_id: str | None = field("sectionId", str, default=None)
    sort_direction: str | None = field("sortDirection", str, default=None)
    sort_key: str | None = field("sortKey", str, default=None)
    source_kinds: list[str] | None = field("sourceKinds", ListOf(str), default=None)
    use_state_db_only: bool | None = field("useStateDbOnly", bool, default=None)


class ThreadListResponse(Record):
    """`ThreadListResponse` of the protocol."""

    __slots__ = ()
    backwards_cursor: str | None = field("backwardsCursor", str, default=None)
    data: list[Thread] = field("data", ListOf("Thread"))
    next_cursor: str | None = field("nextCursor", str, default=None)
    read_states: dict[str, ThreadReadState] | None = field("readStates", MapOf("ThreadReadState"), default=None)


class ThreadLoadedListParams(Record):
    """`ThreadLoadedListParams` of the protocol."""

    __slots__ = ()
    cursor: str | None = field("cursor", str, default=None)
    limit: int | None = field("limit", int, default=None)


class ThreadLoadedListResponse(Record):
    """`ThreadLoadedListResponse` of the protocol."""

    __slots__ = ()
    data: list[str] = field("data", ListOf(str))
    next_cursor: str | None = field("nextCursor", str, default=None)


class ThreadNameUpdatedNotification(Record):
    """`ThreadNameUpdatedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)
    thread_name: str | None = field("threadName", str, default=None)


class ThreadPredictionResult(Record):
    """`ThreadPredictionResult` of the protocol."""

    __slots__ = ()
    text: str | None = field("text", str, default=None)
    type: str = field("type", str)


class ThreadPredictionUpdatedNotification(Record):
    """`ThreadPredictionUpdatedNotification` of the protocol."""

    __slots__ = ()
    result: ThreadPredictionResult = field("result", "ThreadPredictionResult")
    source_turn_id: str = field("sourceTurnId", str)
    thread_id: str = field("threadId", str)


class ThreadProjectUpdatedNotification(Record):
    """`ThreadProjectUpdatedNotification` of the protocol."""

    __slots__ = ()
    project_id: str | None = field("projectId", str, default=None)
    thread_id: str = field("threadId", str)


class ThreadQueueChangedNotification(Record):
    """`ThreadQueueChangedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadReadParams(Record):
    """`ThreadReadParams` of the protocol."""

    __slots__ = ()
    include_turns: bool | None = field("includeTurns", bool, default=None)
    thread_id: str = field("threadId", str)


class ThreadReadResponse(Record):
    """`ThreadReadResponse` of the protocol."""

    __slots__ = ()
    read_state: ThreadReadState | None = field("readState", "ThreadReadState", default=None)
    thread: Thread = field("thread", "Thread")


class ThreadReadState(Record):
    """The first unread position in a durable local thread. A null position means read. The opaque
    revision guards edits against activity or marks the caller has not seen.
    """

    __slots__ = ()
    first_unread: ThreadUnreadPosition | None = field("firstUnread", "ThreadUnreadPosition", default=None)
    revision: str = field("revision", str)


class ThreadReadStateChangedNotification(Record):
    """`ThreadReadStateChangedNotification` of the protocol."""

    __slots__ = ()
    read_state: ThreadReadState = field("readState", "ThreadReadState")
    thread_id: str = field("threadId", str)


class ThreadRealtimeAudioChunk(Record):
    """EXPERIMENTAL - thread realtime audio chunk."""

    __slots__ = ()
    data: str = field("data", str)
    item_id: str | None = field("itemId", str, default=None)
    num_channels: int = field("numChannels", int)
    sample_rate: int = field("sampleRate", int)
    samples_per_channel: int | None = field("samplesPerChannel", int, default=None)


class ThreadRealtimeBemItemPresentation(Record):
    """EXPERIMENTAL - how an existing agent item appears in a realtime conversation."""

    __slots__ = ()
    type: str = field("type", str)
    index: int | None = field("index", int, default=None)


class ThreadRealtimeClosedNotification(Record):
    """EXPERIMENTAL - emitted when thread realtime transport closes."""

    __slots__ = ()
    reason: str | None = field("reason", str, default=None)
    thread_id: str = field("threadId", str)


class ThreadRealtimeErrorNotification(Record):
    """EXPERIMENTAL - emitted when thread realtime encounters an error."""

    __slots__ = ()
    message: str = field("message", str)
    thread_id: str = field("threadId", str)


class ThreadRealtimeItem(Record):
    """EXPERIMENTAL - a thread-scoped realtime item in the canonical timeline."""

    __slots__ = ()
    id: str = field("id", str)
    realtime_session_id: str = field("realtimeSessionId", str)
    type: str = field("type", str)
    role: str | None = field("role", str, default=None)
    text: str | None = field("text", str, default=None)
    item_id: str | None = field("item_id", str, default=None)
    presentation: ThreadRealtimeBemItemPresentation | None = field("presentation", "ThreadRealtimeBemItemPresentation", default=None)
    turn_id: str | None = field("turn_id", str, default=None)
    outcome: str | None = field("outcome", str, default=None)


class ThreadRealtimeItemAddedNotification(Record):
    """EXPERIMENTAL - raw non-audio thread realtime item emitted by the backend."""

    __slots__ = ()
    item: Any = field("item")
    thread_id: str = field("threadId", str)


class ThreadRealtimeItemCompletedNotification(Record):
    """EXPERIMENTAL - a realtime timeline item published after canonical commit."""

    __slots__ = ()
    item: ThreadRealtimeItem = field("item", "ThreadRealtimeItem")
    thread_id: str = field("threadId", str)


class ThreadRealtimeItemStartedNotification(Record):
    """EXPERIMENTAL - a realtime timeline item started before its content streams."""

    __slots__ = ()
    item: ThreadRealtimeItem = field("item", "ThreadRealtimeItem")
    thread_id: str = field("threadId", str)


class ThreadRealtimeItemTranscriptDeltaNotification(Record):
    """EXPERIMENTAL - text appended to an active realtime transcript item."""

    __slots__ = ()
    delta: str = field("delta", str)
    item_id: str = field("itemId", str)
    thread_id: str = field("threadId", str)


class ThreadRealtimeOutputAudioDeltaNotification(Record):
    """EXPERIMENTAL - streamed output audio emitted by thread realtime."""

    __slots__ = ()
    audio: ThreadRealtimeAudioChunk = field("audio", "ThreadRealtimeAudioChunk")
    thread_id: str = field("threadId", str)


class ThreadRealtimeSdpNotification(Record):
    """EXPERIMENTAL - emitted with the remote SDP for a WebRTC realtime session."""

    __slots__ = ()
    sdp: str = field("sdp", str)
    thread_id: str = field("threadId", str)


class ThreadRealtimeStartedNotification(Record):
    """EXPERIMENTAL - emitted when thread realtime startup is accepted."""

    __slots__ = ()
    realtime_session_id: str | None = field("realtimeSessionId", str, default=None)
    thread_id: str = field("threadId", str)
    version: str = field("version", str)


class ThreadRealtimeTranscriptDeltaNotification(Record):
    """EXPERIMENTAL - flat transcript delta emitted whenever realtime transcript text changes."""

    __slots__ = ()
    delta: str = field("delta", str)
    role: str = field("role", str)
    thread_id: str = field("threadId", str)


class ThreadRealtimeTranscriptDoneNotification(Record):
    """EXPERIMENTAL - final transcript text emitted when realtime completes a transcript part."""

    __slots__ = ()
    role: str = field("role", str)
    text: str = field("text", str)
    thread_id: str = field("threadId", str)


class ThreadResumeInitialTurnsPageParams(Record):
    """`ThreadResumeInitialTurnsPageParams` of the protocol."""

    __slots__ = ()
    items_view: str | None = field("itemsView", str, default=None)
    limit: int | None = field("limit", int, default=None)
    sort_direction: str | None = field("sortDirection", str, default=None)


class ThreadResumeParams(Record):
    """There are three ways to resume a thread: 1. By thread_id: load the thread from disk by thread_id
    and resume it. 2. By history: instantiate the thread from memory and resume it. 3. By path: load
    the thread from disk by path and resume it. For non-running threads, the precedence is: history
    > non-empty path > thread_id. If using history or a non-empty path for a non-running thread, the
    thread_id param will be ignored. If thread_id identifies a running thread, app-server rejoins
    that thread and treats a non-empty path as a consistency check against the active rollout path.
    Empty string path values are treated as absent. Prefer using thread_id whenever possible.
    """

    __slots__ = ()
    approval_policy: Any = field("approvalPolicy", default=None)
    approvals_reviewer: str | None = field("approvalsReviewer", str, default=None)
    base_instructions: str | None = field("baseInstructions", str, default=None)
    config: dict[str, Any] | None = field("config", dict, default=None)
    cwd: str | None = field("cwd", str, default=None)
    developer_instructions: str | None = field("developerInstructions", str, default=None)
    exclude_turns: bool | None = field("excludeTurns", bool, default=None)
    history: list[ResponseItem] | None = field("history", ListOf("ResponseItem"), default=None)
    initial_turns_page: ThreadResumeInitialTurnsPageParams | None = field("initialTurnsPage", "ThreadResumeInitialTurnsPageParams", default=None)
    model: str | None = field("model", str, default=None)
    model_provider: str | None = field("modelProvider", str, default=None)
    path: str | None = field("path", str, default=None)
    permissions: str | None = field("permissions", str, default=None)
    personality: str | None = field("personality", str, default=None)
    runtime_workspace_roots: list[str] | None = field("runtimeWorkspaceRoots", ListOf(str), default=None)
    sandbox: str | None = field("sandbox", str, default=None)
    service_tier: str | None = field("serviceTier", str, default=None)
    thread_id: str = field("threadId", str)


class ThreadResumeResponse(Record):
    """`ThreadResumeResponse` of the protocol."""

    __slots__ = ()
    active_permission_profile: ActivePermissionProfile | None = field("activePermissionProfile", "ActivePermissionProfile", default=None)
    approval_policy: Any = field("approvalPolicy")
    approvals_reviewer: str = field("approvalsReviewer", str)
    collaboration_mode: CollaborationMode | None = field("collaborationMode", "CollaborationMode", default=None)
    cwd: str = field("cwd", str)
    disabled_plugin_ids: list[str] = field("disabledPluginIds", ListOf(str), default=[])
    initial_turns_page: TurnsPage | None = field("initialTurnsPage", "TurnsPage", default=None)
    instruction_sources: list[str] = field("instructionSources", ListOf(str), default=[])
    items_backwards_cursor: str | None = field("itemsBackwardsCursor", str, default=None)
    model: str = field("model", str)
    model_provider: str = field("modelProvider", str)
    multi_agent_mode: Any = field("multiAgentMode", default=None)
    reasoning_effort: str | None = field("reasoningEffort", str, default=None)
    runtime_workspace_roots: list[str] = field("runtimeWorkspaceRoots", ListOf(str), default=[])
    sandbox: SandboxPolicy = field("sandbox", "SandboxPolicy")
    service_tier: str | None = field("serviceTier", str, default=None)
    thread: Thread = field("thread", "Thread")
    turns_backwards_cursor: str | None = field("turnsBackwardsCursor", str, default=None)


class ThreadRevertedNotification(Record):
    """`ThreadRevertedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadSection(Record):
    """An independently persisted, user-visible thread section."""

    __slots__ = ()
    appearance: ThreadSectionAppearance | None = field("appearance", "ThreadSectionAppearance", default=None)
    id: str = field("id", str)
    name: str = field("name", str)


class ThreadSectionAppearance(Record):
    """Extensible visual presentation for a custom thread section."""

    __slots__ = ()
    color: str | None = field("color", str, default=None)
    icon: str | None = field("icon", str, default=None)


class ThreadSetNameParams(Record):
    """`ThreadSetNameParams` of the protocol."""

    __slots__ = ()
    name: str = field("name", str)
    thread_id: str = field("threadId", str)


class ThreadSetNameResponse(Record):
    """`ThreadSetNameResponse` of the protocol."""

    __slots__ = ()


class ThreadSettings(Record):
    """`ThreadSettings` of the protocol."""

    __slots__ = ()
    active_permission_profile: ActivePermissionProfile | None = field("activePermissionProfile", "ActivePermissionProfile", default=None)
    approval_policy: Any = field("approvalPolicy")
    approvals_reviewer: str = field("approvalsReviewer", str)
    collaboration_mode: CollaborationMode = field("collaborationMode", "CollaborationMode")
    cwd: str = field("cwd", str)
    disabled_plugin_ids: list[str] = field("disabledPluginIds", ListOf(str), default=[])
    effort: str | None = field("effort", str, default=None)
    model: str = field("model", str)
    model_provider: str = field("modelProvider", str)
    multi_agent_mode: Any = field("multiAgentMode", default=None)
    personality: str | None = field("personality", str, default=None)
    sandbox_policy: SandboxPolicy = field("sandboxPolicy", "SandboxPolicy")
    service_tier: str | None = field("serviceTier", str, default=None)
    summary: str | None = field("summary", str, default=None)


class ThreadSettingsUpdatedNotification(Record):
    """`ThreadSettingsUpdatedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)
    thread_settings: ThreadSettings = field("threadSettings", "ThreadSettings")


class ThreadStartParams(Record):
    """`ThreadStartParams` of the protocol."""

    __slots__ = ()
    allow_provider_model_fallback: bool | None = field("allowProviderModelFallback", bool, default=None)
    approval_policy: Any = field("approvalPolicy", default=None)
    approvals_reviewer: str | None = field("approvalsReviewer", str, default=None)
    base_instructions: str | None = field("baseInstructions", str, default=None)
    config: dict[str, Any] | None = field("config", dict, default=None)
    cwd: str | None = field("cwd", str, default=None)
    daybreak_enabled: bool | None = field("daybreakEnabled", bool, default=None)
    developer_instructions: str | None = field("developerInstructions", str, default=None)
    dynamic_tools: list[DynamicToolSpec] | None = field("dynamicTools", ListOf("DynamicToolSpec"), default=None)
    environments: list[TurnEnvironmentParams] | None = field("environments", ListOf("TurnEnvironmentParams"), default=None)
    ephemeral: bool | None = field("ephemeral", bool, default=None)
    experimental_raw_events: bool | None = field("experimentalRawEvents", bool, default=None)
    history_mode: str | None = field("historyMode", str, default=None)
    mock_experimental_field: str | None = field("mockExperimentalField", str, default=None)
    model: str | None = field("model", str, default=None)
    model_provider: str | None = field("modelProvider", str, default=None)
    multi_agent_mode: Any = field("multiAgentMode", default=None)
    permissions: str | None = field("permissions", str, default=None)
    personality: str | None = field("personality", str, default=None)
    project_id: str | None = field("projectId", str, default=None)
    runtime_workspace_roots: list[str] | None = field("runtimeWorkspaceRoots", ListOf(str), default=None)
    sandbox: str | None = field("sandbox", str, default=None)
    selected_capability_roots: list[SelectedCapabilityRoot] | None = field("selectedCapabilityRoots", ListOf("SelectedCapabilityRoot"), default=None)
    service_name: str | None = field("serviceName", str, default=None)
    service_tier: str | None = field("serviceTier", str, default=None)
    session_start_source: str | None = field("sessionStartSource", str, default=None)
    thread_source: str | None = field("threadSource", str, default=None)


class ThreadStartResponse(Record):
    """`ThreadStartResponse` of the protocol."""

    __slots__ = ()
    active_permission_profile: ActivePermissionProfile | None = field("activePermissionProfile", "ActivePermissionProfile", default=None)
    approval_policy: Any = field("approvalPolicy")
    approvals_reviewer: str = field("approvalsReviewer", str)
    cwd: str = field("cwd", str)
    disabled_plugin_ids: list[str] = field("disabledPluginIds", ListOf(str), default=[])
    instruction_sources: list[str] = field("instructionSources", ListOf(str), default=[])
    model: str = field("model", str)
    model_provider: str = field("modelProvider", str)
    multi_agent_mode: Any = field("multiAgentMode", default=None)
    reasoning_effort: str | None = field("reasoningEffort", str, default=None)
    runtime_workspace_roots: list[str] = field("runtimeWorkspaceRoots", ListOf(str), default=[])
    sandbox: SandboxPolicy = field("sandbox", "SandboxPolicy")
    service_tier: str | None = field("serviceTier", str, default=None)
    thread: Thread = field("thread", "Thread")


class ThreadStartedNotification(Record):
    """`ThreadStartedNotification` of the protocol."""

    __slots__ = ()
    thread: Thread = field("thread", "Thread")


class ThreadStatus(Record):
    """`ThreadStatus` of the protocol."""

    __slots__ = ()
    type: str = field("type", str)
    active_flags: list[str] | None = field("activeFlags", ListOf(str), default=None)


class ThreadStatusChangedNotification(Record):
    """`ThreadStatusChangedNotification` of the protocol."""

    __slots__ = ()
    status: ThreadStatus = field("status", "ThreadStatus")
    thread_id: str = field("threadId", str)


class ThreadTokenUsage(Record):
    """`ThreadTokenUsage` of the protocol."""

    __slots__ = ()
    last: TokenUsageBreakdown = field("last", "TokenUsageBreakdown")
    model_context_window: int | None = field("modelContextWindow", int, default=None)
    total: TokenUsageBreakdown = field("total", "TokenUsageBreakdown")


class ThreadTokenUsageUpdatedNotification(Record):
    """`ThreadTokenUsageUpdatedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)
    token_usage: ThreadTokenUsage = field("tokenUsage", "ThreadTokenUsage")
    turn_id: str = field("turnId", str)


class ThreadTurnsListParams(Record):
    """`ThreadTurnsListParams` of the protocol."""

    __slots__ = ()
    cursor: str | None = field("cursor", str, default=None)
    items_view: str | None = field("itemsView", str, default=None)
    limit: int | None = field("limit", int, default=None)
    sort_direction: str | None = field("sortDirection", str, default=None)
    thread_id: str = field("threadId", str)


class ThreadTurnsListResponse(Record):
    """`ThreadTurnsListResponse` of the protocol."""

    __slots__ = ()
    backwards_cursor: str | None = field("backwardsCursor", str, default=None)
    data: list[Turn] = field("data", ListOf("Turn"))
    next_cursor: str | None = field("nextCursor", str, default=None)


class ThreadUnarchiveParams(Record):
    """`ThreadUnarchiveParams` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadUnarchiveResponse(Record):
    """`ThreadUnarchiveResponse` of the protocol."""

    __slots__ = ()
    thread: Thread = field("thread", "Thread")


class ThreadUnarchivedNotification(Record):
    """`ThreadUnarchivedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadUnreadPosition(Record):
    """`ThreadUnreadPosition` of the protocol."""

    __slots__ = ()
    type: str = field("type", str)
    turn_id: str | None = field("turnId", str, default=None)


class ThreadUnsubscribeParams(Record):
    """`ThreadUnsubscribeParams` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)


class ThreadUnsubscribeResponse(Record):
    """`ThreadUnsubscribeResponse` of the protocol."""

    __slots__ = ()
    status: str = field("status", str)


class TokenUsageBreakdown(Record):
    """`TokenUsageBreakdown` of the protocol."""

    __slots__ = ()
    cache_write_input_tokens: int = field("cacheWriteInputTokens", int, default=0)
    cached_input_tokens: int = field("cachedInputTokens", int)
    input_tokens: int = field("inputTokens", int)
    output_tokens: int = field("outputTokens", int)
    reasoning_output_tokens: int = field("reasoningOutputTokens", int)
    total_tokens: int = field("totalTokens", int)


class Tool(Record):
    """Definition for a tool the client can call."""

    __slots__ = ()
    meta: Any = field("_meta", default=None)
    annotations: Any = field("annotations", default=None)
    description: str | None = field("description", str, default=None)
    icons: list[Any] | None = field("icons", ListOf(None), default=None)
    input_schema: Any = field("inputSchema")
    name: str = field("name", str)
    output_schema: Any = field("outputSchema", default=None)
    title: str | None = field("title", str, default=None)


class ToolRequestUserInputAnswer(Record):
    """EXPERIMENTAL. Captures a user's answer to a request_user_input question."""

    __slots__ = ()
    answers: list[str] = field("answers", ListOf(str))


class ToolRequestUserInputOption(Record):
    """EXPERIMENTAL. Defines a single selectable option for request_user_input."""

    __slots__ = ()
    description: str = field("description", str)
    label: str = field("label", str)


class ToolRequestUserInputParams(Record):
    """EXPERIMENTAL. Params sent with a request_user_input event."""

    __slots__ = ()
    auto_resolution_ms: int | None = field("autoResolutionMs", int, default=None)
    is_blocking: bool = field("isBlocking", bool)
    item_id: str = field("itemId", str)
    questions: list[ToolRequestUserInputQuestion] = field("questions", ListOf("ToolRequestUserInputQuestion"))
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class ToolRequestUserInputQuestion(Record):
    """EXPERIMENTAL. Represents one request_user_input question and its required options."""

    __slots__ = ()
    header: str = field("header", str)
    id: str = field("id", str)
    is_other: bool = field("isOther", bool, default=False)
    is_secret: bool = field("isSecret", bool, default=False)
    options: list[ToolRequestUserInputOption] | None = field("options", ListOf("ToolRequestUserInputOption"), default=None)
    question: str = field("question", str)


class ToolRequestUserInputResponse(Record):
    """EXPERIMENTAL. Response payload mapping question ids to answers."""

    __slots__ = ()
    answers: dict[str, ToolRequestUserInputAnswer] = field("answers", MapOf("ToolRequestUserInputAnswer"))


class ToolsV2(Record):
    """`ToolsV2` of the protocol."""

    __slots__ = ()
    web_search: WebSearchToolConfig | None = field("web_search", "WebSearchToolConfig", default=None)


class Turn(Record):
    """`Turn` of the protocol."""

    __slots__ = ()
    completed_at: int | None = field("completedAt", int, default=None)
    duration_ms: int | None = field("durationMs", int, default=None)
    error: TurnError | None = field("error", "TurnError", default=None)
    id: str = field("id", str)
    items: list[ThreadItem] = field("items", ListOf("ThreadItem"))
    items_view: str = field("itemsView", str, default="full")
    root_turn_id: str | None = field("rootTurnId", str, default=None)
    started_at: int | None = field("startedAt", int, default=None)
    status: str = field("status", str)


class TurnCompletedNotification(Record):
    """`TurnCompletedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)
    turn: Turn = field("turn", "Turn")


class TurnDiffUpdatedNotification(Record):
    """Notification that the turn-level unified diff has changed. Contains the latest aggregated diff
    across all file changes in the turn.
    """

    __slots__ = ()
    diff: str = field("diff", str)
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class TurnEnvironmentParams(Record):
    """`TurnEnvironmentParams` of the protocol."""

    __slots__ = ()
    cwd: str = field("cwd", str)
    environment_id: str = field("environmentId", str)
    runtime_workspace_roots: list[str] | None = field("runtimeWorkspaceRoots", ListOf(str), default=None)


class TurnError(Record):
    """`TurnError` of the protocol."""

    __slots__ = ()
    additional_details: str | None = field("additionalDetails", str, default=None)
    codex_error_info: Any = field("codexErrorInfo", default=None)
    message: str = field("message", str)
    misalignment: MisalignmentErrorDetails | None = field("misalignment", "MisalignmentErrorDetails", default=None)


class TurnInterruptParams(Record):
    """`TurnInterruptParams` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class TurnInterruptResponse(Record):
    """`TurnInterruptResponse` of the protocol."""

    __slots__ = ()


class TurnModerationMetadataNotification(Record):
    """`TurnModerationMetadataNotification` of the protocol."""

    __slots__ = ()
    metadata: Any = field("metadata")
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class TurnPlanStep(Record):
    """`TurnPlanStep` of the protocol."""

    __slots__ = ()
    status: str = field("status", str)
    step: str = field("step", str)


class TurnPlanUpdatedNotification(Record):
    """`TurnPlanUpdatedNotification` of the protocol."""

    __slots__ = ()
    explanation: str | None = field("explanation", str, default=None)
    plan: list[TurnPlanStep] = field("plan", ListOf("TurnPlanStep"))
    thread_id: str = field("threadId", str)
    turn_id: str = field("turnId", str)


class TurnStartParams(Record):
    """`TurnStartParams` of the protocol."""

    __slots__ = ()
    additional_context: dict[str, AdditionalContextEntry] | None = field("additionalContext", MapOf("AdditionalContextEntry"), default=None)
    approval_policy: Any = field("approvalPolicy", default=None)
    approvals_reviewer: str | None = field("approvalsReviewer", str, default=None)
    client_user_message_id: str | None = field("clientUserMessageId", str, default=None)
    collaboration_mode: CollaborationMode | None = field("collaborationMode", "CollaborationMode", default=None)
    cwd: str | None = field("cwd", str, default=None)
    cyber_access_program: str | None = field("cyberAccessProgram", str, default=None)
    disabled_plugin_ids: list[str] | None = field("disabledPluginIds", ListOf(str), default=None)
    effort: str | None = field("effort", str, default=None)
    environments: list[TurnEnvironmentParams] | None = field("environments", ListOf("TurnEnvironmentParams"), default=None)
    input: list[UserInput] = field("input", ListOf("UserInput"))
    model: str | None = field("model", str, default=None)
    multi_agent_mode: Any = field("multiAgentMode", default=None)
    output_schema: Any = field("outputSchema", default=None)
    parent_turn_id: str | None = field("parentTurnId", str, default=None)
    permissions: str | None = field("permissions", str, default=None)
    personality: str | None = field("personality", str, default=None)
    responsesapi_client_metadata: dict[str, str] | None = field("responsesapiClientMetadata", MapOf(str), default=None)
    root_turn_id: str | None = field("rootTurnId", str, default=None)
    runtime_workspace_roots: list[str] | None = field("runtimeWorkspaceRoots", ListOf(str), default=None)
    sandbox_policy: SandboxPolicy | None = field("sandboxPolicy", "SandboxPolicy", default=None)
    service_tier: str | None = field("serviceTier", str, default=None)
    service_tier_for_turn: str | None = field("serviceTierForTurn", str, default=None)
    summary: str | None = field("summary", str, default=None)
    thread_id: str = field("threadId", str)
    tool_output: TurnToolOutput | None = field("toolOutput", "TurnToolOutput", default=None)
    turn_trigger: str | None = field("turnTrigger", str, default=None)


class TurnStartResponse(Record):
    """`TurnStartResponse` of the protocol."""

    __slots__ = ()
    turn: Turn = field("turn", "Turn")


class TurnStartedNotification(Record):
    """`TurnStartedNotification` of the protocol."""

    __slots__ = ()
    thread_id: str = field("threadId", str)
    turn: Turn = field("turn", "Turn")


class TurnSteerParams(Record):
    """`TurnSteerParams` of the protocol."""

    __slots__ = ()
    additional_context: dict[str, AdditionalContextEntry] | None = field("additionalContext", MapOf("AdditionalContextEntry"), default=None)
    client_user_message_id: str | None = field("clientUserMessageId", str, default=None)
    expected_turn_id: str = field("expectedTurnId", str)
    input: list[UserInput] = field("input", ListOf("UserInput"))
    responsesapi_client_metadata: dict[str, str] | None = field("responsesapiClientMetadata", MapOf(str), default=None)
    thread_id: str = field("threadId", str)


class TurnSteerResponse(Record):
    """`TurnSteerResponse` of the protocol."""

    __slots__ = ()
    turn_id: str = field("turnId", str)


class TurnToolOutput(Record):
    """`TurnToolOutput` of the protocol."""

    __slots__ = ()
    name: str = field("name", str)
    namespace: str | None = field("namespace", str, default=None)
    output: Any = field("output")
    retain: bool | None = field("retain", bool, default=None)


class TurnsPage(Record):
    """`TurnsPage` of the protocol."""

    __slots__ = ()
    backwards_cursor: str | None = field("backwardsCursor", str, default=None)
    data: list[Turn] = field("data", ListOf("Turn"))
    next_cursor: str | None = field("nextCursor", str, default=None)


class UserInput(Record):
    """`UserInput` of the protocol."""

    __slots__ = ()
    text: str | None = field("text", str, default=None)
    text_elements: list[TextElement] = field("text_elements", ListOf("TextElement"), default=[])
    type: str = field("type", str)
    detail: str | None = field("detail", str, default=None)
    url: str | None = field("url", str, default=None)
    file_id: str | None = field("fileId", str, default=None)
    path: str | None = field("path", str, default=None)
    name: str | None = field("name", str, default=None)


class WarningNotification(Record):
    """`WarningNotification` of the protocol."""

    __slots__ = ()
    message: str = field("message", str)
    thread_id: str | None = field("threadId", str, default=None)


class WebSearchAction(Record):
    """`WebSearchAction` of the protocol."""

    __slots__ = ()
    queries: list[str] | None = field("queries", ListOf(str), default=None)
    query: str | None = field("query", str, default=None)
    type: str = field("type", str)
    url: str | None = field("url", str, default=None)
    pattern: str | None = field("pattern", str, default=None)


class WebSearchLocation(Record):
    """`WebSearchLocation` of the protocol."""

    __slots__ = ()
    city: str | None = field("city", str, default=None)
    country: str | None = field("country", str, default=None)
    region: str | None = field("region", str, default=None)
    timezone: str | None = field("timezone", str, default=None)


class WebSearchToolConfig(Record):
    """`WebSearchToolConfig` of the protocol."""

    __slots__ = ()
    allowed_domains: list[str] | None = field("allowed_domains", ListOf(str), default=None)
    context_size: str | None = field("context_size", str, default=None)
    location: WebSearchLocation | None = field("location", "WebSearchLocation", default=None)


class WindowsSandboxSetupCompletedNotification(Record):
    """`WindowsSandboxSetupCompletedNotification` of the protocol."""

    __slots__ = ()
    error: str | None = field("error", str, default=None)
    mode: str = field("mode", str)
    success: bool = field("success", bool)


class WindowsWorldWritableWarningNotification(Record):
    """`WindowsWorldWritableWarningNotification` of the protocol."""

    __slots__ = ()
    extra_count: int = field("extraCount", int)
    failed_scan: bool = field("failedScan", bool)
    sample_paths: list[str] = field("samplePaths", ListOf(str))


class WorkspaceRouting(Record):
    """`WorkspaceRouting` of the protocol."""

    __slots__ = ()
    account_routing_override: str = field("accountRoutingOverride", str)
    backend_origin: str = field("backendOrigin", str)
    chatgpt_account_id: str = field("chatgptAccountId", str)


CLIENT_PARAMS: Final[dict[str, type[Record]]] = {
    "account/login/start": LoginAccountParams,
    "account/read": GetAccountParams,
    "config/read": ConfigReadParams,
    "initialize": InitializeParams,
    "mcpServerStatus/list": ListMcpServerStatusParams,
    "model/list": ModelListParams,
    "review/start": ReviewStartParams,
    "thread/archive": ThreadArchiveParams,
    "thread/backgroundTerminals/clean": ThreadBackgroundTerminalsCleanParams,
    "thread/compact/start": ThreadCompactStartParams,
    "thread/fork": ThreadForkParams,
    "thread/goal/clear": ThreadGoalClearParams,
    "thread/goal/get": ThreadGoalGetParams,
    "thread/goal/set": ThreadGoalSetParams,
    "thread/inject_items": ThreadInjectItemsParams,
    "thread/items/list": ThreadItemsListParams,
    "thread/list": ThreadListParams,
    "thread/loaded/list": ThreadLoadedListParams,
    "thread/name/set": ThreadSetNameParams,
    "thread/read": ThreadReadParams,
    "thread/resume": ThreadResumeParams,
    "thread/start": ThreadStartParams,
    "thread/turns/list": ThreadTurnsListParams,
    "thread/unarchive": ThreadUnarchiveParams,
    "thread/unsubscribe": ThreadUnsubscribeParams,
    "turn/interrupt": TurnInterruptParams,
    "turn/start": TurnStartParams,
    "turn/steer": TurnSteerParams,
}
"""The params of each client method of the surface."""

CLIENT_RESULTS: Final[dict[str, type[Record]]] = {
    "account/login/start": LoginAccountResponse,
    "account/rateLimits/read": GetAccountRateLimitsResponse,
    "account/read": GetAccountResponse,
    "config/read": ConfigReadResponse,
    "initialize": InitializeResponse,
    "mcpServerStatus/list": ListMcpServerStatusResponse,
    "model/list": ModelListResponse,
    "review/start": ReviewStartResponse,
    "thread/archive": ThreadArchiveResponse,
    "thread/backgroundTerminals/clean": ThreadBackgroundTerminalsCleanResponse,
    "thread/compact/start": ThreadCompactStartResponse,
    "thread/fork": ThreadForkResponse,
    "thread/goal/clear": ThreadGoalClearResponse,
    "thread/goal/get": ThreadGoalGetResponse,
    "thread/goal/set": ThreadGoalSetResponse,
    "thread/inject_items": ThreadInjectItemsResponse,
    "thread/items/list": ThreadItemsListResponse,
    "thread/list": ThreadListResponse,
    "thread/loaded/list": ThreadLoadedListResponse,
    "thread/name/set": ThreadSetNameResponse,
    "thread/read": ThreadReadResponse,
    "thread/resume": ThreadResumeResponse,
    "thread/start": ThreadStartResponse,
    "thread/turns/list": ThreadTurnsListResponse,
    "thread/unarchive": ThreadUnarchiveResponse,
    "thread/unsubscribe": ThreadUnsubscribeResponse,
    "turn/interrupt": TurnInterruptResponse,
    "turn/start": TurnStartResponse,
    "turn/steer": TurnSteerResponse,
}
"""The result of each client method of the surface."""

NOTIFICATIONS: Final[dict[str, type[Record]]] = {
    "account/gatewayOAuth/changed": GatewayOAuthChangedNotification,
    "account/login/completed": AccountLoginCompletedNotification,
    "account/rateLimits/updated": AccountRateLimitsUpdatedNotification,
    "account/updated": AccountUpdatedNotification,
    "app/list/updated": AppListUpdatedNotification,
    "autoApprovalReview/strictReviewRequired": StrictReviewRequiredNotification,
    "command/exec/outputDelta": CommandExecOutputDeltaNotification,
    "configWarning": ConfigWarningNotification,
    "deprecationNotice": DeprecationNoticeNotification,
    "error": ErrorNotification,
    "externalAgentConfig/import/completed": ExternalAgentConfigImportCompletedNotification,
    "externalAgentConfig/import/progress": ExternalAgentConfigImportProgressNotification,
    "fs/changed": FsChangedNotification,
    "fuzzyFileSearch/sessionCompleted": FuzzyFileSearchSessionCompletedNotification,
    "fuzzyFileSearch/sessionUpdated": FuzzyFileSearchSessionUpdatedNotification,
    "guardianWarning": GuardianWarningNotification,
    "hook/completed": HookCompletedNotification,
    "hook/started": HookStartedNotification,
    "item/agentMessage/delta": AgentMessageDeltaNotification,
    "item/autoApprovalReview/completed": ItemGuardianApprovalReviewCompletedNotification,
    "item/autoApprovalReview/started": ItemGuardianApprovalReviewStartedNotification,
    "item/commandExecution/outputDelta": CommandExecutionOutputDeltaNotification,
    "item/commandExecution/terminalInteraction": TerminalInteractionNotification,
    "item/completed": ItemCompletedNotification,
    "item/fileChange/outputDelta": FileChangeOutputDeltaNotification,
    "item/fileChange/patchUpdated": FileChangePatchUpdatedNotification,
    "item/mcpToolCall/progress": McpToolCallProgressNotification,
    "item/plan/delta": PlanDeltaNotification,
    "item/reasoning/summaryPartAdded": ReasoningSummaryPartAddedNotification,
    "item/reasoning/summaryTextDelta": ReasoningSummaryTextDeltaNotification,
    "item/reasoning/textDelta": ReasoningTextDeltaNotification,
    "item/started": ItemStartedNotification,
    "mcpServer/event/stream/notification": McpServerEventStreamNotification,
    "mcpServer/oauthLogin/completed": McpServerOauthLoginCompletedNotification,
    "mcpServer/startupStatus/updated": McpServerStatusUpdatedNotification,
    "model/rerouted": ModelReroutedNotification,
    "model/safetyBuffering/updated": ModelSafetyBufferingUpdatedNotification,
    "model/verification": ModelVerificationNotification,
    "modelProvider/authRecoveryCompleted": AuthRecoveryNotification,
    "modelProvider/authRecoveryStarted": AuthRecoveryNotification,
    "process/exited": ProcessExitedNotification,
    "process/outputDelta": ProcessOutputDeltaNotification,
    "project/changed": ProjectChangedNotification,
    "remoteControl/status/changed": RemoteControlStatusChangedNotification,
    "serverRequest/resolved": ServerRequestResolvedNotification,
    "skills/changed": SkillsChangedNotification,
    "thread/archived": ThreadArchivedNotification,
    "thread/attachment/updated": ThreadAttachmentUpdatedNotification,
    "thread/closed": ThreadClosedNotification,
    "thread/compacted": ContextCompactedNotification,
    "thread/deleted": ThreadDeletedNotification,
    "thread/environment/connected": EnvironmentConnectionNotification,
    "thread/environment/disconnected": EnvironmentConnectionNotification,
    "thread/goal/cleared": ThreadGoalClearedNotification,
    "thread/goal/updated": ThreadGoalUpdatedNotification,
    "thread/name/updated": ThreadNameUpdatedNotification,
    "thread/prediction/updated": ThreadPredictionUpdatedNotification,
    "thread/project/updated": ThreadProjectUpdatedNotification,
    "thread/queue/changed": ThreadQueueChangedNotification,
    "thread/readState/changed": ThreadReadStateChangedNotification,
    "thread/realtime/closed": ThreadRealtimeClosedNotification,
    "thread/realtime/error": ThreadRealtimeErrorNotification,
    "thread/realtime/item/completed": ThreadRealtimeItemCompletedNotification,
    "thread/realtime/item/started": ThreadRealtimeItemStartedNotification,
    "thread/realtime/item/transcript/delta": ThreadRealtimeItemTranscriptDeltaNotification,
    "thread/realtime/itemAdded": ThreadRealtimeItemAddedNotification,
    "thread/realtime/outputAudio/delta": ThreadRealtimeOutputAudioDeltaNotification,
    "thread/realtime/sdp": ThreadRealtimeSdpNotification,
    "thread/realtime/started": ThreadRealtimeStartedNotification,
    "thread/realtime/transcript/delta": ThreadRealtimeTranscriptDeltaNotification,
    "thread/realtime/transcript/done": ThreadRealtimeTranscriptDoneNotification,
    "thread/reverted": ThreadRevertedNotification,
    "thread/settings/updated": ThreadSettingsUpdatedNotification,
    "thread/started": ThreadStartedNotification,
    "thread/status/changed": ThreadStatusChangedNotification,
    "thread/tokenUsage/updated": ThreadTokenUsageUpdatedNotification,
    "thread/unarchived": ThreadUnarchivedNotification,
    "turn/completed": TurnCompletedNotification,
    "turn/diff/updated": TurnDiffUpdatedNotification,
    "turn/moderationMetadata": TurnModerationMetadataNotification,
    "turn/plan/updated": TurnPlanUpdatedNotification,
    "turn/started": TurnStartedNotification,
    "warning": WarningNotification,
    "windows/worldWritableWarning": WindowsWorldWritableWarningNotification,
    "windowsSandbox/setupCompleted": WindowsSandboxSetupCompletedNotification,
}
"""The params of each notification."""

SERVER_REQUESTS: Final[dict[str, type[Record]]] = {
    "account/chatgptAuthTokens/refresh": ChatgptAuthTokensRefreshParams,
    "applyPatchApproval": ApplyPatchApprovalParams,
    "attestation/generate": AttestationGenerateParams,
    "currentTime/read": CurrentTimeReadParams,
    "execCommandApproval": ExecCommandApprovalParams,
    "item/commandExecution/requestApproval": CommandExecutionRequestApprovalParams,
    "item/fileChange/requestApproval": FileChangeRequestApprovalParams,
    "item/permissions/requestApproval": PermissionsRequestApprovalParams,
    "item/tool/call": DynamicToolCallParams,
    "item/tool/requestUserInput": ToolRequestUserInputParams,
    "mcpServer/elicitation/request": McpServerElicitationRequestParams,
}
"""The params of each server request."""

SERVER_RESULTS: Final[dict[str, type[Record]]] = {
    "account/chatgptAuthTokens/refresh": ChatgptAuthTokensRefreshResponse,
    "applyPatchApproval": ApplyPatchApprovalResponse,
    "attestation/generate": AttestationGenerateResponse,
    "currentTime/read": CurrentTimeReadResponse,
    "execCommandApproval": ExecCommandApprovalResponse,
    "item/commandExecution/requestApproval": CommandExecutionRequestApprovalResponse,
    "item/fileChange/requestApproval": FileChangeRequestApprovalResponse,
    "item/permissions/requestApproval": PermissionsRequestApprovalResponse,
    "item/tool/call": DynamicToolCallResponse,
    "item/tool/requestUserInput": ToolRequestUserInputResponse,
    "mcpServer/elicitation/request": McpServerElicitationRequestResponse,
}
"""The answer to each server request."""
