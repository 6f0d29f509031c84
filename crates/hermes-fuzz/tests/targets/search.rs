//! Searches: any text is a query, and what is shown of a message is the message.

use hermes_fuzz::{explore, mutants};
use hermes_store::Query;
use proptest::prelude::*;

const QUERIES: [&[u8]; 6] = [
    b"docker deployment",
    b"\"exact phrase\" AND deploy* NOT (java OR col:x)",
    "P2.2 my-app.config.ts chat-send r\u{e9}sum\u{e9} i\u{307}stanbul".as_bytes(),
    "docker 部署 \"数据库 服务器\"* NOT 测试".as_bytes(),
    "กรุงเทพ OR เมื่อวาน 한국어 ひらがな".as_bytes(),
    b"*** NEAR(a b, 5) {content}: ^x + \"",
];
const OPERATORS: [&str; 20] = [
    " ", "\"", "*", " AND ", " OR ", " NOT ", "and", "(", ")", ":", "^", "-", "_", "\0", "\n", "e\u{301}", "İ", "ς",
    "部", "ไ",
];
const TEXTS: [&[u8]; 5] = [
    b"A docker deployment of my-app.config.ts: the exact phrase, deployed by chat-send at P2.2 without java.",
    "Your R\u{e9}sum\u{e9} and re\u{301}sume\u{301} from İSTANBUL, ΟΔΟΣ".as_bytes(),
    "用Docker部署完成，数据库 服务器 需要测试".as_bytes(),
    "ฉันเดินทางไปกรุงเทพเมื่อวาน 한국어 ひらがな".as_bytes(),
    b"\0\x1b[31m\r\n\t>>> <<< ...",
];

/// What is left of a snippet without spaces and whatever marks and cuts are made of: the message may have such signs, too.
fn bare(text: &str) -> String {
    text.chars().filter(|found| is_shown(*found) && !matches!(found, '>' | '<' | '.')).collect()
}

fn is_shown(character: char) -> bool {
    !character.is_whitespace() && !character.is_control()
}

#[test]
fn any_text_is_a_query_and_a_snippet_is_a_piece_of_the_message() {
    explore((mutants(), mutants(), 1usize..40), |(typed, said, times)| {
        let typed = String::from_utf8_lossy(&typed.of(&QUERIES, &OPERATORS)).into_owned();
        let said = String::from_utf8_lossy(&said.of(&TEXTS, &OPERATORS)).repeat(times);
        let Ok(query) = Query::parse(&typed) else { return Ok(()) };
        let normal = query.to_string();
        let again = Query::parse(&normal).map(|query| (query.to_string(), query.finds(&said)));
        prop_assert_eq!(again, Ok((normal, query.finds(&said))), "{:?}", typed);
        let snippet = query.snippet(&said);
        prop_assert!(snippet.is_some() || !query.finds(&said), "{:?} is found and not shown in {:?}", typed, said);
        let Some(snippet) = snippet else { return Ok(()) };
        let marks = (snippet.matches(">>>").count(), snippet.matches("<<<").count());
        let own = (said.matches(">>>").count(), said.matches("<<<").count());
        prop_assert!(marks.0 >= 1 && marks.1 >= 1, "{}", snippet);
        prop_assert!(marks.0 == marks.1 || own != (0, 0), "{}", snippet);
        prop_assert!(snippet.chars().count() <= 260 + 6 * marks.0, "{} characters", snippet.chars().count());
        prop_assert!(bare(&said).contains(&bare(&snippet)), "{:?} is no part of {:?}", snippet, said);
        Ok(())
    });
}
