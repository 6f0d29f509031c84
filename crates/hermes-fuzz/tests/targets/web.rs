//! The web: any text may be an address, and any bytes may be a page.

use hermes_fuzz::{explore, mutants};
use hermes_web::extract::readable::of_html;
use hermes_web::fetch::{PrivateNets, Rules, Target};
use proptest::prelude::*;
use std::net::IpAddr;
use url::{Host, Url};

const ADDRESSES: [&[u8]; 8] = [
    b"https://example.com/path?query=1#part",
    b"http://0x7f.1:8080/",
    b"http://user:password@host.test:22/../..",
    b"http://[::ffff:169.254.169.254]/latest/meta-data/",
    "http:\\\\１２７。0.0.1\\%2e%2e".as_bytes(),
    b"https://metadata.google.internal./?token=abc",
    b"http://2130706433/?q=sk-proj-a1B2c3D4e5F6g7H8a1B2c3D4e5F6g7H8",
    b"//xn--mnchen-3ya.example\t\n:0443",
];
const PIECES: [&str; 24] = [
    "http://",
    "https:",
    "//",
    "\\",
    "@",
    ":",
    ".",
    "[",
    "]",
    "%",
    "%2e",
    "0x",
    "0177",
    "127",
    "169.254.",
    "::",
    "ffff:",
    "localhost",
    "?",
    "#",
    "token=x",
    "\t",
    "。",
    "①",
];

/// The checks of the standard library alone, which know fewer ranges and may not be more severe than ours.
fn is_surely_private(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified() || ip.is_broadcast()
        }
        IpAddr::V6(ip) => {
            ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip.is_multicast()
        }
    }
}

#[test]
fn an_address_that_passes_is_a_plain_one_and_passes_again() {
    explore(mutants(), |written| {
        let written = String::from_utf8_lossy(&written.of(&ADDRESSES, &PIECES)).into_owned();
        let rules = Rules { private: PrivateNets::Refused, ..Rules::default() };
        let Ok(target) = Target::read(&written, &rules) else { return Ok(()) };
        let url = target.url();
        prop_assert!(matches!(url.scheme(), "http" | "https"), "{}", url);
        prop_assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{}", url);
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            Some(Host::Domain(name)) => name.trim_end_matches('.').parse().ok(),
            None => return Err(TestCaseError::fail("no host")),
        };
        prop_assert!(!ip.is_some_and(is_surely_private), "{:?} became {}", written, url);
        prop_assert_eq!(Target::read(url.as_str(), &rules), Ok(target.clone()));
        Ok(())
    });
}

const PAGES: [&[u8]; 6] = [
    b"<!doctype html><html><head><title>T</title></head><body><article><h1>H</h1><p>One long enough paragraph, with commas, and more, \
      and a <a href='../x'>link</a>, so that it counts as text of an article in the eyes of those who count.</p></article></body></html>",
    b"<table><tr><td>a<td>b<tr><th colspan=9999999>c</table><ul><li>1<li>2<ol start=-5><li>x</ul>",
    b"<body><pre><code class=language-rust>fn main() {}\n```\n</code></pre><blockquote>q<br>r</blockquote>",
    b"<svg><style><!--</style><script>x</script></svg><template><p>t</template><noscript><img src=x></noscript>",
    "<p>\u{feff}\u{202e}日本 <b><i></b></i> &amp;&#0;&#x110000;&nosuch; \0</p><base href='javascript:1'>".as_bytes(),
    b"<a><a><b><div><a></b></div><form><form><select><option><input><table><form>",
];
const TAGS: [&str; 16] = [
    "<div>",
    "</div>",
    "<p>",
    "<b>",
    "<table>",
    "<tr>",
    "<li>",
    "<a href='//['>",
    "<img src='data:image/png;base64,AA'>",
    "<script>",
    "<!--",
    "-->",
    "<![CDATA[",
    "<title>",
    "&#x1F980;",
    "<article class=comment>",
];

#[test]
fn any_bytes_are_a_page_and_scripts_are_never_read() {
    // Pages are taken apart on a thread with a large stack, as the tool does it.
    let work = || {
        explore((mutants(), 1usize..20), |(html, times)| {
            let html = String::from_utf8_lossy(&html.of(&PAGES, &TAGS)).into_owned().repeat(times);
            let url = Url::parse("https://example.com/a/b").expect("a URL");
            let page = of_html(&format!("<script>NEVERSEEN</script>{html}"), &url);
            prop_assert!(!page.text.contains("NEVERSEEN"), "{}", page.text);
            prop_assert!(!page.title.contains('\n'));
            prop_assert!(page.text.len() <= 64 * html.len() + 1_000, "{} bytes from {}", page.text.len(), html.len());
            Ok(())
        });
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
