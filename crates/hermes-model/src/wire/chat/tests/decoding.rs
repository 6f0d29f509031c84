use super::super::ChatDecoder;
use crate::wire::{Decoder, End, sse};
use hermes_types::{Assistant, CallId, Content, Delta, Fault, FaultKind, Reply, StopReason, ToolCall, Usage, Usd};
use proptest::prelude::*;
use serde_json::{Value, json};

fn decode_text(events: &[String], end: End) -> (Vec<Delta>, Result<Reply, Fault>) {
    let mut decoder = Box::new(ChatDecoder::default());
    let mut out = Vec::new();
    for data in events {
        if let Err(fault) = decoder.event(sse::Event { name: "", data }, &mut out) {
            return (out, Err(fault));
        }
    }
    (out, decoder.finish(end))
}

fn decode(events: &[Value]) -> (Vec<Delta>, Reply) {
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    let (deltas, reply) = decode_text(&events, End::Whole);
    (deltas, reply.expect("a reply"))
}

#[expect(clippy::needless_pass_by_value, reason = "a literal reads better without a borrow")]
fn says(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn ends(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn text(text: &str) -> Delta {
    Delta::Text(text.into())
}

fn reply(message: Assistant) -> Reply {
    Reply { message, ..Reply::default() }
}

fn answer(content: &str, finish: StopReason) -> Assistant {
    Assistant { content: Some(content.into()), finish_reason: Some(finish), ..Assistant::default() }
}

#[test]
fn an_ordinary_stream() {
    let head = |delta: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
            "system_fingerprint": null, "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]})
    };
    let mut last = ends("stop");
    last["usage"] = json!(null);
    let events = [
        head(json!({"role": "assistant", "content": ""})),
        head(json!({"content": "Hel"})),
        head(json!({"content": "lo\n\"you\""})),
        last,
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 3, "cost": 0.5}}),
    ];
    let mut events: Vec<String> = events.iter().map(Value::to_string).collect();
    events.push("[DONE]".into());
    let (deltas, decoded) = decode_text(&events, End::Whole);
    assert_eq!(deltas, [Delta::Alive, text("Hel"), text("lo\n\"you\""), Delta::Alive, Delta::Alive, Delta::Alive]);
    assert_eq!(
        decoded,
        Ok(Reply {
            message: answer("Hello\n\"you\"", StopReason::Stop),
            usage: Some(Usage { input: 10, output: 3, cost: Usd::from_f64(0.5), ..Usage::default() }),
            model: Some("m-1".into()),
            id: Some("chatcmpl-1".into()),
            dropped: vec![],
            cut_off: false,
        })
    );
}

#[test]
fn two_calls_on_one_index_are_two_calls() {
    let piece = |call: Value| says(json!({"tool_calls": [call]}));
    let events = [
        piece(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}})),
        piece(json!({"index": 0, "function": {"arguments": "}"}})),
        piece(json!({"index": 0, "id": "b", "function": {"name": "g", "arguments": "{}"}})),
        ends("tool_calls"),
    ];
    let (deltas, decoded) = decode(&events);
    assert_eq!(
        deltas,
        [Delta::ToolCallStarted("f".into()), Delta::Alive, Delta::ToolCallStarted("g".into()), Delta::Alive]
    );
    let calls = vec![ToolCall::new(CallId::new("a"), "f", "{}"), ToolCall::new(CallId::new("b"), "g", "{}")];
    let message = Assistant { tool_calls: calls, finish_reason: Some(StopReason::ToolCalls), ..Assistant::default() };
    assert_eq!(decoded, reply(message));
}

#[test]
fn odd_shapes_of_calls_are_understood() {
    let call = |id: &str, arguments: &str| ToolCall::new(CallId::new(id), "f", arguments);
    let unnumbered = CallId::deterministic("f", r#"{"a":1}"#, 0);
    let mut signed = call("s", "{}");
    signed.extra_content = Some(json!({"google": {"thought_signature": "sig"}}));
    let table = [
        (
            json!({"tool_calls": [{"index": null, "id": 7, "function": {"name": "f", "arguments": "{}"}}]}),
            call("7", "{}"),
        ),
        (
            json!({"tool_calls": [{"index": "0", "id": "x", "function": {"name": "f", "arguments": {"a": 1}}}]}),
            call("x", r#"{"a":1}"#),
        ),
        (
            json!({"tool_calls": [{"function": {"name": "f", "arguments": "{\"a\":1}"}}]}),
            call(unnumbered.as_str(), r#"{"a":1}"#),
        ),
        (json!({"tool_calls": [{"id": "n", "function": {"name": "f", "arguments": null}}]}), call("n", "")),
        (json!({"function_call": {"name": "f", "arguments": "{\"a\":1}"}}), call(unnumbered.as_str(), r#"{"a":1}"#)),
        (
            json!({"tool_calls": [{"index": 0, "id": "s", "function": {"name": "f", "arguments": "{}"},
                "extra_content": {"google": {"thought_signature": "sig"}}}]}),
            signed,
        ),
    ];
    for (delta, expected) in table {
        let (_, decoded) = decode(&[says(delta.clone()), ends("stop")]);
        assert_eq!(decoded.message.tool_calls, [expected], "{delta}");
        assert_eq!(decoded.stop_reason(), StopReason::ToolCalls, "calls were made, whatever the server says");
    }
}

#[test]
fn odd_shapes_of_chunks_are_understood() {
    let events = [
        json!({"choices": null, "usage": {}}),
        json!({"choices": [], "usage": null, "error": null, "base_resp": {"status_code": 0, "status_msg": ""}}),
        json!({"choices": [{"index": 0, "delta": null, "finish_reason": ""}]}),
        json!({"choices": [{"index": 1, "delta": {"content": "another choice"}}, {"index": 0, "delta": {"content": "a"}}]}),
        json!({"choices": [{"delta": {"content": "b", "tool_calls": null, "refusal": null}}], "error": {}}),
        json!({"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "c"}]}}]}),
        json!({"choices": [{"delta": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}}]}),
        json!({"choices": "nonsense", "usage": {"prompt_tokens": 0, "completion_tokens": 0}}),
        json!([]),
        json!(7),
        json!({"choices": [{"delta": {}, "finish_reason": 1}]}),
    ];
    let (_, decoded) = decode(&events);
    let message = Assistant { reasoning: Some("hm".into()), ..answer("abc", StopReason::Other("1".into())) };
    let usage = Some(Usage { input: 4, output: 2, ..Usage::default() });
    assert_eq!(decoded, Reply { message, usage, ..Reply::default() });
}

#[test]
fn a_whole_object_is_a_stream_of_one() {
    let whole = json!({"id": "x", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": null,
        "message": {"role": "assistant", "content": "Hi.", "reasoning": "short", "tool_calls": null}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    let (deltas, decoded) = decode(&[whole]);
    assert_eq!(deltas, [Delta::Reasoning("short".into()), text("Hi.")]);
    let message = Assistant { reasoning: Some("short".into()), ..answer("Hi.", StopReason::Stop) };
    assert_eq!((decoded.message, decoded.cut_off), (message, false));
}

#[test]
fn calls_of_a_whole_message_are_told_apart_by_their_places() {
    let called =
        |name: &str, arguments: &str| json!({"type": "function", "function": {"name": name, "arguments": arguments}});
    let whole = json!({"choices": [{"finish_reason": "tool_calls", "message": {"content": null,
        "tool_calls": [called("now", ""), called("now", ""), called("read", r#"{"p":1}"#)]}}]});
    let (_, decoded) = decode(&[whole]);
    let call =
        |name: &str, arguments: &str, at| ToolCall::new(CallId::deterministic(name, arguments, at), name, arguments);
    assert_eq!(decoded.message.tool_calls, [call("now", "", 0), call("now", "", 1), call("read", r#"{"p":1}"#, 2)]);
}

#[test]
fn a_message_behind_a_stream_is_not_said_twice() {
    let repeated = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]});
    let (_, decoded) = decode(&[says(json!({"content": "Hi."})), repeated]);
    assert_eq!(decoded, reply(answer("Hi.", StopReason::Stop)));
}

#[test]
fn reasoning_is_read_from_every_field_once() {
    let events = [
        says(json!({"reasoning_content": "a", "reasoning": "a"})),
        says(json!({"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}]})),
        says(json!({"reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0}]})),
        says(json!({"content": "c"})),
        ends("stop"),
    ];
    let (deltas, decoded) = decode(&events);
    assert_eq!(
        deltas,
        [Delta::Reasoning("a".into()), Delta::Reasoning("b".into()), Delta::Alive, text("c"), Delta::Alive]
    );
    let details = json!({"type": "reasoning.text", "text": "b", "index": 0, "signature": "s"});
    let message = Assistant {
        reasoning: Some("ab".into()),
        reasoning_content: Some("ab".into()),
        reasoning_details: Some(vec![details]),
        ..answer("c", StopReason::Stop)
    };
    assert_eq!(decoded, reply(message));
}

#[test]
fn half_a_surrogate_pair_costs_one_character_wherever_it_stands() {
    let events = [
        r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"x\ud83d","signature":"s"}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"k":"\ude00"}}]}}]}"#,
        r#"{"choices":[{"finish_reason":"tool_calls"}]}"#,
    ];
    let (_, decoded) = decode_text(&events.map(str::to_owned), End::Whole);
    let message = decoded.expect("a reply").message;
    let details = json!({"type": "reasoning.text", "text": "x\u{fffd}", "signature": "s"});
    assert_eq!(message.reasoning_details, Some(vec![details]));
    assert_eq!(message.tool_calls.first().and_then(|call| call.extra_content.clone()), Some(json!({"k": "\u{fffd}"})));
    let broken = r#"{"error":{"code":429,"message":"slow \ud83d down"}}"#.to_owned();
    assert_eq!(decode_text(&[broken], End::Whole).1.expect_err("a fault").kind, FaultKind::RateLimit);
}

#[test]
fn words_an_aggregator_relays_are_not_the_providers_own() {
    let kept = |field: &str| {
        let (_, decoded) = decode(&[says(json!({field: "hm"})), says(json!({"content": "c"})), ends("stop")]);
        (decoded.message.reasoning, decoded.message.reasoning_content)
    };
    assert_eq!(kept("reasoning"), (Some("hm".into()), None));
    assert_eq!(kept("reasoning_content"), (Some("hm".into()), Some("hm".into())));
}

#[test]
fn what_a_vendor_wants_back_sealed_is_kept_with_the_message() {
    let events = [
        says(json!({"reasoning_text": "hm", "reasoning_opaque": "s1"})),
        says(json!({"content": "c", "extra_content": {"google": {"thought_signature": "sig"}}})),
        says(json!({"reasoning_opaque": "s2", "extra_content": {"google": {"thought": true}}})),
        ends("stop"),
    ];
    let (deltas, decoded) = decode(&events);
    assert_eq!(deltas, [Delta::Reasoning("hm".into()), text("c"), Delta::Alive, Delta::Alive]);
    let kept = json!({"reasoning_opaque": "s2", "extra_content": {"google": {"thought_signature": "sig"}}});
    let message = Assistant {
        reasoning: Some("hm".into()),
        extra: kept.as_object().cloned().expect("an object"),
        ..answer("c", StopReason::Stop)
    };
    assert_eq!(decoded, reply(message));
}

#[test]
fn details_alone_are_readable_but_no_field_of_their_own() {
    let events = [
        says(json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "sum", "index": 0}]})),
        says(json!({"content": "c"})),
        ends("stop"),
    ];
    let (deltas, decoded) = decode(&events);
    assert_eq!(deltas.first(), Some(&Delta::Reasoning("sum".into())));
    assert_eq!((decoded.message.reasoning.as_deref(), decoded.message.reasoning_content), (Some("sum"), None));
}

#[test]
fn thoughts_in_tags_are_shown_as_thoughts_and_not_stored_in_the_answer() {
    let pieces = ["<thi", "nk>plan", "</think>", "\n\nHello", "."];
    let mut events: Vec<Value> = pieces.iter().map(|piece| says(json!({"content": piece}))).collect();
    events.push(ends("stop"));
    let (deltas, decoded) = decode(&events);
    let shown: Vec<Delta> = deltas.into_iter().filter(|delta| *delta != Delta::Alive).collect();
    assert_eq!(shown, [Delta::Reasoning("plan".into()), text("Hello"), text(".")]);
    let message = Assistant { reasoning: Some("plan".into()), ..answer("Hello.", StopReason::Stop) };
    assert_eq!(decoded, reply(message));
}

#[test]
fn text_that_looked_like_a_tag_is_shown_in_the_end() {
    let (deltas, decoded) = decode(&[says(json!({"content": "<t"})), ends("stop")]);
    assert_eq!(deltas, [Delta::Alive, text("<t")]);
    assert_eq!(decoded.text(), "<t");
}

#[test]
fn talk_after_a_call_is_kept_but_not_shown() {
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]});
    let (deltas, decoded) = decode(&[says(call), says(json!({"content": "so"})), ends("tool_calls")]);
    assert_eq!(deltas, [Delta::ToolCallStarted("f".into()), Delta::Alive, Delta::Alive]);
    assert_eq!(decoded.text(), "so");
}

#[test]
fn a_refusal_is_the_answer_when_there_is_no_other() {
    let (_, decoded) = decode(&[says(json!({"refusal": "I will "})), says(json!({"refusal": "not."})), ends("stop")]);
    assert_eq!(decoded, reply(answer("I will not.", StopReason::ContentFilter)));
}

#[test]
fn every_ending_has_one_honest_name() {
    let cut = |delta: Value| says(json!({"tool_calls": [delta]}));
    let begun = cut(json!({"index": 0, "id": "a", "function": {"name": "write", "arguments": "{\"path\": \"/t"}}));
    let bare = cut(json!({"index": 0, "id": "a", "function": {"name": "write", "arguments": ""}}));
    let done = cut(json!({"index": 0, "id": "a", "function": {"name": "write", "arguments": "{}"}}));
    let said = says(json!({"content": "Hi"}));
    let none: [&str; 0] = [];
    let table = [
        ("text, no reason", vec![said.clone()], StopReason::Length, true, none.as_slice(), 0),
        ("text, cap reached", vec![said.clone(), ends("length")], StopReason::Length, false, &none, 0),
        ("text, filtered", vec![said.clone(), ends("content_filter")], StopReason::ContentFilter, false, &none, 0),
        ("no call after all", vec![said, ends("tool_calls")], StopReason::Stop, false, &none, 0),
        ("half a call, no reason", vec![begun.clone()], StopReason::Length, true, &["write"], 0),
        ("half a call, a reason", vec![begun, ends("tool_calls")], StopReason::Length, false, &["write"], 0),
        ("a call before its arguments", vec![bare.clone(), ends("length")], StopReason::Length, false, &["write"], 0),
        (
            "a call before its arguments, filtered",
            vec![bare.clone(), ends("content_filter")],
            StopReason::ContentFilter,
            false,
            &["write"],
            0,
        ),
        (
            "a call before its arguments, an unknown end",
            vec![bare.clone(), ends("gone")],
            StopReason::Length,
            false,
            &["write"],
            0,
        ),
        ("a call without arguments", vec![bare, ends("tool_calls")], StopReason::ToolCalls, false, &none, 1),
        ("a whole call, no reason", vec![done.clone()], StopReason::Length, true, &none, 1),
        ("an old word for it", vec![done, ends("function_call")], StopReason::ToolCalls, false, &none, 1),
    ];
    for (story, events, finish, cut_off, dropped, calls) in table {
        let (_, decoded) = decode(&events);
        let seen = (decoded.stop_reason(), decoded.cut_off, decoded.tool_calls().len());
        assert_eq!(seen, (finish, cut_off, calls), "{story}");
        assert_eq!(decoded.dropped, dropped, "{story}");
    }
}

#[test]
fn vendors_have_their_own_words_for_the_end() {
    let table = [
        ("STOP", StopReason::Stop),
        ("Max_Tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("sensitive", StopReason::ContentFilter),
        ("SAFETY", StopReason::ContentFilter),
    ];
    for (word, expected) in table {
        assert_eq!(decode(&[says(json!({"content": "Hi"})), ends(word)]).1, reply(answer("Hi", expected)), "{word}");
    }
}

#[test]
fn a_broken_connection_leaves_what_was_said_and_says_so() {
    let said = says(json!({"content": "Hi"})).to_string();
    let half: String = said.chars().take(20).collect();
    let (_, decoded) = decode_text(&[said.clone(), half], End::Cut);
    assert_eq!(decoded, Ok(Reply { cut_off: true, ..reply(answer("Hi", StopReason::Length)) }));
    let (_, ended) = decode_text(&[said, ends("stop").to_string()], End::Cut);
    assert_eq!(ended, Ok(reply(answer("Hi", StopReason::Stop))), "the model had finished before the line broke");
}

#[test]
fn a_damaged_chunk_spoils_the_calls_around_it() {
    let call = json!({"index": 0, "id": "a", "function": {"name": "write", "arguments": "{\"path\":\"/tmp"}});
    let rest = json!({"index": 0, "function": {"arguments": "\"}"}});
    let events = [
        says(json!({"tool_calls": [call]})).to_string(),
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"fun"#.to_owned(),
        says(json!({"tool_calls": [rest]})).to_string(),
        ends("tool_calls").to_string(),
    ];
    let (_, decoded) = decode_text(&events, End::Whole);
    let decoded = decoded.expect("a reply");
    assert_eq!((decoded.dropped, decoded.cut_off), (vec!["write".to_owned()], true));
    assert_eq!(decoded.message.tool_calls, []);
}

#[test]
fn no_answer_is_a_fault_with_a_reason() {
    let fault = |events: &[&str]| {
        let events: Vec<String> = events.iter().map(|event| (*event).to_owned()).collect();
        decode_text(&events, End::Whole).1.expect_err("a fault")
    };
    assert_eq!(fault(&[]).kind, FaultKind::EmptyStream);
    assert_eq!(fault(&["[DONE]"]).kind, FaultKind::EmptyStream);
    assert_eq!(fault(&[r#"{"choices":[],"usage":{"prompt_tokens":1}}"#]).kind, FaultKind::EmptyStream);
    let page = fault(&["<html>It works!</html>"]);
    assert_eq!(page.kind, FaultKind::Malformed);
    assert!(page.message.contains("It works!"), "{page}");
    let noise = fault(&["\u{1b}[2Jyour key sk-proj-abc1234567\nis bad"]).message;
    assert!(noise.ends_with("it said: [2Jyour key «redacted» is bad"), "{noise}");
}

#[test]
fn an_empty_answer_with_a_reason_is_an_answer() {
    assert_eq!(decode(&[ends("stop")]).1, reply(answer("", StopReason::Stop)));
}

#[test]
fn errors_inside_the_stream_are_faults() {
    let table = [
        (
            json!({"error": {"message": "upstream died", "code": 502}, "choices": [{"delta": {"content": ""}}]}),
            FaultKind::ServerError,
            Some(502),
            "upstream died",
        ),
        (json!({"error": "plain words"}), FaultKind::Unknown, None, "plain words"),
        (json!([{"error": {"message": "wrapped", "code": 503}}]), FaultKind::Overloaded, Some(503), "wrapped"),
        (
            json!({"object": "error", "message": "old style", "type": "BadRequestError"}),
            FaultKind::BadRequest,
            None,
            "old style",
        ),
        (
            json!({"choices": [{"delta": {"content": ""}, "finish_reason": "error",
                "error": {"code": 429, "message": "Provider returned error"}}]}),
            FaultKind::UpstreamRateLimit,
            Some(429),
            "Provider returned error",
        ),
        (
            json!({"choices": null, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}),
            FaultKind::Billing,
            None,
            "insufficient balance",
        ),
        (ends("error"), FaultKind::ServerError, None, "broke off"),
        (ends("network_error"), FaultKind::ServerError, None, "its own network failed"),
        (ends("insufficient_system_resource"), FaultKind::Overloaded, None, "its machines are full"),
    ];
    for (event, kind, status, words) in table {
        let events = [says(json!({"content": "Hi"})).to_string(), event.to_string()];
        let fault = decode_text(&events, End::Whole).1.expect_err("a fault");
        assert_eq!((fault.kind, fault.status), (kind, status), "{event}");
        assert!(fault.message.contains(words), "{fault}");
    }
    let named = |data: &str| {
        let mut decoder = ChatDecoder::default();
        decoder.event(sse::Event { name: "error", data }, &mut Vec::new()).expect_err("a fault")
    };
    assert_eq!(named(r#"{"message":"m"}"#).kind, FaultKind::Unknown);
    let llama =
        r#"{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}"#;
    assert_eq!(named(llama).kind, FaultKind::ContextOverflow);
    assert_eq!(named("out of memory").message, "out of memory");
}

fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "index",
        "usage",
        "finish_reason",
        "error",
        "reasoning",
        "reasoning_details",
        "prompt_tokens",
        "type",
        "text",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[<>/a-z{}\" ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|entries| {
                Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    /// Whatever a server sends, the decoder ends in a reply whose calls are whole, or in a fault.
    #[test]
    fn any_json_is_survived(events in prop::collection::vec(any_json(), 0..5), deltas in prop::collection::vec(any_json(), 0..5)) {
        let events = events.into_iter().chain(deltas.into_iter().map(says));
        let events: Vec<String> = events.map(|event| event.to_string()).collect();
        if let (_, Ok(reply)) = decode_text(&events, End::Whole) {
            prop_assert!(reply.message.finish_reason.is_some());
            for call in reply.tool_calls() {
                prop_assert!(call.function.arguments.parse().is_ok() && !call.function.name.is_empty());
            }
        }
    }

    /// However the model's text is cut into chunks, the same answer comes out, and what was shown is what was said.
    #[test]
    fn the_cut_into_chunks_does_not_matter(said in "[a-zä<>/ \n]{1,40}", cuts in prop::collection::vec(1_usize..6, 1..40)) {
        let mut pieces = Vec::new();
        let mut characters = said.chars().peekable();
        for size in cuts.iter().cycle() {
            if characters.peek().is_none() {
                break;
            }
            pieces.push(characters.by_ref().take(*size).collect::<String>());
        }
        let mut events: Vec<Value> = pieces.iter().map(|piece| says(json!({"content": piece}))).collect();
        events.push(ends("stop"));
        let (deltas, reply) = decode(&events);
        let (_, at_once) = decode(&[says(json!({"content": said})), ends("stop")]);
        prop_assert_eq!(&reply, &at_once);
        let shown: String = deltas.iter().filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        }).collect();
        prop_assert!(Content::Text(said).text().ends_with(&shown));
    }
}
