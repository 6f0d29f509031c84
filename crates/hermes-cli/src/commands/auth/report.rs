//! What `hermes auth list` and `hermes auth status` print. Labels, sources and times; never a secret.

use super::super::access::{self, Access, Who};
use super::super::{Console, Exit, Trouble, table};
use crate::app::App;
use hermes_model::auth::edit::{self, Listed};
use hermes_model::auth::{AuthType, Row, Standing};
use serde_json::{Value, json};

pub(super) async fn list(
    who: Option<&str>,
    as_json: bool,
    profile: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let app = App::load(profile, who).await?;
    let found = asked(who, &app)?;
    if as_json {
        let report: Vec<Value> = found.iter().map(|(who, rows)| to_json(who, rows, &app)).collect();
        writeln!(console.out, "{:#}", Value::Array(report))?;
        return Ok(Exit::Done);
    }
    for (who, rows) in found.iter().filter(|(_, rows)| !rows.is_empty()) {
        writeln!(console.out, "{} ({})", who.label, who.name)?;
        let lines: Vec<[String; 5]> =
            edit::list(rows, app.now()).iter().zip(rows).map(|(listed, row)| line(listed, row, who, &app)).collect();
        table::write(console.out, &lines)?;
    }
    if found.iter().all(|(_, rows)| rows.is_empty()) {
        let whom = who.map_or_else(String::new, |who| format!(" for {who}"));
        let example = who.unwrap_or("openrouter");
        writeln!(console.out, "No key or login is there{whom}. Add one: hermes auth add {example}")?;
    }
    Ok(Exit::Done)
}

pub(super) async fn status(
    who: Option<&str>,
    as_json: bool,
    profile: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let app = App::load(profile, who).await?;
    let found = asked(who, &app)?;
    let usable = |who: &Who| !matches!(who.access(&app), Access::Missing(_));
    if as_json {
        let report: Vec<Value> = found.iter().map(|(who, rows)| to_json(who, rows, &app)).collect();
        writeln!(console.out, "{:#}", Value::Array(report))?;
    } else {
        for (who, _) in &found {
            writeln!(console.out, "{}: {}", who.label, words(who, &app))?;
            if let Some(error) = last_error(who, &app) {
                writeln!(console.out, "  the last login ended: {error}")?;
            }
        }
        if found.is_empty() {
            writeln!(console.out, "No key or login is there. Add one: hermes auth add openrouter")?;
        }
    }
    Ok(if found.iter().any(|(who, _)| usable(who)) { Exit::Done } else { Exit::Failed })
}

/// The provider asked about, or every one something is there for.
fn asked(who: Option<&str>, app: &App) -> Result<Vec<(Who, Vec<Row>)>, Trouble> {
    match who {
        None => Ok(access::with_credentials(app)),
        Some(name) => {
            let who = Who::find(name, &app.knowledge.config)?;
            let rows = who.credentials(app);
            Ok(vec![(who, rows)])
        }
    }
}

fn words(who: &Who, app: &App) -> String {
    match who.access(app) {
        Access::Ready(origin) => format!("ready, {origin}"),
        Access::Open => "ready, no key is needed".into(),
        Access::Missing(error) => format!("not ready: {error}"),
    }
}

fn last_error(who: &Who, app: &App) -> Option<String> {
    edit::status(&app.knowledge.logins, &who.name, &[], app.now()).last_error
}

fn line(listed: &Listed, row: &Row, who: &Who, app: &App) -> [String; 5] {
    let mut source = listed.source.to_string();
    if let Some(url) = row.base_url().filter(|_| who.needs_address()) {
        source.push_str(&format!(", for {url}"));
    }
    if app.knowledge.logins.is_inherited(&who.name, row) {
        source.push_str(", from the default profile");
    }
    [listed.index.to_string(), listed.label.clone(), kind(listed.auth_type).into(), source, access::standing(listed)]
}

fn kind(auth_type: AuthType) -> &'static str {
    match auth_type {
        AuthType::ApiKey => "key",
        AuthType::OAuth => "login",
    }
}

fn to_json(who: &Who, rows: &[Row], app: &App) -> Value {
    let credentials: Vec<Value> = edit::list(rows, app.now())
        .into_iter()
        .zip(rows)
        .map(|(listed, row)| {
            let (status, reason) = match &listed.standing {
                Standing::Ready => ("ready", None),
                Standing::Resting { .. } => ("resting", None),
                Standing::Dead { reason } => ("dead", Some(reason.clone())),
            };
            json!({
                "index": listed.index, "id": listed.id, "label": listed.label, "type": listed.auth_type.as_str(),
                "source": listed.source.to_string(), "status": status, "reason": reason,
                "rests_for_seconds": listed.rest.map(|time| time.as_secs()),
                "expires_in_seconds": listed.life.map(|time| time.as_secs()),
                "inherited": app.knowledge.logins.is_inherited(&who.name, row),
            })
        })
        .collect();
    let access = who.access(app);
    let problem = match &access {
        Access::Missing(error) => Some(error.to_string()),
        Access::Ready(_) | Access::Open => None,
    };
    json!({
        "provider": who.name, "label": who.label, "ready": problem.is_none(), "problem": problem,
        "active": app.knowledge.logins.active_provider() == Some(who.name.as_str()),
        "last_error": last_error(who, app), "credentials": credentials,
    })
}
