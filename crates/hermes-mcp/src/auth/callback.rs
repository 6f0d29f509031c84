//! The page that a browser comes back to after a login: a port of this machine that waits for one visit.

use std::io;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

const LONGEST_REQUEST: u64 = 16 * 1024;
const DONE: &str = "You are logged in. You can close this page and go back to the terminal.";
const REFUSED: &str = "The login was refused. Go back to the terminal to read why.";

/// Waits for the browser and gives the address it was sent to, with the code in it. Other visits (icons, curious programs)
/// get nothing.
pub(super) async fn visited(listener: &TcpListener, path: &str) -> io::Result<String> {
    loop {
        let (stream, _) = listener.accept().await?;
        // A visitor that says nothing sensible is not worth an error.
        if let Ok(Some(target)) = answered(stream, path).await {
            return Ok(target);
        }
    }
}

async fn answered(stream: TcpStream, path: &str) -> io::Result<Option<String>> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    (&mut stream).take(LONGEST_REQUEST).read_line(&mut line).await?;
    let target = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let (place, query) = target.split_once('?').unwrap_or((&target, ""));
    let is_callback =
        line.starts_with("GET ") && place == path && (query.contains("code=") || query.contains("error="));
    let (status, page) = match is_callback {
        true if query.contains("code=") => ("200 OK", DONE),
        true => ("200 OK", REFUSED),
        false => ("404 Not Found", ""),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Hermes</title><p>{page}</p>");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(is_callback.then_some(target))
}
