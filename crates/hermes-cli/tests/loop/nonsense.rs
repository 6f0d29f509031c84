//! A command line that makes no sense: one message that names the thing, the reason and the next step, a truthful exit
//! code, nothing asked, and nobody else's conversation touched.

use super::*;

#[tokio::test]
async fn a_blank_name_does_not_lead_into_the_newest_conversation() {
    let server = ModelServer::start([Move::say("Yes.")]).await;
    let world = home_at(&server);
    let id = session_of(&world, &["-z", "first"]).await;
    let message = "hermes -z: the name of the session is blank; `hermes sessions list` shows them, `-c` alone takes the \
                   newest\n";
    for name in [&["--resume", " "][..], &["-c", "\t"]] {
        let ran = hermes(&world, &[name, &["-z", "second"]].concat()).await;
        assert_eq!(told(&ran), (Some(2), "", message), "{name:?}");
    }
    let shown = hermes(&world, &["sessions", "show", &id]).await.expect_code(0);
    assert!(!shown.stdout.contains("second"), "{}", shown.stdout);
    server.finish();
}

#[tokio::test]
async fn what_cannot_be_meant_is_said_and_nothing_is_asked() {
    let server = ModelServer::start(Vec::<Move>::new()).await;
    let world = home_at(&server);
    let tag = "a source is one word of letters, digits, `-` and `_`, such as `cli` or `tool`; at most 64 long";
    let long = "x".repeat(65);
    let range = |typed: &str| format!("'{typed}' for '--max-turns <N>': {typed} is not in 1..=4294967295");
    let table: [(&[&str], String); 9] = [
        (&["-t", ""], "`-t` names no toolset; `hermes tools` lists them".into()),
        (&["-t", " , "], "`-t` names no toolset; `hermes tools` lists them".into()),
        (&["--max-turns", "0"], range("0")),
        (&["--max-turns", "-1"], range("-1")),
        (&["--max-turns", "5000000000"], range("5000000000")),
        (&["--source", ""], tag.into()),
        (&["--source", "a\nb"], tag.into()),
        (&["--source", &long], tag.into()),
        (&["--image", "."], "image .: a folder, a pipe or a device, and no file".into()),
    ];
    for (flags, message) in table {
        for format in [&[][..], &["--output-format", "stream-json"]] {
            let ran = hermes(&world, &[&["-z", "hi"], flags, format].concat()).await;
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{flags:?}: {ran:?}");
            assert!(ran.stderr.contains(&message), "{flags:?}: {}", ran.stderr);
        }
    }
    let name = "n".repeat(3_000);
    let ran = hermes(&world, &["--resume", &name, "-z", "hi"]).await;
    let message =
        format!("hermes -z: there is no session {}…; `hermes sessions list` shows what there is.\n", &name[..79]);
    assert_eq!(told(&ran), (Some(1), "", message.as_str()));
    for command in [["fork", "x", "--at", "-1"], ["replay", "x", "--until", "-1"]] {
        let ran = hermes(&world, &[&["sessions"][..], &command].concat()).await;
        assert_eq!(
            (ran.code, ran.stderr.contains(&format!("invalid value '-1' for '{}", command[2]))),
            (Some(2), true)
        );
    }
    assert!(server.model_requests().is_empty());
    server.finish();
}

#[tokio::test]
async fn a_limit_that_makes_no_sense_is_not_dropped() {
    let server = ModelServer::start(Vec::<Move>::new()).await;
    let world = home_with(&server, "budget:\n  turn_seconds: -1\n");
    let ran = hermes(&world, &["-z", "hi"]).await;
    let message = "hermes -z: `budget.turn_seconds` must be a number of seconds, got -1.\nChange it with `hermes config set \
                   budget.turn_seconds …`.\n";
    assert_eq!(told(&ran), (Some(1), "", message));
    server.finish();
}

/// A pipe that nobody writes to would be waited for, and a device may have no end.
#[tokio::test]
async fn only_a_file_is_an_image() {
    let server = ModelServer::start(Vec::<Move>::new()).await;
    let world = home_at(&server);
    let ran = shell(&world, "mkfifo pipe && $0 -z hi --image pipe </dev/null").await;
    let message = "hermes -z: image pipe: a folder, a pipe or a device, and no file\n";
    assert_eq!(told(&ran), (Some(2), "", message));
    let ran = hermes(&world, &["-z", "hi", "--image", "/dev/zero"]).await;
    assert_eq!((ran.code, ran.stderr.contains("/dev/zero: a folder, a pipe or a device")), (Some(2), true), "{ran:?}");
    server.finish();
}
