//! A quick look at a page before it is taken apart, in time that grows with its length alone.
//!
//! Reading HTML as browsers do takes time by the square for pages that nest without end or pile up attributes, and nothing
//! can stop such work. So tags are counted first, without understanding them; a page that is built like a trap is not
//! parsed at all, and its text is what stands between its tags.

/// Levels that no honest page has.
const DEEPEST: usize = 500;
/// Attributes of one tag, likewise.
const MOST_ATTRIBUTES: usize = 500;

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
    Tag { name: &'h str, attributes: usize, form: Form },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Open,
    Close,
    /// `<name … />`
    Slashed,
}

pub(super) fn build(html: &str) -> Build {
    let (mut depth, mut in_drawing) = (0usize, false);
    for piece in pieces(html) {
        let Piece::Tag { name, attributes, form } = piece else { continue };
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        match form {
            Form::Close => {
                in_drawing &= !is(&["svg"]);
                depth = depth.saturating_sub(usize::from(!is(&SHALLOW)));
            }
            _ if is(&SHALLOW) => in_drawing = false,
            Form::Slashed if in_drawing && is(&DRAWN) => {}
            Form::Open | Form::Slashed => {
                in_drawing = is(&["svg"]) || (in_drawing && is(&DRAWN));
                depth += 1;
            }
        }
        if depth > DEEPEST || attributes > MOST_ATTRIBUTES {
            return Build::Trap;
        }
    }
    Build::Usual
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
                && RAW.iter().any(|raw| name.eq_ignore_ascii_case(raw))
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

/// The tag that a text begins with, and what is behind it.
fn tag(html: &str) -> Option<(Piece<'_>, &str)> {
    let inside = html.strip_prefix('<').filter(|_| begins_tag(html, 0))?;
    let (inside, closes) = inside.strip_prefix('/').map_or((inside, false), |inside| (inside, true));
    let end = inside.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).unwrap_or(inside.len());
    let (name, inside) = inside.split_at(end);
    let (mut quote, mut attributes, mut between, mut slashed) = (None, 0usize, true, false);
    for (at, byte) in inside.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'>') => {
                let form = if closes {
                    Form::Close
                } else if slashed {
                    Form::Slashed
                } else {
                    Form::Open
                };
                return Some((Piece::Tag { name, attributes, form }, inside.get(at + 1..).unwrap_or_default()));
            }
            (None, b'"' | b'\'') if !between => quote = Some(byte),
            (None, _) => {
                slashed = byte == b'/';
                let is_gap = byte.is_ascii_whitespace() || slashed;
                attributes += usize::from(between && !is_gap);
                between = is_gap;
            }
        }
    }
    // It never ends: browsers leave it out.
    Some((Piece::Tag { name, attributes, form: Form::Open }, ""))
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
            "<x-y/>".repeat(5_000),
            "<table><tr><td>".repeat(5_000),
            format!("<p {}>", "a=1 ".repeat(5_000)),
            format!("<svg><p>{}", "<path/>".repeat(5_000)),
        ];
        for html in traps {
            assert_eq!(build(&html), Build::Trap, "{}", html.chars().take(60).collect::<String>());
        }
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
