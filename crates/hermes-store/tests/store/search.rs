//! Finding messages again, on every kind of file.

use crate::stage::{Kind, Stage};
use hermes_core::store::{Search, Sessions, Transcript};
use hermes_types::{
    Found, Hit, Manner, Message, MessageId, Moment, Neighbour, NewMessage, NewSession, Role, SearchOrder, SearchQuery,
    SessionId,
};
use serde_json::{Value, json};

pub(crate) fn say(text: &str) -> NewMessage {
    Message::user(text).into()
}

fn message(value: Value) -> NewMessage {
    serde_json::from_value::<Message>(value).expect("a message").into()
}

/// Keeps texts as messages of a session that may be new.
pub(crate) async fn tell(stage: &Stage, session: &str, texts: &[&str]) -> Vec<MessageId> {
    let id = stage.session(session).await;
    stage.store.append(&id, texts.iter().map(|text| say(text)).collect()).await.expect("kept")
}

pub(crate) async fn search(stage: &Stage, query: SearchQuery) -> Found {
    stage.store.search(query).await.expect("searched")
}

/// The messages of one session that a text finds, oldest first, and how.
async fn found(stage: &Stage, text: &str, ids: &[MessageId]) -> (Vec<usize>, Manner) {
    let query = SearchQuery { order: SearchOrder::Oldest, limit: 1000, ..SearchQuery::new(text) };
    let found = search(stage, query).await;
    for hit in &found.hits {
        assert!(hit.snippet.contains(">>>") && hit.snippet.contains("<<<"), "{text}: {hit:?}");
    }
    let place = |hit: &Hit| ids.iter().position(|id| *id == hit.id);
    (found.hits.iter().filter_map(place).collect(), found.manner)
}

/// What the forms of a query find among these.
const SAID: [&str; 12] = [
    "The quick brown ibex jumps",
    "A slow ibex sleeps near the docker host",
    "Docker Deployment of the ibex-service finished",
    "ฉันเดินทางไปกรุงเทพเมื่อวาน",
    "请帮我部署数据库服务器，谢谢。",
    "用Docker部署完成 exact phrase here",
    "部署失败 docker exact phrase, 需要测试",
    "データベースを確認してください",
    "데이터베이스를 확인했습니다",
    "look into myconfigfile.toml",
    "Your Résumé and naïve plan",
    "xylophone NOT quiet OR loud",
];

#[tokio::test]
async fn every_form_of_a_query_finds_what_it_says() {
    use Manner::{Inside, Words};
    let table: [(&str, &[usize], Manner); 40] = [
        ("ibex", &[0, 1, 2], Words),
        ("IBEX docker", &[1, 2], Words),
        ("ibex AND docker", &[1, 2], Words),
        ("ibex docker NOT sleeps", &[2], Words),
        ("ibex NOT docker", &[0], Words),
        ("ibex AND NOT docker", &[0], Words),
        ("xylophone OR quick", &[0, 11], Words),
        ("\"brown ibex\"", &[0], Words),
        ("\"ibex brown\"", &[], Inside),
        ("ibex-service", &[2], Words),
        ("deploy*", &[2], Words),
        ("sl*", &[1], Words),
        ("dep* ibex", &[2], Words),
        ("onfi", &[9], Inside),
        ("configfile.toml", &[9], Inside),
        ("resume", &[10], Words),
        ("RÉSUMÉ naive", &[10], Words),
        ("กรุงเทพ", &[3], Inside),
        ("ไป", &[3], Inside),
        ("ท", &[3], Inside),
        ("กรุงเทพ เมื่อวาน", &[3], Inside),
        ("库", &[4], Inside),
        ("部署", &[4, 5, 6], Inside),
        ("数据库", &[4], Inside),
        ("部署数据", &[4], Inside),
        ("数据库服务", &[4], Inside),
        ("数据库服务器", &[4], Inside),
        ("库据数", &[], Inside),
        ("docker 部署", &[5, 6], Inside),
        ("docker部署", &[5], Inside),
        ("docker 部署 \"exact phrase\" NOT 测试", &[5], Inside),
        ("xylophone OR 部署", &[4, 5, 6, 11], Inside),
        ("xylophone OR 署失 OR jumps", &[0, 6, 11], Inside),
        ("データベース", &[7], Inside),
        ("確認", &[7], Inside),
        ("데이터", &[8], Inside),
        ("***", &[], Words),
        ("NOT ibex", &[], Words),
        ("ibex OR NOT docker", &[], Words),
        ("NOT docker AND ibex", &[0], Words),
    ];
    for stage in Stage::every().await {
        let ids = tell(&stage, "forms", &SAID).await;
        for (query, places, manner) in table {
            assert_eq!(found(&stage, query, &ids).await, (places.to_vec(), manner), "{query} in {:?}", stage.kind);
        }
    }
}

#[tokio::test]
async fn a_hit_tells_where_it_is_and_what_stands_around_it() {
    for stage in Stage::every().await {
        let id = SessionId::new("whole");
        let started = Some(Moment::from_seconds(1_700_000_000.0));
        let new =
            NewSession { model: Some("m1".into()), started_at: started, ..NewSession::new(id.clone(), "telegram") };
        stage.store.create(new).await.expect("a session");
        let at = |seconds: f64, new: NewMessage| NewMessage { at: Some(Moment::from_seconds(seconds)), ..new };
        let messages = vec![
            at(1_700_000_001.0, say(&"long ".repeat(100))),
            at(
                1_700_000_002.0,
                message(json!({"role": "tool", "tool_call_id": "c", "name": "terminal",
                "content": [{"type": "text", "text": "the oryx\nran"}, {"type": "image_url", "image_url": {"url": "data:x"}}]})),
            ),
            at(1_700_000_003.0, say("what next?")),
        ];
        let ids = stage.store.append(&id, messages).await.expect("kept");
        let found = search(&stage, SearchQuery::new("oryx")).await;
        let hit = Hit {
            id: ids[1],
            session_id: id,
            role: Role::Tool,
            snippet: "the >>>oryx<<< ran terminal".into(),
            at: Moment::from_seconds(1_700_000_002.0),
            tool_name: Some("terminal".into()),
            source: "telegram".into(),
            model: Some("m1".into()),
            session_started: Moment::from_seconds(1_700_000_000.0),
            title: None,
            context: vec![
                Neighbour {
                    id: ids[0], role: Role::User, content: format!("{}…", "long ".repeat(40).split_at(199).0)
                },
                Neighbour { id: ids[2], role: Role::User, content: "what next?".into() },
            ],
        };
        let whole = Found { hits: vec![hit], manner: Manner::Words, considered: 1, ..Found::default() };
        assert_eq!(found, whole, "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn every_filter_holds_back_what_it_should() {
    for stage in Stage::every().await {
        for (session, source) in [("f1", "cli"), ("f2", "telegram"), ("f3", "cron")] {
            stage.store.create(NewSession::new(SessionId::new(session), source)).await.expect("a session");
        }
        let at = |seconds: f64, new: NewMessage| NewMessage { at: Some(Moment::from_seconds(seconds)), ..new };
        let mut ids = Vec::new();
        for (session, message) in [
            ("f1", at(100.0, say("qnaz 蚊子 one"))),
            ("f1", at(200.0, message(json!({"role": "assistant", "content": "qnaz 蚊子 two"})))),
            ("f2", at(300.0, say("qnaz 蚊子 three"))),
            ("f3", at(400.0, message(json!({"role": "tool", "tool_call_id": "c", "content": "qnaz 蚊子 four"})))),
        ] {
            ids.extend(stage.store.append(&SessionId::new(session), vec![message]).await.expect("kept"));
        }
        let moment = |seconds| Some(Moment::from_seconds(seconds));
        for text in ["qnaz", "蚊子", "qna*", "naz", "qn*"] {
            let base = SearchQuery { order: SearchOrder::Oldest, ..SearchQuery::new(text) };
            let table: [(SearchQuery, &[usize]); 9] = [
                (base.clone(), &[0, 1, 2, 3]),
                (SearchQuery { sources: vec!["cli".into(), "cron".into()], ..base.clone() }, &[0, 1, 3]),
                (SearchQuery { exclude_sources: vec!["cli".into()], ..base.clone() }, &[2, 3]),
                (SearchQuery { roles: vec![Role::User], ..base.clone() }, &[0, 2]),
                (SearchQuery { session: Some(SessionId::new("f1")), ..base.clone() }, &[0, 1]),
                (SearchQuery { session: Some(SessionId::new("nowhere")), ..base.clone() }, &[]),
                (SearchQuery { since: moment(200.0), until: moment(300.0), ..base.clone() }, &[1, 2]),
                (SearchQuery { order: SearchOrder::Newest, limit: 2, ..base.clone() }, &[3, 2]),
                (SearchQuery { offset: 3, ..base.clone() }, &[3]),
            ];
            for (query, places) in table {
                let found = search(&stage, query.clone()).await;
                let expected: Vec<MessageId> = places.iter().map(|place| ids[*place]).collect();
                let hits: Vec<MessageId> = found.hits.iter().map(|hit| hit.id).collect();
                assert_eq!(hits, expected, "{query:?} in {:?}", stage.kind);
            }
        }
    }
}

#[tokio::test]
async fn what_was_taken_back_stays_hidden_and_what_was_summarised_is_found() {
    for stage in Stage::every().await {
        let ids = tell(&stage, "states", &["the saiga 羚羊 stays", "the saiga 羚羊 was wrong"]).await;
        let id = SessionId::new("states");
        stage.store.rewind(&id, ids[1]).await.expect("undone");
        stage.store.compact(&id, ids[0], vec![say("a summary")]).await.expect("compacted");
        for text in ["saiga", "羚羊", "sai*", "sa*", "aig"] {
            assert_eq!(found(&stage, text, &ids).await.0, [0], "{text} in {:?}", stage.kind);
            let everything = SearchQuery { undone_too: true, order: SearchOrder::Newest, ..SearchQuery::new(text) };
            let hits: Vec<MessageId> = search(&stage, everything).await.hits.iter().map(|hit| hit.id).collect();
            assert_eq!(hits, [ids[1], ids[0]], "{text} in {:?}", stage.kind);
        }
    }
}

#[tokio::test]
async fn relevance_and_age_decide_together_and_pages_do_not_overlap() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("ranks").await;
    let year = 365.0 * 86_400.0;
    let at = |years: f64, text: &str| NewMessage { at: Some(Moment::from_seconds(1e9 + years * year)), ..say(text) };
    let padding = "and much that has nothing to do with it ".repeat(20);
    let ids = stage
        .store
        .append(
            &id,
            vec![
                at(0.0, "dhole facts: dhole habitat and dhole diet"),
                at(1.0, &format!("{padding} dhole {padding}")),
                at(2.0, "the dhole was seen"),
                at(3.0, "the dhole was seen"),
            ],
        )
        .await
        .expect("kept");
    let hits = |found: Found| found.hits.iter().map(|hit| hit.id).collect::<Vec<_>>();
    let all = hits(search(&stage, SearchQuery::new("dhole")).await);
    assert_eq!(all, [ids[0], ids[3], ids[2], ids[1]]);
    let mut paged = Vec::new();
    for offset in 0..5 {
        paged.extend(hits(search(&stage, SearchQuery { limit: 1, offset, ..SearchQuery::new("dhole") }).await));
    }
    assert_eq!(paged, all);
}

#[tokio::test]
async fn common_words_are_ranked_among_the_newest_and_say_so() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("common").await;
    let many: Vec<NewMessage> = (0..1200).map(|number| say(&format!("krill {number} 磷虾"))).collect();
    let ids = stage.store.append(&id, many).await.expect("kept");
    for text in ["krill", "磷虾", "kri*"] {
        let found =
            search(&stage, SearchQuery { order: SearchOrder::Newest, limit: 1, ..SearchQuery::new(text) }).await;
        assert_eq!((found.considered, found.more, found.hits[0].id), (1000, true, ids[1199]), "{text}");
        let last = SearchQuery { order: SearchOrder::Oldest, limit: 1, offset: 1199, ..SearchQuery::new(text) };
        let found = search(&stage, last).await;
        assert_eq!((found.considered, found.more, found.hits[0].id), (1200, false, ids[1199]), "{text}");
    }
}

#[tokio::test]
async fn the_python_programs_file_gives_what_it_gave_there_and_what_it_did_not_find() {
    let stage = Stage::of(Kind::Python).await;
    let table: [(&str, &[i64]); 16] = [
        ("***", &[]),
        ("axolotl", &[]),
        ("bandicoot", &[5]),
        ("chat-send", &[1]),
        ("deploy OR wallaby", &[13, 48, 49]),
        ("echidna", &[15, 16, 17, 19, 20, 22]),
        ("kookaburra", &[37, 38, 39, 40]),
        ("manatee", &[25, 26, 27, 28, 29]),
        ("platypus", &[7, 8]),
        ("quokka", &[1, 2]),
        ("tapir", &[42, 43, 44, 45, 46, 47]),
        ("terminal", &[2, 3]),
        ("数据库服务器", &[9, 10]),
        ("部署", &[9, 10]),
        // Its own search finds nothing here, and an undone message there.
        ("ไฟล์ข้อมูล", &[11, 12]),
        ("撤销", &[]),
    ];
    for (text, expected) in table {
        let found = search(&stage, SearchQuery { order: SearchOrder::Oldest, ..SearchQuery::new(text) }).await;
        let mut hits: Vec<i64> = found.hits.iter().map(|hit| hit.id.0).collect();
        hits.sort_unstable();
        assert_eq!(hits, expected, "{text}");
    }
}

#[tokio::test]
async fn names_with_signs_and_emoji_are_found_as_they_are() {
    let said =
        ["we use C++ here", "plain C here", "C# and .NET", "the net of C", "ship it 🚀 now", "shipped ❤\u{FE0F}"];
    let table: [(&str, &[usize]); 8] = [
        ("C++", &[0]),
        ("c#", &[2]),
        (".net", &[2]),
        ("c", &[0, 1, 2, 3]),
        ("c NOT c++", &[1, 2, 3]),
        ("🚀", &[4]),
        ("🚀 OR plain", &[1, 4]),
        ("❤", &[5]),
    ];
    for stage in Stage::every().await {
        let ids = tell(&stage, "signs", &said).await;
        for (query, places) in table {
            assert_eq!(found(&stage, query, &ids).await.0, places, "{query} in {:?}", stage.kind);
        }
    }
}
