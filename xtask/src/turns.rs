//! What the loop itself costs: the time between the end of a model's response and the next request, in the real program
//! with its store on disk.
//!
//! The server is a bare socket that knows all its answers beforehand, so that nothing but the program and the kernel is on
//! the clock. The baseline in the same run is a program that only reads the answer and asks again.

use crate::program::built;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const ITERATIONS: usize = 100;
const AT_THE_END: usize = 10;
const AGENTS: usize = 50;
const ITERATIONS_OF_MANY: usize = 10;
const PARALLEL: usize = 8;

pub(crate) fn run() {
    let binary = built();
    println!("the loop: from the end of a response to the next request, {ITERATIONS} iterations, store on disk");
    println!(
        "{:<34} {:>9} {:>9} {:>9} {:>9} {:>8}   goal",
        "each iteration calls", "median", "p90", "first 10", "last 10", "ratio"
    );
    let bare = bare_client();
    row("nothing (a bare client)", &bare, "");
    row("todo", &measured(&binary, ITERATIONS, |n| vec![todo(n)]), "1.5 ms, ratio 1.1");
    row("terminal true", &measured(&binary, ITERATIONS, |n| vec![command(&format!("true {n}"))]), "4 ms, ratio 1.1");
    row("read_file", &measured(&binary, ITERATIONS, |n| vec![read(n)]), "");
    let eight = |n: usize| (0..PARALLEL).map(|at| command(&format!("true {n} {at}"))).collect();
    row("8 x terminal true", &measured(&binary, ITERATIONS, eight), "");
    many(&binary);
}

/// Many programs at once in one home.
fn many(binary: &Path) {
    let home = tempfile::tempdir().expect("a home");
    let servers: Vec<Server> = (0..AGENTS).map(|_| Server::start(ITERATIONS_OF_MANY, |n| vec![todo(n)])).collect();
    let began = Instant::now();
    let mut programs: Vec<Child> = servers.iter().map(|server| hermes(binary, home.path(), server)).collect();
    for program in &mut programs {
        assert!(program.wait().expect("a program ends").success(), "a program failed");
    }
    let took = began.elapsed();
    let gaps: Vec<Duration> = servers.into_iter().flat_map(Server::gaps).collect();
    let each = took / u32::try_from(AGENTS * ITERATIONS_OF_MANY).unwrap_or(1);
    println!(
        "{AGENTS} programs at once, {ITERATIONS_OF_MANY} iterations of todo each, one home: {:.0} ms in all, {:.2} ms per iteration of wall time, median wait {:.1} ms",
        took.as_secs_f64() * 1e3,
        each.as_secs_f64() * 1e3,
        quantile(&gaps, 0.5).as_secs_f64() * 1e3,
    );
}

fn measured(binary: &Path, iterations: usize, calls: impl Fn(usize) -> Vec<(String, String)>) -> Vec<Duration> {
    let home = tempfile::tempdir().expect("a home");
    std::fs::write(home.path().join("notes.txt"), "one line\n".repeat(50)).expect("a file to read");
    let server = Server::start(iterations, calls);
    let mut program = hermes(binary, home.path(), &server);
    assert!(program.wait().expect("the program ends").success(), "the program failed");
    server.gaps()
}

fn hermes(binary: &Path, home: &Path, server: &Server) -> Child {
    let mut command = Command::new(binary);
    command.args(["-z", "go", "--max-turns", "1000"]).env_clear().current_dir(home);
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("HERMES_HOME", home.join(".hermes"));
    command.env("CUSTOM_BASE_URL", format!("http://{}/v1", server.address));
    command.env("HERMES_INFERENCE_PROVIDER", "custom").env("HERMES_INFERENCE_MODEL", "scripted");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().expect("the program starts")
}

fn todo(n: usize) -> (String, String) {
    let items = format!(r#"{{"todos":[{{"id":"1","content":"step {n}","status":"in_progress"}}]}}"#);
    ("todo".to_owned(), items)
}

fn command(text: &str) -> (String, String) {
    ("terminal".to_owned(), format!(r#"{{"command":"{text}"}}"#))
}

fn read(n: usize) -> (String, String) {
    ("read_file".to_owned(), format!(r#"{{"path":"notes.txt","offset":{},"limit":1}}"#, n % 50 + 1))
}

/// Answers from a list, and a clock at both ends of every answer.
struct Server {
    address: String,
    gaps: Receiver<Duration>,
}

impl Server {
    fn start(iterations: usize, calls: impl Fn(usize) -> Vec<(String, String)>) -> Self {
        let mut answers: Vec<String> = (0..iterations).map(|n| response(&calling(n, &calls(n)))).collect();
        answers.push(response(&saying()));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (tell, gaps) = channel();
        std::thread::spawn(move || serve(&listener, answers, &tell));
        Self { address, gaps }
    }

    fn gaps(self) -> Vec<Duration> {
        self.gaps.iter().collect()
    }
}

/// Plays the answers in order, over however many connections.
fn serve(listener: &TcpListener, answers: Vec<String>, tell: &Sender<Duration>) {
    let mut answers = answers.into_iter();
    let mut answered: Option<Instant> = None;
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nodelay(true).expect("a socket option");
        let mut reader = BufReader::new(stream.try_clone().expect("the same socket"));
        while let Some(arrived) = request(&mut reader) {
            let Some(answer) = answers.next() else { return };
            if let Some(before) = answered {
                let heard = tell.send(arrived.duration_since(before));
                heard.expect("somebody measures");
            }
            let mut stream: &TcpStream = &stream;
            stream.write_all(answer.as_bytes()).expect("the client reads");
            answered = Some(Instant::now());
            if answers.len() == 0 {
                return;
            }
        }
    }
}

/// Reads one request to its end; tells when its first byte came.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Instant> {
    reader.fill_buf().ok().filter(|bytes| !bytes.is_empty())?;
    let arrived = Instant::now();
    body(reader)?;
    Some(arrived)
}

/// Reads the rest of a request: its headers, and as many bytes as they announce.
pub(crate) fn body(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn calling(n: usize, calls: &[(String, String)]) -> String {
    let calls: Vec<serde_json::Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| {
            serde_json::json!({"index": at, "id": format!("call_{n}_{at}"), "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    events(&serde_json::json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
}

fn saying() -> String {
    events(&serde_json::json!({"role": "assistant", "content": "done"}), "stop")
}

fn events(delta: &serde_json::Value, finish: &str) -> String {
    let chunk = |delta: &serde_json::Value, finish: Option<&str>| serde_json::json!({"id": "c", "object": "chat.completion.chunk", "model": "scripted", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let usage = serde_json::json!({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 20}});
    let last = chunk(&serde_json::json!({}), Some(finish));
    format!("data: {}\n\ndata: {last}\n\ndata: {usage}\n\ndata: [DONE]\n\n", chunk(delta, None))
}

fn response(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A client that does nothing but read an answer and send the same request again.
fn bare_client() -> Vec<Duration> {
    let server = Server::start(ITERATIONS, |n| vec![todo(n)]);
    let mut stream = TcpStream::connect(&server.address).expect("the server listens");
    stream.set_nodelay(true).expect("a socket option");
    let mut reader = BufReader::new(stream.try_clone().expect("the same socket"));
    for _ in 0..=ITERATIONS {
        stream.write_all(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}").expect("it reads");
        request(&mut reader).expect("an answer");
    }
    server.gaps()
}

fn row(what: &str, gaps: &[Duration], goal: &str) {
    let mean = |gaps: &[Duration]| gaps.iter().sum::<Duration>() / u32::try_from(gaps.len().max(1)).unwrap_or(1);
    let (first, last) = (&gaps[..AT_THE_END.min(gaps.len())], &gaps[gaps.len().saturating_sub(AT_THE_END)..]);
    // The middle of ten, because one slow commit of the disk is no growth.
    let (first, last) = (quantile(first, 0.5), quantile(last, 0.5));
    let ratio = last.as_secs_f64() / first.as_secs_f64().max(1e-9);
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    println!(
        "{what:<34} {:>9} {:>9} {:>9} {:>9} {ratio:>8.2}   {goal}   (mean {})",
        ms(quantile(gaps, 0.5)),
        ms(quantile(gaps, 0.9)),
        ms(first),
        ms(last),
        ms(mean(gaps)),
    );
}

fn quantile(times: &[Duration], at: f64) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    let place = ((sorted.len().saturating_sub(1)) as f64 * at).round() as usize;
    sorted.get(place).copied().unwrap_or_default()
}
