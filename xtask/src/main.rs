//! Tools for engineers. `cargo xtask bench`: what the program costs, measured beside a baseline in the same run.
//! `cargo xtask record`: the picture of the demo in the README, made from a real run; of a program that is built already, if
//! one is named.
//!
//! Numbers are printed as ratios too, because a ratio survives a change of machine. Nothing here is a test: no number
//! fails a build.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a tool for engineers: it prints, and it may stop at the first surprise"
)]

mod compress;
mod decode;
mod economy;
mod hands;
mod program;
mod reach;
mod record;
mod store;
mod turns;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["bench"] => {
            decode::run();
            program::run();
            store::run();
            hands::run();
            turns::run();
            compress::run();
            reach::run();
        }
        ["bench", "decode"] => decode::run(),
        ["bench", "program"] => program::run(),
        ["bench", "hands"] => hands::run(),
        ["bench", "loop"] => turns::run(),
        ["bench", "compress"] => compress::run(),
        ["bench", "reach"] => reach::run(),
        ["bench", "economy"] => economy::run(&program::built()),
        ["bench", "economy", program] => economy::run(Path::new(program)),
        ["bench", "store"] => store::run(),
        ["bench", "store", "large"] => store::run_large(),
        ["bench", "store", "open"] => store::run_open(),
        ["bench-writer", path, number, bytes] => store::writer_process(path, number, bytes),
        ["record"] => record::run(&program::built()),
        ["record", program] => record::run(Path::new(program)),
        _ => {
            eprintln!(
                "usage: cargo xtask bench [decode|program|hands|loop|compress|reach|economy [PROGRAM]|store [large|open]] | record [PROGRAM]"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
