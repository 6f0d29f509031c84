//! `hermes sessions search`: where something was said.
//!
//! Hits are grouped by conversation, in the order they were ranked. Finding nothing is an answer, not a failure: the exit
//! code is 0 and a sentence on stderr says so.

use super::paper::{Ink, Paper, cut, one_line};
use super::when::Clock;
use super::{Console, Desk, Exit, Trouble};
use crate::output::wrap;
use clap::{Args, ValueEnum};
use hermes_store::Query;
use hermes_types::{Found, Hit, Manner, Role, SearchOrder, SearchQuery, SessionId};
use std::collections::HashMap;

/// What `--json` prints where nothing was ever said.
pub(super) const NOTHING: &str =
    r#"{"hits": [], "manner": "words", "considered": 0, "more": false, "unseen": false, "has_next": false}"#;
/// How the store marks a match.
const OPEN: &str = ">>>";
const CLOSE: &str = "<<<";
/// Context is a reminder, not the text.
const CONTEXT_CELLS: usize = 100;

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words that must all be there; "several words" are a phrase; OR, NOT and prefix* work too
    #[arg(required = true, value_name = "QUERY")]
    pub query: Vec<String>,
    /// Only conversations held here (repeatable)
    #[arg(long, value_name = "SOURCE")]
    pub source: Vec<String>,
    /// None held here (repeatable)
    #[arg(long, value_name = "SOURCE")]
    pub exclude_source: Vec<String>,
    /// Only what was said by: user, assistant, tool, system (repeatable)
    #[arg(long, value_enum, value_name = "ROLE")]
    pub role: Vec<Speaker>,
    /// Not before this time
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Not after this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only in this conversation: id, beginning of an id, or title
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// What comes first
    #[arg(long, value_enum, default_value_t = Order::Best)]
    pub sort: Order,
    /// At most this many hits
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = super::at_least_one)]
    pub limit: usize,
    /// Leave out the first N hits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Speaker {
    User,
    Assistant,
    Tool,
    System,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// What fits best, newer before older
    Best,
    Newest,
    Oldest,
}

pub(super) async fn run(args: SearchArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let found = desk.store.search(query(&args, desk).await?).await?;
    if args.json {
        return desk.print_json(&found, console);
    }
    let names = names(&found.hits, desk).await?;
    write!(console.out, "{}", draw(&found.hits, &names, desk.paper, &desk.clock))?;
    for remark in remarks(&args, &found) {
        writeln!(console.err, "{remark}")?;
    }
    Ok(Exit::Done)
}

async fn query(args: &SearchArgs, desk: &Desk<'_>) -> Result<SearchQuery, Trouble> {
    let words = words(&args.query)?;
    let session = match &args.session {
        Some(name) => Some(desk.find(name).await?),
        None => None,
    };
    let role = |speaker: &Speaker| match speaker {
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
        Speaker::Tool => Role::Tool,
        Speaker::System => Role::System,
    };
    Ok(SearchQuery {
        sources: args.source.clone(),
        exclude_sources: args.exclude_source.clone(),
        roles: args.role.iter().map(role).collect(),
        session,
        since: desk.time(args.since.as_deref())?,
        until: desk.time(args.until.as_deref())?,
        order: match args.sort {
            Order::Best => SearchOrder::Best,
            Order::Newest => SearchOrder::Newest,
            Order::Oldest => SearchOrder::Oldest,
        },
        limit: args.limit,
        offset: args.offset,
        ..SearchQuery::new(words)
    })
}

/// What was typed, as one query. The shell takes quotes away: an argument of several words is the phrase it was, unless
/// it is a query of its own, with operators or quotes in it.
pub(super) fn words(typed: &[String]) -> Result<String, Trouble> {
    let is_operator = |word: &str| matches!(word, "AND" | "OR" | "NOT");
    let quoted = |argument: &String| {
        let argument = argument.trim();
        let phrase = argument.contains(char::is_whitespace) && !argument.contains(['"', '*']);
        let phrase = phrase && !argument.split_whitespace().any(is_operator);
        if phrase { format!("\"{argument}\"") } else { argument.to_owned() }
    };
    let query = typed.iter().map(quoted).collect::<Vec<_>>().join(" ");
    Query::parse(&query).map_err(|reason| Trouble::Usage(format!("{reason}.")))?;
    Ok(query)
}

/// What has to be known about the hits besides them.
fn remarks(args: &SearchArgs, found: &Found) -> Vec<String> {
    let mut remarks = Vec::new();
    if found.hits.is_empty() {
        let words = one_line(&args.query.join(" "));
        remarks.push(match args.offset {
            0 => format!("Nothing was found for: {words}"),
            offset => format!("There are no more than {offset} hits for: {words}"),
        });
    } else if found.manner == Manner::Inside {
        remarks.push("Matched anywhere inside words.".into());
    }
    if found.more {
        let ranked = found.considered;
        remarks.push(format!(
            "The words are common: only the newest {ranked} matches were ranked. More words, --since and --until look further back."
        ));
    }
    if found.unseen {
        remarks
            .push("Not everything is indexed yet: some messages were not looked through. Search again later.".into());
    }
    if found.has_next && !found.hits.is_empty() {
        let next = args.offset.saturating_add(args.limit);
        remarks.push(format!("`--offset {next}` shows what follows."));
    }
    remarks
}

/// What the conversations are called that something was found in.
async fn names(hits: &[Hit], desk: &Desk<'_>) -> Result<Names, Trouble> {
    let mut names = Names::new();
    for hit in hits {
        if names.contains_key(&hit.session_id) {
            continue;
        }
        let preview = match &hit.title {
            Some(_) => String::new(),
            None => {
                let family = desk.store.lineage(&hit.session_id).await?;
                let own = family.into_iter().find(|relative| relative.id == hit.session_id);
                own.map(|own| own.preview).unwrap_or_default()
            }
        };
        names.insert(hit.session_id.clone(), super::called(hit.title.as_deref(), &preview));
    }
    Ok(names)
}

type Names = HashMap<SessionId, String>;

fn draw(hits: &[Hit], names: &Names, paper: Paper, clock: &Clock) -> String {
    let mut sessions: Vec<&SessionId> = Vec::new();
    for hit in hits {
        if !sessions.contains(&&hit.session_id) {
            sessions.push(&hit.session_id);
        }
    }
    let mut blocks = Vec::new();
    for session in sessions {
        let mut lines = Vec::new();
        for hit in hits.iter().filter(|hit| hit.session_id == *session) {
            if lines.is_empty() {
                let name = names.get(session).map(String::as_str).unwrap_or_default();
                lines.push(heading(hit, name, paper, clock));
            }
            lines.extend(drawn_hit(hit, paper, clock));
        }
        blocks.push(lines.join("\n") + "\n");
    }
    blocks.join("\n")
}

fn heading(hit: &Hit, name: &str, paper: Paper, clock: &Clock) -> String {
    let about = format!(
        "  {}  {}  {}",
        clock.ago(hit.session_started),
        one_line(&hit.source),
        one_line(hit.session_id.as_str())
    );
    let room = paper.width.map_or(usize::MAX, |width| width.saturating_sub(super::paper::cells(&about)));
    format!("{}{}", paper.ink(Ink::Bold, &cut(name, room.max(10))), paper.ink(Ink::Dim, &about))
}

fn drawn_hit(hit: &Hit, paper: Paper, clock: &Clock) -> Vec<String> {
    let who = match (hit.role, hit.tool_name.as_deref()) {
        (Role::Tool, Some(tool)) => one_line(tool),
        (role, _) => word(role).to_owned(),
    };
    let (before, after): (Vec<_>, Vec<_>) = hit.context.iter().partition(|neighbour| neighbour.id < hit.id);
    let room = paper.width.map_or(usize::MAX, |width| width.saturating_sub(4));
    let context = |neighbours: Vec<&hermes_types::Neighbour>| -> Vec<String> {
        let told = neighbours.iter().map(|neighbour| (neighbour.role, read(neighbour.role, &neighbour.content)));
        let told = told.filter(|(_, text)| !text.is_empty());
        told.map(|(role, text)| {
            let line = format!("{}: {text}", word(role));
            let line = if paper.is_terminal() { cut(&line, room.min(CONTEXT_CELLS)) } else { line };
            format!("    {}", paper.ink(Ink::Dim, &line))
        })
        .collect()
    };
    let mark = paper.ink(Ink::Dim, &format!("#{} {}", hit.id, clock.stamp(hit.at)));
    let mut lines = vec![format!("  {who} {mark}")];
    lines.extend(context(before));
    let snippet = read(hit.role, &hit.snippet);
    let snippet = match paper.is_terminal() {
        true => wrap::fill(&snippet, room).lines().flat_map(|line| broken(line, room)).collect::<Vec<_>>(),
        false => vec![snippet],
    };
    lines.push(format!("    {}", highlighted(&snippet.join("\n    "), paper)));
    lines.extend(context(after));
    lines
}

/// What was said, on one line. Results are JSON often enough, and read better with their signs apart.
fn read(role: Role, text: &str) -> String {
    match role {
        Role::Tool => {
            let text = text.replace("\\n", " ").replace("\\\"", "\"").replace("\":", "\": ").replace(",\"", ", \"");
            one_line(&text)
        }
        Role::System | Role::User | Role::Assistant => one_line(text),
    }
}

/// A word without an end is broken where the line is full, but never through the marks of a match.
fn broken(line: &str, room: usize) -> Vec<String> {
    if line.contains(OPEN) || line.contains(CLOSE) { vec![line.to_owned()] } else { wrap::folded(line, room) }
}

fn word(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "you",
        Role::Assistant => "hermes",
        Role::Tool => "tool",
    }
}

/// Matches in colour where there are colours, in their marks elsewhere.
fn highlighted(snippet: &str, paper: Paper) -> String {
    if !paper.colour {
        return snippet.to_owned();
    }
    let mut out = String::new();
    let mut rest = snippet;
    while let Some((before, (inside, after))) =
        rest.split_once(OPEN).and_then(|(before, rest)| Some((before, rest.split_once(CLOSE)?)))
    {
        out.push_str(before);
        out.push_str(&paper.ink(Ink::Match, inside));
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{MessageId, Moment, Neighbour};

    fn hit(id: i64, session: &str, title: Option<&str>, snippet: &str) -> Hit {
        let began = 1_760_000_000.0;
        Hit {
            id: MessageId(id),
            session_id: SessionId::new(session),
            role: Role::Assistant,
            snippet: snippet.into(),
            at: Moment::from_seconds(began + id as f64),
            tool_name: None,
            source: "cli".into(),
            model: None,
            session_started: Moment::from_seconds(began),
            title: title.map(str::to_owned),
            context: vec![
                Neighbour { id: MessageId(id - 1), role: Role::User, content: "and\nthe \u{1b}[31mquokka?".into() },
                Neighbour { id: MessageId(id + 1), role: Role::Tool, content: String::new() },
            ],
        }
    }

    #[test]
    fn hits_stand_under_their_conversation() {
        let hits = [
            hit(5, "s1", Some("Animals"), "the >>>quokka<<< eats\u{1b}]0;owned\u{7} leaves"),
            hit(9, "s2", None, ">>>quokka<<<"),
            hit(7, "s1", Some("Animals"), "a >>>quokka<<<"),
        ];
        let clock = Clock::at("2026-07-15T12:00:00Z");
        let named = |id: &str, name: &str| (SessionId::new(id), name.to_owned());
        let names = Names::from([named("s1", "Animals"), named("s2", "where do quokkas live?")]);
        let plain = draw(&hits, &names, Paper { width: None, colour: false }, &clock);
        let expected = "\
Animals  2025-10-09  cli  s1
  hermes #5 2025-10-09 08:53
    you: and the quokka?
    the >>>quokka<<< eats leaves
  hermes #7 2025-10-09 08:53
    you: and the quokka?
    a >>>quokka<<<

where do quokkas live?  2025-10-09  cli  s2
  hermes #9 2025-10-09 08:53
    you: and the quokka?
    >>>quokka<<<
";
        assert_eq!(plain, expected);
        let inked = draw(&hits, &names, Paper { width: Some(80), colour: true }, &clock);
        assert!(inked.contains("the \u{1b}[1;33mquokka\u{1b}[0m eats leaves"), "{inked:?}");
    }

    #[test]
    fn what_a_tool_gave_stays_inside_of_the_lines() {
        let json =
            r#"{"bytes_written":30,"resolved_path":"/home/ada/work/quokka.py","files_modified":["quokka.py"]} done"#;
        let paper = Paper { width: Some(44), colour: false };
        let drawn = draw(&[hit(5, "s1", None, json)], &Names::new(), paper, &Clock::at("2026-07-15T12:00:00Z"));
        for line in drawn.lines().skip(3) {
            assert!(line.starts_with("    ") && super::super::paper::cells(line) <= 44, "{drawn}");
        }
        assert!(drawn.ends_with("done\n"), "{drawn}");
        let told = r#"{"success":true,"diff":"-print(\"a\")\n+print(\"b\")\n","files":["a.py"]}"#;
        assert_eq!(
            read(Role::Tool, told),
            r#"{"success": true, "diff": "-print("a") +print("b") ", "files": ["a.py"]}"#
        );
        assert_eq!(read(Role::User, "as\\nI said"), "as\\nI said");
    }

    #[test]
    fn an_argument_of_several_words_is_a_phrase_and_nothing_to_look_for_is_a_mistake() {
        let told = |typed: &[&str]| {
            let typed: Vec<String> = typed.iter().map(|word| (*word).to_owned()).collect();
            words(&typed).map_err(|trouble| trouble.exit())
        };
        let table: [(&[&str], Option<&str>); 9] = [
            (&["deploy", "exact phrase", "NOT", "draft"], Some("deploy \"exact phrase\" NOT draft")),
            (&["docker NOT compose"], Some("docker NOT compose")),
            (&["\"as typed\" x"], Some("\"as typed\" x")),
            (&["deploy* fast"], Some("deploy* fast")),
            (&[""], None),
            (&["  ", "((("], None),
            (&["NOT", "draft"], None),
            (&["OR", "NOT", "draft"], None),
            (&["AND"], None),
        ];
        for (typed, query) in table {
            assert_eq!(told(typed), query.map(str::to_owned).ok_or(Exit::Usage), "{typed:?}");
        }
    }

    #[test]
    fn what_is_missing_from_the_hits_is_said_and_why() {
        let args = SearchArgs {
            query: vec!["quokka".into()],
            source: Vec::new(),
            exclude_source: Vec::new(),
            role: Vec::new(),
            since: None,
            until: None,
            session: None,
            sort: Order::Best,
            limit: 1,
            offset: 4,
            json: false,
        };
        let whole = Found { hits: vec![hit(5, "s1", None, "x")], considered: 1, ..Found::default() };
        let common = "The words are common: only the newest 1 matches were ranked. More words, --since and --until look further back.";
        let unseen = "Not everything is indexed yet: some messages were not looked through. Search again later.";
        let table: [(Found, &[&str]); 5] = [
            (whole.clone(), &[]),
            (Found { more: true, ..whole.clone() }, &[common]),
            (Found { unseen: true, ..whole.clone() }, &[unseen]),
            (Found { has_next: true, ..whole }, &["`--offset 5` shows what follows."]),
            (Found { unseen: true, ..Found::default() }, &["There are no more than 4 hits for: quokka", unseen]),
        ];
        for (found, said) in table {
            assert_eq!(remarks(&args, &found), said);
        }
    }

    #[test]
    fn marks_that_were_said_are_left_alone() {
        let paper = Paper { width: None, colour: true };
        assert_eq!(highlighted(">>> print(1)", paper), ">>> print(1)");
        assert_eq!(highlighted("<<< a >>>b<<< >>>", paper), "<<< a \u{1b}[1;33mb\u{1b}[0m >>>");
    }
}
