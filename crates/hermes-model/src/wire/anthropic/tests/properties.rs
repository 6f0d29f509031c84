//! What holds for every history and every stream.

use super::*;
use hermes_types::Part;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-zé ]{1,6}"]
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof!["[abc]", Just("a|b".to_owned()), Just("a_b".to_owned()), Just(String::new())]
}

fn any_content() -> impl Strategy<Value = Content> {
    let image = Just(Part::of_image("data:image/png;base64,QQ=="));
    let part = prop_oneof![any_text().prop_map(Part::of_text), image];
    prop_oneof![any_text().prop_map(Content::Text), prop::collection::vec(part, 0..3).prop_map(Content::Parts)]
}

fn any_thinking() -> impl Strategy<Value = Value> {
    (any_text(), any::<bool>()).prop_map(|(words, signed)| {
        if signed {
            json!({"type": "thinking", "thinking": words, "signature": "s"})
        } else {
            json!({"type": "thinking", "thinking": words})
        }
    })
}

fn any_assistant() -> impl Strategy<Value = Message> {
    let call = (any_id(), prop_oneof![Just("{}"), Just("{\"b\":1,\"a\":2}"), Just("{\"a")])
        .prop_map(|(id, arguments)| ToolCall::new(CallId::new(id), "f", arguments));
    let calls = prop::collection::vec(call, 0..4);
    let details = prop::option::of(prop::collection::vec(any_thinking(), 0..3));
    let fields = (prop::option::of(any_content()), calls, details, prop::option::of(any_text()), any::<bool>());
    fields.prop_map(|(content, tool_calls, reasoning_details, reasoning_content, ordered)| {
        let mut blocks: Vec<Value> = reasoning_details.iter().flatten().cloned().collect();
        blocks.extend(
            tool_calls
                .iter()
                .rev()
                .map(|call| json!({"type": "tool_use", "id": call.id.as_str(), "name": "f", "input": {}})),
        );
        let anthropic_content_blocks = ordered.then_some(blocks);
        Message::Assistant(Assistant {
            content,
            tool_calls,
            reasoning_details,
            reasoning_content,
            anthropic_content_blocks,
            ..Assistant::default()
        })
    })
}

fn any_message() -> impl Strategy<Value = Message> {
    prop_oneof![
        1 => any_text().prop_map(Message::system),
        3 => any_content().prop_map(Message::user),
        4 => any_assistant(),
        6 => (any_id(), any_content()).prop_map(|(id, content)| tool(&id, content)),
    ]
}

/// Messages that come together: what a person says, or what a model says with the results of its calls (some lost, some
/// of nobody). Between them a request may be made, within them never.
fn any_turn() -> impl Strategy<Value = Vec<Message>> {
    let results = prop::collection::vec((any_id(), any_content()), 0..4);
    prop_oneof![
        1 => any_content().prop_map(|content| vec![Message::user(content)]),
        2 => (any_assistant(), results, any::<bool>()).prop_map(|(said, results, answered)| {
            let mut turn = vec![said];
            if let (Message::Assistant(said), true) = (&turn[0], answered) {
                let ids: Vec<String> = said.tool_calls.iter().map(|call| call.id.as_str().to_owned()).collect();
                turn.extend(ids.iter().map(|id| tool(id, "seen")));
            }
            turn.extend(results.iter().map(|(id, content)| tool(id, content.clone())));
            turn
        }),
    ]
}

fn proxy() -> Target {
    target(&CUSTOM, "https://proxy.example/anthropic", Login::ApiKey)
}

const HOSTS: [&str; 4] = [NATIVE, MINIMAX, "https://api.moonshot.ai/anthropic", "https://api.deepseek.com/anthropic"];

fn ids<'a>(message: &'a Value, kind: &str, key: &str) -> Vec<&'a str> {
    let blocks = message["content"].as_array().expect("a list of blocks");
    blocks.iter().filter(|block| block["type"] == kind).map(|block| block[key].as_str().expect("an id")).collect()
}

fn says_nothing(block: &Value) -> bool {
    match block["type"].as_str().expect("a type") {
        "text" => block["text"].as_str().expect("text").trim().is_empty(),
        "tool_result" => match &block["content"] {
            Value::String(words) => words.trim().is_empty(),
            Value::Array(blocks) => blocks.is_empty() || blocks.iter().any(says_nothing),
            other => panic!("odd content {other}"),
        },
        _ => false,
    }
}

proptest! {
    /// Whatever the history, the conversation on the wire is one the protocol accepts.
    #[test]
    fn any_history_becomes_a_valid_conversation(history in prop::collection::vec(any_message(), 0..12), host in 0usize..4) {
        let wire = sent(history, HOSTS[host]);
        let messages = wire.as_array().expect("messages");
        let mut seen = HashSet::new();
        for (at, message) in messages.iter().enumerate() {
            let expected = if at % 2 == 0 { "user" } else { "assistant" };
            prop_assert_eq!(&message["role"], expected, "{}", wire);
            let blocks = message["content"].as_array().expect("a list of blocks");
            prop_assert!(!blocks.is_empty() && !blocks.iter().any(says_nothing), "{}", wire);
            prop_assert!(blocks.last().is_none_or(|last| last["type"] != "thinking"), "{}", wire);
            let calls = ids(message, "tool_use", "id");
            prop_assert!(calls.iter().all(|id| seen.insert(id.to_string())), "an id twice: {}", wire);
            let answers = messages.get(at + 1).map(|next| ids(next, "tool_result", "tool_use_id")).unwrap_or_default();
            prop_assert_eq!(calls, answers, "{}", wire);
        }
        prop_assert!(ids(&messages[0], "tool_result", "tool_use_id").is_empty());
    }

    /// P2: a longer conversation begins with the bytes of the shorter one, whatever is in it and whoever reads it. Behind
    /// the last block of the shorter one its message either closes or goes on.
    #[test]
    fn a_longer_history_begins_with_the_bytes_of_the_shorter(
        history in prop::collection::vec(any_turn(), 1..8),
        model in prop::sample::select(vec!["claude-opus-4-6", "MiniMax-M3", "kimi-k2.5", "deepseek-v4-pro", "qwen3-max"]),
    ) {
        let mut request = Request::new(model, [Message::system("s"), Message::user("q")]);
        let mut shorter = encode(&request, &proxy()).body;
        for turn in history {
            request.messages.extend(turn.into_iter().map(Arc::new));
            let longer = encode(&request, &proxy()).body;
            let open_end = shorter.strip_suffix(b"]}]}").expect("the end of the last message");
            prop_assert!(
                longer.starts_with(open_end),
                "{}\n{}", String::from_utf8_lossy(&shorter), String::from_utf8_lossy(&longer)
            );
            shorter = longer;
        }
    }

    /// Foreign bytes never panic, and no story of events makes a call whose arguments cannot be read.
    #[test]
    fn the_decoder_survives_anything(list in prop::collection::vec(any_event(), 0..20), cut in any::<bool>()) {
        let end = if cut { End::Cut } else { End::Whole };
        if let Ok(reply) = decode(&list, end).1 {
            prop_assert!(reply.message.finish_reason.is_some());
            for call in reply.tool_calls() {
                prop_assert!(call.function.arguments.parse().is_ok(), "{:?}", call);
            }
        }
    }

    /// Where the server cuts text and arguments into fragments changes nothing.
    #[test]
    fn fragments_add_up(words in "[a-zé\"\\\\ \n]{1,20}", size in 1usize..5) {
        let arguments = json!({"text": words}).to_string();
        let pieces = |whole: &str| -> Vec<String> {
            let chars: Vec<char> = whole.chars().collect();
            chars.chunks(size).map(|chunk| chunk.iter().collect()).collect()
        };
        let mut list = vec![start(0, &text_block())];
        list.extend(pieces(&words).iter().map(|piece| wrote(0, piece)));
        list.extend([stop(0), start(1, &call_block("t", "f"))]);
        list.extend(pieces(&arguments).iter().map(|piece| argued(1, piece)));
        list.extend([stop(1), end("tool_use")]);
        let reply = reply(list);
        prop_assert_eq!(reply.text(), words);
        prop_assert_eq!(reply.tool_calls(), [ToolCall::new(CallId::new("t"), "f", arguments)]);
    }
}

fn any_event() -> impl Strategy<Value = (&'static str, String)> {
    let block = prop_oneof![
        Just(text_block()),
        Just(call_block("t", "f")),
        Just(call_block("", "g")),
        Just(json!({"type": "tool_use", "input": "{\"a\""})),
        Just(json!({"type": "thinking", "thinking": 5})),
        Just(json!({"type": "redacted_thinking"})),
        Just(json!({})),
    ];
    let event = prop_oneof![
        (0u64..3, block).prop_map(|(index, block)| start(index, &block)),
        (0u64..3, "[a-z]{0,3}").prop_map(|(index, words)| wrote(index, &words)),
        (0u64..3, prop_oneof![Just("{\"a\":"), Just("1}"), Just("{}"), Just("")])
            .prop_map(|(at, json)| argued(at, json)),
        (0u64..3).prop_map(stop),
        prop_oneof![Just("tool_use"), Just("max_tokens"), Just("end_turn")].prop_map(end),
        Just(json!({"type": "message_delta", "delta": 3, "usage": {"output_tokens": -1}})),
        Just(json!({"type": "content_block_delta", "index": -1, "delta": {"type": "text_delta", "text": null}})),
        Just(json!({"type": "message", "content": [1, "x", {"type": "text", "text": "whole"}]})),
    ];
    prop_oneof![
        8 => event.prop_map(|event| ("", event.to_string())),
        1 => ".{0,30}".prop_map(|words| ("content_block_delta", words)),
        1 => "\\{.{0,30}\\}".prop_map(|words| ("", words)),
    ]
}
