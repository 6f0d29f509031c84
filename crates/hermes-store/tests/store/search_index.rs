//! The index of parts of words: it follows the messages, forgets with them, and its loss costs nothing but time.

use crate::search::{search, tell};
use crate::stage::{Kind, Stage};
use hermes_core::store::Transcript;
use hermes_types::{MessageId, SearchQuery, SessionId};

fn indexed(stage: &Stage, gram: &str) -> Vec<i64> {
    let look = stage.look();
    let mut statement = look.prepare("SELECT rowid FROM hermes_grams WHERE hermes_grams MATCH ?1").expect("an index");
    let rows = statement.query_map([format!("\"{gram}\"")], |row| row.get(0)).expect("read");
    rows.map(|row| row.expect("an id")).collect()
}

async fn ids(stage: &Stage, text: &str) -> Vec<MessageId> {
    search(stage, SearchQuery::new(text)).await.hits.iter().map(|hit| hit.id).collect()
}

/// Enough to be worth indexing at the end of a program.
async fn fill(stage: &Stage) {
    let texts: Vec<String> = (0..300).map(|number| format!("filler {number}")).collect();
    tell(stage, "filler", &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn messages_are_found_before_and_after_they_are_indexed() {
    for mut stage in Stage::every().await {
        let told = tell(&stage, "s", &["ฉันเดินทางไปกรุงเทพเมื่อวาน"]).await;
        assert_eq!((ids(&stage, "กรุงเทพ").await, indexed(&stage, "กรุ")), (told.clone(), vec![]), "{:?}", stage.kind);
        fill(&stage).await;
        stage.reopen().await;
        assert_eq!(ids(&stage, "กรุงเทพ").await, told, "{:?}", stage.kind);
        assert_eq!(indexed(&stage, "กรุ"), [told[0].0], "{:?}", stage.kind);
        let look = stage.look();
        let insert =
            "INSERT INTO messages(session_id, role, content, timestamp) VALUES('s', 'user', 'กรุงเทพ again', 5e9)";
        look.execute(insert, []).expect("written past the store");
        let new = MessageId(look.last_insert_rowid());
        assert_eq!(ids(&stage, "กรุงเทพ").await, [new, told[0]], "{:?}", stage.kind);
        assert_eq!(ids(&stage, "again กรุ").await, [new], "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn what_is_removed_leaves_no_gram_behind() {
    for mut stage in Stage::every().await {
        let told = tell(&stage, "s", &["secret 秘密武器 word", "another 秘密"]).await;
        let kept = tell(&stage, "t", &["public 秘密 word"]).await;
        fill(&stage).await;
        stage.reopen().await;
        assert_eq!(indexed(&stage, "秘密"), [told[0].0, told[1].0, kept[0].0], "{:?}", stage.kind);
        stage.store.clear(&SessionId::new("s")).await.expect("cleared");
        assert_eq!(indexed(&stage, "秘密"), [kept[0].0], "{:?}", stage.kind);
        assert_eq!(indexed(&stage, "武器"), [0; 0], "{:?}", stage.kind);
        assert_eq!(ids(&stage, "秘密").await, kept, "{:?}", stage.kind);
        stage.look().execute("DELETE FROM messages WHERE session_id = 't'", []).expect("removed past the store");
        assert_eq!(ids(&stage, "秘密").await, [], "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn a_search_has_a_long_backlog_indexed() {
    let stage = Stage::of(Kind::New).await;
    let told = tell(&stage, "s", &["หมูป่า"]).await;
    fill(&stage).await;
    fill(&stage).await;
    assert_eq!(ids(&stage, "หมู").await, told);
    // The writer works in order: when it answers, it has begun; a few more questions and it is done.
    for _ in 0..100 {
        if indexed(&stage, "299").len() == 2 {
            break;
        }
        tell(&stage, "more", &["x"]).await;
    }
    assert_eq!((indexed(&stage, "หมู"), indexed(&stage, "299").len()), (vec![told[0].0], 2));
    assert_eq!(ids(&stage, "หมู").await, told);
}

#[tokio::test]
async fn a_damaged_index_costs_neither_an_answer_nor_a_write() {
    let wounds = [
        "UPDATE hermes_grams_data SET block = x'00'",
        "DELETE FROM hermes_grams_data",
        "UPDATE hermes_grams_data SET block = x'ffffffffffffffff' WHERE id > 10",
        "DELETE FROM hermes_grams_idx",
    ];
    for wound in wounds {
        let mut stage = Stage::of(Kind::New).await;
        tell(&stage, "s", &["กรุงเทพ one", "กรุงเทพ two"]).await;
        let other = tell(&stage, "t", &["กรุงเทพ three"]).await;
        fill(&stage).await;
        stage.reopen().await;
        stage.look().execute_batch(wound).expect("a wound");
        stage.reopen().await;
        stage.store.clear(&SessionId::new("s")).await.expect("cleared");
        assert_eq!(ids(&stage, "กรุงเทพ").await, other, "{wound}");
        stage.look().execute_batch(wound).expect("a wound");
        let again = tell(&stage, "u", &["กรุงเทพ four"]).await;
        assert_eq!(ids(&stage, "กรุงเทพ").await, [again[0], other[0]], "{wound}");
        // Found at the end of the program, mended there, and filled at the next end.
        fill(&stage).await;
        stage.reopen().await;
        stage.look().execute_batch(wound).expect("a wound");
        fill(&stage).await;
        stage.reopen().await;
        tell(&stage, "v", &["still writes"]).await;
        stage.reopen().await;
        assert_eq!(ids(&stage, "กรุงเทพ").await, [again[0], other[0]], "{wound}");
        assert_eq!(indexed(&stage, "กรุ"), [other[0].0, again[0].0], "{wound}");
    }
}

#[tokio::test]
async fn a_damaged_or_missing_word_index_does_not_stop_a_search() {
    let wounds = ["UPDATE messages_fts_data SET block = x'00' WHERE id > 10", "DROP TABLE messages_fts"];
    for wound in wounds {
        let mut stage = Stage::of(Kind::New).await;
        let told = tell(&stage, "s", &["the numbat sleeps", "nothing"]).await;
        stage.store.close().await;
        stage.look().execute_batch(wound).expect("a wound");
        stage.reopen().await;
        assert_eq!(ids(&stage, "numbat NOT nothing").await, told[..1], "{wound}");
    }
}

/// Messages as another program writes them, which indexes words by triggers and nothing else.
fn write_past(stage: &Stage, count: usize, first: &str) {
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {count})
         INSERT INTO messages(session_id, role, content, timestamp)
             SELECT 's', 'user', CASE i WHEN 0 THEN '{first}' ELSE 'filler ' || i END, 1e9 + i FROM n"
    );
    stage.look().execute_batch(&sql).expect("written past the store");
}

#[tokio::test]
async fn a_long_backlog_hides_no_word_and_is_worked_off_before_an_answer() {
    let stage = Stage::of(Kind::New).await;
    tell(&stage, "s", &["x"]).await;
    write_past(&stage, 12_000, "the pangolin and the 穿山甲");
    let whole = search(&stage, SearchQuery::new("pangolin")).await;
    assert_eq!((whole.hits.len(), whole.more, whole.unseen, whole.has_next), (1, false, false, false));
    assert_eq!(indexed(&stage, "pan"), [0; 0], "whole words do not wait for the index of parts");
    // The oldest of more messages than are read one by one: found once enough are indexed, and told as unseen before.
    let inside = search(&stage, SearchQuery::new("angoli")).await;
    assert_eq!((inside.hits.len(), inside.unseen), (1, false));
    assert_eq!(search(&stage, SearchQuery::new("穿山")).await.hits.len(), 1);
}

#[tokio::test]
async fn a_search_that_cannot_be_complete_says_so() {
    let stage = Stage::of(Kind::New).await;
    tell(&stage, "s", &["x"]).await;
    write_past(&stage, 21_000, "launch 🚀 day");
    let found = search(&stage, SearchQuery::new("🚀")).await;
    assert_eq!((found.hits.len(), found.unseen), (0, true), "signs are in no index, and these are too many");
    write_past(&stage, 1, "launch 🚀 again");
    let found = search(&stage, SearchQuery::new("🚀")).await;
    assert_eq!((found.hits.len(), found.unseen), (1, true));
    let page = SearchQuery { limit: 10, ..SearchQuery::new("filler") };
    let found = search(&stage, page).await;
    assert_eq!((found.hits.len(), found.more, found.unseen, found.has_next), (10, true, false, true));
}
