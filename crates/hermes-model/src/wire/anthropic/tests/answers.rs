//! Whole answers: as Anthropic streams them, as others imitate it, and as networks break them.

use super::*;
use hermes_types::{FaultKind, StopReason, Usage};

const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-opus-4-6","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Look at "}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Emwk"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I read \"x\"."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"x"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"(muttering)"}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: content_block_start
data: {"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":5}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_whole_stream_with_thinking_text_and_two_calls() {
    let mut decoder = Box::new(AnthropicDecoder::new(&native()));
    let mut deltas = Vec::new();
    let mut parser = sse::Parser::default();
    for chunk in STREAM.as_bytes().chunks(17) {
        parser
            .push(chunk, |event| decoder.event(event, &mut deltas).map_err(|_| sse::SseFault::TooLarge))
            .expect("no fault");
    }
    parser.finish(|_| Err(sse::SseFault::TooLarge)).expect("nothing is left over");
    let shown: Vec<Delta> = deltas.into_iter().filter(|delta| *delta != Delta::Alive).collect();
    assert_eq!(
        shown,
        [
            Delta::Reasoning("Look at ".into()),
            Delta::Reasoning("x.".into()),
            Delta::Text("I read \"x\".".into()),
            Delta::ToolCallStarted("read".into()),
            Delta::ToolCallStarted("now".into()),
        ]
    );
    let thinking = json!({"type": "thinking", "thinking": "Look at x.", "signature": "EqQB"});
    let redacted = json!({"type": "redacted_thinking", "data": "Emwk"});
    assert_eq!(
        decoder.finish(End::Whole).expect("a reply"),
        Reply {
            message: Assistant {
                content: Some("I read \"x\".\n(muttering)".into()),
                reasoning: Some("Look at x.".into()),
                reasoning_details: Some(vec![thinking.clone(), redacted.clone()]),
                anthropic_content_blocks: Some(vec![
                    thinking,
                    redacted,
                    text("I read \"x\"."),
                    json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "x"}}),
                    text("(muttering)"),
                    json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}),
                ]),
                tool_calls: vec![
                    ToolCall::new(CallId::new("toolu_1"), "read", "{\"path\": \"x\"}"),
                    ToolCall::new(CallId::new("toolu_2"), "now", "{}"),
                ],
                finish_reason: Some(StopReason::ToolCalls),
                ..Assistant::default()
            },
            usage: Some(Usage {
                input: 12,
                output: 89,
                cache_read: 4000,
                cache_write: 300,
                cache_write_1h: 0,
                reasoning: 0,
                cost: None
            }),
            model: Some("claude-opus-4-6".into()),
            id: Some("msg_1".into()),
            dropped: vec![],
            cut_off: false,
        }
    );
}

#[test]
fn a_message_that_was_not_streamed() {
    let message = json!({
        "id": "msg_2", "type": "message", "role": "assistant", "model": "MiniMax-M3", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "ok"},
            {"type": "tool_use", "id": "", "name": "read_file", "input": {"path": "x"}}],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let (deltas, reply) = decode(&events([message]), End::Whole);
    assert_eq!(
        deltas,
        [Delta::Reasoning("hm".into()), Delta::Text("ok".into()), Delta::ToolCallStarted("read_file".into())]
    );
    assert_eq!(
        reply.expect("a reply"),
        Reply {
            message: Assistant {
                content: Some("ok".into()),
                reasoning: Some("hm".into()),
                reasoning_details: Some(vec![json!({"type": "thinking", "thinking": "hm"})]),
                tool_calls: vec![ToolCall::new(CallId::new("call_424c07b15d61"), "read_file", "{\"path\":\"x\"}")],
                finish_reason: Some(StopReason::ToolCalls),
                ..Assistant::default()
            },
            usage: Some(Usage { input: 3, output: 4, ..Usage::default() }),
            model: Some("MiniMax-M3".into()),
            id: Some("msg_2".into()),
            dropped: vec![],
            cut_off: false,
        }
    );
}

#[test]
fn stop_reasons_in_our_words() {
    let table = [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("pause_turn", StopReason::Stop),
        ("tool_use", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("refusal", StopReason::ContentFilter),
    ];
    for (word, expected) in table {
        let reply = reply([start(0, &text_block()), wrote(0, "a"), stop(0), end(word)]);
        assert_eq!((reply.stop_reason(), reply.cut_off), (expected, false), "{word}");
    }
    let forgetful = reply([start(0, &call_block("t", "now")), argued(0, "{}"), end("end_turn")]);
    assert_eq!(forgetful.stop_reason(), StopReason::ToolCalls);
}

/// What a reply says about its calls: names made, names dropped, finish, cut off.
fn outcome(list: impl IntoIterator<Item = Value>, end: End) -> (Vec<String>, Vec<String>, StopReason, bool) {
    let reply = decode(&events(list), end).1.expect("a reply");
    let made = reply.tool_calls().iter().map(|call| call.function.name.clone()).collect();
    (made, reply.dropped.clone(), reply.stop_reason(), reply.cut_off)
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_call_that_may_be_missing_something_is_named_and_not_made() {
    let first = || [start(0, &call_block("t1", "read")), argued(0, "{\"path\":\"x\"}"), stop(0)];
    let cut = |rest: Vec<Value>, how| outcome(first().into_iter().chain(rest), how);
    let length = StopReason::Length;
    let open = || start(1, &call_block("t2", "write"));

    let halfway = cut(vec![open(), argued(1, "{\"path\": \"/tm")], End::Cut);
    assert_eq!(halfway, (names(&["read"]), names(&["write"]), length.clone(), true));
    // Nothing of the arguments arrived: an empty object would be a guess.
    let before_the_first_argument = cut(vec![open()], End::Cut);
    assert_eq!(before_the_first_argument, (names(&["read"]), names(&["write"]), length.clone(), true));
    let out_of_tokens = cut(vec![open(), stop(1), end("max_tokens")], End::Whole);
    assert_eq!(out_of_tokens, (names(&["read"]), names(&["write"]), length.clone(), false));
    let refused = cut(vec![open(), stop(1), end("refusal")], End::Whole);
    assert_eq!(refused, (names(&["read"]), names(&["write"]), StopReason::ContentFilter, false));
    for word in ["stop_sequence", "pause_turn", "a word of next year"] {
        let stopped = cut(vec![open(), stop(1), end(word)], End::Whole);
        assert_eq!(stopped, (names(&["read"]), names(&["write"]), length.clone(), false), "{word}");
    }
    let never_closed = cut(vec![open(), end("end_turn")], End::Whole);
    assert_eq!(never_closed, (names(&["read"]), names(&["write"]), length.clone(), false));
    // Whoever closes the block and then ends the turn has said all there was to say.
    let ended_at_will = cut(vec![open(), stop(1), end("end_turn")], End::Whole);
    assert_eq!(ended_at_will, (names(&["read", "write"]), names(&[]), StopReason::ToolCalls, false));
    let unreadable = cut(vec![open(), argued(1, "{\"a\": 1} {\"b\""), stop(1), end("tool_use")], End::Whole);
    assert_eq!(unreadable, (names(&["read"]), names(&["write"]), length.clone(), false));
    let whole_but_for_the_end = cut(vec![open(), argued(1, "{\"path\": \"y\"}")], End::Cut);
    assert_eq!(whole_but_for_the_end, (names(&["read", "write"]), names(&[]), length, true));
    let without_block_ends = cut(vec![open(), end("tool_use")], End::Whole);
    assert_eq!(without_block_ends, (names(&["read", "write"]), names(&[]), StopReason::ToolCalls, false));
}

#[test]
fn arguments_nobody_announced_are_those_of_a_lost_call() {
    let lost = outcome([argued(7, "{\"path\":\"x\"}"), stop(7), end("tool_use")], End::Whole);
    assert_eq!(lost, (names(&[]), names(&["(a call without a name)"]), StopReason::Length, false));
}

#[test]
fn arguments_may_come_with_the_block() {
    let given = json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "x"}});
    let reply = reply([start(0, &given), stop(0), end("tool_use")]);
    assert_eq!(reply.tool_calls(), [ToolCall::new(CallId::new("t"), "read", "{\"path\":\"x\"}")]);
}

#[test]
fn repeated_events_change_nothing() {
    let story = |noise: bool| {
        let twice = |event: Value| if noise { vec![event.clone(), event] } else { vec![event] };
        let mut list = twice(start(0, &text_block()));
        list.push(wrote(0, "hi"));
        list.extend(twice(stop(0)));
        list.extend(twice(start(1, &call_block("t1", "read"))));
        list.push(argued(1, "{\"path\":"));
        list.push(argued(1, "\"x\"}"));
        list.extend(twice(stop(1)));
        if noise {
            list.extend([wrote(0, "late"), argued(1, "{}")]);
            list.extend([start(1, &call_block("t1", "read")), argued(1, "{\"path\":\"x\"}"), stop(1)]);
            list.push(json!({"type": "content_block_delta", "index": 1, "delta": {"type": "new_delta", "x": 1}}));
        }
        list.push(end("tool_use"));
        decode(&events(list), End::Whole)
    };
    let started = |deltas: &[Delta]| deltas.iter().filter(|delta| matches!(delta, Delta::ToolCallStarted(_))).count();
    let ((plain_deltas, plain), (noisy_deltas, noisy)) = (story(false), story(true));
    assert_eq!(noisy.expect("a reply"), plain.expect("a reply"));
    assert_eq!((started(&noisy_deltas), started(&plain_deltas)), (1, 1));
}

#[test]
fn a_fragment_survives_the_odd_fields_beside_it() {
    let odd = |index: u64, delta: &str| {
        ("", format!("{{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{{delta}}}}}"))
    };
    let mut list = events([start(0, &json!({"type": "thinking"})), start(1, &text_block())]);
    list.push(odd(0, r#""type":"thinking_delta","thinking":"hm","text":null"#));
    list.push(odd(0, r#""type":"signature_delta","signature":"s","thinking":7"#));
    list.push(odd(1, r#""type":"text_delta","text":"half \ud83d","partial_json":null"#));
    list.extend(events([start(2, &call_block("t", "write"))]));
    // Nothing is said in these two.
    list.push(odd(2, r#""type":"input_json_delta""#));
    list.push(odd(2, r#""type":"input_json_delta","partial_json":null"#));
    list.push(odd(2, r#""type":"input_json_delta","text":null,"partial_json":"{\"path\":""#));
    list.push(odd(2, r#""type":"input_json_delta","partial_json":"\"x\ude00\"}""#));
    list.extend(events([end("tool_use")]));
    let (deltas, reply) = decode(&list, End::Whole);
    let reply = reply.expect("a reply");
    assert_eq!(
        (reply.text().as_str(), reply.tool_calls()),
        ("half \u{fffd}", &[ToolCall::new(CallId::new("t"), "write", "{\"path\":\"x\u{fffd}\"}")][..])
    );
    assert_eq!(
        reply.message.reasoning_details,
        Some(vec![json!({"type": "thinking", "thinking": "hm", "signature": "s"})])
    );
    assert!(deltas.contains(&Delta::Reasoning("hm".into())) && deltas.contains(&Delta::Text("half \u{fffd}".into())));
}

#[test]
fn a_fragment_that_cannot_be_read_ends_the_answer() {
    let call = || start(0, &call_block("t", "write"));
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let mut nowhere = argued(0, "{}");
    nowhere["index"] = json!(-1);
    let table = [
        delta(json!({"type": "input_json_delta", "partial_json": {"path": "x"}})),
        delta(json!({"type": "text_delta", "text": 5})),
        delta(json!({"type": "thinking_delta", "thinking": ["t"]})),
        delta(json!({"type": "signature_delta", "signature": false})),
        delta(json!("{}")),
        nowhere,
    ];
    for event in table {
        let told = decode(&events([call(), event.clone(), end("tool_use")]), End::Whole).1;
        assert_eq!(told.map_err(|fault| fault.kind), Err(FaultKind::Malformed), "{event}");
    }
}

#[test]
fn servers_that_never_count_up_or_never_announce() {
    let reply = reply([
        start(0, &text_block()),
        wrote(0, "a"),
        stop(0),
        start(0, &call_block("t1", "read")),
        argued(0, "{\"n\":1}"),
        stop(0),
        start(0, &call_block("t2", "read")),
        argued(0, "{\"n\":2}"),
        stop(0),
        wrote(3, "unannounced"),
        start(4, &call_block("t2", "write")),
        argued(4, "{}"),
        stop(4),
        end("tool_use"),
    ]);
    assert_eq!(reply.text(), "a\nunannounced");
    assert_eq!(
        reply.tool_calls(),
        [
            ToolCall::new(CallId::new("t1"), "read", "{\"n\":1}"),
            ToolCall::new(CallId::new("t2"), "read", "{\"n\":2}"),
            ToolCall::new(CallId::deterministic("write", "{}", 2), "write", "{}"),
        ]
    );
}

#[test]
fn blocks_and_events_of_the_future_are_kept_or_passed_over() {
    let citation = json!({"type": "web_search_result_location", "url": "https://e.com", "cited_text": "c"});
    let result =
        json!({"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"encrypted_content": "e"}]});
    let reply = reply([
        json!({"type": "message_rewound", "delta": "x"}),
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "signature_delta", "signature", "s"),
        stop(0),
        start(1, &json!({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}})),
        argued(1, "{\"query\":\"q\"}"),
        stop(1),
        start(2, &result),
        stop(2),
        start(3, &text_block()),
        wrote(3, "found"),
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "citations_delta", "citation": citation}}),
        stop(3),
        start(4, &call_block("t", "now")),
        stop(4),
        end("tool_use"),
    ]);
    assert_eq!(
        reply.message.anthropic_content_blocks.expect("ordered blocks"),
        [
            json!({"type": "thinking", "thinking": "", "signature": "s"}),
            json!({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "q"}}),
            result,
            json!({"type": "text", "text": "found", "citations": [citation]}),
            json!({"type": "tool_use", "id": "t", "name": "now", "input": {}}),
        ]
    );
    assert_eq!(reply.message.reasoning, None);
}

#[test]
fn what_was_decoded_is_sent_back_as_it_was_said() {
    let reply = reply([
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "thinking_delta", "thinking", "t"),
        delta(0, "signature_delta", "signature", "s"),
        start(1, &text_block()),
        wrote(1, "I look."),
        start(2, &call_block("t1", "look")),
        argued(2, "{\"b\":1,\"a\":2}"),
        end("tool_use"),
    ]);
    let history = [Message::user("q"), Message::Assistant(reply.message), tool("t1", "seen")];
    assert_eq!(
        sent(history, NATIVE)[1]["content"],
        json!([
            {"type": "thinking", "thinking": "t", "signature": "s"},
            text("I look."),
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 2, "b": 1}},
        ])
    );
}

#[test]
fn counts_of_both_ends_of_the_stream_are_merged() {
    let counted = |first: Value, last: Value| {
        reply([
            json!({"type": "message_start", "message": {"usage": first}}),
            wrote(0, "a"),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}),
        ])
        .usage
    };
    let expected = Some(Usage { input: 10, output: 7, cache_read: 2, ..Usage::default() });
    let zero = json!({"input_tokens": 0, "output_tokens": 7, "cache_read_input_tokens": null});
    assert_eq!(counted(json!({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 2}), zero), expected);
    let late = json!({"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 2});
    assert_eq!(counted(json!({"input_tokens": 0, "output_tokens": 0}), late), expected);
    assert_eq!(
        reply([wrote(0, "a"), json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})]).usage,
        None
    );
}

#[test]
fn text_without_a_reason_to_stop_was_cut_off() {
    let (deltas, reply) = decode(&events([start(0, &text_block()), wrote(0, "half a sen")]), End::Cut);
    assert_eq!(deltas, [Delta::Alive, Delta::Text("half a sen".into())]);
    let reply = reply.expect("a reply");
    assert_eq!((reply.text().as_str(), reply.stop_reason(), reply.cut_off), ("half a sen", StopReason::Length, true));
}

#[test]
fn an_answer_may_be_empty_only_on_purpose() {
    let empty = |list: Vec<Value>| decode(&events(list), End::Whole).1.map_err(|fault| fault.kind);
    let begun = json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}});
    assert_eq!(empty(vec![]), Err(FaultKind::EmptyStream));
    assert_eq!(empty(vec![begun.clone(), json!({"type": "ping"})]), Err(FaultKind::EmptyStream));
    assert_eq!(empty(vec![begun.clone(), start(0, &text_block())]), Err(FaultKind::EmptyStream));
    assert_eq!(empty(vec![begun.clone(), end("tool_use")]), Err(FaultKind::EmptyStream));
    let refused = empty(vec![begun.clone(), end("refusal")]).expect("a refusal is an answer");
    assert_eq!((refused.stop_reason(), refused.message.content), (StopReason::ContentFilter, None));
    let silent = empty(vec![begun, end("end_turn")]).expect("silence is an answer");
    assert_eq!(silent.stop_reason(), StopReason::Stop);
}

#[test]
fn faults_announced_inside_the_stream() {
    let announced = |error: Value| {
        let list = events([start(0, &text_block()), wrote(0, "a"), json!({"type": "error", "error": error})]);
        let fault = decode(&list, End::Whole).1.expect_err("a fault");
        (fault.kind, fault.code, fault.message)
    };
    let table = [
        ("overloaded_error", FaultKind::Overloaded),
        ("rate_limit_error", FaultKind::RateLimit),
        ("api_error", FaultKind::ServerError),
        ("invalid_request_error", FaultKind::BadRequest),
        ("authentication_error", FaultKind::Auth),
        ("brand_new_error", FaultKind::Unknown),
    ];
    for (code, kind) in table {
        assert_eq!(
            announced(json!({"type": code, "message": "Sorry"})),
            (kind, Some(code.to_owned()), "Sorry".to_owned())
        );
    }
    assert_eq!(announced(json!("plain words")).2, "plain words");
    assert!(announced(json!({"message": "x".repeat(9_000)})).2.chars().count() < 700);
    let nameless = decode(&events([json!({"error": {"type": "overloaded_error"}})]), End::Whole).1;
    assert_eq!(nameless.expect_err("a fault").kind, FaultKind::Overloaded);
}

#[test]
fn bare_words_are_noise_and_broken_json_is_not() {
    let noise = [("", "[DONE]".to_owned()), ("ping", "{oops".to_owned()), ("", String::new())];
    let mut list = events([wrote(0, "a"), end("end_turn")]);
    list.extend(noise);
    assert_eq!(decode(&list, End::Whole).1.expect("a reply").text(), "a");
    list.push(("content_block_delta", "{\"type\":\"content_block_delta\",\"ind".to_owned()));
    assert_eq!(decode(&list, End::Whole).1.expect_err("a fault").kind, FaultKind::Malformed);
}

#[test]
fn a_stream_without_end_is_ended() {
    let mut decoder = AnthropicDecoder::new(&native());
    let mut out = Vec::new();
    let fault = (0..10_000).find_map(|index| {
        let data = start(index, &text_block()).to_string();
        decoder.event(sse::Event { name: "", data: &data }, &mut out).err()
    });
    assert_eq!(fault.expect("a fault").kind, FaultKind::Malformed);
}

#[test]
fn the_type_of_an_event_may_stand_in_its_name_only() {
    let unnamed = |name, mut event: Value| {
        event.as_object_mut().expect("an object").remove("type");
        (name, event.to_string())
    };
    let list = [
        unnamed("content_block_start", start(0, &text_block())),
        unnamed("content_block_delta", wrote(0, "hi")),
        unnamed("content_block_stop", stop(0)),
        unnamed("message_delta", end("end_turn")),
    ];
    let (deltas, reply) = decode(&list, End::Whole);
    assert_eq!(deltas, [Delta::Alive, Delta::Text("hi".into()), Delta::Alive, Delta::Alive]);
    assert_eq!(reply.expect("a reply").text(), "hi");
}
