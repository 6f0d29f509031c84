//! No two sessions have the same title, and a conversation that goes on keeps its own.

use crate::sessions::{begin, cases, end, sid};
use crate::stage::{Kind, Stage};
use hermes_core::store::{Sessions, StoreError};
use hermes_types::{SessionId, TitleFault};
use proptest::collection::btree_set;
use proptest::prelude::*;

async fn title_of(stage: &Stage, id: &str) -> Option<String> {
    stage.store.session(&sid(id)).await.expect("read").expect("there").title
}

#[tokio::test]
async fn a_title_is_held_by_one_session() {
    for stage in Stage::every().await {
        let (a, b) = (begin(&stage, "a", 1.0, None, None).await, begin(&stage, "b", 2.0, None, None).await);
        let kept = Ok(Some("Fix the build".to_owned()));
        assert_eq!(stage.store.rename(&a, " Fix\u{200b}\tthe\nbuild ").await, kept, "{:?}", stage.kind);
        assert_eq!(stage.store.rename(&a, "Fix the build").await, kept, "its own");
        let taken = StoreError::TitleTaken { title: "Fix the build".into(), holder: a.clone() };
        assert_eq!(stage.store.rename(&b, "Fix the build").await, Err(taken.clone()));
        assert_eq!(stage.store.rename_if_unnamed(&b, "Fix the build").await, Err(taken));
        assert_eq!(stage.store.rename_if_unnamed(&a, "Other").await, Ok(false));
        assert_eq!(stage.store.rename_if_unnamed(&b, " \u{200b} ").await, Ok(false), "nothing to show");
        assert_eq!(stage.store.rename_if_unnamed(&b, "Other").await, Ok(true));
        assert_eq!(stage.store.rename(&a, "").await, Ok(None));
        assert_eq!(stage.store.rename(&b, "Fix the build").await, kept, "free again");
        assert_eq!((title_of(&stage, "a").await, title_of(&stage, "b").await), (None, Some("Fix the build".into())));
        let long = stage.store.rename(&a, &"x".repeat(101)).await;
        assert_eq!(long, Err(StoreError::Title(TitleFault::TooLong(101))));
        assert_eq!(stage.store.rename(&sid("nobody"), "T").await, Err(StoreError::NoSession("nobody".into())));
    }
}

#[tokio::test]
async fn a_title_moves_along_a_compressed_conversation_and_nowhere_else() {
    for stage in Stage::every().await {
        begin(&stage, "first", 1.0, None, None).await;
        stage.store.rename(&sid("first"), "Refactor").await.expect("named");
        end(&stage, "first", "compression").await;
        begin(&stage, "second", 2.0, Some("first"), None).await;
        end(&stage, "second", "compression").await;
        let third = begin(&stage, "third", 3.0, Some("second"), None).await;
        let taken = Err(StoreError::TitleTaken { title: "Refactor".into(), holder: sid("first") });
        for (id, mark) in [("branch", "_branched_from"), ("helper", "_delegate_from")] {
            let other = begin(&stage, id, 4.0, Some("second"), Some(mark)).await;
            assert_eq!(stage.store.rename(&other, "Refactor").await, taken, "{id} {:?}", stage.kind);
        }
        assert_eq!(stage.store.rename(&third, "Refactor").await, Ok(Some("Refactor".into())));
        assert_eq!((title_of(&stage, "first").await, title_of(&stage, "third").await), (None, Some("Refactor".into())));
        let back = stage.store.rename(&sid("first"), "Refactor").await;
        assert_eq!(back, Err(StoreError::TitleTaken { title: "Refactor".into(), holder: third }), "never back");
    }
}

#[tokio::test]
async fn two_programs_that_want_the_same_title_are_told_apart() {
    let stage = Stage::of(Kind::New).await;
    let other = crate::stage::open(&stage.path).await;
    let (a, b) = (stage.session("a").await, stage.session("b").await);
    for round in 0..20 {
        let title = format!("Round {round}");
        let (first, second) = tokio::join!(stage.store.rename(&a, &title), other.rename(&b, &title));
        let taken = |holder: &SessionId| Err(StoreError::TitleTaken { title: title.clone(), holder: holder.clone() });
        let kept = Ok(Some(title.clone()));
        let one_of_them = [(kept.clone(), taken(&a)), (taken(&b), kept)];
        assert!(one_of_them.contains(&(first.clone(), second.clone())), "{first:?} {second:?}");
    }
}

#[tokio::test]
async fn the_next_title_counts_on_in_the_file() {
    for stage in Stage::every().await {
        for (id, title) in [("a", "T"), ("b", "T #7"), ("c", "T #x"), ("d", "t #9"), ("e", "A_"), ("f", "AB #4")] {
            begin(&stage, id, 1.0, None, None).await;
            stage.store.rename(&sid(id), title).await.expect("named");
        }
        for (title, next) in [("T", "T #8"), ("T #3", "T #8"), ("New", "New"), ("A_", "A_ #2"), ("A%", "A%"), (" ", "")]
        {
            assert_eq!(stage.store.next_title(title).await.as_deref(), Ok(next), "{title} {:?}", stage.kind);
        }
    }
}

#[test]
fn the_next_title_is_free_and_fits_whatever_is_there() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let stage = runtime.block_on(Stage::of(Kind::New));
    let raw = stage.look();
    raw.execute_batch("PRAGMA synchronous = OFF").expect("set");
    let base = prop_oneof![
        Just("T".to_owned()),
        Just("%_".to_owned()),
        (76..=100_usize).prop_map(|length| "x".repeat(length)),
        // A blank where the base may be cut.
        (75..=80_usize).prop_map(|length| format!("{} {}", "é".repeat(length), "y".repeat(99 - length))),
        "[T#1 \u{10ffff}]{1,5}",
    ];
    let number = prop_oneof![
        Just(String::new()),
        (0..4_u64).prop_map(|number| format!(" #{number}")),
        (u64::MAX - 2..=u64::MAX).prop_map(|number| format!(" #{number}")),
        Just(" #18446744073709551616".to_owned()),
        Just(" #02".to_owned()),
    ];
    let title = (base, number).prop_map(|(base, number)| {
        let head: String = base.chars().take(100 - number.chars().count()).collect();
        format!("{}{number}", head.trim()).trim().to_owned()
    });
    let told = cases(96).run(&(btree_set(title.clone(), 0..12), title), |(titles, asked)| {
        raw.execute("DELETE FROM sessions", []).expect("emptied");
        for (place, title) in titles.iter().enumerate() {
            let insert = "INSERT INTO sessions(id, source, started_at, title) VALUES(?1, 'x', 0, ?2)";
            raw.execute(insert, (place.to_string(), title)).expect("a row");
        }
        let next = runtime.block_on(stage.store.next_title(&asked)).expect("a title");
        prop_assert!(!titles.contains(&next), "{:?} is taken", next);
        prop_assert!(next.chars().count() <= 100, "{:?} is too long", next);
        // What is offered is accepted as it is.
        raw.execute("INSERT INTO sessions(id, source, started_at) VALUES('new', 'x', 0)", []).expect("a row");
        let kept = runtime.block_on(stage.store.rename(&sid("new"), &next));
        prop_assert_eq!(kept, Ok((!next.is_empty()).then_some(next)));
        Ok(())
    });
    assert_eq!(told.map_err(|error| error.to_string()), Ok(()));
}
