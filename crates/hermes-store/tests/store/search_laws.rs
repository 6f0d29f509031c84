//! What holds for every text and every query.

use crate::search::{say, search};
use crate::stage::{Kind, Stage};
use hermes_core::store::{Search, Transcript};
use hermes_store::Query;
use hermes_types::{Manner, SearchOrder, SearchQuery};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use rusqlite::Connection;

/// Runs a law for some cases on one store.
fn for_all<S: Strategy>(cases: u32, inputs: S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    if let Err(failure) = TestRunner::new(config).run(&inputs, law) {
        panic!("{failure}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Texts of few words, so that queries of the same words meet them.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(&["a", "b", "ab", "abc", "b1", "C", "aB-c", "not", "a_b", "(", ",", "\n", "."][..]);
    vec(vec(word, 0..8).prop_map(|words| words.join(" ")), 1..6)
}

fn queries() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(
        &["a", "b", "ab", "abc", "c", "b1", "a*", "ab*", "\"a b\"", "\"ab\"*", "AND", "OR", "NOT", "NOT", "OR", "a-b"]
            [..],
    );
    vec(piece, 1..7).prop_map(|pieces| pieces.join(" "))
}

/// The evaluator is the meaning of a query, and it means what FTS5 means.
#[test]
fn a_query_means_what_it_means_to_sqlite() {
    let connection = Connection::open_in_memory().expect("a database");
    connection.execute_batch("CREATE VIRTUAL TABLE t USING fts5(x)").expect("a table");
    for_all(400, (texts(), queries()), |(texts, typed)| {
        let Ok(query) = Query::parse(&typed) else { return Ok(()) };
        connection.execute("DELETE FROM t", []).expect("emptied");
        for (number, text) in texts.iter().enumerate() {
            connection.execute("INSERT INTO t(rowid, x) VALUES(?1, ?2)", (number, text)).expect("kept");
        }
        let normal = query.to_string();
        let mut statement =
            connection.prepare_cached("SELECT rowid FROM t WHERE t MATCH ?1 ORDER BY rowid").expect("sql");
        // The normal form is FTS5 as a person would write it.
        let rows = statement.query_map([normal.as_str()], |row| row.get::<_, usize>(0));
        let theirs: Result<Vec<usize>, _> = rows.and_then(Iterator::collect);
        let ours: Vec<usize> = (0..texts.len()).filter(|number| query.finds(&texts[*number])).collect();
        prop_assert_eq!(theirs.map_err(|error| error.to_string()), Ok(ours), "{} as {}", typed, normal);
        Ok(())
    });
}

#[test]
fn any_text_is_a_query_and_every_hit_shows_why() {
    let runtime = runtime();
    let stage = runtime.block_on(Stage::of(Kind::Python));
    let typed = prop_oneof![
        any::<String>(),
        r#"[a-e"*:(){}^+. \-\x00'%_~—部ไé]{0,40}"#,
        "(AND |OR |NOT |NEAR\\(|a |\"|\\* |\\{content\\}: ?|部署 |ไฟล์ ){0,12}",
    ];
    for_all(300, typed, |text| {
        let found = runtime.block_on(stage.store.search(SearchQuery::new(text.clone())));
        let found = found.map_err(|error| TestCaseError::fail(error.to_string()))?;
        for hit in found.hits {
            let is_marked =
                hit.snippet.find(">>>").is_some_and(|open| hit.snippet.rfind("<<<").is_some_and(|end| open < end));
            prop_assert!(is_marked, "{:?} found {:?}", text, hit);
        }
        Ok(())
    });
}

/// Words in many scripts, and whatever else there is.
fn sentences() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-zA-Z]{1,9}",
        "[a-z0-9_.-]{1,12}",
        "[àéîõüçñßøÆŒłİıΣσςЖйё]{1,6}",
        "[一-龥]{1,6}",
        "[ก-ฮะ-ูเ-์]{1,9}",
        "[가-힣ぁ-んァ-ヶ]{1,6}",
        "[अ-ह]{1,4}[ा-्]?",
        any::<String>(),
    ];
    vec(word, 1..8).prop_map(|words| words.join(" "))
}

#[test]
fn every_message_is_found_by_any_word_of_it() {
    let runtime = runtime();
    let stage = runtime.block_on(Stage::of(Kind::New));
    let session = runtime.block_on(stage.session("words"));
    for_all(60, (sentences(), any::<prop::sample::Index>()), |(text, which)| {
        let ids = runtime.block_on(stage.store.append(&session, vec![say(&text)])).expect("kept");
        let words: Vec<&str> = text.split_whitespace().filter(|word| Query::parse(word).is_ok()).collect();
        if words.is_empty() {
            return Ok(());
        }
        let word = which.get(&words).replace('"', " ");
        for typed in
            [format!("\"{word}\""), format!("\"{word}\"*"), word.replace(['*', '+', '{', '}', '(', ')', ':', '^'], " ")]
        {
            if Query::parse(&typed).is_err() {
                continue;
            }
            let query = SearchQuery { order: SearchOrder::Newest, limit: 1000, ..SearchQuery::new(typed.clone()) };
            let found = runtime.block_on(search(&stage, query));
            prop_assert!(
                found.hits.iter().any(|hit| hit.id == ids[0]),
                "{:?} by {:?}: {:?}",
                text,
                typed,
                found.manner
            );
        }
        Ok(())
    });
}

/// Whatever is inside a text is found there, whether it is indexed or not.
#[test]
fn every_part_of_a_text_is_found_inside_it() {
    let runtime = runtime();
    let mut stage = runtime.block_on(Stage::of(Kind::New));
    let texts = [
        "ฉันเดินทางไปกรุงเทพเมื่อวาน",
        "请帮我部署数据库服务器，谢谢",
        "데이터베이스를확인",
        "データベースを確認",
        "überkonfigurationsdatei",
    ];
    let session = runtime.block_on(stage.session("parts"));
    let ids =
        runtime.block_on(stage.store.append(&session, texts.iter().map(|text| say(text)).collect())).expect("kept");
    for is_indexed in [false, true] {
        if is_indexed {
            let filler = (0..300).map(|number| say(&format!("filler {number}"))).collect();
            runtime.block_on(stage.store.append(&session, filler)).expect("kept");
            runtime.block_on(stage.reopen());
        }
        for_all(60, (0..texts.len(), 0usize..30, 1usize..9), |(which, start, length)| {
            let part: String = texts[which].chars().skip(start).take(length).collect();
            let Ok(query) = Query::parse(&part) else { return Ok(()) };
            let found = runtime.block_on(search(&stage, SearchQuery { limit: 1000, ..SearchQuery::new(part.clone()) }));
            // A part of a word that is a word elsewhere is found there.
            let elsewhere = found.manner == Manner::Words && texts.iter().any(|text| query.finds(text));
            let has = found.hits.iter().any(|hit| hit.id == ids[which]);
            prop_assert!(has || elsewhere, "{:?} in {:?}: {:?}", part, texts[which], found);
            Ok(())
        });
    }
}

#[test]
fn huge_messages_do_not_take_a_search_away() {
    let runtime = runtime();
    let stage = runtime.block_on(Stage::of(Kind::New));
    let session = runtime.block_on(stage.session("huge"));
    let huge = format!("{} kiwi {}", "x".repeat(1 << 20), "部".repeat(1 << 18));
    let ids = runtime.block_on(stage.store.append(&session, vec![say(&huge), say("a kiwi")])).expect("kept");
    let found = runtime.block_on(search(&stage, SearchQuery::new("kiwi")));
    let lengths: Vec<_> = found.hits.iter().map(|hit| (hit.id, hit.snippet.chars().count() < 300)).collect();
    assert_eq!(lengths, [(ids[1], true), (ids[0], true)]);
    let context: Vec<usize> =
        found.hits.iter().flat_map(|hit| &hit.context).map(|near| near.content.chars().count()).collect();
    assert_eq!(context, [200, 6]);
    let found = runtime.block_on(search(&stage, SearchQuery::new("部部部")));
    assert_eq!(found.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), ids[..1]);
}
