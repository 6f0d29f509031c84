//! A page as Markdown: its article where it has one, else all of its body.
//!
//! Pages are hostile: the work is done on a thread of its own, with a stack for the deepest page that is taken apart;
//! deeper ones, and those that are built like traps, are shown as their text alone. A page that makes a library fail
//! costs that page.

use super::scan::{self, Build};
use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, Readability};
use hermes_types::clip;
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use std::thread;
use tokio::sync::{Semaphore, oneshot};
use url::Url;

/// Pages with more elements are not searched for an article: that takes time by the square.
const MOST_ELEMENTS: usize = 60_000;
/// What links may grow by when they are made whole.
const ROOM_FOR_LINKS: usize = 4 << 20;
/// Pages that are taken apart at once. Work that nobody waits for any more goes on until its end, and no more than this.
const AT_ONCE: usize = 4;
/// Levels that are taken apart by functions that call themselves.
const DEEPEST: usize = 256;
/// Enough for these levels in a build without optimisation.
const STACK: usize = 64 << 20;
/// An article that is shorter than this part of the whole is a guess that went wrong.
const LEAST_PART: usize = 20;
const SHORT: usize = 200;
const LONGEST_TITLE: usize = 300;
/// What is never read on a page.
const UNREAD: [&str; 9] = ["script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head"];

/// What people read on a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Readable {
    pub title: String,
    pub text: String,
}

/// The readable part of a page, or nothing if it made the libraries fail.
pub async fn readable(html: String, url: Url) -> Option<Readable> {
    static SEATS: Semaphore = Semaphore::const_new(AT_ONCE);
    let seat = SEATS.acquire().await.ok()?;
    let (done, result) = oneshot::channel();
    let work = move || {
        // Nobody waits any more when the call was given up.
        let _ = done.send(of_html(&html, &url));
        drop(seat);
    };
    thread::Builder::new().name("page".into()).stack_size(STACK).spawn(work).ok()?;
    result.await.ok()
}

/// A page as browsers read it, or nothing where reading it would take for ever.
pub(crate) fn document(html: &str) -> Option<Document> {
    let html = scan::plainer(html);
    (scan::build(&html) == Build::Usual).then(|| Document::from(html))
}

/// The same on this thread, which needs a large stack.
pub fn of_html(html: &str, url: &Url) -> Readable {
    let html = &scan::plainer(html);
    if scan::build(html) == Build::Trap {
        return as_text(html);
    }
    let document = Document::from(html.as_str());
    let title = called(&document.select_single("title").text());
    let size = measure(document.root());
    if size.depth > DEEPEST {
        return as_text(html);
    }
    make_absolute(&document, url);
    let whole = document.html();
    document.select(&UNREAD.join(",")).remove();
    let all = document.body().map(|body| body.html().to_string()).unwrap_or_default();
    let body = markdown(&all);
    let article = if size.elements > MOST_ELEMENTS { None } else { article(&whole) };
    match article {
        Some(article) if is_worth(&article.text, &body) => {
            Readable { title: if article.title.is_empty() { title } else { article.title }, ..article }
        }
        _ => Readable { title, text: body },
    }
}

fn as_text(html: &str) -> Readable {
    Readable { title: called(&scan::title(html)), text: scan::text(html) }
}

/// The article of a page whose links are whole already.
fn article(html: &str) -> Option<Readable> {
    let config = Config { disable_json_ld: true, ..Config::default() };
    let mut reader = Readability::new(html, None, Some(config)).ok()?;
    let article = reader.parse().ok()?;
    let found = Document::from(article.content);
    if measure(found.root()).depth > DEEPEST {
        return None;
    }
    Some(Readable { title: called(&article.title), text: markdown(&found.html()) })
}

/// The guess at the article left enough of the page.
fn is_worth(article: &str, body: &str) -> bool {
    let length = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let (article, body) = (length(article), length(body));
    article > 0 && (article >= SHORT || body < SHORT) && article * LEAST_PART >= body
}

fn markdown(html: &str) -> String {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).skip_tags(UNREAD.to_vec()).build();
    tidied(&converter.convert(html).unwrap_or_default())
}

/// No spaces at the ends of lines, and no more than one empty line.
fn tidied(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = true;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() && empty {
            continue;
        }
        empty = line.is_empty();
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

/// A title, in one line that is no page of its own.
fn called(text: &str) -> String {
    clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST_TITLE)
}

/// Links that can be followed from somewhere else, as long as there is room: a page with a long address can have many.
fn make_absolute(document: &Document, url: &Url) {
    let mut room = ROOM_FOR_LINKS;
    for (selector, attribute) in [("a[href]", "href"), ("img[src]", "src")] {
        for node in document.select(selector).nodes() {
            let Some(written) = node.attr(attribute) else { continue };
            // Links inside of the page say nothing outside of it.
            if written.starts_with('#') || written.starts_with("data:") {
                continue;
            }
            let Ok(whole) = url.join(&written) else { continue };
            let Some(left) = room.checked_sub(whole.as_str().len().saturating_sub(written.len())) else { return };
            room = left;
            node.set_attr(attribute, whole.as_str());
        }
    }
}

struct Size {
    elements: usize,
    depth: usize,
}

/// Without functions that call themselves.
fn measure(root: NodeRef<'_>) -> Size {
    let mut size = Size { elements: 0, depth: 0 };
    let mut open = vec![(root, 0)];
    while let Some((node, depth)) = open.pop() {
        size.elements += 1;
        size.depth = size.depth.max(depth);
        open.extend(node.children().into_iter().map(|child| (child, depth + 1)));
    }
    size
}
