//! A server that bills: it counts every request as the simulator of caches does, says so as usage, and plays the script.

use super::probes::{Newest, Questions};
use crate::turns;
use hermes_testkit::Move;
use hermes_testkit::cache::{Bill, Layout, Rules, Till};
use hermes_types::Usage;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What tells a request for a summary from the conversation.
const ASKS_FOR_SUMMARY: &str = "## Historical Task Snapshot";
/// About as long as a model writes; a server that wrote less would make compression look cheaper than it is.
const SUMMARY: usize = 2_000;

pub(super) struct Stage {
    pub(super) address: String,
    play: Arc<Mutex<Play>>,
}

/// What came of it.
pub(super) struct Served {
    pub(super) bill: Bill,
    /// The questions of the conversation, from 1 on, that do not begin with the one before.
    pub(super) breaks: Vec<usize>,
    pub(super) complaints: Vec<String>,
}

struct Play {
    till: Till,
    began: Instant,
    questions: Questions,
    iterations: usize,
    /// Questions of the conversation so far.
    asked: usize,
    summaries: usize,
    before: Option<Layout>,
    breaks: Vec<usize>,
    complaints: Vec<String>,
}

impl Stage {
    pub(super) fn start(rules: Rules, iterations: usize, questions: Questions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let play = Arc::new(Mutex::new(Play {
            till: Till::new(rules),
            began: Instant::now(),
            questions,
            iterations,
            asked: 0,
            summaries: 0,
            before: None,
            breaks: Vec::new(),
            complaints: Vec::new(),
        }));
        let shared = play.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let play = shared.clone();
                std::thread::spawn(move || serve(&stream, &play));
            }
        });
        Self { address, play }
    }

    pub(super) fn served(self) -> Served {
        let play = self.play.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(play.asked, play.iterations + 2, "the script was not played to its end");
        Served { bill: play.till.bill(), breaks: play.breaks.clone(), complaints: play.complaints.clone() }
    }
}

fn serve(stream: &TcpStream, play: &Mutex<Play>) {
    stream.set_nodelay(true).expect("a socket option");
    let mut reader = BufReader::new(stream);
    while let Some((path, body)) = request(&mut reader) {
        let answer = match serde_json::from_slice::<Value>(&body) {
            Ok(body) => {
                let reply = play.lock().unwrap_or_else(PoisonError::into_inner).reply(&body);
                let events = reply.events(&path).concat();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length";
                [format!("{head}: {}\r\n\r\n", events.len()).into_bytes(), events].concat()
            }
            // A look at the list of models.
            Err(_) => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
        };
        let mut writer = stream;
        if writer.write_all(&answer).is_err() {
            return;
        }
    }
}

/// The path and the body of the next request.
fn request(reader: &mut BufReader<&TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split_whitespace().nth(1)?.to_owned();
    Some((path, turns::body(reader)?))
}

impl Play {
    fn reply(&mut self, body: &Value) -> Move {
        let cost = self.till.ring(body, self.began.elapsed());
        let usage = Usage {
            input: cost.plain,
            cache_read: cost.read,
            cache_write: cost.written + cost.written_for_an_hour,
            output: 30,
            ..Usage::default()
        };
        let reply = if asks_for_summary(body) { self.summary() } else { self.next(body) };
        reply.usage(usage)
    }

    /// What a model would write, another text each time.
    fn summary(&mut self) -> Move {
        self.summaries += 1;
        let fact = format!("In part {} the files were read one by one and their words were noted. ", self.summaries);
        let text = fact.repeat(SUMMARY * 4 / fact.len());
        Move::say(&format!("## Goal\nReading files.\n\n## Completed Actions\n1. {text}"))
    }

    /// The next move of the conversation: a file to read, or an answer at half time and at the end.
    fn next(&mut self, body: &Value) -> Move {
        let layout = Layout::of(body);
        self.asked += 1;
        let half = self.iterations / 2;
        if self.before.as_ref().is_some_and(|before| before.shared_with(&layout).broke) {
            self.breaks.push(self.asked);
            let newest = if self.asked <= half + 1 { Newest::First } else { Newest::Second };
            let complaints = self.questions.complaints(body, newest);
            self.complaints.extend(complaints.into_iter().map(|what| format!("question {}: {what}", self.asked)));
        }
        self.before = Some(layout);
        let file = match self.asked {
            asked if asked <= half => asked - 1,
            asked if asked == half + 1 || asked > self.iterations + 1 => return Move::say("That is done."),
            asked => asked - 2,
        };
        let path = format!("file{file}.txt");
        Move::say("").call("read_file", json!({"path": path})).id(&format!("call_{}", self.asked))
    }
}

fn asks_for_summary(body: &Value) -> bool {
    let messages = [&body["messages"], &body["input"]].into_iter().filter_map(Value::as_array).flatten();
    messages.last().is_some_and(|last| last["role"] == "user" && last.to_string().contains(ASKS_FOR_SUMMARY))
}
