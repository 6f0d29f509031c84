//! The tool: from arguments to a search on its own threads, and back.

use super::content::{self, Depth, Pattern, Unit};
use super::ending::{Early, EndOnDrop, Ending};
use super::names::{self, NamePattern};
use super::repeats::Repeated;
use super::request::{Mode, SearchArgs, Target, schema};
use super::result::{Answer, name};
use super::secrets::Secrets;
use super::walk::{Ground, Hidden, Trouble, only};
use crate::cover::Cover;
use crate::desk::Cx;
use crate::effects::Effects;
use crate::files::page::similar_names;
use crate::gate::Permit;
use crate::run::Reader;
use crate::tool::{Card, Output, Repeats, Tool, ToolError};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const TIME: Duration = Duration::from_secs(60);
/// For ending by itself after its own time is over.
const SPARE: Duration = Duration::from_secs(10);
const DESCRIPTION: &str = "Search inside files with a regular expression, or find files by name. Use this instead of \
    grep, rg, find or ls in the terminal. Skipped: hidden files, what .gitignore names (both unless path points at \
    them or file_glob names them), binary files, links.";

/// `search_files`.
pub struct SearchFiles;

impl Tool for SearchFiles {
    type Args = SearchArgs;

    fn card(&self) -> Card {
        let card = Card::new("search_files", "file", DESCRIPTION, schema());
        Card { emoji: "🔎", repeats: Repeats::Idempotent, ..card }
    }

    fn effects(&self, args: &SearchArgs, cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects::read_tree(args.root(&cx.desk.cwd(), &cx.desk.settings().around.home)?))
    }

    fn limit(&self, _args: &SearchArgs) -> Option<Duration> {
        Some(TIME + SPARE)
    }

    async fn call(&self, args: SearchArgs, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let Some(scope) = permit.effects().scopes.first() else {
            return Err(ToolError::Abort("search_files was permitted nothing to search".to_owned()));
        };
        let key = args.key(&scope.path);
        let pattern = args.pattern.clone();
        let ending = Arc::new(Ending::default());
        let search = Search {
            root: scope.path.clone(),
            cwd: cx.desk.cwd(),
            secrets: Secrets::of(&cx.desk.settings().around),
            cover: cx.desk.settings().cover,
            reader: cx.hands.reader(),
            ending: ending.clone(),
            args,
        };
        let _end_with_caller = EndOnDrop(ending.clone());
        let mut task = tokio::task::spawn_blocking(move || search.run());
        let joined = tokio::select! {
            joined = &mut task => joined,
            () = cx.stop.wait() => {
                ending.end(Early::Interrupted);
                task.await
            }
            () = cx.desk.shop.clock.alarm(TIME) => {
                ending.end(Early::TimedOut);
                task.await
            }
        };
        let mut answer = joined.map_err(|error| ToolError::told(format!("the search failed: {error}")))??;
        if cx.hands.reader() == Reader::Program {
            return Output::json(&answer);
        }
        let Output::Text(plain) = Output::json(&answer)? else { return Output::json(&answer) };
        let text = match cx.desk.searches.note(key, &plain) {
            Repeated::No => plain,
            Repeated::Warn(times) => {
                answer.repeated = Some(format!(
                    "The same search was made {times} times in a row and its result did not change. Use it, or search \
                     for something else."
                ));
                serde_json::to_string(&answer).unwrap_or(plain)
            }
            Repeated::Block(times) => return Err(blocked(&pattern, times)),
        };
        Ok(Output::Text(match answer.hint() {
            Some(hint) => format!("{text}\n\n{hint}"),
            None => text,
        }))
    }
}

fn blocked(pattern: &str, times: u32) -> ToolError {
    ToolError::Tell(json!({
        "error": format!(
            "BLOCKED: the same search was made {times} times in a row and its result did not change. You have it \
             already; go on with it, or change the search."
        ),
        "pattern": pattern,
        "already_searched": times,
    }))
}

/// Everything one search needs, on its way to another thread.
struct Search {
    args: SearchArgs,
    root: PathBuf,
    cwd: PathBuf,
    secrets: Secrets,
    cover: Cover,
    reader: Reader,
    ending: Arc<Ending>,
}

impl Search {
    fn run(&self) -> Result<Answer, ToolError> {
        if std::fs::symlink_metadata(&self.root).is_err() {
            return Err(missing(&self.args.path, &self.root));
        }
        let only = only(&self.root, self.args.file_glob()).map_err(ToolError::told)?;
        let trouble = Trouble::default();
        let ground = Ground { root: &self.root, cwd: &self.cwd, only, hidden: Hidden::Skip, ending: &self.ending };
        let mut answer = match self.args.target {
            Target::Content => self.lines(&ground, &trouble)?,
            Target::Files => self.names(ground, &trouble)?,
        };
        if let Some(told) = trouble.told() {
            answer.warn(told);
        }
        Ok(answer)
    }

    fn lines(&self, ground: &Ground<'_>, trouble: &Trouble) -> Result<Answer, ToolError> {
        if self.args.pattern.is_empty() {
            return Err(ToolError::told("The pattern is empty and would match every line. Say what to look for."));
        }
        let pattern = Pattern::read(&self.args.pattern).map_err(ToolError::told)?;
        let window = self.args.window();
        let (depth, unit) = match self.args.output_mode {
            Mode::Content => (Depth::EveryLine, Unit::Line),
            Mode::FilesOnly => (Depth::FirstLine, Unit::File),
            Mode::Count => (Depth::EveryLine, Unit::File),
        };
        let (counted, counts) = content::count(&pattern, (depth, unit, window), &self.secrets, ground, trouble);
        let mut answer = Answer::of(counted.lines);
        let name = |path: &Path| name(path, &self.cwd);
        match self.args.output_mode {
            Mode::Content => {
                let context = self.args.context();
                let read = |share| content::lines(&pattern, share, context, self.cover, (&self.ending, trouble));
                let files = counted.page.iter().map(|share| (name(&share.key), read(share))).collect();
                answer.put_lines(files, context, self.reader);
            }
            Mode::FilesOnly => answer.files = some(counted.page.iter().map(|share| name(&share.key)).collect()),
            Mode::Count => {
                let named = counted.page.iter().zip(counts).map(|(share, count)| (name(&share.key), json!(count)));
                let counts: Map<String, Value> = named.collect();
                answer.counts = (!counts.is_empty()).then_some(counts);
            }
        }
        let paged = if unit == Unit::Line { counted.lines } else { counted.files };
        answer.put_page(window, paged, self.ending.ended().map(Early::reason));
        answer.omitted = (counted.omitted > 0).then_some(counted.omitted);
        if pattern.spans_lines && counted.lines == 0 {
            answer.warn(
                "The pattern has a line break in it, and lines are searched one by one, so it cannot match. Search for \
                 one of the lines and use context to see the others"
                    .to_owned(),
            );
        }
        Ok(answer)
    }

    fn names(&self, ground: Ground<'_>, trouble: &Trouble) -> Result<Answer, ToolError> {
        let pattern = NamePattern::read(&self.args.pattern).map_err(ToolError::told)?;
        let window = self.args.window();
        let ground = Ground { hidden: pattern.hidden, ..ground };
        let named = names::find(&pattern, window, &self.secrets, &ground, trouble);
        let files = named.files.iter().map(|path| name(path, &self.cwd)).collect();
        let mut answer = Answer::of(named.total);
        answer.files = some(files);
        answer.put_page(window, named.total, self.ending.ended().map(Early::reason));
        answer.omitted = (named.omitted > 0).then_some(named.omitted);
        Ok(answer)
    }
}

fn some(files: Vec<String>) -> Option<Vec<String>> {
    (!files.is_empty()).then_some(files)
}

/// The error for a path that leads nowhere, with the names that could have been meant.
fn missing(given: &str, root: &Path) -> ToolError {
    let parent = root.parent().unwrap_or(Path::new("/"));
    let wanted = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names: Vec<String> = std::fs::read_dir(parent)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    let similar: Vec<String> = similar_names(&wanted, names.iter().map(String::as_str))
        .into_iter()
        .map(|found| parent.join(found).to_string_lossy().into_owned())
        .collect();
    let mut told = json!({ "error": format!("Path not found: {given}") });
    if let Some(object) = told.as_object_mut()
        && !similar.is_empty()
    {
        object.insert("similar_files".to_owned(), json!(similar));
    }
    ToolError::Tell(told)
}
