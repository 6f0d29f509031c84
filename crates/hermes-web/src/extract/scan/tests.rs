//! Pages as they are built, and pages that are built to be endless work.

use super::*;
use proptest::prelude::*;

#[test]
fn pages_are_usual_and_traps_are_traps() {
    let usual = [
        "<p>".repeat(5_000),
        "<div><span>x</span></div>".repeat(5_000),
        format!("<svg>{}</svg><p>x", "<path d='M0'/>".repeat(5_000)),
        format!("<math>{}</math>", "<mspace/><mi>x</mi>".repeat(5_000)),
        "<a id=\"x\"/><p>XHTML<br/>".repeat(5_000),
        format!("<select>{}</select>", "<option>x".repeat(5_000)),
        "<!-- a=\" --><p>x".repeat(5_000),
        format!("<script>{}</script><p>x", "'<div>'+".repeat(5_000)),
        format!("<img src=\"data:image/png;base64,{}\">", "A".repeat(100_000)),
        "<ul><li>a<li>b</ul><table><tr><td>1<td>2</table>".repeat(1_000),
        "a < b and 1 <2 ".repeat(5_000),
    ];
    for html in usual {
        assert_eq!(build(&plainer(&html)), Build::Usual, "{}", html.chars().take(60).collect::<String>());
    }
    let traps = [
        "<div>".repeat(5_000),
        "<div></x>".repeat(5_000),
        "<span><div></span>".repeat(5_000),
        "<div><table></div>".repeat(5_000),
        "<p>".repeat(200_000),
        format!("{}{}", "<b><i><em>".repeat(3), "<p>x".repeat(20_000)),
        "<x-y>".repeat(5_000),
        "<table><tr><td>".repeat(5_000),
        format!("<p {}>", "a=1 ".repeat(5_000)),
        format!("<p {}>", "a=1 ".repeat(90)).repeat(5_000),
        // What browsers read by rules of its own, so that a closing tag in it closes nothing.
        format!("<!-- a=\" -->{}\" -->", "<div>".repeat(5_000)),
        "<div><!-- ></div>-->".repeat(5_000),
        "<div></ </div>".repeat(5_000),
        "<div><textarea></div></textarea>".repeat(5_000),
        "<div><title></div></title>".repeat(5_000),
        "<form><div></form>".repeat(5_000),
        "</p>".repeat(200_000),
        "&amp;".repeat(200_000),
        format!("{}{}", "<ul><li>".repeat(100), "<li>x".repeat(50_000)),
        format!("{}<pre>{}", "<blockquote>".repeat(100), "x\n".repeat(50_000)),
        format!("{}{}", "<div>".repeat(200), "</x>".repeat(50_000)),
    ];
    for html in traps {
        assert_eq!(build(&plainer(&html)), Build::Trap, "{}", html.chars().take(60).collect::<String>());
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

/// Tags and pieces of tags, of every kind that browsers have a rule of its own for.
const BITS: &str = "(<div>|</div>|<span>|</span>|<p>|</p>|<b>|</b>|<a href=x>|</a>|<ul>|<li>|</ul>|<table>|<tr>|<td>|\
    </td>|</table>|<caption>|<form>|</form>|<textarea>|</textarea>|<title>|</title>|<iframe>|</iframe>|<noscript>|\
    </noscript>|<xmp>|</xmp>|<svg>|</svg>|<path/>|<g>|</g>|<desc>|<foreignObject>|<math>|<mi>|</math>|<annotation-xml>|\
    <select>|</select>|<option>|<optgroup>|<ruby>|<rt>|<rp>|<button>|</button>|<h1>|</h2>|<dl>|<dd>|<dt>|<template>|\
    </template>|<object>|</object>|<marquee>|<frameset>|<body>|</body>|</html>|<head>|</head>|<br/>|</br>|<x-y>|</x-y>|\
    <x-y/>|<div/>|<!--|-->|--!>|<!|>|</ |<\\?|\"|'|<div a=\"|<div a='|=|x|<!\\[CDATA\\[|\\]\\]>|<nobr>|<address>|<details>|\
    <image>|<plaintext/|<pre>|<hr>|<col>|<colgroup>|<tbody>|<th>)";

/// Levels of a page as a browser reads it.
fn depth(html: &str) -> usize {
    let document = dom_query::Document::from(html);
    let (mut deepest, mut open) = (0, vec![(document.root(), 0)]);
    while let Some((node, depth)) = open.pop() {
        deepest = deepest.max(depth);
        open.extend(node.children().into_iter().map(|child| (child, depth + 1)));
    }
    deepest
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn nothing_nests_without_end_unseen(unit in proptest::collection::vec(BITS, 1..7)) {
        let page = plainer(&unit.concat().repeat(2_000));
        // A table brings three levels of its own along.
        prop_assert!(build(&page) == Build::Trap || depth(&page) < DEEPEST * 5, "{:?}", unit);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_text_is_read_to_its_end(html in "([<>/!'\"= a-zä]|<script|</script>|<div|<!--){0,80}") {
        prop_assert!(text(&html).len() <= html.len());
    }
}
