//! The page that a browser comes back to after a login: a port of this machine that waits for one visit.
//!
//! Anybody on this machine, and any page in its browser, can visit the port. Only a visit that carries the word of this
//! very login (`state`) counts; all others get nothing and end nothing. Browsers open connections in advance and leave them
//! silent, so visitors are heard side by side.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const LONGEST_REQUEST: u64 = 16 * 1024;
/// How long a visitor may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(30);
/// Visitors that are heard at once; more have to wait at the door.
const MOST_VISITORS: usize = 32;
const DONE: &str = "Go back to the terminal: it says whether the login worked. You can close this page.";
const REFUSED: &str = "The login was refused. Go back to the terminal to read why.";

/// Waits for the browser and gives the address it was sent to, with the code in it. Other visits (icons, curious programs)
/// get nothing.
pub(super) async fn visited(listener: &TcpListener, path: &str, state: &str) -> io::Result<String> {
    let mut visitors = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some(heard) = visitors.next() => {
                // A visitor that says nothing sensible, or nothing at all, is not worth an error.
                if let Ok(Ok(Some(target))) = heard {
                    return Ok(target);
                }
            }
            arrived = listener.accept(), if visitors.len() < MOST_VISITORS => {
                let (stream, _) = arrived?;
                visitors.push(timeout(PATIENCE, answered(stream, path, state)));
            }
        }
    }
}

async fn answered(stream: TcpStream, path: &str, state: &str) -> io::Result<Option<String>> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    (&mut stream).take(LONGEST_REQUEST).read_line(&mut line).await?;
    let target = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let (place, query) = target.split_once('?').unwrap_or((&target, ""));
    let value = |wanted: &str| {
        url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == wanted).map(|(_, value)| value)
    };
    let is_ours = line.starts_with("GET ") && place == path && value("state").is_some_and(|said| said == state);
    let (status, page) = match (is_ours, value("code").is_some(), value("error").is_some()) {
        (true, true, _) => ("200 OK", DONE),
        (true, false, true) => ("200 OK", REFUSED),
        _ => ("404 Not Found", ""),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Hermes</title><p>{page}</p>");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await?;
    Ok((status == "200 OK").then_some(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn says(listener: &TcpListener, target: &str) -> TcpStream {
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn only_the_visit_of_this_login_counts_and_silent_visitors_keep_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _silent = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut others = Vec::new();
        for wrong in [
            "/callback?code=stolen&state=guessed",
            "/callback?error=access_denied",
            "/other?code=c&state=right",
            "/callback?barcode=c&state=right",
        ] {
            others.push(says(&listener, wrong).await);
        }
        let _real = says(&listener, "/callback?code=c&state=right").await;
        let target = tokio::time::timeout(PATIENCE / 3, visited(&listener, "/callback", "right")).await;
        assert_eq!(target.expect("nobody is waited for").unwrap(), "/callback?code=c&state=right");
        let refused = says(&listener, "/callback?error=access_denied&state=right").await;
        assert_eq!(
            visited(&listener, "/callback", "right").await.unwrap(),
            "/callback?error=access_denied&state=right"
        );
        drop((others, refused));
    }
}
