//! `hermes sessions replay`: a recorded conversation held again without network, its requests compared byte by byte.
//!
//! Exit 0 says that everything that could be held again has the bytes of then. Nothing is asked, run or written.

mod difference;

use super::paper::{Ink, one_line};
use super::{Console, Desk, Exit, Trouble, count};
use crate::commands::table::{grouped, write_within};
use clap::Args;
use difference::difference;
use hermes_agent::replay::{Compared, How, Verdict, replay};
use hermes_types::{Break, Moment, SessionId};
use serde::Serialize;

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Id, the beginning of an id, or title
    pub name: String,
    /// Only the first N requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub until: Option<u64>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(args: ReplayArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let id = desk.find(&args.name).await?;
    let how = How { until: args.until, ..How::default() };
    let requests = replay(desk.store, &id, &how).await?;
    if requests.is_empty() {
        return Err(Trouble::Refused(format!(
            "{} cannot be replayed: what went over the wire was not recorded. It was held by the Python program, or \
             before there was a record, or copied from another session.",
            one_line(id.as_str())
        )));
    }
    let mut breaks = desk.store.breaks(&id).await?;
    breaks.retain(|broken| args.until.is_none_or(|until| broken.number <= until));
    let sums = Sums::of(&requests);
    if args.json {
        desk.print_json(&Record::of(&id, &sums, &requests, &breaks), console)?;
    } else {
        desk.write_replay(&sums, &requests, &breaks, console)?;
    }
    Ok(if sums.is_equal() { Exit::Done } else { Exit::Failed })
}

/// How many requests came out how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct Sums {
    same: u64,
    different: u64,
    left_out: u64,
}

impl Sums {
    fn of(requests: &[Compared]) -> Self {
        let mut sums = Self::default();
        for request in requests {
            match request.verdict {
                Verdict::Same => sums.same += 1,
                Verdict::Different(_) | Verdict::NotAsked => sums.different += 1,
                Verdict::LeftOut(_) => sums.left_out += 1,
            }
        }
        sums
    }

    fn is_equal(self) -> bool {
        self.different == 0 && self.same > 0
    }

    fn told(self) -> String {
        let all = self.same + self.different;
        let held = match (self.same, all) {
            (_, 0) => "No request could be replayed".to_owned(),
            (same, all) if same == all => format!("{} the same, byte for byte", count(all, "request")),
            (same, all) => format!("{} of {} the same, byte for byte", grouped(same), count(all, "request")),
        };
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!("; {} left out", grouped(left_out)),
        };
        format!("{held}{left_out}.")
    }
}

/// What came of a request, in a word or two.
fn verdict(request: &Compared) -> String {
    match &request.verdict {
        Verdict::Same => "same".to_owned(),
        Verdict::Different(_) => "different".to_owned(),
        Verdict::NotAsked => "different: it would not be asked now".to_owned(),
        Verdict::LeftOut(reason) => format!("left out: {reason}"),
    }
}

/// What a request has in place of the recorded bytes, where that differs.
fn difference_of(request: &Compared) -> Vec<String> {
    match &request.verdict {
        Verdict::Different(now) => difference(&request.body, now),
        Verdict::Same | Verdict::NotAsked | Verdict::LeftOut(_) => Vec::new(),
    }
}

impl Desk<'_> {
    fn write_replay(
        &self,
        sums: &Sums,
        requests: &[Compared],
        breaks: &[Break],
        console: &mut Console<'_>,
    ) -> Result<(), Trouble> {
        let rows: Vec<[String; 5]> = requests.iter().map(|request| self.row(request)).collect();
        let mut table = Vec::new();
        write_within(self.paper.width, &mut table, &rows)?;
        for (line, request) in String::from_utf8_lossy(&table).lines().zip(requests) {
            writeln!(console.out, "{line}")?;
            for line in difference_of(request) {
                let ink = if line.starts_with(['-', '+']) { Ink::Match } else { Ink::Dim };
                writeln!(console.out, "      {}", self.paper.ink(ink, &line))?;
            }
        }
        writeln!(console.out, "\n{}", sums.told())?;
        if breaks.is_empty() {
            return Ok(());
        }
        writeln!(console.out, "\nRequests that do not begin with the one before:")?;
        let rows: Vec<[String; 4]> = breaks.iter().map(|broken| self.broken(broken)).collect();
        write_within(self.paper.width, &mut *console.out, &rows)?;
        Ok(())
    }

    fn row(&self, request: &Compared) -> [String; 5] {
        let Compared { number, at, model, body, shared, .. } = request;
        let length = body.len() as u64;
        [
            format!("#{number}"),
            self.clock.stamp(*at),
            one_line(model),
            format!("{}, {} shared", count(length, "byte"), grouped(*shared)),
            verdict(request),
        ]
    }

    fn broken(&self, broken: &Break) -> [String; 4] {
        let Break { number, model, length, shared, cause, .. } = broken;
        [
            format!("#{number}"),
            cause.map_or("no cause was named", |cause| cause.as_str()).to_owned(),
            one_line(model),
            format!("{} of {} shared", grouped(*shared), count(*length, "byte")),
        ]
    }
}

#[derive(Serialize)]
struct Record<'a> {
    session_id: &'a SessionId,
    #[serde(flatten)]
    sums: Sums,
    requests: Vec<Line<'a>>,
    breaks: &'a [Break],
}

#[derive(Serialize)]
struct Line<'a> {
    number: u64,
    at: Moment,
    provider: &'a str,
    model: &'a str,
    length: usize,
    shared: u64,
    verdict: &'static str,
    reason: Option<String>,
    difference: Vec<String>,
}

impl<'a> Record<'a> {
    fn of(session_id: &'a SessionId, sums: &Sums, requests: &'a [Compared], breaks: &'a [Break]) -> Self {
        Self { session_id, sums: *sums, requests: requests.iter().map(Line::of).collect(), breaks }
    }
}

impl<'a> Line<'a> {
    fn of(request: &'a Compared) -> Self {
        let Compared { number, at, provider, model, body, shared, verdict } = request;
        let (word, reason) = match verdict {
            Verdict::Same => ("same", None),
            Verdict::Different(_) => ("different", None),
            Verdict::NotAsked => ("not_asked", None),
            Verdict::LeftOut(reason) => ("left_out", Some(reason.to_string())),
        };
        Self {
            number: *number,
            at: *at,
            provider,
            model,
            length: body.len(),
            shared: *shared,
            verdict: word,
            reason,
            difference: difference_of(request),
        }
    }
}
