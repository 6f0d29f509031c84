//! Skills and lists of skills from the web, and what skills ask for. The web is a server on this machine, which an owner
//! has to allow like every private address.

use super::*;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

const ALLOWED: &str = "security:\n  allow_private_urls: true\n";

/// A web site of these pages: path, and what it answers. A page that begins with `->` leads on.
fn web_site(pages: impl Fn(SocketAddr) -> Vec<(&'static str, String)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let pages = pages(address);
    std::thread::spawn(move || {
        for wire in listener.incoming() {
            let Ok(mut wire) = wire else { return };
            let mut request = [0; 8192];
            // Small requests come in one piece.
            let read = wire.read(&mut request).unwrap_or_default();
            let text = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
            let page = pages.iter().find(|(known, _)| *known == path).map(|(_, page)| page.as_str());
            let (head, body) = match page {
                None => ("404 Not Found".to_owned(), ""),
                Some(page) => match page.strip_prefix("->") {
                    Some(elsewhere) => (format!("302 Found\r\nlocation: {elsewhere}"), ""),
                    None => ("200 OK".to_owned(), page),
                },
            };
            let length = body.len();
            // A client that had enough goes away, which is its right.
            let _ = write!(wire, "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    address
}

#[tokio::test]
async fn a_list_and_a_skill_are_fetched_where_the_owner_allows_it() {
    let site = web_site(|address| {
        let source = format!("http://{address}/stew/SKILL.md");
        let list = json!({"skills": [{"name": "stew", "description": "Slow food", "source": source}]});
        vec![
            ("/list.json", list.to_string()),
            ("/stew/SKILL.md", skill("stew", "Simmer.")),
            ("/moved/SKILL.md", "->/stew/SKILL.md".to_owned()),
            ("/away/SKILL.md", "->http://example.org/SKILL.md".to_owned()),
            ("/large/SKILL.md", "x".repeat(2 << 20)),
        ]
    });
    let list = format!("skills:\n  hub_indexes: ['http://{site}/list.json']\n");
    let world = nowhere().config(&list);
    let refused = skills(&world, &["install", "stew"]).await.expect_code(1);
    assert!(refused.stderr.contains("private"), "{}", refused.stderr);

    let world = world.config(&format!("{list}{ALLOWED}"));
    assert_eq!(json_of(&world, &["search", "slow"]).await[0]["name"], "stew");
    skills(&world, &["install", "stew"]).await.expect_code(0);
    assert_eq!(kept(&world, "skills/stew/SKILL.md"), skill("stew", "Simmer."));
    assert_eq!(skills(&world, &["check"]).await.expect_code(0).stdout, "  stew  current\n");
    let moved = format!("http://{site}/moved/SKILL.md");
    skills(&world, &["install", &moved, "--force"]).await.expect_code(0);
    assert!(kept(&world, "skills/.hub/lock.json").contains(&moved), "where it is from is remembered");
    for (path, reason) in [("missing", "answers 404"), ("large", "larger than 1024 KiB")] {
        let ran = skills(&world, &["install", &format!("http://{site}/{path}/SKILL.md")]).await.expect_code(1);
        assert!(ran.stderr.contains(reason), "{path}: {}", ran.stderr);
    }
    let ran = skills(&world, &["install", &format!("http://{site}/away/SKILL.md")]).await;
    assert_eq!(ran.code, Some(1), "plain http from elsewhere is no way: {ran:?}");
}

fn needy() -> String {
    "---\nname: deploy\ndescription: Puts it online.\nrequired_environment_variables:\n  - name: DEPLOY_TOKEN\n    prompt: \
     of the shop\n    help: https://shop.example/tokens\n  - OPENROUTER_API_KEY\n---\nRun it.\n"
        .to_owned()
}

#[tokio::test]
async fn what_a_skill_asks_for_is_told_where_nobody_is_there() {
    let world = nowhere();
    write(&world.work_dir().join("deploy/SKILL.md"), &needy());
    let ran = skills(&world, &["install", "./deploy"]).await.expect_code(0);
    assert!(ran.stderr.contains("`hermes skills setup deploy`"), "{}", ran.stderr);
    let ran = skills(&world, &["setup", "deploy"]).await.expect_code(1);
    assert!(ran.stdout.contains("DEPLOY_TOKEN is missing; `hermes skills setup deploy`"), "{}", ran.stdout);
    assert!(ran.stdout.contains("OPENROUTER_API_KEY belongs to Hermes itself"), "{}", ran.stdout);
    skills(&world, &["setup", "nothing"]).await.expect_code(1);
}

#[tokio::test]
async fn a_person_is_asked_and_commands_see_the_answer_alone() {
    let look = json!({"command": "echo \"[$DEPLOY_TOKEN][$SHOP_SECRET]\""});
    let server = ModelServer::start([Move::say("").call("terminal", look), Move::say("Done.")]).await;
    let world = home_at(&server).dotenv("SHOP_SECRET=hidden-0123456789\n");
    write(&world.hermes_home().join("skills/deploy/SKILL.md"), &needy());
    let ran = answering(&world, "skills setup deploy", &[("DEPLOY_TOKEN (of the shop)", "tok 42\r")]).await;
    assert!(ran.stdout.contains("characters no key can have"), "{}", ran.stdout);
    let ran = answering(&world, "skills setup deploy", &[("DEPLOY_TOKEN (of the shop)", "tok-42\r")]).await;
    assert!(ran.stdout.contains("Saved DEPLOY_TOKEN") && !ran.stdout.contains("tok-42"), "{}", ran.stdout);
    assert!(kept(&world, ".env").contains("DEPLOY_TOKEN=tok-42"));
    hermes(&world, &["-z", "go"]).await.expect_code(0);
    let result = asked(&server).pop().expect("asked");
    let result = result.as_array().and_then(|all| all.last()).expect("a result")["content"].to_string();
    assert!(result.contains("[tok-42][]"), "what was not handed on stays hidden: {result}");
    server.finish();
}
