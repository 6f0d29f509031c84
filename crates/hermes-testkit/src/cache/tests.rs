//! Every rule with numbers that were worked out by hand. Texts are made to weigh whole tokens.

use super::*;
use serde_json::json;

/// The bytes of `{"type":"text","text":""}`.
const FRAME: usize = 25;

/// A text whose block weighs so many tokens; `letter` makes it another text.
fn words(letter: char, tokens: usize) -> String {
    letter.to_string().repeat(4 * tokens - FRAME)
}

fn part(letter: char, tokens: usize) -> Value {
    json!({"type": "text", "text": words(letter, tokens)})
}

fn marked(letter: char, tokens: usize) -> Value {
    json!({"type": "text", "text": words(letter, tokens), "cache_control": {"type": "ephemeral"}})
}

fn marked_for_an_hour(letter: char, tokens: usize) -> Value {
    let marker = json!({"type": "ephemeral", "ttl": "1h"});
    json!({"type": "text", "text": words(letter, tokens), "cache_control": marker})
}

/// A tool that weighs so many tokens.
fn tool(letter: char, tokens: usize) -> Value {
    json!({"name": letter.to_string().repeat(4 * tokens - r#"{"name":""}"#.len())})
}

#[expect(clippy::needless_pass_by_value, reason = "reads as `messages(vec![…])`")]
fn messages(parts: Vec<Value>) -> Value {
    json!({"model": "claude-opus", "messages": [{"role": "user", "content": parts}]})
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What is read, written for five minutes and plain in each of these requests, a second apart.
fn told(rules: Rules, bodies: &[Value]) -> Vec<(u64, u64, u64)> {
    let mut till = Till::new(rules);
    let costs = bodies.iter().enumerate().map(|(at, body)| till.ring(body, seconds(at as u64)));
    costs.map(|cost| (cost.read, cost.written, cost.plain)).collect()
}

fn explicit(bodies: &[Value]) -> Vec<(u64, u64, u64)> {
    told(Rules::Explicit, bodies)
}

#[test]
fn what_is_marked_is_written_once_and_read_ever_after() {
    let first = messages(vec![marked('a', 2_000), part('b', 100)]);
    let second = messages(vec![part('a', 2_000), marked('b', 100), part('c', 50)]);
    assert_eq!(explicit(&[first.clone(), second.clone(), second]), [(0, 2_000, 100), (2_000, 100, 50), (2_100, 0, 50)]);
    assert_eq!(explicit(&[messages(vec![part('a', 2_000)]), first]), [(0, 0, 2_000), (0, 2_000, 100)]);
}

#[test]
fn a_text_is_the_same_block_alone_and_as_the_only_part_of_a_list() {
    let alone = json!({"model": "claude", "system": words('s', 1_500), "messages": [{"role": "user", "content": words('a', 500)}]});
    let listed = json!({"model": "claude", "system": [marked('s', 1_500)], "messages": [{"role": "user", "content": [marked('a', 500)]}]});
    assert_eq!(Layout::of(&alone).shared_with(&Layout::of(&listed)), Shared { tokens: 2_000, broke: false });
    assert_eq!(Layout::of(&alone).tokens(), 2_000);
}

#[test]
fn a_beginning_that_is_too_short_is_not_kept() {
    let body =
        |model: &str, tokens| json!({"model": model, "messages": [{"role": "user", "content": [marked('a', tokens)]}]});
    for (model, tokens, is_kept) in [
        ("claude-opus", 1_023, false),
        ("claude-opus", 1_024, true),
        ("claude-haiku", 2_047, false),
        ("claude-haiku", 2_048, true),
    ] {
        let again = body(model, tokens as usize);
        let expected = if is_kept { [(0, tokens, 0), (tokens, 0, 0)] } else { [(0, 0, tokens); 2] };
        assert_eq!(explicit(&[again.clone(), again]), expected, "{model} {tokens}");
    }
}

#[test]
fn a_marker_looks_twenty_blocks_back_and_no_further() {
    let first = messages(vec![marked('a', 2_000)]);
    let later = |between: usize| {
        let more = (0..between).map(|_| part('b', 10)).chain([marked('c', 10)]);
        messages(std::iter::once(part('a', 2_000)).chain(more).collect())
    };
    assert_eq!(explicit(&[first.clone(), later(19)])[1], (2_000, 200, 0));
    assert_eq!(explicit(&[first, later(20)])[1], (0, 2_210, 0));
}

#[test]
fn what_is_used_stays_alive_and_what_nobody_uses_is_gone() {
    let mut till = Till::new(Rules::Explicit);
    let body = messages(vec![marked('a', 2_000)]);
    let read = [0, 299, 598, 898].map(|at| till.ring(&body, seconds(at)).read);
    assert_eq!(read, [0, 2_000, 2_000, 0]);

    let mut till = Till::new(Rules::Explicit);
    let body = messages(vec![marked_for_an_hour('a', 2_000)]);
    let read = [0, 3_599, 7_199].map(|at| till.ring(&body, seconds(at)).read);
    assert_eq!(read, [0, 2_000, 0]);
}

#[test]
fn reading_a_beginning_keeps_its_own_beginnings_alive() {
    let mut till = Till::new(Rules::Explicit);
    let whole = messages(vec![marked('a', 2_000), marked('b', 1_000)]);
    let only_at_the_end = messages(vec![part('a', 2_000), marked('b', 1_000)]);
    till.ring(&whole, seconds(0));
    assert_eq!(till.ring(&only_at_the_end, seconds(200)).read, 3_000);
    assert_eq!(till.ring(&messages(vec![marked('a', 2_000), marked('c', 10)]), seconds(400)).read, 2_000);
}

#[test]
fn reading_and_writing_have_their_prices() {
    let mut till = Till::new(Rules::Explicit);
    let mixed = messages(vec![marked_for_an_hour('a', 2_000), marked('b', 1_000), part('c', 100)]);
    let cost = till.ring(&mixed, seconds(0));
    assert_eq!(cost, Cost { written_for_an_hour: 2_000, written: 1_000, plain: 100, ..Cost::default() });
    assert!((cost.units() - (4_000.0 + 1_250.0 + 100.0)).abs() < 1e-6);
    let again = till.ring(&mixed, seconds(400));
    assert_eq!((again.read, again.written, again.plain), (2_000, 1_000, 100), "five minutes are over, the hour is not");
    assert!((again.units() - (200.0 + 1_250.0 + 100.0)).abs() < 1e-6);
}

#[test]
fn a_change_makes_unknown_what_stands_behind_it() {
    let body = |tools: char, system: char, choice: &str, image: bool| {
        let mut tools = vec![tool(tools, 1_500)];
        tools[0]["cache_control"] = json!({"type": "ephemeral"});
        let mut content = vec![marked('m', 1_000)];
        if image {
            content.push(json!({"type": "image", "source": {"type": "base64", "data": ""}}));
        }
        json!({
            "model": "claude-opus", "tools": tools, "system": [marked(system, 500)], "tool_choice": {"type": choice},
            "messages": [{"role": "user", "content": content}],
        })
    };
    let first = body('t', 's', "auto", false);
    let table = [
        ("nothing", first.clone(), 3_000),
        ("the tools", body('u', 's', "auto", false), 0),
        ("the system prompt", body('t', 'r', "auto", false), 1_500),
        ("the choice of tools", body('t', 's', "any", false), 2_000),
        ("images", body('t', 's', "auto", true), 2_000),
    ];
    for (what, second, read) in table {
        assert_eq!(explicit(&[first.clone(), second])[1].0, read, "changed: {what}");
    }
    let mut other_model = first.clone();
    other_model["model"] = json!("claude-sonnet");
    assert_eq!(explicit(&[first, other_model])[1].0, 0, "changed: the model");
}

#[test]
#[should_panic(expected = "5 cache markers are more than 4")]
fn a_fifth_marker_is_refused() {
    explicit(&[messages((0..5).map(|_| marked('a', 300)).collect())]);
}

#[test]
fn the_envelope_of_a_router_has_the_same_blocks() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let result = |content: Value| json!({"role": "tool", "tool_call_id": "c", "content": content});
    let body = |system: Value, result: Value| {
        let asked = json!({"role": "user", "content": words('q', 500)});
        let called = json!({"role": "assistant", "content": null, "tool_calls": [call, call]});
        json!({"model": "anthropic/claude", "messages": [{"role": "system", "content": system}, asked, called, result]})
    };
    let first = body(json!([marked('s', 1_500)]), result(json!([marked('r', 500)])));
    let second = body(json!(words('s', 1_500)), result(json!(words('r', 500))));
    let layout = Layout::of(&first);
    let sections: Vec<Section> = layout.blocks.iter().map(|block| block.section).collect();
    assert_eq!(sections[0], Section::System);
    assert_eq!(sections[1..], [Section::Messages; 4], "a question, two calls, a result");
    let marks: Vec<bool> = layout.blocks.iter().map(|block| block.mark.is_some()).collect();
    assert_eq!(marks, [true, false, false, false, true]);
    assert_eq!(layout.shared_with(&Layout::of(&second)), Shared { tokens: layout.tokens(), broke: false });
}

#[test]
fn beginnings_are_read_unasked_in_steps_from_a_least_size_on() {
    let body = |tokens| json!({"model": "gpt", "messages": [{"role": "user", "content": words('a', tokens)}]});
    for (tokens, read) in [(1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152)] {
        let plain = tokens as u64 - read;
        assert_eq!(told(Rules::Automatic, &[body(tokens), body(tokens)])[1], (read, 0, plain), "{tokens}");
    }
}

#[test]
fn a_beginning_may_end_inside_of_a_block_and_be_that_of_any_earlier_request() {
    let item = |text: &str| json!({"role": "user", "content": text});
    let body = |text: &str| json!({"model": "gpt", "instructions": words('s', 1_000), "input": [item(text)]});
    let [first, other] = ["a".repeat(4_000), "b".repeat(4_000)].map(|text| body(&text));
    let half = body(&format!("{}{}", "a".repeat(2_000), "c".repeat(2_000)));
    // 1,000 tokens of instructions and (28 + 2,000) / 4 = 507 of the message: 1,507 is eleven steps and a bit.
    assert_eq!(told(Rules::Automatic, &[first, other, half])[2].0, 11 * 128);
}

#[test]
fn a_beginning_that_nobody_used_is_gone_after_five_minutes() {
    let mut till = Till::new(Rules::Automatic);
    let body = messages(vec![part('a', 2_048)]);
    let read = [0, 299, 598, 898].map(|at| till.ring(&body, seconds(at)).read);
    assert_eq!(read, [0, 2_048, 2_048, 0]);
}

#[test]
fn the_minimum_writes_each_block_once_and_reads_it_wherever_it_stands() {
    let first = messages(vec![part('a', 2_000), part('b', 1_000)]);
    let second = messages(vec![part('b', 1_000), part('c', 100), part('c', 100)]);
    let mut till = Till::new(Rules::Automatic);
    till.ring(&first, seconds(0));
    let cost = till.ring(&second, seconds(1));
    assert_eq!((cost.read, cost.plain, cost.shared), (0, 1_200, Shared { tokens: 0, broke: true }));
    let bill = till.bill();
    assert!((bill.minimum - (3_000.0 + 100.0 + 100.0 + 10.0)).abs() < 1e-6, "{bill:?}");
    assert!((bill.units - 4_200.0).abs() < 1e-6 && bill.breaks == 1 && bill.requests == 2, "{bill:?}");
    assert!((bill.ratio() - 4_200.0 / 3_210.0).abs() < 1e-9);

    let mut till = Till::new(Rules::Explicit);
    till.ring(&messages(vec![marked('a', 2_000)]), seconds(0));
    till.ring(&messages(vec![part('a', 2_000), marked('b', 100)]), seconds(1));
    assert!((till.bill().minimum - (2_500.0 + 200.0 + 125.0)).abs() < 1e-6, "{:?}", till.bill());
    assert!((till.bill().ratio() - 1.0).abs() < 1e-9, "nothing was lost");
}

#[test]
fn a_request_that_grew_at_its_end_broke_nothing() {
    let texts = ['a', 'b', 'c'].map(|letter| part(letter, 100));
    let mut till = Till::new(Rules::Automatic);
    let shared: Vec<Shared> =
        (1..=3).map(|upto| till.ring(&messages(texts[..upto].to_vec()), seconds(0)).shared).collect();
    assert_eq!(shared.iter().map(|shared| shared.tokens).collect::<Vec<_>>(), [0, 100, 200]);
    assert!(shared.iter().all(|shared| !shared.broke));
    assert!(till.ring(&messages(texts[..2].to_vec()), seconds(0)).shared.broke, "a block is gone");
}
