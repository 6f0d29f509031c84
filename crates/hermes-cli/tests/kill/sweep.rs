//! A kill at every write: at each one of them, or evenly spread over all.

use crate::judge::{Kept, Line, faults_at_end, faults_behind_kill, whole};
use crate::sniper::{self, Shot};
use crate::tale::{self, ANSWER, QUESTION};
use crate::tally::Tally;
use crate::{HERMES, spread};
use hermes_core::clock::RealClock;
use hermes_store::SqliteStore;
use hermes_testkit::{ModelServer, World};
use std::sync::Arc;

/// Kill points of the ordinary run.
const OF_THE_SESSION: usize = 36;
const OF_THE_FIRST_START: usize = 6;
/// As many sessions at the same time.
const SIDE_BY_SIDE: usize = 3;
/// A session that is not finished after so many programs never will be.
const PATIENCE: usize = 5;

/// Where the session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// No database yet: the first writes make it.
    New,
    /// A database that is there, without a session.
    Used,
}

/// A scripted model and a home for the session.
pub(crate) async fn stage(home: Home) -> (ModelServer, World) {
    let server = ModelServer::directed(tale::next).await;
    let world = tale::stage(&server);
    if home == Home::Used {
        let path = world.hermes_home().join("state.db");
        SqliteStore::open(&path, Arc::new(RealClock::default())).await.expect("a store").close().await;
    }
    (server, world)
}

/// What to type to have the question answered, given what is on the disk.
pub(crate) fn words(kept: &Kept) -> Vec<String> {
    let words = match &kept.session {
        Some(session) => vec!["--resume", session.as_str()],
        None => vec!["-z", QUESTION],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// Goes on with a killed session until it has its answer, and judges it.
pub(crate) async fn finish(world: &World, server: ModelServer, whole: &[Line], tally: &mut Tally) {
    for _ in 0..PATIENCE {
        let kept = Kept::of(world).await;
        if kept.told().last().is_some_and(|line| line.is_answer(ANSWER)) {
            break;
        }
        match kept.session {
            Some(_) => tally.resumed += 1,
            None => tally.asked_again += 1,
        }
        tally.run_late += kept.left_to_run();
        let words = words(&kept);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = world.run(HERMES, &words).await;
        if ran.code != Some(0) || ran.stdout != format!("{ANSWER}\n") {
            tally.faults.push(format!("unfinished: {:?} {} {}", ran.code, ran.stdout, ran.stderr));
        }
    }
    let kept = Kept::of(world).await;
    tally.ended(&kept);
    tally.faults.extend(faults_at_end(world, &kept, whole));
    tally.faults.extend(server.take_violations().into_iter().map(|violation| format!("violated: {violation}")));
    server.finish();
}

/// One session, killed once.
async fn kill_at(home: Home, nth: usize, whole: Arc<Vec<Line>>) -> Tally {
    let mut tally = Tally::default();
    let (server, world) = stage(home).await;
    match sniper::shoot(&world, &["-z", QUESTION], nth).await {
        Shot::Hit => tally.kills += 1,
        Shot::Missed(ran) => {
            // Writes are not the same in every run: what waits is written together.
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            server.finish();
            return tally;
        }
    }
    let kept = Kept::of(&world).await;
    tally.faults.extend(faults_behind_kill(&world, &server, &kept));
    finish(&world, server, &whole, &mut tally).await;
    tally.faults.iter_mut().for_each(|fault| *fault = format!("write {nth}: {fault}"));
    tally
}

async fn sweep(name: &'static str, home: Home, usual: usize) {
    if let Some(hindrance) = sniper::hindrance().await {
        eprintln!("{name}: skipped, because {hindrance}");
        return;
    }
    let (server, world) = stage(home).await;
    let (ran, writes) = sniper::count(&world, &["-z", QUESTION]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All of it is done.\n"), "{}", ran.stderr);
    let unkilled = Arc::new(whole(&world).await);
    assert_eq!(faults_at_end(&world, &Kept::of(&world).await, &unkilled), Vec::<String>::new());
    server.finish();
    let writes = match home {
        Home::New => writes.opening,
        Home::Used => writes.session,
    };
    let mut tally = Tally { of: Some(writes), ..Tally::of(name) };
    let mut waiting = spread(usual, writes).into_iter();
    let mut running = tokio::task::JoinSet::new();
    loop {
        while running.len() < SIDE_BY_SIDE
            && let Some(nth) = waiting.next()
        {
            running.spawn(kill_at(home, nth + 1, unkilled.clone()));
        }
        let Some(done) = running.join_next().await else { break };
        tally.add(done.expect("a session"));
    }
    tally.settle();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_survives_a_kill_at_every_write() {
    sweep("at a write of the session", Home::Used, OF_THE_SESSION).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_survives_a_kill_while_its_database_is_made() {
    sweep("while the database is made", Home::New, OF_THE_FIRST_START).await;
}
