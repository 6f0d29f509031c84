//! A quick look at a page before it is taken apart, in time that grows with its length alone.
//!
//! Reading HTML as browsers do takes time by the square for pages that nest without end or pile up attributes, and makes
//! copies of words of emphasis that are never closed; nothing can stop such work. So a page is made plainer first (no
//! scripts, no emphasis with attributes), its tags are counted without understanding them, and one that is built like a
//! trap is not parsed at all: its text is what stands between its tags.

/// Levels that no honest page has.
const DEEPEST: usize = 500;
/// Attributes of one tag, likewise.
const MOST_ATTRIBUTES: usize = 500;
/// Elements that come of a page, likewise: every tag, and with it the emphasis that is open there, which is made anew.
const MOST_ELEMENTS: usize = 150_000;
/// Of the same emphasis no more than this is made anew.
const ALIKE: usize = 3;

/// Elements that have no end, or end by themselves where the next begins.
const SHALLOW: [&str; 33] = [
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html", "img", "input", "li",
    "link", "meta", "optgroup", "option", "p", "param", "rp", "rt", "source", "tbody", "td", "tfoot", "th", "thead",
    "tr", "track", "wbr", "!doctype",
];
/// Elements of drawings that may end with `/>`; in ordinary pages the slash means nothing.
const DRAWN: [&str; 19] = [
    "animate",
    "circle",
    "defs",
    "ellipse",
    "g",
    "image",
    "line",
    "lineargradient",
    "mask",
    "path",
    "polygon",
    "polyline",
    "radialgradient",
    "rect",
    "stop",
    "symbol",
    "text",
    "tspan",
    "use",
];
/// Elements whose content is not text.
const RAW: [&str; 2] = ["script", "style"];
/// Emphasis that is read; its attributes are not.
const EMPHASIS: [&str; 5] = ["b", "code", "em", "i", "strong"];
/// All that is made anew.
const RENEWED: [&str; 6] = ["a", "b", "code", "em", "i", "strong"];
/// Emphasis that is not read.
const ORNAMENT: [&str; 8] = ["big", "font", "nobr", "s", "small", "strike", "tt", "u"];
/// What a closing tag does not reach through.
const SCOPES: [&str; 8] = ["applet", "caption", "foreignobject", "marquee", "object", "svg", "table", "template"];
/// What the closing tag of a mere word does not reach through.
const BLOCKS: [&str; 40] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "button",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
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
    Tag { name: &'h str, attributes: usize, form: Form, whole: &'h str },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Open,
    Close,
    /// `<name … />`
    Slashed,
}

/// The page without scripts and styles and with emphasis that cannot pile up.
pub(super) fn plainer(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    for piece in pieces(html) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Tag { name, .. } if is(name, &RAW) || is(name, &ORNAMENT) => out.push_str(NOTHING),
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

pub(super) fn build(html: &str) -> Build {
    let (mut open, mut elements, mut renewed) = (Vec::new(), 0, [0usize; RENEWED.len()]);
    for piece in pieces(html) {
        let Piece::Tag { name, attributes, form, .. } = piece else { continue };
        if let Some((_, count)) = RENEWED.iter().zip(&mut renewed).find(|(known, _)| name.eq_ignore_ascii_case(known)) {
            *count = if form == Form::Close { count.saturating_sub(1) } else { *count + 1 };
        }
        if form != Form::Close {
            elements += 1 + renewed.iter().map(|count| count.min(&ALIKE)).sum::<usize>();
        }
        match form {
            Form::Close => close(&mut open, name),
            _ if is(name, &SHALLOW) => {}
            Form::Slashed if is(name, &DRAWN) && open.iter().rev().any(|open| is(open, &["svg"])) => {}
            Form::Open | Form::Slashed => open.push(name),
        }
        if open.len() > DEEPEST || attributes > MOST_ATTRIBUTES || elements > MOST_ELEMENTS {
            return Build::Trap;
        }
    }
    Build::Usual
}

/// Closes what browsers would close, or less.
fn close(open: &mut Vec<&str>, name: &str) {
    for (at, above) in open.iter().enumerate().rev() {
        if above.eq_ignore_ascii_case(name) {
            open.truncate(at);
            return;
        }
        if is(above, &SCOPES) || (is(above, &BLOCKS) && !is(name, &BLOCKS) && !is(name, &SCOPES)) {
            return;
        }
    }
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
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((tag, behind)) = tag(rest) {
            rest = behind;
            if let Piece::Tag { name, form: Form::Open | Form::Slashed, .. } = tag
                && is(name, &RAW)
            {
                rest = behind_raw(behind, name);
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
    let first = behind.next().filter(|byte| *byte != b'/').or_else(|| behind.next());
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'!' | b'?'))
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
    Some((Piece::Tag { name: "", attributes, form: Form::Close, whole: NOTHING }, ""))
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pages_are_usual_and_traps_are_traps() {
        let usual = [
            "<p>".repeat(5_000),
            "<div><span>x</span></div>".repeat(5_000),
            format!("<svg>{}</svg>", "<path d='M0'/>".repeat(5_000)),
            format!("<script>{}</script><p>x", "'<div>'+".repeat(5_000)),
            format!("<img src=\"data:image/png;base64,{}\">", "A".repeat(100_000)),
            "<ul><li>a<li>b</ul><table><tr><td>1<td>2</table>".repeat(1_000),
            "a < b and 1 <2 ".repeat(5_000),
        ];
        for html in usual {
            assert_eq!(build(&html), Build::Usual, "{}", html.chars().take(60).collect::<String>());
        }
        let traps = [
            "<div>".repeat(5_000),
            "<div/>".repeat(5_000),
            "<svg><div/>".repeat(5_000),
            "<div></x>".repeat(5_000),
            "<span><div></span>".repeat(5_000),
            "<div><table></div>".repeat(5_000),
            "<p>".repeat(200_000),
            format!("{}{}", "<b><i><em>".repeat(3), "<p>x".repeat(20_000)),
            "<x-y/>".repeat(5_000),
            "<table><tr><td>".repeat(5_000),
            format!("<p {}>", "a=1 ".repeat(5_000)),
            format!("<p>{}", "<path/>".repeat(5_000)),
        ];
        for html in traps {
            assert_eq!(build(&html), Build::Trap, "{}", html.chars().take(60).collect::<String>());
        }
    }

    #[test]
    fn emphasis_cannot_pile_up_and_scripts_are_gone() {
        let html = "a<<script>x</script>b c=1><B id=1>bold</B><font color=red>red</font><i class=\"x>y\">i</i><p x\">z";
        let nothing = "a<<!----><!---->b c=1><B>bold</B><!---->red<!----><i>i</i><p x\">z";
        assert_eq!(plainer(html), nothing);
    }

    #[test]
    fn the_text_of_a_trap_is_what_stands_between_its_tags() {
        let html = "<div title=\"a > b\">One &amp; two<script>if (a < b) {}</SCRIPT><b>three</b> 1 < 2</div><style>x";
        assert_eq!(text(html), "One & two\nthree\n1 < 2");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn any_text_is_read_to_its_end(html in "([<>/!'\"= a-zä]|<script|</script>|<div|<!--){0,80}") {
            prop_assert!(text(&html).len() <= html.len());
            prop_assert_eq!(build(&html), build(&html));
        }
    }
}
