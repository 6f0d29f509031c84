use super::*;
use serde_json::json;

fn nothing(_: &str) -> Option<String> {
    None
}

fn told(found: &Found) -> Vec<String> {
    found.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_program_with_nothing_but_its_command_has_the_usual_limits() {
    let found = read(&json!({"mcp_servers": {"time": {"command": "mcp-server-time", "args": ["--local"]}}}), &nothing);
    assert_eq!(told(&found), [""; 0]);
    let [time] = found.servers.as_slice() else { panic!("{found:?}") };
    let place = Place::Program {
        command: "mcp-server-time".to_owned(),
        args: vec!["--local".to_owned()],
        env: BTreeMap::new(),
    };
    assert_eq!((time.name.as_str(), &time.place), ("time", &place));
    assert_eq!((time.timeout, time.connect_timeout, time.keepalive), (CALL, CONNECT, KEEPALIVE));
    assert_eq!(
        (time.order, &time.filter, time.resources, time.prompts),
        (CallOrder::OneByOne, &Filter::All, true, true)
    );
    assert_eq!((time.sampling.max_per_minute, time.sampling.max_tokens), (10, 4096));
}

#[test]
fn every_key_is_understood() {
    let entry = json!({
        "url": "https://tools.example/mcp", "transport": "sse", "headers": {"X-Key": "${KEY}", "X-Other": "${env:KEY}-${NOBODY}"},
        "timeout": 10, "connect_timeout": "2.5", "keepalive_interval": 1,
        "lifecycle": {"idle_timeout_seconds": 30}, "max_lifetime_seconds": 60,
        "supports_parallel_tool_calls": "yes",
        "tools": {"include": "one", "exclude": ["two"], "resources": false, "prompts": false},
        "sampling": {"enabled": false, "model": "m", "max_tokens_cap": 5, "timeout": 6, "max_rpm": 7, "allowed_models": ["m"], "max_tool_rounds": 8},
        "elicitation": {"enabled": false, "timeout": 9},
        "auth": "oauth", "oauth": {"client_id": "me", "scope": "read write", "redirect_port": 4242},
        "ssl_verify": "/etc/ca.pem", "client_cert": "/c.pem", "client_key": "/k.pem", "skip_preflight": true,
    });
    let key = |name: &str| (name == "KEY").then(|| "hush".to_owned());
    let found = read(&json!({"mcp_servers": {"far": entry}}), &key);
    assert_eq!(told(&found), [""; 0]);
    let [far] = found.servers.as_slice() else { panic!("{found:?}") };
    let Place::Remote(remote) = &far.place else { panic!("{far:?}") };
    assert_eq!((remote.url.as_str(), remote.wire), ("https://tools.example/mcp", Wire::Sse));
    let headers: Vec<(&str, &str)> =
        remote.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(headers, [("X-Key", "hush"), ("X-Other", "hush-${NOBODY}")], "what is not set stays as it is written");
    let Auth::OAuth(oauth) = &remote.auth else { panic!("no login") };
    assert_eq!((oauth.client_id.as_deref(), oauth.scopes.len(), oauth.redirect_port), (Some("me"), 2, Some(4242)));
    assert_eq!(remote.tls.trust, Trust::File("/etc/ca.pem".to_owned()));
    assert_eq!(remote.tls.identity, Some(("/c.pem".to_owned(), Some("/k.pem".to_owned()))));
    let seconds = Duration::from_secs;
    assert_eq!((far.timeout, far.connect_timeout), (seconds(10), Duration::from_millis(2500)));
    assert_eq!(far.keepalive, SHORTEST_KEEPALIVE, "a server is not pestered");
    assert_eq!(far.recycle, Recycle { idle: Some(seconds(30)), lifetime: Some(seconds(60)) });
    assert_eq!((far.order, far.resources, far.prompts), (CallOrder::SideBySide, false, false));
    assert!(far.filter.takes("one") && !far.filter.takes("two") && !far.filter.takes("three"), "include wins");
    let sampling = SamplingSettings {
        enabled: false,
        model: Some("m".to_owned()),
        max_tokens: 5,
        timeout: seconds(6),
        max_per_minute: 7,
        allowed_models: vec!["m".to_owned()],
        max_tool_rounds: 8,
    };
    assert_eq!(far.sampling, sampling);
    assert_eq!(far.elicitation, ElicitationSettings { enabled: false, timeout: seconds(9) });
}

#[test]
fn what_is_wrong_is_named_with_server_and_key() {
    let config = json!({"mcp_servers": {
        "a": {"command": "x", "timeout": "soon", "enabled": "maybe", "args": {"no": "list"}},
        "b": {}, "c": 7, "d": {"url": "ftp://host/"}, "e": {"url": "nowhere"}, "f": {"url": "http://h/", "transport": "carrier pigeon"},
        "g": {"command": "x", "url": "http://h/"}, "h": {"command": "x", "enabled": false},
    }});
    let found = read(&config, &nothing);
    let expected = [
        "mcp_servers.a.enabled: it has to be true or false; its default is used",
        "mcp_servers.a.args: it has to be a list of texts; its default is used",
        "mcp_servers.a.timeout: it has to be a number of seconds; its default is used",
        "mcp_servers.b: it needs `command` (a program of this machine) or `url` (a server elsewhere)",
        "mcp_servers.c: it has to be a section with `command` or `url`",
        "mcp_servers.d.url: `ftp:` is no address of a server; use http or https",
        "mcp_servers.e.url: it is no address: relative URL without a base",
        "mcp_servers.f.transport: `carrier pigeon` is not known; use http or sse",
        "mcp_servers.g.command: there is a `url` too, which counts; remove one of them",
    ];
    assert_eq!(told(&found), expected);
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!((names, found.disabled), (vec!["a", "f", "g"], vec!["h".to_owned()]));
}

#[test]
fn safe_mode_starts_nothing() {
    let config = json!({"mcp_servers": {"a": {"command": "x"}}});
    let safe = |word: &'static str| read(&config, &move |name| (name == SAFE_MODE).then(|| word.to_owned()));
    assert_eq!((safe("1").servers.len(), safe("1").disabled.len()), (0, 1));
    assert_eq!((safe("0").servers.len(), safe("").servers.len()), (1, 1));
}

#[test]
fn headers_do_not_show_in_logs() {
    let config = json!({"mcp_servers": {"a": {"url": "http://h/", "headers": {"Authorization": "Bearer hush"}}}});
    let shown = format!("{:?}", read(&config, &nothing));
    assert!(shown.contains("Authorization") && !shown.contains("hush"), "{shown}");
}
