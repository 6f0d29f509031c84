//! `hermes fallback`: who is asked when the chosen model fails, in order.
//!
//! The list is `fallback_providers` in `config.yaml`. The older `fallback_model` counts behind it; the first edit moves it
//! into the list, so that there is one place to look.

use super::access::{self, Who};
use super::config::refuse_managed;
use super::{Console, Exit, Trouble, table};
use crate::app::App;
use crate::settings::KeyPath;
use crate::settings::edit::{self, Change};
use hermes_model::provider::names::wire_name;
use hermes_model::resolve::{Ask, ModelConfig};
use serde_json::{Value, json};

const LIST: &str = "fallback_providers";
const LEGACY: &str = "fallback_model";

#[derive(Debug, clap::Args)]
pub struct FallbackArgs {
    #[command(subcommand)]
    pub command: Option<FallbackCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum FallbackCommand {
    /// Show the list, and whether each place can be used (the default)
    #[command(alias = "ls")]
    List,
    /// Add a model at the end
    Add {
        #[arg(value_name = "PROVIDER")]
        who: String,
        #[arg(value_name = "MODEL")]
        name: String,
        /// Where it is, when it is not at its usual place
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
    },
    /// Remove one place
    #[command(alias = "rm")]
    Remove {
        /// Its number in the list, or its provider
        #[arg(value_name = "N_OR_PROVIDER")]
        target: String,
    },
    /// Remove all of them
    Clear,
}

pub async fn run(args: FallbackArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(args: FallbackArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let app = App::load(profile, None).await?;
    let command = args.command.unwrap_or(FallbackCommand::List);
    if !matches!(command, FallbackCommand::List) {
        refuse_managed(&app.home, &app.environment, &KeyPath::of([LIST]))?;
    }
    match command {
        FallbackCommand::List => list(&app, console),
        FallbackCommand::Add { who, name, base_url } => add(&app, &who, &name, base_url.as_deref(), console),
        FallbackCommand::Remove { target } => remove(&app, &target, console),
        FallbackCommand::Clear => clear(&app, console),
    }
}

fn list(app: &App, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let places = places(app.settings.value());
    if places.is_empty() {
        writeln!(
            console.out,
            "Nobody is asked when the chosen model fails. Add one: hermes fallback add PROVIDER MODEL"
        )?;
        return Ok(Exit::Done);
    }
    let rows: Vec<[String; 4]> = places
        .iter()
        .enumerate()
        .map(|(place, entry)| {
            let (provider, model) = names(entry);
            [
                (place + 1).to_string(),
                provider.to_owned(),
                match entry.get("base_url").and_then(Value::as_str) {
                    Some(url) => format!("{model} at {url}"),
                    None => model.to_owned(),
                },
                obstacle(entry, app).unwrap_or("ready".into()),
            ]
        })
        .collect();
    table::write(console.out, &rows)?;
    Ok(Exit::Done)
}

fn add(app: &App, who: &str, name: &str, base_url: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let who = Who::find(who, &app.knowledge.config)?;
    let model = wire_name(who.row, name.trim());
    if model.is_empty() {
        return Err(Trouble::Usage("the model has no name; write `hermes fallback add PROVIDER MODEL`".into()));
    }
    let base_url = base_url.map(super::model::check_url).transpose()?;
    if base_url.is_none() && who.needs_address() {
        return Err(Trouble::Usage(format!("{} needs an address: add --base-url http://host:8000/v1", who.label)));
    }
    let mut entry = json!({"provider": who.name, "model": model});
    if let (Some(url), Some(fields)) = (&base_url, entry.as_object_mut()) {
        fields.insert("base_url".into(), url.as_str().trim_end_matches('/').into());
    }
    let file = edit::change_config(&app.home, |raw| {
        if let Some(place) = places(raw).iter().position(|known| is_same(known, &entry)) {
            return Err(Trouble::Refused(format!("{model} at {} is place {} already.", who.label, place + 1)));
        }
        Ok(appended(raw, &entry))
    })?;
    writeln!(console.out, "Added {model} at {} to {}.", who.label, file.display())?;
    if let Some(obstacle) = obstacle(&entry, app) {
        writeln!(console.err, "It cannot be used yet: {obstacle}")?;
    }
    Ok(Exit::Done)
}

fn remove(app: &App, target: &str, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let mut removed = String::new();
    let file = edit::change_config(&app.home, |raw| {
        let places = places(raw);
        let place = find(&places, target, &app.knowledge.config)?;
        let (provider, model) = places.get(place).map(names).unwrap_or_default();
        removed = format!("{model} at {provider}");
        Ok::<_, Trouble>(without(raw, place))
    })?;
    writeln!(console.out, "Removed {removed} from {}.", file.display())?;
    Ok(Exit::Done)
}

fn clear(app: &App, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let mut count = 0;
    let file = edit::change_config(&app.home, |raw| {
        count = places(raw).len();
        let keys = [LIST, LEGACY].map(|key| KeyPath::of([key]));
        Ok::<_, Trouble>(keys.into_iter().filter(|path| path.find(raw).is_some()).map(Change::Unset).collect())
    })?;
    match count {
        0 => writeln!(console.out, "The list was empty already.")?,
        1 => writeln!(console.out, "Removed the only place from {}.", file.display())?,
        several => writeln!(console.out, "Removed all {several} places from {}.", file.display())?,
    }
    Ok(Exit::Done)
}

/// Why a place could not be asked now.
pub(super) fn obstacle(entry: &Value, app: &App) -> Option<String> {
    let Some(ask) = ask_of(entry) else { return Some("ignored, provider and model are both needed".into()) };
    let error = app.knowledge.resolve(&ask).err()?;
    let who = ask.provider.as_deref().and_then(|name| Who::find(name, &app.knowledge.config).ok());
    Some(access::brief(&error, who.as_ref()))
}

/// What an entry asks for, as the settings are read.
fn ask_of(entry: &Value) -> Option<Ask> {
    let (config, _) = ModelConfig::parse(&json!({ LIST: [entry] }));
    config.fallbacks.into_iter().next()
}

/// Every place as it is written, in order: the list, then the older key.
pub(super) fn places(settings: &Value) -> Vec<Value> {
    let of = |key: &str| match settings.get(key) {
        Some(Value::Array(entries)) => entries.clone(),
        Some(entry @ Value::Object(_)) => vec![entry.clone()],
        _ => Vec::new(),
    };
    let mut places = of(LIST);
    for entry in of(LEGACY) {
        if !places.iter().any(|known| is_same(known, &entry)) {
            places.push(entry);
        }
    }
    places
}

pub(super) fn names(entry: &Value) -> (&str, &str) {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("?");
    (text("provider"), text("model"))
}

fn is_same(a: &Value, b: &Value) -> bool {
    ["provider", "model", "base_url"]
        .iter()
        .all(|key| a.get(key).and_then(Value::as_str) == b.get(key).and_then(Value::as_str))
}

/// The place a person means by its number or its provider. Two places of one provider are never guessed between.
fn find(places: &[Value], target: &str, config: &ModelConfig) -> Result<usize, Trouble> {
    let refuse = |what: String| Err(Trouble::Refused(format!("{what} See `hermes fallback list`.")));
    if let Ok(number) = target.trim().parse::<usize>() {
        return match number.checked_sub(1).filter(|place| *place < places.len()) {
            Some(place) => Ok(place),
            None => refuse(format!("There is no place {number}; there are {}.", places.len())),
        };
    }
    let canonical = |name: &str| Who::find(name, config).map_or_else(|_| name.to_owned(), |who| who.name);
    let wanted = canonical(target);
    let found: Vec<usize> = places
        .iter()
        .enumerate()
        .filter(|(_, entry)| canonical(names(entry).0) == wanted)
        .map(|(place, _)| place)
        .collect();
    match found.as_slice() {
        [place] => Ok(*place),
        [] => refuse(format!("No place is of `{target}`.")),
        several => refuse(format!("{} places are of `{target}`; use the number.", several.len())),
    }
}

/// The older key moves behind the list.
fn migrated(raw: &Value) -> Vec<Change> {
    let Some(_) = raw.get(LEGACY) else { return Vec::new() };
    let listed = raw.get(LIST).and_then(Value::as_array).map_or(0, Vec::len);
    let moved: Vec<Value> = places(raw).into_iter().skip(listed).collect();
    let mut changes = put(listed, &moved);
    changes.push(Change::Unset(KeyPath::of([LEGACY])));
    changes
}

fn appended(raw: &Value, entry: &Value) -> Vec<Change> {
    let mut changes = migrated(raw);
    changes.extend(put(places(raw).len(), std::slice::from_ref(entry)));
    changes
}

/// Entries behind the first `listed`. A list that is not there yet begins with its first entry, so that none stays behind
/// empty.
fn put(listed: usize, entries: &[Value]) -> Vec<Change> {
    entries.iter().enumerate().flat_map(|(place, entry)| put_one(listed + place, entry)).collect()
}

/// One entry, key after key: in the order a person would write them, not by the alphabet.
fn put_one(place: usize, entry: &Value) -> Vec<Change> {
    let at = KeyPath::of([LIST, &place.to_string()]);
    let (head, rest) = match entry.as_object().and_then(|fields| fields.get_key_value("provider").zip(Some(fields))) {
        Some(((key, provider), fields)) => {
            let mut rest: Vec<_> = fields.iter().filter(|(name, _)| *name != key).collect();
            rest.sort_by_key(|(name, _)| *name != "model");
            (json!({ key.as_str(): provider }), rest)
        }
        None => (entry.clone(), Vec::new()),
    };
    let begin = if place == 0 {
        Change::Set(KeyPath::of([LIST]), Value::Array(vec![head]))
    } else {
        Change::Set(at.clone(), head)
    };
    let rest = rest.into_iter().map(|(name, value)| Change::Set(at.child(name.as_str()), value.clone()));
    std::iter::once(begin).chain(rest).collect()
}

fn without(raw: &Value, place: usize) -> Vec<Change> {
    let mut changes = migrated(raw);
    let path = if places(raw).len() == 1 { KeyPath::of([LIST]) } else { KeyPath::of([LIST, &place.to_string()]) };
    changes.push(Change::Unset(path));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(yaml: &str, change: impl Fn(&Value) -> Vec<Change>) -> String {
        let raw = crate::settings::document::parse_text(yaml).expect("YAML");
        let raw = if raw.is_null() { json!({}) } else { raw };
        edit::apply(yaml, &change(&raw)).expect("applied")
    }

    const TWO: &str = "# in order\nfallback_providers:\n  - provider: nous # first\n    model: x\n  - provider: groq\n    model: y\nagent:\n  max_turns: 3\n";

    #[test]
    fn places_are_added_behind_the_others_and_comments_stay() {
        let entry = json!({"provider": "zai", "model": "glm-5"});
        let add = |raw: &Value| appended(raw, &entry);
        assert_eq!(edited("", add), "fallback_providers:\n- provider: zai\n  model: glm-5\n");
        assert_eq!(
            edited(TWO, add),
            TWO.replace("    model: y\n", "    model: y\n  - provider: zai\n    model: glm-5\n")
        );
    }

    #[test]
    fn a_place_goes_without_its_neighbours() {
        assert_eq!(
            edited(TWO, |raw| without(raw, 1)),
            "# in order\nfallback_providers:\n  - provider: nous # first\n    model: x\nagent:\n  max_turns: 3\n"
        );
        assert_eq!(
            edited(TWO, |raw| without(raw, 0)),
            "# in order\nfallback_providers:\n  - provider: groq\n    model: y\nagent:\n  max_turns: 3\n"
        );
    }

    #[test]
    fn the_older_key_moves_into_the_list_with_the_first_edit() {
        let entry = json!({"provider": "zai", "model": "glm-5"});
        let legacy = "fallback_model:\n  provider: nous\n  model: x\n";
        let expected = "fallback_providers:\n- provider: nous\n  model: x\n- provider: zai\n  model: glm-5\n";
        assert_eq!(edited(legacy, |raw| appended(raw, &entry)), expected);
        let both = "fallback_providers:\n  - provider: groq\n    model: y\nfallback_model:\n  - provider: groq\n    model: y\n  - provider: nous\n    model: x\n";
        assert_eq!(edited(both, |raw| without(raw, 0)), "fallback_providers:\n  - provider: nous\n    model: x\n");
    }

    #[test]
    fn a_place_is_named_by_number_or_provider_and_never_guessed() {
        let config = ModelConfig::default();
        let places = [("nous", "a"), ("openrouter", "b"), ("or", "c")]
            .map(|(provider, model)| json!({"provider": provider, "model": model}));
        let found = |target: &str| find(&places, target, &config).map_err(|trouble| trouble.to_string());
        assert_eq!(found("1"), Ok(0));
        assert_eq!(found("nous-portal"), Ok(0));
        let refused = |what: &str| Err(format!("{what} See `hermes fallback list`."));
        assert_eq!(found("0"), refused("There is no place 0; there are 3."));
        assert_eq!(found("4"), refused("There is no place 4; there are 3."));
        assert_eq!(found("openrouter"), refused("2 places are of `openrouter`; use the number."));
        assert_eq!(found("groq"), refused("No place is of `groq`."));
    }
}
