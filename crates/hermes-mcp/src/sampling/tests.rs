use super::*;

fn settings() -> SamplingSettings {
    SamplingSettings {
        enabled: true,
        model: None,
        max_tokens: 100,
        timeout: Duration::from_secs(30),
        max_per_minute: 2,
        allowed_models: Vec::new(),
        max_tool_rounds: 1,
    }
}

#[test]
fn a_ration_is_for_any_minute() {
    let at = Duration::from_secs;
    let (mut ration, settings) = (Ration::default(), settings());
    assert_eq!(ration.take(&settings, at(0)), Ok(()));
    assert_eq!(ration.take(&settings, at(50)), Ok(()));
    assert!(ration.take(&settings, at(59)).is_err_and(|told| told.contains("only 2 questions")));
    assert_eq!(ration.take(&settings, at(60)), Ok(()), "the first one is over");
    assert!(ration.take(&settings, at(61)).is_err());
    assert_eq!(ration.answered(&settings, true), Ok(()));
    assert!(ration.answered(&settings, true).is_err(), "one answer in a row may call tools");
    assert_eq!(ration.answered(&settings, true), Ok(()), "the refusal ends the row");
}

#[test]
fn a_question_keeps_its_words_and_is_cut_to_the_cap() {
    let asked = json!({
        "systemPrompt": "Be brief.", "maxTokens": 1_000, "temperature": 0.5,
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "What is it?"}},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "toolUseId": "c1", "content": [{"type": "text", "text": "a cat"}]}]},
            {"role": "user", "content": [{"type": "text", "text": "And this?"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]}
        ],
        "tools": [{"name": "look", "inputSchema": {"type": "object"}}], "toolChoice": {"mode": "required"}
    });
    let request = request(&asked, &settings()).unwrap();
    assert_eq!((request.max_output_tokens, request.temperature), (Some(100), Some(0.5)));
    assert_eq!((request.tool_choice, request.tools.len(), request.model.as_str()), (ToolChoice::Required, 1, ""));
    let roles: Vec<hermes_types::Role> = request.messages.iter().map(|message| message.role()).collect();
    use hermes_types::Role::{Assistant, System, Tool, User};
    assert_eq!(roles, [System, User, Assistant, Tool, User]);
    let Message::User(last) = &*request.messages[4] else { panic!("no user") };
    assert_eq!(
        last.content,
        Content::Parts(vec![Part::of_text("And this?"), Part::of_image("data:image/png;base64,AA==")])
    );
}

#[test]
fn a_question_without_end_is_not_paid_for() {
    let asked = |content: Value| request(&json!({"messages": [{"role": "user", "content": content}]}), &settings());
    let words = |count: usize| json!({"type": "text", "text": "x".repeat(count)});
    assert!(asked(words(MOST_CHARACTERS / 2)).is_ok());
    assert!(asked(words(MOST_CHARACTERS)).is_err_and(|told| told.contains("longer than 200000 characters")));
    let split = vec![words(MOST_CHARACTERS / 2); 3];
    assert!(asked(Value::Array(split)).is_err_and(|told| told.contains("longer than")));
    let picture = json!({"type": "image", "data": "A".repeat(MOST_CHARACTERS), "mimeType": "image/png"});
    assert!(asked(picture.clone()).is_ok(), "a picture is no text");
    assert!(asked(json!(vec![picture; 9])).is_err_and(|told| told.contains("more than 8 pictures")));
    let tools = json!({
        "messages": [{"role": "user", "content": words(1)}],
        "tools": [{"name": "t", "inputSchema": {"type": "object", "description": "x".repeat(MOST_CHARACTERS)}}]
    });
    assert!(request(&tools, &settings()).is_err_and(|told| told.contains("longer than")), "schemas are read too");
}

#[test]
fn the_owner_decides_which_models_may_be_asked() {
    let hinted = json!({"modelPreferences": {"hints": [{"name": "big"}, {"name": "small"}]}});
    let with = |model: Option<&str>, allowed: &[&str]| SamplingSettings {
        model: model.map(str::to_owned),
        allowed_models: allowed.iter().map(|name| (*name).to_owned()).collect(),
        ..settings()
    };
    assert_eq!(model(&hinted, &with(Some("mine"), &[])), Ok("mine".to_owned()));
    assert_eq!(model(&hinted, &with(None, &[])), Ok(String::new()), "a wish alone decides nothing");
    assert_eq!(model(&hinted, &with(None, &["small"])), Ok("small".to_owned()));
    assert!(model(&hinted, &with(None, &["tiny"])).is_err_and(|told| told.contains("big")));
    assert_eq!(model(&json!({}), &with(None, &["tiny"])), Ok(String::new()));
}

#[test]
fn a_reply_is_told_in_the_words_of_the_protocol() {
    let mut reply = Reply { model: Some("m".to_owned()), ..Reply::default() };
    assert!(told(&reply).is_err_and(|told| told.contains("empty")));
    reply.message.content = Some("hello".into());
    reply.message.finish_reason = Some(StopReason::Length);
    let content = json!({"type": "text", "text": "hello"});
    assert_eq!(
        told(&reply),
        Ok(json!({"role": "assistant", "content": content, "model": "m", "stopReason": "maxTokens"}))
    );
    reply.message.tool_calls = vec![ToolCall::new(CallId::new("c"), "look", r#"{"at":1}"#)];
    reply.message.finish_reason = Some(StopReason::ToolCalls);
    let called = json!({"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}});
    assert_eq!(
        told(&reply),
        Ok(json!({"role": "assistant", "content": [content, called], "model": "m", "stopReason": "toolUse"}))
    );
}
