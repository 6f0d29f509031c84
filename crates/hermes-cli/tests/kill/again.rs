//! Killed again and again: every program that goes on is killed a few writes later, also while it settles what the one
//! before it left open.

use crate::judge::{Kept, faults_behind_kill, whole};
use crate::sniper::{self, Shot};
use crate::sweep::{Home, finish, stage, words};
use crate::tale::{ANSWER, QUESTION};
use crate::tally::Tally;
use crate::{HERMES, wanted};

/// Programs of the ordinary run and at most; whoever is left then may finish.
const PROGRAMS: (usize, usize) = (24, 400);
/// A program that goes on is killed at each of its writes in turn, up to this one.
const FARTHEST: usize = 48;
/// Shares no divisor with it, so that every write is visited.
const STEP: usize = 11;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_survives_being_killed_again_and_again() {
    if let Some(hindrance) = sniper::hindrance().await {
        eprintln!("killed again and again: skipped, because {hindrance}");
        return;
    }
    let (server, world) = stage(Home::Used).await;
    let ran = world.run(HERMES, &["-z", QUESTION]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let unkilled = whole(&world).await;
    server.finish();

    let mut tally = Tally::of("again and again");
    let (server, world) = stage(Home::Used).await;
    for program in 0..wanted(PROGRAMS.0, PROGRAMS.1) {
        let kept = Kept::of(&world).await;
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
        match sniper::shoot(&world, &words, 1 + program * STEP % FARTHEST).await {
            Shot::Hit => tally.kills += 1,
            Shot::Missed(ran) if ran.code == Some(0) => {}
            Shot::Missed(ran) => tally.faults.push(format!("unfinished: {:?} {}", ran.code, ran.stderr)),
        }
        let faults = faults_behind_kill(&world, &server, &Kept::of(&world).await);
        tally.faults.extend(faults.into_iter().map(|fault| format!("program {program}: {fault}")));
    }
    finish(&world, server, &unkilled, &mut tally).await;
    tally.settle();
}
