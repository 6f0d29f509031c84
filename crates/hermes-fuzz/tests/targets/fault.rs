//! Error answers of providers: always classified, always short, never with a secret in them.

use hermes_fuzz::{explore, mutants};
use hermes_model::wire::fault;
use proptest::prelude::*;
use std::time::Duration;

/// `SECRET` stands for a key that the server repeats.
const CORPUS: [&[u8]; 9] = [
    br#"{"error":{"message":"Incorrect API key provided: SECRET. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    br#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit. Authorization: Bearer SECRET"},"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"}"#,
    br#"[{"error":{"code":429,"message":"Quota exceeded for metric, retry in 37.5s","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"},{"reason":"API_KEY_INVALID","metadata":{"raw":"key=SECRET"}}]}}]"#,
    br#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"bad token 'SECRET'\",\"code\":\"SECRET\"}}","provider_name":"X"}}}"#,
    br#"{"detail":[{"loc":["body","temperature"],"msg":"value is not valid (SECRET)","type":"value_error"}]}"#,
    b"<!DOCTYPE html><html><head><title>502 Bad gateway</title></head><body>GET /v1/models?key=SECRET<script>x</script></body></html>",
    b"data: {\"error\":{\"message\":\"upstream said\\nSECRET\",\"type\":\"overloaded_error\"}}\n\n",
    b"upstream connect error or disconnect/reset before headers; token SECRET",
    b"{\"base_resp\":{\"status_code\":1004,\"status_msg\":\"login fail: SECRET\"},\"resets_at\":1767323999,\"retry_after\":\"12\"}",
];
const DICTIONARY: [&str; 18] = [
    " SECRET ",
    "\"SECRET\"",
    "=SECRET",
    "Bearer%20SECRET",
    "\"code\":\"SECRET\",",
    "\u{1b}[2J",
    "\u{0}",
    "<body>",
    "</title>",
    "<script>",
    "{\"error\":",
    "\"message\":{\"message\":",
    "try again in 9999999999 seconds",
    "1e308",
    "-1",
    "retry_after_ms",
    "é",
    "\\ud83d",
];

fn secrets() -> impl Strategy<Value = String> {
    let prefix = prop::sample::select(vec![
        "sk-",
        "sk-proj-",
        "sk-ant-api03-",
        "sk-or-v1-",
        "gsk_",
        "xai-",
        "AIzaSy",
        "ya29.",
        "ghp_",
        "gho_",
        "github_pat_",
        "hf_",
        "nvapi-",
        "pplx-",
        "eyJhbGciOi",
        "AKIA",
    ]);
    (prefix, "[A-Za-z0-9]{10,16}[0-9][A-Za-z0-9]{5,9}").prop_map(|(prefix, rest)| prefix.to_owned() + &rest)
}

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop::sample::select(vec![
        "retry-after",
        "retry-after-ms",
        "date",
        "x-ratelimit-reset-requests",
        "x-ratelimit-remaining-requests",
        "anthropic-ratelimit-tokens-reset",
        "content-type",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "1",
            "0",
            "-5",
            "1e300",
            "NaN",
            "inf",
            "1767323999",
            "1767323999000",
            "6m0s",
            "1.5s",
            "12ms",
            "Fri, 02 Jan 2026 03:04:05 GMT",
            "2026-01-02T03:04:05Z",
            "9999-12-31T23:59:59Z",
            "text/html",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    prop::collection::vec((name.prop_map(str::to_owned), value), 0..4)
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

/// A key is only a key where a word begins: in the middle of letters it is part of a name.
fn stands_alone(body: &str) -> bool {
    body.match_indices("SECRET").all(|(at, _)| !body.get(..at).unwrap_or_default().ends_with(is_letter))
}

#[test]
fn an_error_answer_becomes_a_short_fault_without_secrets() {
    explore((any::<u16>(), headers(), mutants(), secrets()), |(status, headers, mutant, secret)| {
        let mutated = mutant.of(&CORPUS, &DICTIONARY);
        let template = String::from_utf8_lossy(&mutated);
        let body = template.replace("SECRET", &secret);
        let fault = fault::from_response(400 + status % 200, &headers, body.as_bytes());
        prop_assert!((1..=500).contains(&fault.message.chars().count()), "{fault:?}\n{body}");
        prop_assert!(fault.code.as_ref().is_none_or(|code| code.chars().count() <= 80), "{fault:?}\n{body}");
        prop_assert!(
            fault.retry_after.is_none_or(|wait| wait <= Duration::from_secs(31 * 86_400)),
            "{fault:?}\n{body}"
        );
        let shown = format!("{} {}", fault.message, fault.code.clone().unwrap_or_default());
        prop_assert!(!shown.contains(|c: char| c.is_control()), "{fault:?}\n{body}");
        let leaks = shown.to_lowercase().contains(&secret.to_lowercase());
        prop_assert!(!leaks || !stands_alone(&template), "{fault:?}\n{body}");
        Ok(())
    });
}
