//! `web_search` with every engine: what is sent, what is read from the answer, and what is told when there is none.

use super::site::{Asked, Say, Site, page, status};
use super::stage::{Plan, Stage};
use hermes_tools::tool::Availability;
use serde_json::{Value, json};
use std::fmt::Write as _;

const KEY: &str = "key-0123456789-of-the-engine";

const DUCK: &str = r#"<html><body><div id="links">
<div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad=1">Buy otters</a></div>
<div class="result results_links"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fotters.test%2Fa%3Fb%3D1&amp;rut=x">All <b>otters</b></a></h2>
<a class="result__snippet">They hold <b>hands</b> &amp; sleep</a></div>
<div class="result"><a class="result__a" href="https://direct.test/">Direct</a></div></div></body></html>"#;

/// An engine by its name, the variable with its key, and an answer as it gives them.
const ENGINES: [(&str, Option<&str>, &str, &str); 7] = [
    (
        "tavily",
        Some("TAVILY_API_KEY"),
        "application/json",
        r#"{"query":"otters","results":[{"title":"All otters","url":"https://otters.test/","content":"They hold hands","score":0.9},{"title":null,"url":"https://b.test/"},{"title":"no address"}]}"#,
    ),
    (
        "exa",
        Some("EXA_API_KEY"),
        "application/json",
        r#"{"results":[{"id":"x","title":"All otters","url":"https://otters.test/","highlights":["They hold","hands"]}]}"#,
    ),
    (
        "parallel",
        Some("PARALLEL_API_KEY"),
        "application/json",
        r#"{"search_id":"s","results":[{"url":"https://otters.test/","title":"All otters","excerpts":["They hold","hands"],"publish_date":null}]}"#,
    ),
    (
        "firecrawl",
        Some("FIRECRAWL_API_KEY"),
        "application/json",
        r#"{"success":true,"data":{"web":[{"url":"https://otters.test/","title":"All otters","description":"They hold hands","position":1}]}}"#,
    ),
    (
        "searxng",
        None,
        "application/json",
        r#"{"query":"otters","results":[{"url":"https://otters.test/","title":"All otters","content":"They hold hands","engine":"x"},{"url":"https://b.test/","title":"B","content":null}]}"#,
    ),
    (
        "brave-free",
        Some("BRAVE_SEARCH_API_KEY"),
        "application/json",
        r#"{"type":"search","web":{"results":[{"title":"All <strong>otters</strong>","url":"https://otters.test/","description":"They <strong>hold</strong> hands &amp; sleep"}]}}"#,
    ),
    ("ddgs", None, "text/html", DUCK),
];

fn stage_for(engine: &str, key: Option<&'static str>, site: &Site) -> Stage {
    let config = json!({"web": {"search_backend": engine, engine: {"base_url": site.url("/base/")}}});
    let variables = key.map(|name| (name, KEY.to_owned())).into_iter().collect();
    Stage::build(Plan { config, variables, ..Plan::default() })
}

/// A request as a person reads it: without what the client adds by itself.
fn written(asked: &Asked) -> String {
    let mut out = format!("{} {}\n", asked.method, asked.path);
    let own =
        ["accept", "authorization", "content-type", "parallel-beta", "x-api-key", "x-subscription-token", "cookie"];
    for (name, value) in asked.headers.iter().filter(|(name, _)| own.contains(&name.as_str())) {
        writeln!(out, "{name}: {value}").expect("written");
    }
    writeln!(out, "\n{}", asked.body).expect("written");
    out
}

#[tokio::test]
async fn every_engine_is_asked_in_its_own_way_and_read_in_its_own_way() {
    for (engine, key, media, answer) in ENGINES {
        let site = Site::start(move |_| page(media, answer)).await;
        let stage = stage_for(engine, key, &site);
        let found = stage.call("web_search", json!({"query": " otters & \"holding hands\" ", "limit": 3})).await;
        let pretty = serde_json::to_string_pretty(&found).expect("JSON");
        let told = format!("{}--- the model reads\n{pretty}\n", written(&site.asked()[0]));
        hermes_testkit::golden(format!("tests/golden/search/{engine}.txt"), &told);
        assert!(!pretty.contains(KEY), "{pretty}");
    }
}

#[tokio::test]
async fn a_refusal_says_what_it_means_and_never_shows_the_key() {
    for (code, body, words) in [
        (
            401,
            format!(r#"{{"detail":{{"error":"Unauthorized: wrong key {KEY}"}}}}"#),
            "does not accept the key (HTTP 401). Check TAVILY_API_KEY: `hermes config set TAVILY_API_KEY VALUE` sets another",
        ),
        (403, "{}".to_owned(), "does not accept the key (HTTP 403)"),
        (402, "{}".to_owned(), "The plan at Tavily is used up"),
        (432, r#"{"detail":{"error":"limit of the plan"}}"#.to_owned(), "It says: limit of the plan"),
        (429, "{}".to_owned(), "takes no more searches for now (HTTP 429). It asks to wait 7 s."),
        (500, "<html>".to_owned(), "has trouble itself (HTTP 500)"),
        (302, String::new(), "moves requests to another address (HTTP 302); correct web.tavily.base_url."),
        (418, r#"{"error":"teapot"}"#.to_owned(), "refused the search (HTTP 418). It says: teapot"),
        (200, "no JSON".to_owned(), "gave no results: the answer is no JSON"),
        (200, r#"{"odd":1}"#.to_owned(), "the answer has no list of results"),
    ] {
        let site = Site::start(move |_| {
            let headers = vec![("retry-after", "7".into()), ("location", "http://elsewhere.test/".into())];
            Say::Page { status: code, headers, body: body.clone().into() }
        })
        .await;
        let told = stage_for("tavily", Some("TAVILY_API_KEY"), &site).call("web_search", json!({"query": "x"})).await;
        let error = told["error"].as_str().expect("an error");
        assert_eq!(told["success"], false);
        assert!(error.contains(words), "{code}: {error}");
        assert!(!error.contains(KEY), "{error}");
        assert_eq!(site.asked().len(), 1, "asked once, and a redirect is not followed");
    }
}

#[tokio::test]
async fn another_engine_takes_over_where_the_owner_named_one_and_only_then() {
    let refusing = Site::start(|_| status(401, "{}")).await;
    let answering = Site::start(|_| page("application/json", ENGINES[1].3)).await;
    let search = async |fallback: Value| {
        let config = json!({"web": {
            "search_backend": "tavily", "search_fallback": fallback,
            "tavily": {"base_url": refusing.url("/")}, "exa": {"base_url": answering.url("/")},
            "ddgs": {"base_url": refusing.url("/")},
        }});
        let keys = ["TAVILY_API_KEY", "EXA_API_KEY"].map(|name| (name, KEY.to_owned()));
        let stage = Stage::build(Plan { config, variables: keys.into_iter().collect(), ..Plan::default() });
        stage.call("web_search", json!({"query": "otters"})).await
    };
    let alone = search(Value::Null).await;
    assert!(
        alone["error"].as_str().is_some_and(|error| error.starts_with("Tavily does not accept the key")),
        "{alone}"
    );
    assert_eq!(answering.asked().len(), 0, "nobody else hears of a search without being named");
    let helped = search(json!(["ddgs", "exa"])).await;
    assert_eq!(helped["data"]["web"][0]["url"], "https://otters.test/");
    let message = helped["message"].as_str().expect("why it is another one");
    assert!(message.contains("Check TAVILY_API_KEY") && message.contains("DuckDuckGo"), "{message}");
    assert!(message.ends_with("Exa was asked instead."), "{message}");
    let failed = search(json!("ddgs")).await;
    let told = failed["error"].as_str().expect("both failures");
    assert!(told.contains("Tavily does not accept") && told.contains("DuckDuckGo"), "{told}");
}

#[tokio::test]
async fn the_page_of_an_engine_can_be_a_trap_too() {
    let deep = format!("<div id=links>{}", "<div class=result>".repeat(100_000));
    let site = Site::start(move |_| page("text/html", deep.clone())).await;
    let told = stage_for("ddgs", None, &site).call("web_search", json!({"query": "x"})).await;
    assert!(told["error"].as_str().is_some_and(|error| error.contains("cannot be read")), "{told}");
    let marked = json!({"web": {"results": [{
        "title": "<b>".repeat(100_000), "url": "https://a.test/", "description": format!("Hi {}", "<i>".repeat(100_000)),
    }, {"title": "x".repeat(5_000), "url": format!("https://a.test/{}", "x".repeat(9_000))}]}});
    let site = Site::start(move |_| page("application/json", marked.to_string())).await;
    let told =
        stage_for("brave-free", Some("BRAVE_SEARCH_API_KEY"), &site).call("web_search", json!({"query": "x"})).await;
    let hits = json!([{"title": "…", "url": "https://a.test/", "description": "Hi …", "position": 1}]);
    assert_eq!(told["data"]["web"], hits, "{told}");
}

#[tokio::test]
async fn duckduckgo_that_wants_to_see_a_person_is_no_empty_result() {
    let puzzle =
        r#"<html><body><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></body></html>"#;
    let nothing = r#"<html><body><div id="links"><div class="no-results">No results.</div></div></body></html>"#;
    for (code, body, expected) in [
        (200, puzzle, "wants to see that a person asks"),
        (202, puzzle, "takes no more searches from here for a while"),
    ] {
        let site = Site::start(move |_| status(code, body)).await;
        let told = stage_for("ddgs", None, &site).call("web_search", json!({"query": "x"})).await;
        assert!(told["error"].as_str().is_some_and(|error| error.contains(expected)), "{told}");
    }
    let site = Site::start(move |_| page("text/html", nothing)).await;
    let told = stage_for("ddgs", None, &site).call("web_search", json!({"query": "x"})).await;
    assert_eq!(
        told,
        json!({"success": true, "data": {"web": []}, "message": "Nothing was found. Try other or fewer words."})
    );
}

#[tokio::test]
async fn nobody_at_home_and_nothing_to_ask_for_are_told() {
    let gone = Site::start(|_| status(200, "{}")).await.url("");
    let config = json!({"web": {"search_backend": "searxng", "searxng": {"base_url": gone}}});
    let told = Stage::with(config).call("web_search", json!({"query": "x"})).await;
    assert!(told["error"].as_str().is_some_and(|error| error.starts_with("SearXNG cannot be asked: ")), "{told}");
    let stage = Stage::with(Value::Null);
    for (query, words) in [
        ("  ".to_owned(), "no words"),
        ("x".repeat(2_001), "longer than 2000"),
        ("who owns sk-proj-a1B2c3D4e5F6g7H8a1B2c3D4e5F6g7H8".to_owned(), "looks like a key"),
    ] {
        let told = stage.call("web_search", json!({ "query": query })).await;
        assert!(told["error"].as_str().is_some_and(|error| error.contains(words)), "{told}");
    }
}

#[tokio::test]
async fn without_an_engine_the_tool_is_not_offered_and_the_ways_to_one_are_named() {
    let availability = |stage: &Stage| {
        let tools = stage.registry.describe();
        tools.into_iter().find(|tool| tool.card.name == "web_search").expect("registered").availability
    };
    assert_eq!(availability(&Stage::with(Value::Null)), Availability::Ready, "one needs no key");
    let none = Stage::with(json!({"web": {"ddgs": {"enabled": false}}}));
    let Availability::Missing(line) = availability(&none) else { panic!("nothing to ask") };
    assert!(
        line.starts_with("no search engine is set up; set one of TAVILY_API_KEY, ") && !line.contains('\n'),
        "{line}"
    );
    let told = none.call("web_search", json!({"query": "x"})).await;
    let options = told["error"].as_str().expect("the options").to_owned();
    hermes_testkit::golden("tests/golden/search/options.txt", &format!("{options}\n"));
}
