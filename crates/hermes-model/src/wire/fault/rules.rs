//! What codes, request fields, words and statuses mean. Data only; a new vendor's dialect is a new row.

use hermes_types::{Concession, FaultKind};

use FaultKind as K;

/// Codes that say more than the HTTP status they come with. Lower-case; `base_resp:` marks MiniMax's own numbers, bare
/// numbers are Z.AI's.
const CODES: &[(FaultKind, &[&str])] = &[
    (
        K::ContentBlocked,
        &[
            "content_filter",
            "content_policy_violation",
            "content_policy_blocked",
            "image_content_policy_violation",
            "responsibleaipolicyviolation",
            "data_inspection_failed",
            "datainspectionfailed",
            "moderation_blocked",
            "prohibited_content",
            "invalid_prompt",
            "1301",
            "base_resp:1026",
            "base_resp:1027",
        ],
    ),
    (K::Refused(Concession::EncryptedReasoning), &["invalid_encrypted_content"]),
    (
        K::Refused(Concession::Images),
        &[
            "image_too_large",
            "image_too_small",
            "image_file_too_large",
            "image_parse_error",
            "image_file_not_found",
            "invalid_image",
            "invalid_image_format",
            "invalid_image_mode",
            "invalid_image_url",
            "invalid_base64_image",
            "unsupported_image_media_type",
            "empty_image_file",
            "failed_to_download_image",
        ],
    ),
    (K::Refused(Concession::MaxTokens), &["1210"]),
    (
        K::ContextOverflow,
        &[
            "context_length_exceeded",
            "context_window_exceeded",
            "model_context_window_exceeded",
            "exceed_context_size_error",
            "model_max_prompt_tokens_exceeded",
            "tokens_limit_reached",
            "prompt_too_long",
            "1261",
            "base_resp:1039",
        ],
    ),
    (K::PayloadTooLarge, &["request_too_large", "payload_too_large", "string_above_max_length"]),
    (
        K::ModelNotFound,
        &[
            "model_not_found",
            "modelnotfound",
            "model_not_exist",
            "model_not_supported",
            "model_not_available",
            "model_decommissioned",
            "model_deprecated",
            "invalid_model",
            "unknown_model",
            "unsupported_model",
            "unsupported_api_for_model",
            "deploymentnotfound",
            "resource_not_found_error",
            "1211",
        ],
    ),
    (
        K::AuthPermanent,
        &[
            "token_invalidated",
            "token_revoked",
            "invalid_grant",
            "unauthorized_client",
            "refresh_token_reused",
            "account_deactivated",
            "deactivated_workspace",
            "1111",
        ],
    ),
    (
        K::Auth,
        &[
            "invalid_api_key",
            "invalidapikey",
            "incorrect_api_key",
            "api_key_invalid",
            "invalid_authentication_error",
            "token_expired",
            "expired_token",
            "invalid_token",
            "1000",
            "1001",
            "1002",
            "1003",
            "1004",
            "base_resp:1004",
        ],
    ),
    (
        K::Billing,
        &[
            "insufficient_quota",
            "insufficient_balance",
            "insufficient_balance_error",
            "insufficient_credits",
            "insufficient_user_quota",
            "exceeded_current_quota_error",
            "billing_error",
            "billing_not_active",
            "billing_hard_limit_reached",
            "credit_balance_too_low",
            "balance_depleted",
            "payment_required",
            "arrearage",
            "allocationquota.freetieronly",
            "1113",
            "base_resp:1008",
        ],
    ),
    (
        K::Entitlement,
        &[
            "unsupported_country_region_territory",
            "usage_not_included",
            "organization_restricted",
            "access_terminated_error",
            "model.accessdenied",
            "1220",
        ],
    ),
    (
        K::Overloaded,
        &[
            "overloaded_error",
            "engine_overloaded_error",
            "server_is_overloaded",
            "service_tier_capacity_exceeded",
            "slow_down",
            "1305",
        ],
    ),
    (K::RateLimit, &["usage_limit_reached", "1302", "1303", "1308", "base_resp:1002", "base_resp:2056"]),
];

/// Codes that say what an HTTP status would have said. They count where no status came.
const COMMON_CODES: &[(FaultKind, &[&str])] = &[
    (K::Auth, &["authentication_error", "unauthenticated", "unauthorized"]),
    (K::Entitlement, &["permission_error", "permission_denied", "access_denied", "forbidden"]),
    (
        K::RateLimit,
        &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limited",
            "rate_limit_reached_error",
            "resource_exhausted",
            "throttlingexception",
            "throttling",
            "throttling.ratequota",
            "too_many_requests",
        ],
    ),
    (K::Overloaded, &["unavailable", "service_unavailable", "service_unavailable_error"]),
    (K::Timeout, &["timeout", "timeout_error", "deadline_exceeded", "vector_store_timeout"]),
    (K::ServerError, &["server_error", "api_error", "internal_error", "internal", "internal_server_error"]),
    (K::ModelNotFound, &["not_found_error", "not_found"]),
    (
        K::BadRequest,
        &["invalid_request_error", "badrequesterror", "invalid_argument", "bad_request", "invalid_parameter_error"],
    ),
];

/// Request fields a body may blame, and what we can do without.
const PARAMS: &[(&str, Concession)] = &[
    ("temperature", Concession::Temperature),
    ("max_tokens", Concession::MaxTokens),
    ("max_completion_tokens", Concession::MaxTokens),
    ("max_output_tokens", Concession::MaxTokens),
    ("stream_options", Concession::StreamOptions),
    ("reasoning", Concession::ReasoningEffort),
    ("thinking", Concession::ReasoningEffort),
    ("enable_thinking", Concession::ReasoningEffort),
    ("image_url", Concession::Images),
    ("cache_control", Concession::CacheHints),
    ("prompt_cache_key", Concession::CacheHints),
];

/// Stands for "there was no status" in the lists below.
const NONE: u16 = 0;
/// Statuses under which a refused request arrives; proxies turn 400 into 500.
const REFUSAL: &[u16] = &[NONE, 400, 404, 415, 422, 500, 501, 502];
const BLOCKED: &[u16] = &[NONE, 400, 403, 404, 422, 451, 500];
const TOO_LONG: &[u16] = &[NONE, 400, 413, 422, 500, 502, 503];
const UNPAID: &[u16] = &[NONE, 400, 403, 404, 429];
const UNPAID_MAYBE: &[u16] = &[NONE, 403, 404, 429];
const BUSY: &[u16] = &[NONE, 429, 500, 502, 503];
const SLOWED: &[u16] = &[NONE, 400, 403, 500, 503];
const UNKNOWN_MODEL: &[u16] = &[NONE, 400, 403, 404, 422, 500, 501];
const REFUSED_KEY: &[u16] = &[NONE, 400, 403];

/// All the words of a row must occur (lower-case), under one of its statuses. The first row wins.
#[rustfmt::skip] // one row, one line
const PHRASES: &[(&[u16], FaultKind, &[&str])] = &[
    (BLOCKED, K::PolicyBlocked, &["data policy"]),
    (BLOCKED, K::ContentBlocked, &["flagged as potentially violating"]),
    (BLOCKED, K::ContentBlocked, &["violat", "usage polic"]),
    (BLOCKED, K::ContentBlocked, &["content management policy"]),
    (BLOCKED, K::ContentBlocked, &["content policy"]),
    (BLOCKED, K::ContentBlocked, &["content filtering policy"]),
    (BLOCKED, K::ContentBlocked, &["our safety system"]),
    (BLOCKED, K::ContentBlocked, &["inappropriate content"]),
    (BLOCKED, K::ContentBlocked, &["input was flagged"]),
    (BLOCKED, K::ContentBlocked, &["requires moderation", "flagged"]),
    (BLOCKED, K::ContentBlocked, &["prompt was blocked"]),
    (BLOCKED, K::ContentBlocked, &["content exists risk"]),
    (BLOCKED, K::ContentBlocked, &["prohibited content"]),

    (REFUSAL, K::Refused(Concession::CacheHints), &["cache_control"]),
    (REFUSAL, K::Refused(Concession::CacheHints), &["prompt_cache_key"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["must start with a thinking block"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["budget_tokens"]),
    (REFUSAL, K::Refused(Concession::Signatures), &["thinking", "signature"]),
    (REFUSAL, K::Refused(Concession::Signatures), &["thinking", "cannot be modified"]),
    (REFUSAL, K::Refused(Concession::Signatures), &["thinking is disabled", "cannot contain"]),
    (REFUSAL, K::Refused(Concession::Signatures), &["thought signature", "not valid"]),
    (REFUSAL, K::Refused(Concession::Signatures), &["corrupted thought signature"]),
    (REFUSAL, K::Refused(Concession::EncryptedReasoning), &["encrypted content", "could not be"]),
    (REFUSAL, K::Refused(Concession::EncryptedReasoning), &["encrypted content", "not supported"]),
    (REFUSAL, K::Refused(Concession::EncryptedReasoning), &["encrypted_content", "invalid"]),
    (REFUSAL, K::Refused(Concession::LongContext), &["long context beta"]),
    (REFUSAL, K::Refused(Concession::LongContext), &["context-1m"]),
    (&[429, 400], K::Refused(Concession::LongContext), &["extra usage", "long context"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["parse grammar"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["parsing grammar"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["invalid grammar"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["failed to initialize samplers"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["unable to generate parser"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["json schema conversion failed"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["are supported for string type"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["invalid schema", "pattern"]),
    (REFUSAL, K::Refused(Concession::SchemaPatterns), &["invalid schema", "format"]),

    (REFUSAL, K::Refused(Concession::ToolResultParts), &["role 'tool'", "image"]),
    (REFUSAL, K::Refused(Concession::ToolResultParts), &["role \"tool\"", "image"]),
    (REFUSAL, K::Refused(Concession::ToolResultParts), &["tool message", "string"]),
    (REFUSAL, K::Refused(Concession::ToolResultParts), &["tool message", "image"]),
    (REFUSAL, K::Refused(Concession::ToolResultParts), &["tool message", "only", "text"]),
    (REFUSAL, K::Refused(Concession::ToolResultParts), &["tool result", "only", "text"]),
    (REFUSAL, K::Refused(Concession::ToolResultParts), &["text is not set"]),
    (REFUSAL, K::Refused(Concession::Images), &["support image"]),
    (REFUSAL, K::Refused(Concession::Images), &["image input", "not"]),
    (REFUSAL, K::Refused(Concession::Images), &["images are not supported"]),
    (REFUSAL, K::Refused(Concession::Images), &["does not support vision"]),
    (REFUSAL, K::Refused(Concession::Images), &["not a multimodal model"]),
    (REFUSAL, K::Refused(Concession::Images), &["unknown variant `image_url`"]),
    (REFUSAL, K::Refused(Concession::Images), &["image_url", "not supported"]),
    (REFUSAL, K::Refused(Concession::Images), &["image exceeds"]),
    (REFUSAL, K::Refused(Concession::Images), &["image", "dimensions exceed"]),
    (REFUSAL, K::Refused(Concession::Images), &["image", "too large"]),
    (REFUSAL, K::Refused(Concession::Images), &["could not process image"]),
    (REFUSAL, K::Refused(Concession::Images), &["unable to process input image"]),
    (REFUSAL, K::Refused(Concession::Images), &["invalid image"]),
    (REFUSAL, K::Refused(Concession::Images), &["unsupported image"]),
    (REFUSAL, K::Refused(Concession::Images), &["mmproj"]),

    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_completion_tokens", "is too large"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["in the completion"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["for the completion"]),
    (TOO_LONG, K::ContextOverflow, &["context length"]),
    (TOO_LONG, K::ContextOverflow, &["context window"]),
    (TOO_LONG, K::ContextOverflow, &["context size"]),
    (TOO_LONG, K::ContextOverflow, &["context limit"]),
    (TOO_LONG, K::ContextOverflow, &["context the overflows"]),
    (TOO_LONG, K::ContextOverflow, &["prompt is too long"]),
    (TOO_LONG, K::ContextOverflow, &["prompt too long"]),
    (TOO_LONG, K::ContextOverflow, &["maximum prompt length"]),
    (TOO_LONG, K::ContextOverflow, &["prompt token count", "exceed"]),
    (TOO_LONG, K::ContextOverflow, &["input token count", "exceed"]),
    (TOO_LONG, K::ContextOverflow, &["input is too long"]),
    (TOO_LONG, K::ContextOverflow, &["range of input length"]),
    (TOO_LONG, K::ContextOverflow, &["too many tokens"]),
    (TOO_LONG, K::ContextOverflow, &["token limit", "exceeded"]),
    (TOO_LONG, K::ContextOverflow, &["`inputs` tokens", "must be <="]),
    (TOO_LONG, K::ContextOverflow, &["reduce the length of"]),
    (&[429], K::PayloadTooLarge, &["request too large for"]),

    (REFUSAL, K::BadRequest, &["reasoning_content", "passed back"]),
    (REFUSAL, K::Refused(Concession::Temperature), &["temperature", "not support"]),
    (REFUSAL, K::Refused(Concession::Temperature), &["temperature", "unsupported"]),
    (REFUSAL, K::Refused(Concession::Temperature), &["temperature", "invalid"]),
    (REFUSAL, K::Refused(Concession::Temperature), &["temperature", "only"]),
    (REFUSAL, K::Refused(Concession::Temperature), &["temperature", "deprecated"]),
    (REFUSAL, K::Refused(Concession::Temperature), &["temperature", "range"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_tokens", "not support"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_tokens", "unsupported"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_tokens", "less than or equal"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_tokens", "maximum"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_tokens", "too large"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_tokens", "range of"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_completion_tokens", "not permitted"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_completion_tokens", "unrecognized"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_output_tokens", "not support"]),
    (REFUSAL, K::Refused(Concession::MaxTokens), &["max_output_tokens", "unsupported"]),
    (REFUSAL, K::Refused(Concession::StreamOptions), &["stream_options"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["reasoning", "not support"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["reasoning", "unsupported"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["reasoning", "cannot be disabled"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["reasoning_effort", "not permitted"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["reasoning_effort", "unrecognized"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["reasoning_effort", "invalid"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["reasoning summaries"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["thinking", "not support"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["thinking", "unsupported"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["thinking", "only works"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["thinking", "unknown"]),
    (REFUSAL, K::Refused(Concession::ReasoningEffort), &["thinking", "not permitted"]),
    (REFUSAL, K::BadRequest, &["unsupported parameter"]),
    (REFUSAL, K::BadRequest, &["unknown parameter"]),
    (REFUSAL, K::BadRequest, &["unrecognized request argument"]),
    (REFUSAL, K::BadRequest, &["extra inputs are not permitted"]),
    (REFUSAL, K::BadRequest, &["validation error"]),

    (BUSY, K::Overloaded, &["overloaded"]),
    (BUSY, K::Overloaded, &["capacity exceeded"]),
    (BUSY, K::Overloaded, &["at capacity"]),
    (BUSY, K::Overloaded, &["too busy"]),
    (BUSY, K::Overloaded, &["high demand"]),
    (&[429], K::UpstreamRateLimit, &["provider returned error"]),
    (&[429], K::UpstreamRateLimit, &["rate-limited upstream"]),
    (SLOWED, K::RateLimit, &["rate limit"]),
    (SLOWED, K::RateLimit, &["rate-limit"]),
    (SLOWED, K::RateLimit, &["too many requests"]),
    (SLOWED, K::RateLimit, &["rate increased too quickly"]),
    (SLOWED, K::RateLimit, &["usage limit"]),

    (UNPAID, K::Billing, &["credit balance"]),
    (UNPAID, K::Billing, &["insufficient", "credit"]),
    (UNPAID, K::Billing, &["insufficient", "fund"]),
    (UNPAID, K::Billing, &["insufficient", "balance"]),
    (&[500], K::Billing, &["insufficient balance"]),
    (UNPAID, K::Billing, &["can only afford"]),
    (UNPAID, K::Billing, &["payment required"]),
    (UNPAID, K::Billing, &["out of funds"]),
    (UNPAID, K::Billing, &["balance_depleted"]),
    (UNPAID, K::Billing, &["spending limit"]),
    (UNPAID, K::Billing, &["key limit exceeded"]),
    (UNPAID, K::Billing, &["exceeded your current quota"]),
    (UNPAID, K::Billing, &["overdue"]),
    (&[402], K::Billing, &["usage limit"]),
    (UNPAID_MAYBE, K::Billing, &["credits"]),
    (UNPAID_MAYBE, K::Billing, &["billing"]),
    (UNPAID_MAYBE, K::Billing, &["free tier"]),
    (UNPAID_MAYBE, K::Billing, &["requires a subscription"]),
    (UNPAID_MAYBE, K::Billing, &["quota exceeded"]),
    (UNPAID_MAYBE, K::Billing, &["daily limit"]),
    (UNPAID_MAYBE, K::Billing, &["weekly limit"]),
    (UNPAID_MAYBE, K::Billing, &["tokens per day"]),
    (UNPAID_MAYBE, K::Billing, &["resource exhausted"]),

    (UNKNOWN_MODEL, K::Entitlement, &["location is not supported"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["model", "not found"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["model", "not exist"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["model", "is not supported"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["model", "not supported by"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["model", "is not available"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["not a valid model"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["invalid model"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["unknown model"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["unsupported model"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["no such model"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["no endpoints found"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["decommissioned"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["no models loaded"]),
    (UNKNOWN_MODEL, K::ModelNotFound, &["models/", "is not found"]),

    (REFUSED_KEY, K::Auth, &["api key"]),
    (REFUSED_KEY, K::Auth, &["api-key"]),
    (REFUSED_KEY, K::Auth, &["bad credentials"]),
    (REFUSED_KEY, K::Auth, &["token expired"]),
    (REFUSED_KEY, K::Auth, &["token has expired"]),
    (REFUSED_KEY, K::Auth, &["invalid token"]),
];

pub(super) fn by_code(codes: &[String]) -> Option<FaultKind> {
    look_up(CODES, codes)
}

pub(super) fn by_common_code(codes: &[String]) -> Option<FaultKind> {
    look_up(COMMON_CODES, codes)
}

fn look_up(table: &[(FaultKind, &[&str])], codes: &[String]) -> Option<FaultKind> {
    let row = table.iter().find(|(_, names)| codes.iter().any(|code| names.contains(&code.as_str())));
    row.map(|(kind, _)| *kind)
}

/// A field may be blamed by its path (`reasoning.effort`, `messages[3].content[1].image_url`).
pub(super) fn by_param(status: Option<u16>, params: &[String]) -> Option<FaultKind> {
    if !REFUSAL.contains(&status.unwrap_or(NONE)) {
        return None;
    }
    let names = |param: &str, field: &str| {
        param.split(['.', '[', ']']).any(|step| step == field || step.strip_suffix("_effort") == Some(field))
    };
    let row = PARAMS.iter().find(|(field, _)| params.iter().any(|param| names(param, field)));
    row.map(|(_, concession)| FaultKind::Refused(*concession))
}

pub(super) fn by_phrase(status: Option<u16>, text: &str) -> Option<FaultKind> {
    let status = status.unwrap_or(NONE);
    let applies = |on: &[u16], words: &[&str]| on.contains(&status) && words.iter().all(|word| text.contains(word));
    PHRASES.iter().find(|(on, _, words)| applies(on, words)).map(|(_, kind, _)| *kind)
}

pub(super) fn by_status(status: u16) -> Option<FaultKind> {
    Some(match status {
        401 => K::Auth,
        402 => K::Billing,
        403 => K::Entitlement,
        404 => return None,
        408 | 504 | 522 | 524 => K::Timeout,
        413 => K::PayloadTooLarge,
        429 => K::RateLimit,
        451 => K::ContentBlocked,
        // 498 is Groq's word for a full flex tier, 529 Anthropic's for full.
        498 | 503 | 529 => K::Overloaded,
        400..=499 => K::BadRequest,
        500..=599 => K::ServerError,
        _ => return None,
    })
}
