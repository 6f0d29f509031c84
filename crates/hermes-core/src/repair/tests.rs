use super::*;
use proptest::prelude::*;

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall::new(CallId::new(id), "look", arguments)
}

fn calls(text: &str, calls: impl IntoIterator<Item = ToolCall>) -> Message {
    let content = (!text.is_empty()).then(|| Content::from(text));
    Message::Assistant(Assistant { content, tool_calls: calls.into_iter().collect(), ..Assistant::default() })
}

fn result(id: &str, text: &str) -> Message {
    Message::tool(&CallId::new(id), "look", text)
}

/// A history in a few words: who, what, `->` calls, `<-` whose result.
fn told(history: &[Message]) -> Vec<String> {
    let line = |message: &Message| match message {
        Message::System(_) => format!("system {}", message.text()),
        Message::User(_) => format!("user {}", message.text()),
        Message::Assistant(said) => {
            let calls =
                said.tool_calls.iter().map(|call| format!("-> {}{}", call.id, call.function.arguments.as_str()));
            std::iter::once(format!("said {}", message.text())).chain(calls).collect::<Vec<_>>().join(" ")
        }
        Message::Tool(result) => format!("<- {} {}", result.tool_call_id, message.text()),
    };
    history.iter().map(line).collect()
}

#[test]
fn each_kind_of_damage_has_its_mending() {
    let (user, said) = (Message::user("ask"), Message::assistant("reply"));
    let two = || calls("", [call("a", "{}"), call("b", "{}")]);
    let twin = ToolCall { call_id: Some(CallId::new("pair")), ..call("item", "{}") };
    let table: Vec<(&str, Vec<Message>, Vec<&str>)> = vec![
        ("nothing", vec![], vec![]),
        ("whole", vec![user.clone(), said.clone()], vec!["user ask", "said reply"]),
        ("a prompt inside", vec![user.clone(), Message::system("rules"), said.clone()], vec!["user ask", "said reply"]),
        ("an answer without a question", vec![said.clone(), result("a", "x"), user.clone()], vec!["user ask"]),
        ("the person twice", vec![user.clone(), Message::user("more")], vec!["user ask\n\nmore"]),
        ("the model twice", vec![user.clone(), said.clone(), said.clone()], vec!["user ask", "said reply\n\nreply"]),
        (
            "a reply without words",
            vec![user.clone(), calls("", []), user.clone()],
            vec!["user ask", "said (empty)", "user ask"],
        ),
        (
            "a result nobody asked for",
            vec![user.clone(), result("z", "x"), said.clone()],
            vec!["user ask", "said reply"],
        ),
        (
            "results in the wrong order, one of them twice",
            vec![user.clone(), two(), result("b", "2"), result("a", "1"), result("a", "again")],
            vec!["user ask", "said  -> a{} -> b{}", "<- a 1", "<- b 2"],
        ),
        (
            "a result that was lost on the way",
            vec![user.clone(), two(), result("b", "2"), user.clone()],
            vec![
                "user ask",
                "said  -> a{} -> b{}",
                "<- a [The result of this call was not kept.]",
                "<- b 2",
                "user ask",
            ],
        ),
        (
            "calls left open at the end stay open",
            vec![user.clone(), two(), result("b", "2")],
            vec!["user ask", "said  -> a{} -> b{}", "<- b 2"],
        ),
        (
            "arguments that cannot be read",
            vec![user.clone(), calls("", [call("a", r#"{"path": "no"#)]), result("a", "1"), said.clone()],
            vec![
                "user ask",
                "said  -> a{}",
                "<- a [The arguments of this call were damaged and are shown empty.]\n\n1",
                "said reply",
            ],
        ),
        (
            "arguments that cannot be read, and still open: nothing is left that could run",
            vec![user.clone(), calls("", [call("a", "{"), call("b", "{}")])],
            vec![
                "user ask",
                "said  -> a{} -> b{}",
                "<- a [The arguments of this call were damaged and are shown empty.]\n\n\
                 [The result of this call was not kept.]",
            ],
        ),
        (
            "one id for two calls",
            vec![user.clone(), calls("", [call("a", "{}"), call("a", r#"{"x":1}"#)]), result("a", "1"), said.clone()],
            vec!["user ask", "said  -> a{}", "<- a 1", "said reply"],
        ),
        (
            "a call with two names is known by the one that pairs, whichever its result knew",
            vec![user.clone(), calls("", [twin]), result("item", "1"), said.clone()],
            vec!["user ask", "said  -> pair{}", "<- pair 1", "said reply"],
        ),
        (
            "calls of two replies that became one",
            vec![user, calls("first", [call("a", "{}")]), calls("second", [call("b", "{}")]), result("b", "2"), said],
            vec![
                "user ask",
                "said first\n\nsecond -> a{} -> b{}",
                "<- a [The result of this call was not kept.]",
                "<- b 2",
                "said reply",
            ],
        ),
    ];
    for (damage, broken, whole) in table {
        assert_eq!(told(&mended(broken)), whole, "{damage}");
    }
}

#[test]
fn a_call_without_a_name_gets_one_that_can_be_sent() {
    let nameless = ToolCall::new(CallId::new("a"), " ", "{}");
    let result = Message::tool(&CallId::new("a"), "", "no such tool");
    let whole = mended([Message::user("ask"), calls("", [nameless]), result, Message::assistant("reply")]);
    let [_, Message::Assistant(said), Message::Tool(result), _] = whole.as_slice() else { panic!("{whole:?}") };
    assert_eq!(said.tool_calls[0].function.name, "invalid_tool_call");
    assert_eq!(result.name.as_deref(), Some("invalid_tool_call"));
    assert_eq!(mended(whole.clone()), whole);
}

#[test]
fn half_of_two_signed_replies_is_not_replayed() {
    let signed = |text: &str| {
        Message::Assistant(Assistant {
            content: Some(text.into()),
            reasoning_details: Some(vec![serde_json::json!({"signature": text})]),
            ..Assistant::default()
        })
    };
    let whole = mended([Message::user("ask"), signed("one"), signed("two")]);
    let [_, Message::Assistant(one)] = whole.as_slice() else { panic!("{whole:?}") };
    assert_eq!((one.reasoning_details.as_ref(), whole[1].text().as_str()), (None, "one\n\ntwo"));
}

fn any_message() -> impl Strategy<Value = Message> {
    let id = prop::sample::select(vec!["a", "b", "c", ""]);
    let text = prop::sample::select(vec!["", " ", "x", "y\nz"]);
    let arguments = prop::sample::select(vec!["{}", r#"{"n":1}"#, "", r#"{"n":"#, "[]", "text"]);
    let one_call = (id.clone(), prop::option::of(id.clone()), arguments)
        .prop_map(|(id, pair, arguments)| ToolCall { call_id: pair.map(CallId::new), ..call(id, arguments) });
    prop_oneof![
        text.clone().prop_map(Message::system),
        text.clone().prop_map(Message::user),
        (text.clone(), prop::collection::vec(one_call, 0..4)).prop_map(|(text, made)| calls(text, made)),
        (id, text).prop_map(|(id, text)| result(id, text)),
    ]
}

proptest! {
    #[test]
    fn whatever_came_in_alternates_and_every_call_has_one_result(
        history in prop::collection::vec(any_message(), 0..14)
    ) {
        let whole = mended(history);
        prop_assert_eq!(&mended(whole.clone()), &whole, "mending twice is mending once");
        prop_assert!(matches!(whole.first(), None | Some(Message::User(_))), "{:?}", whole);
        let open = open_calls(&whole);
        let mut rest = whole.as_slice();
        while let [message, behind @ ..] = rest {
            rest = behind;
            match message {
                Message::User(_) => prop_assert!(matches!(rest.first(), None | Some(Message::Assistant(_)))),
                Message::Assistant(said) => {
                    prop_assert!(!said.tool_calls.is_empty() || !message.text().trim().is_empty());
                    let awaited: Vec<&CallId> = said.tool_calls.iter().map(|call| &call.id).collect();
                    let results = rest.iter().take_while(|message| matches!(message, Message::Tool(_))).count();
                    let (given, behind) = rest.split_at(results);
                    let given: Vec<&CallId> = given.iter().filter_map(|message| match message {
                        Message::Tool(result) => Some(&result.tool_call_id),
                        _ => None,
                    }).collect();
                    let closed: Vec<&CallId> = match behind.is_empty() {
                        true => awaited.into_iter().filter(|id| !open.iter().any(|call| call.id == **id)).collect(),
                        false => awaited,
                    };
                    prop_assert_eq!(given, closed);
                    prop_assert!(matches!(behind.first(), None | Some(Message::User(_))) || results > 0);
                    rest = behind;
                }
                other => prop_assert!(false, "{:?} does not belong there", other),
            }
        }
        for call in open {
            prop_assert!(call.function.arguments.parse().is_ok(), "what is still to run can be read");
        }
    }
}
