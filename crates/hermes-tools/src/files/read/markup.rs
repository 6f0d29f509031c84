//! Just enough of XML for the parts of office documents: tags by their local names, attributes, text.
//!
//! It never fails and never looks outside: what is not understood is skipped, entities of a document type are not
//! expanded. Good for taking text out, not for judging a file.

use std::borrow::Cow;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Open(Tag<'a>),
    /// `<a/>` is both: it opens and closes.
    Empty(Tag<'a>),
    Close(&'a str),
    Text(Cow<'a, str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// Without the prefix of its namespace.
    pub(super) name: &'a str,
    inside: &'a str,
}

impl<'a> Tag<'a> {
    pub(super) fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut rest = self.inside;
        loop {
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|found| matches!(found, '"' | '\''))?;
            let (value, after) = after.strip_prefix(quote)?.split_once(quote)?;
            if key.trim() == name {
                return Some(unescaped(value));
            }
            rest = after;
        }
    }
}

/// The pieces of a text in order.
pub(super) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text }
}

pub(super) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let Some(inside) = self.rest.strip_prefix('<') else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Piece::Text(unescaped(text)));
            };
            let (skipped, closing) = match inside {
                comment if comment.starts_with("!--") => (true, "-->"),
                data if data.starts_with("![CDATA[") => {
                    let (text, rest) = data.strip_prefix("![CDATA[")?.split_once("]]>")?;
                    self.rest = rest;
                    return Some(Piece::Text(Cow::Borrowed(text)));
                }
                other if other.starts_with(['!', '?']) => (true, ">"),
                _ => (false, ">"),
            };
            let (tag, rest) = inside.split_once(closing)?;
            self.rest = rest;
            if !skipped {
                return Some(tag_piece(tag));
            }
        }
    }
}

fn tag_piece(tag: &str) -> Piece<'_> {
    if let Some(name) = tag.strip_prefix('/') {
        return Piece::Close(local(name.trim()));
    }
    let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
    let (name, inside) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let tag = Tag { name: local(name), inside };
    if empty { Piece::Empty(tag) } else { Piece::Open(tag) }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let entity = after.split_once(';').and_then(|(name, after)| Some((character(name)?, after)));
        rest = match entity {
            Some((found, after)) => {
                out.push(found);
                after
            }
            None => {
                out.push('&');
                after
            }
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_attributes_and_text_come_in_order() {
        let text = "<?xml?><!-- <x> --><w:t a='1' b=\"x &gt; y\">a &amp; &#x41;&nope;</w:t><br/><![CDATA[<&]]>";
        let found: Vec<Piece<'_>> = pieces(text).collect();
        let Some(Piece::Open(tag)) = found.first() else { panic!("{found:?}") };
        assert_eq!((tag.name, tag.attribute("b").as_deref(), tag.attribute("c")), ("t", Some("x > y"), None));
        assert_eq!(found.get(1), Some(&Piece::Text("a & A&nope;".into())));
        assert_eq!(found.get(2), Some(&Piece::Close("t")));
        assert_eq!(found.get(3), Some(&Piece::Empty(Tag { name: "br", inside: "" })));
        assert_eq!(found.get(4), Some(&Piece::Text("<&".into())));
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[<>&;/=!a'\\[\\]\\- ]{0,60}") {
            prop_assert!(pieces(&text).count() <= text.len());
            for piece in pieces(&text) {
                if let Piece::Open(tag) | Piece::Empty(tag) = piece {
                    prop_assert_eq!(tag.attribute("nope"), None);
                }
            }
        }
    }
}
