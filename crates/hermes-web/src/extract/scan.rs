//! A quick look at a page before it is taken apart, in time that grows with its length alone.
//!
//! Reading HTML as browsers do takes time by the square for pages that nest without end or pile up attributes, makes copies
//! of words of emphasis that are never closed, and turns a few bytes into many; nothing can stop such work. So a page is
//! made plainer first: what is not read is left out, and with it everything that browsers read by rules of its own (scripts,
//! comments, forms, drawings, formulas), so that what is left means the same to everybody who reads it. Then its tags are
//! counted without understanding them, never less than a browser would count, and a page that is built like a trap is not
//! parsed at all: its text is what stands between its tags.

/// Levels that no honest page has.
const DEEPEST: usize = 250;
/// Attributes of one tag, and of all tags, likewise.
const MOST_ATTRIBUTES: usize = 100;
const MOST_ATTRIBUTES_IN_ALL: usize = 200_000;
/// Elements that come of a page, likewise: every tag, and with it the emphasis that is open there, which is made anew.
const MOST_ELEMENTS: usize = 80_000;
/// Of the same emphasis no more than this is made anew.
const ALIKE: usize = 3;
/// Levels above all elements together: what it takes to look upwards from each.
const MOST_LEVELS: usize = 2_000_000;
/// Indentations of all lines together.
const MOST_INDENTS: usize = 1_000_000;
/// Characters that are written by their names.
const MOST_NAMED: usize = 150_000;

/// Elements that have no end, or end by themselves where the next begins.
const SHALLOW: [&str; 25] = [
    "area", "base", "body", "br", "col", "colgroup", "embed", "head", "hr", "html", "img", "input", "link", "meta",
    "p", "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];
/// Items, and what each of them ends when it begins, if nothing stands between.
const ITEMS: [(&str, &[&str]); 3] = [("li", &["li"]), ("dd", &["dd", "dt"]), ("dt", &["dd", "dt"])];
/// Elements that an item ends through.
const THIN: [&str; 2] = ["address", "div"];
/// Lists that the closing tag of their item does not reach through.
const LISTS: [&str; 2] = ["ol", "ul"];
/// Elements that are left out with all that is in them: nobody reads it, or it is no HTML.
const RAW: [&str; 9] = ["script", "style", "textarea", "iframe", "noembed", "noframes", "noscript", "xmp", "plaintext"];
/// The same, where it is closed.
const DRAWING: &str = "svg";
/// Emphasis that is read; its attributes are not.
const EMPHASIS: [&str; 5] = ["b", "code", "em", "i", "strong"];
/// All that is made anew.
const RENEWED: [&str; 6] = ["a", "b", "code", "em", "i", "strong"];
/// Tags that are left out while what they hold stays: emphasis that is not read, and elements that browsers have rules of
/// their own for.
const ORNAMENT: [&str; 24] = [
    "big",
    "font",
    "nobr",
    "s",
    "small",
    "strike",
    "tt",
    "u",
    "form",
    "frame",
    "frameset",
    "math",
    "optgroup",
    "option",
    "rb",
    "rp",
    "rt",
    "rtc",
    "ruby",
    "select",
    "selectedcontent",
    "image",
    "isindex",
    "keygen",
];
/// Elements that indent what is in them.
const INDENTING: [&str; 6] = ["blockquote", "dir", "dl", "menu", "ol", "ul"];
/// Elements that a browser makes for a closing tag alone.
const MADE_BY_CLOSING: [&str; 2] = ["br", "p"];
/// What a closing tag does not reach through.
const SCOPES: [&str; 8] = ["applet", "caption", "foreignobject", "marquee", "object", "svg", "table", "template"];
/// What the closing tag of a mere word does not reach through.
const BLOCKS: [&str; 43] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "button",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "iframe",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "noembed",
    "noframes",
    "noscript",
    "ol",
    "pre",
    "search",
    "section",
    "select",
    "summary",
    "textarea",
    "ul",
];
/// What a page is called, in text where no tags count.
const TITLE: &str = "title";
/// Stands for what was left out, so that what is around it does not grow together.
const NOTHING: &str = "<!---->";

/// How a page is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Build {
    Usual,
    /// Taking it apart would take for ever.
    Trap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'h> {
    Text(&'h str),
    /// What stands in a title, where no tags count.
    Title(&'h str),
    /// A comment, a declaration, or an element with all that is in it.
    Unread,
    Tag {
        name: &'h str,
        attributes: usize,
        form: Form,
        whole: &'h str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Open,
    Close,
    /// `<name … />`
    Slashed,
}

/// The page without scripts, comments, forms and drawings, and with emphasis that cannot pile up.
pub(super) fn plainer(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    for piece in pieces(html) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Title(text) => {
                out.push_str("<title>");
                out.push_str(&text.replace('<', "&lt;"));
                out.push_str("</title>");
            }
            Piece::Unread => out.push_str(NOTHING),
            Piece::Tag { name, .. } if is(name, &ORNAMENT) => out.push_str(NOTHING),
            // Only drawings and formulas have elements that end like this; here they would stay open.
            Piece::Tag { name, form: Form::Slashed, .. } if !is(name, &SHALLOW) => out.push_str(NOTHING),
            Piece::Tag { name, form, .. } if is(name, &EMPHASIS) => {
                out.push_str(if form == Form::Close { "</" } else { "<" });
                out.push_str(name);
                out.push('>');
            }
            Piece::Tag { whole, .. } => out.push_str(whole),
        }
    }
    out
}

fn is(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// How a page is built that was made plainer.
pub(super) fn build(html: &str) -> Build {
    let mut tally = Tally::default();
    let mut open: Vec<&str> = Vec::new();
    for piece in pieces(html) {
        match piece {
            Piece::Text(text) | Piece::Title(text) => tally.read_text(text),
            Piece::Unread => {}
            Piece::Tag { name, attributes, form, .. } => {
                let before = open.len();
                tally.read_tag(name, attributes, form, before);
                match form {
                    Form::Close => close(&mut open, name),
                    _ if is(name, &SHALLOW) => {}
                    Form::Open | Form::Slashed => {
                        end_item(&mut open, name);
                        open.push(name);
                    }
                }
                tally.indent = match open.len() < before {
                    true => open.iter().filter(|name| is(name, &INDENTING)).count(),
                    false => tally.indent + usize::from(form != Form::Close && is(name, &INDENTING)),
                };
                if open.len() > DEEPEST || attributes > MOST_ATTRIBUTES {
                    return Build::Trap;
                }
            }
        }
        if tally.is_too_much() {
            return Build::Trap;
        }
    }
    Build::Usual
}

/// What taking a page apart would cost.
#[derive(Debug, Default)]
struct Tally {
    elements: usize,
    attributes: usize,
    levels: usize,
    indents: usize,
    named: usize,
    /// Of the place that was reached.
    indent: usize,
    renewed: [usize; RENEWED.len()],
}

impl Tally {
    fn read_text(&mut self, text: &str) {
        self.named += text.bytes().filter(|byte| *byte == b'&').count();
        self.indents += self.indent * text.bytes().filter(|byte| *byte == b'\n').count();
    }

    fn read_tag(&mut self, name: &str, attributes: usize, form: Form, depth: usize) {
        let known = RENEWED.iter().zip(&mut self.renewed).find(|(known, _)| name.eq_ignore_ascii_case(known));
        if let Some((_, count)) = known {
            *count = if form == Form::Close { count.saturating_sub(1) } else { *count + 1 };
        }
        self.levels += depth;
        if form == Form::Close && !is(name, &MADE_BY_CLOSING) {
            return;
        }
        self.elements += 1 + self.renewed.iter().map(|count| count.min(&ALIKE)).sum::<usize>();
        self.attributes += attributes;
        self.indents += self.indent;
    }

    fn is_too_much(&self) -> bool {
        self.elements > MOST_ELEMENTS
            || self.attributes > MOST_ATTRIBUTES_IN_ALL
            || self.levels > MOST_LEVELS
            || self.indents > MOST_INDENTS
            || self.named > MOST_NAMED
    }
}

/// Closes the item that another one follows, as browsers do.
fn end_item(open: &mut Vec<&str>, name: &str) {
    let Some((_, ended)) = ITEMS.iter().find(|(item, _)| name.eq_ignore_ascii_case(item)) else { return };
    for (at, above) in open.iter().enumerate().rev() {
        if is(above, ended) {
            open.truncate(at);
            return;
        }
        if is(above, &SCOPES) || (is(above, &BLOCKS) && !is(above, &THIN)) {
            return;
        }
    }
}

/// Closes what browsers would close, or less.
fn close(open: &mut Vec<&str>, name: &str) {
    for (at, above) in open.iter().enumerate().rev() {
        if above.eq_ignore_ascii_case(name) {
            open.truncate(at);
            return;
        }
        let is_list = is(name, &["li"]) && is(above, &LISTS);
        if is_list || is(above, &SCOPES) || (is(above, &BLOCKS) && !is(name, &BLOCKS) && !is(name, &SCOPES)) {
            return;
        }
    }
}

/// What a page is called.
pub(super) fn title(html: &str) -> String {
    let title = pieces(html).find_map(|piece| if let Piece::Title(title) = piece { Some(title) } else { None });
    named(&title.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What stands between the tags, a line for each piece.
pub(super) fn text(html: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces(html) {
        if let Piece::Text(text) = piece {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if !text.is_empty() {
                lines.push(named(&text));
            }
        }
    }
    lines.join("\n")
}

fn named(text: &str) -> String {
    let table = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    table.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}

fn pieces(html: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = html;
    // Looking for an end that is not there is done once.
    let mut drawings_end = true;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(behind) = behind_declaration(rest) {
            rest = behind;
            return Some(Piece::Unread);
        }
        if let Some((tag, behind)) = tag(rest) {
            rest = behind;
            let Piece::Tag { name, form, .. } = tag else { return Some(tag) };
            if is(name, &[DRAWING]) && form == Form::Open && drawings_end {
                let end = behind_raw(behind, name);
                // Whatever follows a drawing that is never closed is part of the page.
                drawings_end = !end.is_empty();
                rest = if drawings_end { end } else { behind };
            } else if is(name, &RAW) && form != Form::Close {
                rest = behind_raw(behind, name);
            }
            if is(name, &[DRAWING]) || is(name, &RAW) {
                return Some(Piece::Unread);
            }
            if is(name, &[TITLE]) {
                let end = if form == Form::Close { behind } else { behind_raw(behind, name) };
                let inside = behind.get(..behind.len() - end.len()).unwrap_or_default();
                rest = end;
                return Some(if form == Form::Close { Piece::Unread } else { Piece::Title(inside) });
            }
            return Some(tag);
        }
        let end = rest.match_indices('<').map(|(at, _)| at).find(|at| *at > 0 && begins_tag(rest, *at));
        let end = end.unwrap_or(rest.len());
        let (text, behind) = rest.split_at(end);
        rest = behind;
        Some(Piece::Text(text))
    })
}

/// Any other `<` is text.
fn begins_tag(html: &str, at: usize) -> bool {
    let mut behind = html.bytes().skip(at + 1);
    match behind.next() {
        Some(b'!' | b'?') => true,
        Some(b'/') => behind.next().is_some(),
        first => first.is_some_and(|byte| byte.is_ascii_alphabetic()),
    }
}

/// What is behind a comment, a declaration or anything else that begins like a tag and is none.
fn behind_declaration(html: &str) -> Option<&str> {
    let inside = html.strip_prefix('<').filter(|_| begins_tag(html, 0))?;
    if let Some(comment) = inside.strip_prefix("!--") {
        // These two are whole comments.
        let short = comment.strip_prefix('>').or_else(|| comment.strip_prefix("->"));
        return Some(short.unwrap_or_else(|| behind_comment(comment)));
    }
    let is_closing = inside.strip_prefix('/').is_some_and(|name| !name.starts_with(|c: char| c.is_ascii_alphabetic()));
    (is_closing || inside.starts_with(['!', '?'])).then(|| inside.split_once('>').map_or("", |(_, behind)| behind))
}

/// A comment ends with `-->` or `--!>`, whatever is in it.
fn behind_comment(comment: &str) -> &str {
    let dashes = comment.as_bytes().windows(2).enumerate().filter(|(_, pair)| *pair == b"--");
    let mut ends = dashes.filter_map(|(at, _)| {
        let behind = comment.get(at + 2..)?;
        behind.strip_prefix('>').or_else(|| behind.strip_prefix("!>"))
    });
    ends.next().unwrap_or_default()
}

/// Where inside of a tag a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Gap,
    Name,
    BehindName,
    BeforeValue,
    Quoted(u8),
    Bare,
}

/// The tag that a text begins with, and what is behind it. Quotes count where browsers count them.
fn tag(html: &str) -> Option<(Piece<'_>, &str)> {
    let inside = html.strip_prefix('<').filter(|_| begins_tag(html, 0))?;
    let (inside, closes) = inside.strip_prefix('/').map_or((inside, false), |inside| (inside, true));
    let end = inside.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).unwrap_or(inside.len());
    let (name, inside) = inside.split_at(end);
    let (mut state, mut attributes, mut slashed) = (Inside::Gap, 0, false);
    for (at, byte) in inside.bytes().enumerate() {
        if byte == b'>' && !matches!(state, Inside::Quoted(_)) {
            let form = if closes {
                Form::Close
            } else if slashed {
                Form::Slashed
            } else {
                Form::Open
            };
            let behind = inside.get(at + 1..).unwrap_or_default();
            let whole = html.get(..html.len() - behind.len()).unwrap_or_default();
            return Some((Piece::Tag { name, attributes, form, whole }, behind));
        }
        let before = state;
        state = stepped(state, byte);
        attributes += usize::from(state == Inside::Name && before != Inside::Name);
        slashed = byte == b'/' && state == Inside::Gap;
    }
    // It never ends: browsers leave it out, and all that is behind it.
    Some((Piece::Unread, ""))
}

fn stepped(state: Inside, byte: u8) -> Inside {
    let space = byte.is_ascii_whitespace();
    match (state, byte) {
        (Inside::Quoted(open), _) => {
            if open == byte {
                Inside::Gap
            } else {
                state
            }
        }
        (Inside::Bare, _) => {
            if space {
                Inside::Gap
            } else {
                state
            }
        }
        (Inside::BeforeValue, _) if space => state,
        (Inside::BeforeValue, b'"' | b'\'') => Inside::Quoted(byte),
        (Inside::BeforeValue, _) => Inside::Bare,
        (_, b'/') => Inside::Gap,
        (Inside::Name | Inside::BehindName, b'=') => Inside::BeforeValue,
        (Inside::Name | Inside::BehindName, _) if space => Inside::BehindName,
        (Inside::Gap, _) if space => state,
        (Inside::Gap | Inside::Name | Inside::BehindName, _) => Inside::Name,
    }
}

/// What is behind the content of a script.
fn behind_raw<'h>(html: &'h str, name: &str) -> &'h str {
    let mut rest = html;
    while let Some((_, behind)) = rest.split_once("</") {
        if behind.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return html.get(html.len() - behind.len() - 2..).unwrap_or_default();
        }
        rest = behind;
    }
    ""
}

#[cfg(test)]
mod tests;
