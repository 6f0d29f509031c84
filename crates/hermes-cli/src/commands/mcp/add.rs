//! A new server in the settings. What looks planted is refused here as it would be at the start.

use super::super::{Console, Trouble, paper};
use crate::app::App;
use crate::settings::KeyPath;
use crate::settings::edit::{self, Change};
use hermes_core::redact;
use hermes_mcp::settings::SECTION;
use serde_json::{Map, Value, json};
use url::Url;

#[derive(Debug, clap::Args)]
#[command(
    after_help = super::EXAMPLES,
    override_usage = "hermes mcp add NAME [OPTIONS] --command PROGRAM [ARGUMENT]...\n       hermes mcp add NAME [OPTIONS] --url URL"
)]
pub struct AddArgs {
    /// What it is called here: letters, digits, `-` and `_`
    pub name: String,
    /// The program that is the server
    #[arg(long, value_name = "PROGRAM", conflicts_with = "url", required_unless_present = "url")]
    pub command: Option<String>,
    /// The address of the server
    #[arg(long)]
    pub url: Option<String>,
    /// A variable for the program; `${NAME}` in its value stands for a variable of yours
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// A header for the address; `${NAME}` in its value stands for a variable of yours
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "command")]
    pub header: Vec<String>,
    /// The server speaks the older protocol of events
    #[arg(long, conflicts_with = "command")]
    pub sse: bool,
    /// One logs in at the server
    #[arg(long, conflicts_with = "command")]
    pub oauth: bool,
    /// Take the place of a server of the same name
    #[arg(long)]
    pub replace: bool,
    /// The same, as a flag
    #[arg(long = "args", value_name = "ARGUMENT", num_args = 1.., allow_hyphen_values = true)]
    pub named_args: Vec<String>,
    /// Arguments for the program: everything behind its name is for it
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
}

/// Writes the entry and gives the name of the server.
pub(super) fn run(app: &App, args: AddArgs, console: &mut Console<'_>) -> Result<String, Trouble> {
    let name = args.name.clone();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Trouble::Usage(format!(
            "`{}` is no name for a server; use letters, digits, `-` and `_`",
            paper::one_line(&name)
        )));
    }
    let replace = args.replace;
    let entry = entry(args)?;
    let path = KeyPath::of([SECTION, name.as_str()]);
    let file = edit::change_config(&app.home, |settings: &Value| {
        let known = path.find(settings).is_some();
        if known && !replace {
            return Err(Trouble::Refused(format!(
                "There is a server `{name}` already; `--replace` takes its place, `hermes mcp remove {name}` removes it."
            )));
        }
        let gone = known.then(|| Change::Unset(path.clone()));
        Ok(gone.into_iter().chain([Change::Set(path.clone(), entry)]).collect())
    })?;
    writeln!(console.out, "The server `{name}` is written to {}.", file.display())?;
    Ok(name)
}

/// The entry of the settings.
fn entry(args: AddArgs) -> Result<Value, Trouble> {
    let mut entry = Map::new();
    let mut set = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
    if let Some(url) = args.url {
        let address = Url::parse(&url).map_err(|error| {
            Trouble::Usage(format!("`--url {url}` is no address such as https://example.org/mcp: {error}"))
        })?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(Trouble::Usage(format!("`--url {url}`: a server is reached by http or https")));
        }
        set("url", url.into());
        if args.sse {
            set("transport", "sse".into());
        }
        if args.oauth {
            set("auth", "oauth".into());
        }
        if !args.header.is_empty() {
            set("headers", pairs("--header", &args.header)?);
        }
    }
    if let Some(command) = args.command {
        let words: Vec<String> = args.named_args.into_iter().chain(args.args).collect();
        if let Some(objection) = hermes_mcp::objection(&command, &words) {
            return Err(Trouble::Refused(format!("`{command}` was {objection}.")));
        }
        set("command", command.into());
        if !words.is_empty() {
            set("args", json!(words));
        }
        if !args.env.is_empty() {
            set("env", pairs("--env", &args.env)?);
        }
    } else if !(args.named_args.is_empty() && args.args.is_empty()) {
        return Err(Trouble::Usage("a server behind an address takes no arguments".to_owned()));
    }
    Ok(Value::Object(entry))
}

/// `NAME=VALUE` words as a section.
fn pairs(flag: &str, words: &[String]) -> Result<Value, Trouble> {
    let pair = |word: &String| {
        let pair = word.split_once('=').filter(|(name, _)| !name.trim().is_empty());
        let pair = pair.map(|(name, value)| (name.trim().to_owned(), Value::String(value.to_owned())));
        pair.ok_or_else(|| Trouble::Usage(format!("{flag} {}: it has to be NAME=VALUE", redact::text(word))))
    };
    let pairs: Result<Map<String, Value>, Trouble> = words.iter().map(pair).collect();
    pairs.map(Value::Object)
}
