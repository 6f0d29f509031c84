//! What real servers answer, and what it means.

use super::*;
use hermes_types::Concession::{
    CacheHints, EncryptedReasoning, Images, LongContext, MaxTokens, ReasoningEffort, SchemaPatterns, Signatures,
    StreamOptions, Temperature, ToolResultParts,
};
use hermes_types::FaultKind as K;
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

/// Status, body as it came, what it is.
#[rustfmt::skip] // one answer, one line
const ANSWERS: &[(u16, &str, FaultKind)] = &[
    // OpenAI
    (401, r#"{"error":{"message":"Incorrect API key provided: sk-proj-****abcd. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#, K::Auth),
    (403, r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}"#, K::Entitlement),
    (404, r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#, K::ModelNotFound),
    (429, r#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 3000. Please try again in 4s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#, K::RateLimit),
    (429, r#"{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#, K::PayloadTooLarge),
    (429, r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#, K::Billing),
    (400, r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#, K::ContextOverflow),
    (400, r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#, K::Refused(MaxTokens)),
    (400, r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#, K::Refused(Temperature)),
    (400, r#"{"error":{"message":"Unsupported value: 'xhigh' is not supported with the 'gpt-5' model.","type":"invalid_request_error","param":"reasoning.effort","code":"unsupported_value"}}"#, K::Refused(ReasoningEffort)),
    (400, r#"{"error":{"message":"Unrecognized request argument supplied: reasoning_effort","type":"invalid_request_error","param":null,"code":null}}"#, K::Refused(ReasoningEffort)),
    (400, r#"{"error":{"message":"Unrecognized request argument supplied: prompt_cache_key","type":"invalid_request_error","param":null,"code":null}}"#, K::Refused(CacheHints)),
    (400, r#"{"error":{"message":"Unsupported parameter: 'logprobs' is not supported with this model.","type":"invalid_request_error","param":"logprobs","code":"unsupported_parameter"}}"#, K::BadRequest),
    (400, r#"{"error":{"message":"The encrypted content gAAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}"#, K::Refused(EncryptedReasoning)),
    (400, r#"{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}"#, K::ContentBlocked),
    (400, r#"{"error":{"message":"Invalid 'messages[3]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.","type":"invalid_request_error","param":"messages[3]","code":"invalid_value"}}"#, K::Refused(ToolResultParts)),
    (400, r#"{"error":{"message":"Invalid image data.","type":"invalid_request_error","param":"input[0].content[1].image_url","code":"invalid_value"}}"#, K::Refused(Images)),
    (400, r#"{"error":{"message":"The image data you provided does not represent a valid image.","type":"invalid_request_error","param":null,"code":"invalid_base64_image"}}"#, K::Refused(Images)),
    (500, r#"{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}"#, K::ServerError),
    (503, r#"{"error":{"message":"Our servers are currently overloaded. Please try again later.","type":"service_unavailable_error","code":"server_is_overloaded"}}"#, K::Overloaded),
    // Codex backend
    (429, r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":1738888888,"resets_in_seconds":301}}"#, K::RateLimit),
    (401, r#"{"error":{"message":"Your authentication token has been invalidated. Please try signing in again.","type":null,"code":"token_invalidated","param":null}}"#, K::AuthPermanent),
    (401, r#"{"error":{"message":"Provided authentication token is expired.","code":"token_expired"}}"#, K::Auth),
    (400, r#"{"detail":"The 'gpt-5-pro' model is not supported when using Codex with a ChatGPT account."}"#, K::ModelNotFound),
    (400, r#"{"detail":"Unsupported parameter: max_output_tokens"}"#, K::Refused(MaxTokens)),
    (402, r#"{"detail":{"code":"deactivated_workspace"}}"#, K::AuthPermanent),
    // Anthropic
    (401, r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#, K::Auth),
    (403, r#"{"type":"error","error":{"type":"permission_error","message":"OAuth authentication is currently not allowed for this organization."}}"#, K::Entitlement),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#, K::Billing),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 212345 tokens > 200000 maximum"}}"#, K::ContextOverflow),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}"#, K::ContextOverflow),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5"}}"#, K::Refused(MaxTokens)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#, K::Refused(Signatures)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.5.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."}}"#, K::Refused(Signatures)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block."}}"#, K::Refused(ReasoningEffort)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"adaptive thinking is not supported on this model"}}"#, K::Refused(ReasoningEffort)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"The long context beta is not yet available for this subscription."}}"#, K::Refused(LongContext)),
    (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}}"#, K::Refused(LongContext)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes"}}"#, K::Refused(Images)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted"}}"#, K::Refused(CacheHints)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"A maximum of 4 blocks with cache_control may be provided. Found 5."}}"#, K::Refused(CacheHints)),
    (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#, K::ContentBlocked),
    (413, r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#, K::PayloadTooLarge),
    (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"}}"#, K::ModelNotFound),
    (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute."}}"#, K::RateLimit),
    (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, K::Overloaded),
    // OpenRouter
    (402, r#"{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 2000.","code":402,"metadata":{"provider_name":null}}}"#, K::Billing),
    (429, r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"qwen/qwen3:free is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits","provider_name":"Chutes"}}}"#, K::UpstreamRateLimit),
    (429, r#"{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1741305600000"}}}}"#, K::RateLimit),
    (400, r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This model's maximum context length is 131072 tokens.\",\"code\":\"context_length_exceeded\"}}","provider_name":"Azure"}}}"#, K::ContextOverflow),
    (404, r#"{"error":{"message":"No endpoints found matching your data policy (Free model publication). Configure: https://openrouter.ai/settings/privacy","code":404}}"#, K::PolicyBlocked),
    (404, r#"{"error":{"message":"No endpoints found for nobody/nothing.","code":404}}"#, K::ModelNotFound),
    (404, r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#, K::Refused(Images)),
    (400, r#"{"error":{"message":"nobody/nothing is not a valid model ID","code":400}}"#, K::ModelNotFound),
    (400, r#"{"error":{"message":"Reasoning is mandatory for this endpoint and cannot be disabled.","code":400}}"#, K::Refused(ReasoningEffort)),
    (403, r#"{"error":{"message":"openai/gpt-4o requires moderation on OpenAI. Your input was flagged for \"violence\".","code":403,"metadata":{"reasons":["violence"],"flagged_input":"…"}}}"#, K::ContentBlocked),
    (403, r#"{"error":{"message":"Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys","code":403}}"#, K::Billing),
    (502, r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream connect error","provider_name":"X"}}}"#, K::ServerError),
    // Gemini
    (400, r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}]"#, K::Auth),
    (429, r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 10","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"23s"}]}}"#, K::RateLimit),
    (400, r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#, K::ContextOverflow),
    (404, r#"{"error":{"code":404,"message":"models/gemini-nope is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}"#, K::ModelNotFound),
    (400, r#"{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}"#, K::Entitlement),
    (400, r#"{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}"#, K::Refused(Signatures)),
    (400, r#"{"error":{"code":400,"message":"Budget 0 is invalid. This model only works in thinking mode.","status":"INVALID_ARGUMENT"}}"#, K::Refused(ReasoningEffort)),
    (400, r#"{"error":{"code":400,"message":"GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[x].format: only 'enum' and 'date-time' are supported for STRING type","status":"INVALID_ARGUMENT"}}"#, K::Refused(SchemaPatterns)),
    (503, r#"{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}"#, K::Overloaded),
    (504, r#"{"error":{"code":504,"message":"Deadline expired before operation could complete.","status":"DEADLINE_EXCEEDED"}}"#, K::Timeout),
    // DeepSeek
    (402, r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#, K::Billing),
    (400, r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#, K::ModelNotFound),
    (400, r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#, K::ContentBlocked),
    (400, r#"{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 999","type":"invalid_request_error"}}"#, K::Refused(Images)),
    (400, r#"{"error":{"message":"The `reasoning_content` in the thinking mode must be passed back to the API.","type":"invalid_request_error"}}"#, K::BadRequest),
    // Z.AI, Kimi, MiniMax, DashScope
    (400, r#"{"error":{"code":"1210","message":"Invalid API parameter, please check the documentation."}}"#, K::Refused(MaxTokens)),
    (429, r#"{"error":{"code":"1302","message":"High concurrency usage of this API, please reduce concurrency"}}"#, K::RateLimit),
    (429, r#"{"error":{"code":"1305","message":"The service may be temporarily overloaded, please try again later"}}"#, K::Overloaded),
    (429, r#"{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}"#, K::Billing),
    (429, r#"{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}"#, K::Overloaded),
    (429, r#"{"error":{"message":"Your account is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}"#, K::Billing),
    (400, r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144","type":"invalid_request_error"}}"#, K::ContextOverflow),
    (400, r#"{"error":{"message":"invalid temperature: only 1 is allowed for this model","type":"invalid_request_error"}}"#, K::Refused(Temperature)),
    (200, r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#, K::Billing),
    (200, r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#, K::RateLimit),
    (500, r#"{"type":"error","error":{"type":"api_error","message":"insufficient balance (1008)"},"request_id":"r"}"#, K::Billing),
    (429, r#"{"type":"error","error":{"type":"insufficient_balance_error","message":"please recharge"}}"#, K::Billing),
    (400, r#"{"code":"DataInspectionFailed","message":"Input data may contain inappropriate content.","request_id":"r"}"#, K::ContentBlocked),
    (400, r#"{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","type":"invalid_request_error","code":"invalid_parameter_error"}}"#, K::ContextOverflow),
    (400, r#"{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}"#, K::Billing),
    (400, r#"{"error":{"code":"InvalidParameter","message":"Request rate increased too quickly. To ensure system stability, please adjust your client logic."}}"#, K::RateLimit),
    // Mistral, Groq, xAI, Hugging Face
    (401, r#"{"message":"Unauthorized","request_id":"abc"}"#, K::Auth),
    (429, r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}"#, K::Overloaded),
    (422, r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}"#, K::Refused(StreamOptions)),
    (400, r#"{"object":"error","message":"Invalid model: mistral-nope","type":"invalid_model","param":null,"code":"1500"}"#, K::ModelNotFound),
    (413, r#"{"error":{"message":"Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}"#, K::PayloadTooLarge),
    (429, r#"{"error":{"message":"Rate limit reached for model `x` on tokens per day (TPD): Limit 500000, Used 499000. Please try again in 7m11.5s. Upgrade to Dev Tier today at https://console.groq.com/settings/billing","type":"tokens","code":"rate_limit_exceeded"}}"#, K::RateLimit),
    (400, r#"{"error":{"message":"`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model","type":"invalid_request_error","param":"max_tokens"}}"#, K::Refused(MaxTokens)),
    (403, r#"{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai."}"#, K::Billing),
    (400, r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}"#, K::ContextOverflow),
    (400, r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***ey. You can obtain an API key from https://console.x.ai."}"#, K::Auth),
    (400, r#"{"error":"The requested model 'x/y' is not supported by any provider you have enabled."}"#, K::ModelNotFound),
    // Local servers
    (404, r#"{"error":"model 'llama9' not found, try pulling it first"}"#, K::ModelNotFound),
    (400, r#"{"error":{"message":"\"qwen2.5:7b\" does not support thinking","type":"invalid_request_error"}}"#, K::Refused(ReasoningEffort)),
    (400, r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#, K::ContextOverflow),
    (400, r#"{"error":{"code":400,"message":"failed to parse grammar","type":"invalid_request_error"}}"#, K::Refused(SchemaPatterns)),
    (500, r#"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#, K::Refused(Images)),
    (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, K::Overloaded),
    (400, r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages.","type":"BadRequestError","param":null,"code":400}"#, K::ContextOverflow),
    (400, r#"{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 3900 input tokens.","type":"BadRequestError","param":null,"code":400}"#, K::Refused(MaxTokens)),
    (400, r#"{"object":"error","message":"This model's maximum context length is 40960 tokens. However, you requested 66036 tokens (500 in the messages, 65536 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#, K::Refused(MaxTokens)),
    (400, r#"{"object":"error","message":"Requested token count exceeds the model's maximum context length of 40960 tokens. You requested a total of 66036 tokens: 500 tokens from the input messages and 65536 tokens for the completion.","type":"BadRequestError","param":null,"code":400}"#, K::Refused(MaxTokens)),
    (400, r#"{"object":"error","message":"x is not a multimodal model","type":"BadRequestError","param":null,"code":400}"#, K::Refused(Images)),
    (400, r#"{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}"#, K::ContextOverflow),
    (400, r#"{"error":{"message":"No models loaded. Please load a model in the developer page or use the `lms load` command.","type":"invalid_request_error"}}"#, K::ModelNotFound),
    (400, r#"{"detail":"stream_options is only allowed when stream is enabled"}"#, K::Refused(StreamOptions)),
    // Azure, Copilot, proxies
    (404, r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#, K::ModelNotFound),
    (400, r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#, K::ContentBlocked),
    (429, r#"{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation have exceeded call rate limit. Please retry after 38 seconds."}}"#, K::RateLimit),
    (401, "unauthorized: token expired\n", K::Auth),
    (400, r#"{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#, K::ContextOverflow),
    (400, r#"{"error":{"message":"The requested model is not supported.","code":"model_not_supported","param":"model","type":"invalid_request_error"}}"#, K::ModelNotFound),
    (402, r#"{"error":{"message":"Weekly usage limit reached, resets in 3hr 20min","code":"quota_exceeded"}}"#, K::RateLimit),
    (413, "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body><center><h1>413 Request Entity Too Large</h1></center><hr><center>nginx</center></body></html>", K::PayloadTooLarge),
    (502, "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>", K::ServerError),
    (524, "<!DOCTYPE html><html><head><title>api.example.com | 524: A timeout occurred</title></head><body>Cloudflare</body></html>", K::Timeout),
    (403, "<!DOCTYPE html><html lang=\"en-US\"><head><title>Just a moment...</title></head><body></body></html>", K::Entitlement),
    (500, "", K::ServerError),
    (404, "404 page not found", K::Unknown),
    (404, "", K::Unknown),
    (405, r#"{"detail":"Method Not Allowed"}"#, K::BadRequest),
    (408, "", K::Timeout),
    (302, "", K::Unknown),
];

#[test]
fn every_answer_is_what_it_is() {
    let wrong: Vec<String> = ANSWERS
        .iter()
        .map(|(status, body, kind)| (from_response(*status, &[], body.as_bytes()), *kind))
        .filter(|(fault, kind)| fault.kind != *kind)
        .map(|(fault, kind)| format!("{:?}, not {kind:?}: {}", fault.kind, fault.message))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_that_comes_over_the_wire_is_reached() {
    let local = [
        K::Stalled,
        K::Unreachable,
        K::NoRoute,
        K::Tls,
        K::EmptyStream,
        K::Malformed,
        K::WrongOrigin,
        K::NotConfigured,
        K::Interrupted,
    ];
    let expected = K::ALL.into_iter().filter(|kind| !local.contains(kind));
    let missing: Vec<FaultKind> = expected.filter(|kind| !ANSWERS.iter().any(|(_, _, seen)| seen == kind)).collect();
    assert_eq!(missing, []);
}

#[test]
fn a_person_reads_the_providers_own_words() {
    let table = [
        (
            429,
            r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#,
            "HTTP 429: Rate limit reached",
        ),
        (
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"too hot\"}}"}}}"#,
            "HTTP 400: Provider returned error: too hot",
        ),
        (502, "<html><head><title>502 Bad Gateway</title></head></html>", "HTTP 502: Bad Gateway"),
        (500, "", "HTTP 500: provider error"),
        (
            422,
            r#"{"detail":[{"loc":["body"],"msg":"field required"},{"msg":"too short"}]}"#,
            "HTTP 422: field required: too short",
        ),
        (400, "data: {\"error\":{\"message\":\"said in a stream\"}}\n\n", "HTTP 400: said in a stream"),
        (401, r#"{"error":"bad key sk-live-1234567890"}"#, "HTTP 401: bad key «redacted»"),
    ];
    for (status, body, expected) in table {
        assert_eq!(from_response(status, &[], body.as_bytes()).message, expected);
    }
    let endless = format!(r#"{{"error":{{"message":"{}"}}}}"#, "é".repeat(10_000));
    assert_eq!(from_response(400, &[], endless.as_bytes()).message.chars().count(), LONGEST_MESSAGE);
}

#[test]
fn a_whole_fault() {
    let headers = [
        ("date".to_owned(), "Fri, 07 Feb 2025 00:40:00 GMT".to_owned()),
        ("retry-after".to_owned(), "Fri, 07 Feb 2025 00:41:30 GMT".to_owned()),
    ];
    let body = br#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#;
    assert_eq!(
        from_response(429, &headers, body),
        Fault {
            kind: K::RateLimit,
            status: Some(429),
            code: Some("rate_limit_error".into()),
            message: "HTTP 429: Slow down".into(),
            retry_after: Some(Duration::from_secs(90)),
            window: None,
        }
    );
}

#[test]
fn only_a_stated_wait_turns_a_debt_into_a_limit() {
    let body = br#"{"error":"Your team has used all available credits."}"#;
    let kind = |name: &str, value: &str| from_response(429, &[(name.to_owned(), value.to_owned())], body).kind;
    assert_eq!(kind("x-ratelimit-reset-requests", "2s"), K::Billing);
    assert_eq!(kind("retry-after", "120"), K::RateLimit);
}

#[test]
fn errors_inside_a_stream_need_no_status() {
    let table = [
        (json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}), K::Overloaded, None),
        (json!({"type": "error", "error": {"type": "api_error", "message": "Internal"}}), K::ServerError, None),
        (json!({"error": {"message": "Provider returned error", "code": 429}}), K::UpstreamRateLimit, Some(429)),
        (json!({"code": "rate_limit_exceeded", "message": "Rate limit reached"}), K::RateLimit, None),
        (json!({"code": "server_error", "message": "An error occurred"}), K::ServerError, None),
        (json!({"type": "error", "code": "context_length_exceeded", "message": "too long"}), K::ContextOverflow, None),
        (
            json!({"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "no"}}}),
            K::ContentBlocked,
            None,
        ),
        (json!({"error": "boom"}), K::Unknown, None),
        (json!("boom"), K::Unknown, None),
        (json!(null), K::Unknown, None),
    ];
    for (body, kind, status) in table {
        let fault = from_error_body(None, &body);
        assert_eq!((fault.kind, fault.status), (kind, status), "{body}");
        assert_eq!(from_error_body(Some(200), &body), fault, "200 says nothing");
    }
}

proptest! {
    /// Hostile bodies neither panic nor leak nor flood.
    #[test]
    fn any_body_becomes_a_bounded_message(status in 100u16..700, body in prop::collection::vec(any::<u8>(), 0..300), text in "(<html>|\\{|\"error\":|\\[|data: | sk-abcdefghij1234567890\"|[a-z<>&;\"é ]{0,6}|\\}){0,20}") {
        for body in [body.as_slice(), text.as_bytes()] {
            let fault = from_response(status, &[], body);
            prop_assert!(fault.message.chars().count() <= LONGEST_MESSAGE);
            prop_assert!(!fault.message.contains("sk-abcdefghij1234567890"), "{}", fault.message);
        }
    }
}
