//! What a person sees on a real terminal: a pseudo-terminal is opened, and its bytes are read as a terminal reads them.

use super::*;
use hermes_testkit::Move;
use std::num::NonZero;
use std::time::Duration;

/// The screen after all bytes have arrived.
fn screen(ran: &Ran, columns: u16) -> vt100::Screen {
    let cells = |count| NonZero::new(count).expect("a terminal has cells");
    let mut parser = vt100::Parser::new(cells(24), cells(columns), 0);
    parser.process(ran.stdout.as_bytes());
    parser.screen().clone()
}

fn lines(screen: &vt100::Screen) -> Vec<String> {
    screen.contents().lines().map(|line| line.trim_end().to_owned()).collect()
}

fn thoughtful() -> Move {
    let answer = "The sky is blue because air scatters short waves more.";
    Move::say("").reasoning("Rayleigh wrote about this.").text(answer).chunk(5)
}

#[tokio::test]
async fn words_wrap_and_thoughts_are_dimmed() {
    let server = ModelServer::start(thoughtful()).await;
    let world = home_at(&server).env("TERM", "xterm-256color");
    let ran = on_terminal(&world, 30, "-z hi").await.expect_code(0);
    let screen = screen(&ran, 30);
    assert_eq!(
        lines(&screen),
        ["Rayleigh wrote about this.", "", "The sky is blue because air", "scatters short waves more."]
    );
    let dim = |row, column| screen.cell(row, column).expect("a cell").dim();
    assert_eq!((dim(0, 0), dim(0, 25), dim(2, 0), dim(3, 0)), (true, true, false, false));
    server.finish();
}

#[tokio::test]
async fn thoughts_stay_out_where_they_are_not_wanted() {
    let answer = ["The sky is blue because air scatters short waves more."];
    for (setting, variable, arguments) in [
        ("display:\n  show_reasoning: false\n", ("TERM", "xterm"), "-z hi"),
        ("", ("NO_COLOR", "1"), "-z hi"),
        ("", ("TERM", "xterm"), "chat -Q -q hi 2>/dev/null"),
    ] {
        let server = ModelServer::start(thoughtful()).await;
        let yaml = format!("{}{setting}", settings(&server.base_url(), "chat_completions"));
        let world = home_at(&server).config(&yaml).env("TERM", "xterm").env(variable.0, variable.1);
        let ran = on_terminal(&world, 80, arguments).await.expect_code(0);
        assert_eq!(lines(&screen(&ran, 80)), answer, "{arguments}");
        assert!(!ran.stdout.contains('\u{1b}'), "{:?}", ran.stdout);
        server.finish();
    }
}

#[tokio::test]
async fn a_long_wait_is_shown_and_leaves_no_trace() {
    let server = ModelServer::start(Move::say("at last").delay(Duration::from_millis(3600))).await;
    let world = home_at(&server).env("TERM", "xterm");
    let ran = on_terminal(&world, 80, "-z hi").await.expect_code(0);
    let counted = ran.stdout.matches("… waiting for rehearsal-model, ").count();
    assert!(counted >= 2, "drawn again while it goes on: {:?}", ran.stdout);
    assert_eq!(lines(&screen(&ran, 80)), ["at last"]);
    server.finish();
}

#[tokio::test]
async fn a_plain_terminal_gets_plain_lines() {
    let server = ModelServer::start([Move::status(500), Move::say("at last").delay(Duration::from_millis(3000))]).await;
    let world = home_at(&server).env("TERM", "dumb");
    let ran = on_terminal(&world, 80, "-z hi").await.expect_code(0);
    assert!(!ran.stdout.contains('\u{1b}'), "{:?}", ran.stdout);
    let shown = lines(&screen(&ran, 80));
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(shown[0].starts_with("… provider error (HTTP 500"), "{shown:?}");
    assert!(shown[1].starts_with("… waiting for the model, "), "{shown:?}");
    assert_eq!(shown[2], "at last");
    server.finish();
}

#[tokio::test]
async fn an_answer_cannot_act_on_the_terminal() {
    let server = ModelServer::start(Move::say("a\u{1b}]52;c;aGk=\u{7}b \u{1b}[2Jc")).await;
    let world = home_at(&server).env("TERM", "xterm");
    let ran = on_terminal(&world, 80, "-z hi").await.expect_code(0);
    assert_eq!(ran.stdout, "a]52;c;aGk=b [2Jc\r\n");
    server.finish();
}

#[tokio::test]
async fn a_person_is_told_which_local_server_answers() {
    let server = ModelServer::start(Move::say("hello")).await;
    let address = server.root_url();
    let world = nowhere().env("OLLAMA_HOST", &address).env("TERM", "xterm").env("NO_COLOR", "1");
    let ran = on_terminal(&world, 120, "-z hi").await.expect_code(0);
    let notice = format!("… using rehearsal-model at Ollama ({address}/v1); `hermes model` makes it a choice");
    assert_eq!(lines(&screen(&ran, 120)), [notice.as_str(), "hello"]);
    server.finish();
}

#[tokio::test]
async fn a_stream_that_breaks_off_keeps_its_words_and_says_so() {
    let server = ModelServer::start(Move::say("words that were already seen").chunk(6).cut_after(4)).await;
    let world = home_at(&server).env("TERM", "xterm").env("NO_COLOR", "1");
    let ran = on_terminal(&world, 100, "-z hi").await.expect_code(1);
    let shown = lines(&screen(&ran, 100));
    assert_eq!(shown, ["words that were al", "hermes -z: the connection broke off; the answer is incomplete"]);
    server.finish();
}

/// Two beginnings of one answer must not read as one, not even for who asked for silence.
#[tokio::test]
async fn an_answer_that_starts_again_says_so() {
    for arguments in ["-z hi", "chat -Q -q hi"] {
        let broken = Move::say("The sky is").chunk(4).fail_after(3, "server_error", "a hiccup");
        let server = ModelServer::start([broken, Move::say("The sky is blue.")]).await;
        let world = home_at(&server).env("TERM", "xterm-256color");
        let ran = on_terminal(&world, 80, arguments).await.expect_code(0);
        let shown = lines(&screen(&ran, 80));
        let place = |text: &str| shown.iter().position(|line| line.starts_with(text));
        let told = place("… the answer above broke off").expect("told");
        assert!(told < place("The sky is blue.").expect("the answer"), "{shown:?}");
        server.finish();
    }
}

#[tokio::test]
async fn the_first_words_of_the_program_break_between_words() {
    let world = nowhere().env("TERM", "xterm").env("NO_COLOR", "1");
    for command in ["status", "-z hi", "", "config show", "prompt-size", "sessions show nobody", "fallback list"] {
        let ran = on_terminal(&world, 50, command).await;
        // What is one word, such as a path, may be longer than a line; nothing else may be left to the terminal.
        let fits = |line: &str| line.chars().count() <= 50 || line.split(' ').any(|word| word.chars().count() > 30);
        assert!(!ran.stdout.is_empty() && ran.stdout.lines().all(fits), "{command}: {}", ran.stdout);
    }
}
