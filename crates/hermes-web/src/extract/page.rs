//! One page: fetched, turned into text, and brought to a size a conversation can hold.

use super::keep::Shelf;
use super::readable::readable;
use super::summary::summary;
use super::window::{Window, window};
use super::{charset, pictures};
use crate::fetch::{Answer, Ask, Extent, FetchFault, Fetcher, Kind};
use crate::settings::{ExtractSettings, LongPages};
use hermes_tools::desk::Cx;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// Pages are taken apart up to here; the rest of a larger one stays on the network.
const LARGEST_PAGE: usize = 4 << 20;
const LARGEST_TEXT: usize = 8 << 20;
const LARGEST_DOCUMENT: usize = 50 << 20;
const ACCEPT: &str =
    "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,application/json;q=0.9,*/*;q=0.5";
const TAKING_APART: Duration = Duration::from_secs(20);
/// Lines of the `read_file` call that goes on.
const NEXT_LINES: usize = 200;

/// What the model reads of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) content: String,
    pub(super) error: Option<String>,
    /// Where it really is, if redirects led elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    redirected_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by_policy: Option<Policy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Policy {
    host: String,
    rule: String,
    source: String,
}

/// How a page is made.
pub(super) struct Press<'a> {
    pub(super) fetcher: &'a Fetcher,
    pub(super) settings: ExtractSettings,
    pub(super) chars: usize,
    pub(super) shelf: Shelf,
    pub(super) cx: &'a Cx,
}

impl Page {
    pub(super) fn failed(url: &str, fault: &FetchFault) -> Self {
        let blocked_by_policy = match fault {
            FetchFault::Website { host, rule, source_of_rule } => {
                Some(Policy { host: host.clone(), rule: rule.clone(), source: source_of_rule.clone() })
            }
            _ => None,
        };
        Self { url: url.to_owned(), error: Some(fault.to_string()), blocked_by_policy, ..Self::default() }
    }
}

/// A text with its title, whole.
struct Text {
    title: String,
    text: String,
}

impl Press<'_> {
    pub(super) async fn page(&self, url: &str) -> Page {
        let answer = match self.fetcher.get(Ask::new(url).accepting(ACCEPT)).await {
            Ok(answer) => answer,
            Err(fault) => return Page::failed(url, &fault),
        };
        let there = answer.url().clone();
        let is_elsewhere = Url::parse(url).is_ok_and(|asked| {
            let mut asked = asked;
            asked.set_fragment(None);
            asked != there
        });
        let page =
            Page { url: url.to_owned(), redirected_to: is_elsewhere.then(|| there.to_string()), ..Page::default() };
        match self.text(answer).await {
            Ok(Text { title, text }) => Page { content: self.fitted(&there, &title, text).await, title, ..page },
            Err(error) => Page { error: Some(error), ..page },
        }
    }

    async fn text(&self, mut answer: Answer) -> Result<Text, String> {
        let host = answer.url().host_str().unwrap_or_default().to_owned();
        if !answer.is_success() {
            return Err(refused(&host, answer.status()));
        }
        let told = |fault: FetchFault| fault.to_string();
        let (kind, media) = (answer.kind().await.map_err(told)?, answer.media().unwrap_or_else(|| "no type".into()));
        let length = answer.length().map_or_else(|| "of unknown size".to_owned(), |bytes| format!("{bytes} bytes"));
        match kind {
            Kind::Html => self.of_html(answer).await,
            Kind::Text => self.of_text(answer).await,
            Kind::Pdf => self.document(answer).await,
            Kind::Image(media) => {
                Err(format!("This is a picture ({media}, {length}). Look at it with vision_analyze."))
            }
            Kind::Binary(what) => Err(format!(
                "This is {what} ({media}, {length}), which cannot be shown as text. Download it with a command if it is needed."
            )),
        }
    }

    async fn of_html(&self, answer: Answer) -> Result<Text, String> {
        let (url, named) = (answer.url().clone(), answer.charset().map(str::to_owned));
        let body = answer.read(LARGEST_PAGE).await.map_err(|fault| fault.to_string())?;
        let html = charset::text(&body.bytes, named.as_deref());
        // Work that is given up goes on by itself, in the bounds that the size of the page sets.
        let found = match timeout(TAKING_APART, readable(html, url)).await {
            Ok(Some(found)) => found,
            Ok(None) => return Err("The page is so odd that it could not be taken apart.".into()),
            Err(_late) => return Err("The page is so tangled that taking it apart took too long.".into()),
        };
        if found.text.is_empty() {
            return Err("The page shows no text without running its scripts. A browser may show more.".into());
        }
        let text = pictures::without_pictures(&found.text).into_owned();
        Ok(Text { title: found.title, text: ended(text, body.extent, LARGEST_PAGE) })
    }

    async fn of_text(&self, answer: Answer) -> Result<Text, String> {
        let named = answer.charset().map(str::to_owned);
        let body = answer.read(LARGEST_TEXT).await.map_err(|fault| fault.to_string())?;
        let text = charset::text(&body.bytes, named.as_deref());
        let text = pictures::without_pictures(&text).into_owned();
        Ok(Text { title: String::new(), text: ended(text, body.extent, LARGEST_TEXT) })
    }

    async fn document(&self, answer: Answer) -> Result<Text, String> {
        let url = answer.url().clone();
        let body = answer.read(LARGEST_DOCUMENT).await.map_err(|fault| fault.to_string())?;
        if body.extent == Extent::Cut {
            return Err(format!(
                "This is a PDF document of more than {} MB; it was not downloaded.",
                LARGEST_DOCUMENT >> 20
            ));
        }
        let size = body.bytes.len();
        let kept = self.shelf.keep(&url, "pdf", body.bytes.into()).await;
        let path =
            kept.map_err(|error| format!("This is a PDF document ({size} bytes) that could not be saved: {error}."))?;
        let path = path.display();
        let text = format!(
            "This is a PDF document ({size} bytes). It was saved as {path}; a command such as `pdftotext -layout '{path}' -` \
             shows its text."
        );
        Ok(Text { title: String::new(), text })
    }

    /// The page as it goes into the conversation.
    async fn fitted(&self, url: &Url, title: &str, text: String) -> String {
        let (head, tail) = match window(&text, self.chars) {
            Window::Whole(_) => return text,
            Window::Ends { head, tail } => (head, tail),
        };
        let kept = self.shelf.keep_text(url, &text).await;
        let kept = kept.inspect_err(|error| tracing::warn!(%error, "the copy of a page was not kept")).ok();
        let total = text.chars().count();
        let shop = &self.cx.desk.shop;
        let mut note = String::new();
        if let (LongPages::Summary, Some(aide)) = (self.settings.long_pages, &shop.aide) {
            match summary(&**aide, &self.cx.desk.session, title, &text, &self.cx.stop).await {
                Ok(short) => {
                    return format!(
                        "{short}\n\n[A summary of {total} characters. {}]",
                        whereabouts(kept.as_deref(), 1)
                    );
                }
                Err(why) => note = format!(" It could not be summarised ({why})."),
            }
        }
        let left_out = total - head.chars().count() - tail.chars().count();
        let shown = format!("[The page has {total} characters; {left_out} in its middle are left out.{note}");
        format!("{head}\n\n{shown} {}]\n\n{tail}", whereabouts(kept.as_deref(), next_line(&text, head)))
    }
}

/// The line of a text that follows its head, or that the head ends in.
fn next_line(text: &str, head: &str) -> usize {
    let ended = text.get(head.len()..).is_some_and(|rest| rest.starts_with('\n'));
    head.matches('\n').count() + 1 + usize::from(ended)
}

/// Where the whole page is, and the very call that reads it.
fn whereabouts(kept: Option<&Path>, line: usize) -> String {
    match kept {
        Some(path) => {
            let path = path.display();
            format!("All of it is in {path}; go on with read_file(path=\"{path}\", offset={line}, limit={NEXT_LINES}).")
        }
        None => "It could not be kept as a file; ask for more with char_limit.".to_owned(),
    }
}

fn ended(text: String, extent: Extent, most: usize) -> String {
    match extent {
        Extent::Whole => text,
        Extent::Cut => format!("{text}\n\n[The page is larger than {} MB; the rest was not fetched.]", most >> 20),
    }
}

fn refused(host: &str, status: u16) -> String {
    let what = match status {
        401 | 407 => "it wants a login",
        403 | 451 => "it does not show this page to us",
        404 | 410 => "there is no such page",
        408 | 429 => "it takes no more requests for now",
        500..=599 => "it has trouble itself",
        _ => "it does not give the page",
    };
    format!("{host} answered HTTP {status}: {what}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_that_goes_on_begins_where_the_head_ended() {
        let text = "one\ntwo\nthree\nfour";
        for (head, line) in [("one\ntwo", 3), ("one\nt", 2), ("one", 2), ("on", 1), ("one\ntwo\nthree\nfo", 4)] {
            assert_eq!(next_line(text, head), line, "{head:?}");
        }
    }
}
