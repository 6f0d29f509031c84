//! The guarded client: where it goes, where it refuses to go, and when it has had enough.

use super::site::{Asked, Say, Site, moved, page};
use super::stage::Names;
use hermes_web::fetch::{Ask, Blocklist, Extent, FetchFault, Fetcher, PrivateNets, Proxies, Rules, SystemLookup};
use hermes_web::key::Key;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use url::Url;

const PUBLIC: &str = "93.184.215.14";

/// The owner allows this machine, and names lead where the test wants.
fn allowed(names: Names) -> Fetcher {
    Fetcher::with_lookup(Rules { private: PrivateNets::Allowed, ..Rules::default() }, Arc::new(names))
}

/// Nothing private is allowed, and a proxy stands in front of the world: so a public name can be played on this machine.
fn behind_proxy(proxy: &Site, names: Names) -> Fetcher {
    let address = proxy.url("");
    let proxies = Proxies::read(|name| (name == "HTTP_PROXY").then(|| address.clone()));
    Fetcher::with_lookup(Rules { proxies, ..Rules::default() }, Arc::new(names))
}

async fn text(fetcher: &Fetcher, url: &str) -> Result<String, FetchFault> {
    let body = fetcher.get(Ask::new(url)).await?.read(1 << 20).await?;
    Ok(String::from_utf8_lossy(&body.bytes).into_owned())
}

#[tokio::test]
async fn a_page_comes_with_where_it_was_and_what_it_is() {
    let site = Site::start(|asked| match asked.path.as_str() {
        "/old" => moved("/new?x=1"),
        _ => page("text/HTML; Charset=\"utf-8\"", "<p>hi"),
    })
    .await;
    let mut answer = allowed(Names::default()).get(Ask::new(site.url("/old#part"))).await.expect("a page");
    assert_eq!((answer.status(), answer.url().as_str()), (200, site.url("/new?x=1").as_str()));
    assert_eq!((answer.media().as_deref(), answer.charset()), (Some("text/html"), Some("utf-8")));
    assert_eq!(answer.kind().await, Ok(hermes_web::fetch::Kind::Html));
    let body = answer.read(100).await.expect("a body");
    assert_eq!((&body.bytes[..], body.extent), (&b"<p>hi"[..], Extent::Whole));
    let asked = &site.asked()[0];
    assert!(asked.header("user-agent").is_some_and(|name| name.starts_with("hermes/")), "{asked:?}");
    assert_eq!((asked.header("cookie"), asked.header("referer")), (None, None));
}

#[tokio::test]
async fn every_redirect_is_judged_anew() {
    for (to, expected) in [
        ("http://127.0.0.1:8099/secret", "private or internal network address (127.0.0.1 is this machine)"),
        ("http://0x7f.1/", "private or internal network address (127.0.0.1 is this machine)"),
        ("//[::1]/", "private or internal network address ([::1] is this machine)"),
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is where a cloud hands out"),
        ("http://inside.test/", "private or internal network address (inside.test is a private network)"),
        ("file:///etc/passwd", "only http and https"),
        ("http://user:pass@public.test/", "a user name or a password"),
        ("http://public.test:22/", "port 22"),
        ("http://public.test/?api_key=abc", "the parameter `api_key`"),
    ] {
        let proxy = Site::start(move |_| moved(to)).await;
        let names = Names::of(&[("public.test", &[&[PUBLIC]]), ("inside.test", &[&["10.0.0.7"]])]);
        let refused = text(&behind_proxy(&proxy, names), "http://public.test/").await.expect_err(to);
        assert!(refused.to_string().contains(expected), "{to}: {refused}");
        assert_eq!(proxy.paths(), ["http://public.test/"], "nothing was asked for behind {to}");
    }
}

#[tokio::test]
async fn redirects_end_after_five() {
    let site = Site::start(|asked| match asked.path.trim_start_matches('/').parse::<usize>() {
        Ok(0) => page("text/plain", "there"),
        Ok(left) => moved(format!("/{}", left - 1)),
        Err(_) => moved("/round"),
    })
    .await;
    let fetcher = allowed(Names::default());
    assert_eq!(text(&fetcher, &site.url("/5")).await, Ok("there".into()));
    assert_eq!(text(&fetcher, &site.url("/6")).await, Err(FetchFault::Circles("127.0.0.1".into())));
    assert_eq!(text(&fetcher, &site.url("/round")).await, Err(FetchFault::Circles("127.0.0.1".into())));
}

#[tokio::test]
async fn a_name_server_that_changes_its_mind_gains_nothing() {
    let site = Site::start(|_| page("text/plain", "fine")).await;
    let url = format!("http://turncoat.test:{}/", site.address.port());
    let names = Names::of(&[("turncoat.test", &[&["127.0.0.1"], &["169.254.169.254"]])]);
    let lookups = names.lookups.clone();
    let fetcher = allowed(names);
    assert_eq!(text(&fetcher, &url).await, Ok("fine".into()));
    assert_eq!(lookups.lock().expect("lookups").len(), 1, "what was judged is what was connected to");
    let refused = text(&fetcher, &url).await.expect_err("its second answer is judged too");
    assert_eq!(refused, FetchFault::Metadata("turncoat.test".into()));

    let names = Names::of(&[("turncoat.test", &[&["127.0.0.1"], &["169.254.169.254"]])]);
    let fetcher = allowed(names);
    assert!(fetcher.check(&url).await.is_ok(), "a first look is good");
    let refused = text(&fetcher, &url).await.expect_err("and no reason to trust the second");
    assert_eq!(refused, FetchFault::Metadata("turncoat.test".into()));
    assert_eq!(site.asked().len(), 1);
}

#[tokio::test]
async fn one_bad_address_spoils_a_name_and_no_address_is_none() {
    let names = Names::of(&[("mixed.test", &[&[PUBLIC, "10.1.2.3"]]), ("void.test", &[&[]])]);
    let fetcher = Fetcher::with_lookup(Rules::default(), Arc::new(names));
    let mixed = FetchFault::Private { host: "mixed.test".into(), what: "a private network" };
    assert_eq!(text(&fetcher, "http://mixed.test/").await, Err(mixed.clone()));
    assert_eq!(fetcher.check("http://mixed.test./").await.map(|_| ()), Err(mixed));
    for url in ["http://void.test/", "http://unknown.test/"] {
        assert!(matches!(text(&fetcher, url).await, Err(FetchFault::Unresolved(_))), "{url}");
    }
    let real = Fetcher::with_lookup(Rules::default(), Arc::new(SystemLookup));
    let localhost = FetchFault::Private { host: "localhost".into(), what: "this machine" };
    assert_eq!(text(&real, "http://localhost:8099/").await, Err(localhost));
}

#[tokio::test]
async fn behind_a_proxy_names_are_judged_as_far_as_they_are_known_here() {
    let proxy = Site::start(|_| page("text/plain", "from the proxy")).await;
    let names = || Names::of(&[("public.test", &[&[PUBLIC]]), ("inside.test", &[&["192.168.0.9"]])]);
    let fetcher = behind_proxy(&proxy, names());
    assert_eq!(text(&fetcher, "http://public.test/a").await, Ok("from the proxy".into()));
    assert_eq!(text(&fetcher, "http://only-the-proxy-knows.test/b").await, Ok("from the proxy".into()));
    for refused in
        ["http://inside.test/", "http://intranet/", "http://box.internal/", "http://10.0.0.1/", "http://localhost/"]
    {
        let fault = text(&fetcher, refused).await.expect_err(refused);
        let is_unknown = matches!(fault, FetchFault::Unresolved(_));
        assert!(is_unknown || fault.to_string().starts_with("Blocked"), "{refused}: {fault}");
    }
    assert_eq!(proxy.paths(), ["http://public.test/a", "http://only-the-proxy-knows.test/b"]);
}

#[tokio::test]
async fn a_key_stays_at_home_when_a_redirect_leads_away() {
    let elsewhere = Site::start(|_| page("text/plain", "got it")).await;
    let away = elsewhere.url("/steal");
    let home = Site::start(move |asked: &Asked| match asked.path.as_str() {
        "/first" => moved("/second"),
        _ => moved(away.clone()),
    })
    .await;
    let url = Url::parse(&home.url("/first")).expect("a URL");
    let key = Key::new("token-of-home", &url).expect("a key").after("Bearer ");
    let ask = Ask::new(url.as_str()).with_key("authorization".parse().expect("a name"), key);
    allowed(Names::default()).get(ask).await.expect("a page");
    let shown: Vec<Option<String>> =
        home.asked().iter().map(|asked| asked.header("authorization").map(str::to_owned)).collect();
    assert_eq!(shown, [Some("Bearer token-of-home".into()), Some("Bearer token-of-home".into())]);
    assert_eq!(elsewhere.asked()[0].header("authorization"), None);
}

#[tokio::test]
async fn blocked_web_sites_are_not_asked_also_behind_a_redirect() {
    let site = Site::start(|_| moved("http://ads.bad.test/")).await;
    let blocklist = Blocklist::read(&["bad.test".into()], &[], Path::new("/nonexistent"), &mut Vec::new());
    let rules = Rules { blocklist, private: PrivateNets::Allowed, ..Rules::default() };
    let fetcher = Fetcher::with_lookup(rules, Arc::new(Names::of(&[("ads.bad.test", &[&["127.0.0.1"]])])));
    let expected = "Blocked by website policy: 'ads.bad.test' matched rule 'bad.test' from config";
    for url in [site.url("/"), "http://ADS.bad.test./".to_owned()] {
        assert_eq!(text(&fetcher, &url).await.expect_err("blocked").to_string(), expected, "{url}");
    }
}

#[tokio::test]
async fn two_hundred_megabytes_are_cut_while_they_come() {
    let site = Site::start(|_| Say::Flood(200 << 20)).await;
    let answer = allowed(Names::default()).get(Ask::new(site.url("/"))).await.expect("an answer");
    assert_eq!(answer.length(), Some(200 << 20));
    let body = answer.read(1 << 20).await.expect("a body");
    assert_eq!((body.bytes.len(), body.extent), (1 << 20, Extent::Cut));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(site.sent() < 40 << 20, "{} bytes were taken", site.sent());
}

#[tokio::test]
async fn a_bomb_is_cut_by_what_comes_out_of_it() {
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b'a'; 1 << 20];
    (0..64).for_each(|_| bomb.write_all(&zeros).expect("packed"));
    let bomb = bomb.finish().expect("packed");
    assert!(bomb.len() < 1 << 20);
    let site = Site::start(move |_| Say::Page {
        status: 200,
        headers: vec![("content-type", "text/plain".into()), ("content-encoding", "gzip".into())],
        body: bomb.clone(),
    })
    .await;
    let answer = allowed(Names::default()).get(Ask::new(site.url("/"))).await.expect("an answer");
    let body = answer.read(2 << 20).await.expect("a body");
    assert_eq!((body.bytes.len(), body.extent), (2 << 20, Extent::Cut));
}

#[tokio::test]
async fn patience_is_for_all_of_a_page() {
    let site = Site::start(|asked| if asked.path == "/broken" { Say::Break } else { Say::Drip }).await;
    let fetcher = allowed(Names::default());
    let begun = Instant::now();
    let answer = fetcher.get(Ask::new(site.url("/")).within(Duration::from_secs(1))).await.expect("it begins");
    let fault = answer.read(1 << 20).await.expect_err("it never ends");
    assert_eq!(fault, FetchFault::TooSlow { host: "127.0.0.1".into(), limit: Duration::from_secs(1) });
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let broken = text(&fetcher, &site.url("/broken")).await.expect_err("half a page is none");
    assert!(matches!(broken, FetchFault::Broken { .. }) && broken.is_passing(), "{broken}");
    let nobody = text(&fetcher, "http://127.0.0.1:1234/").await.expect_err("nobody listens");
    assert!(matches!(nobody, FetchFault::Unreachable { .. }), "{nobody}");
}
