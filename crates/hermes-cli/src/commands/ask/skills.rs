//! Skills in a question: those the command line loads (`-s`), and those the person calls by `/name`.

use crate::commands::Trouble;
use crate::hands::Hands;
use hermes_core::stop::Stop;
use hermes_core::turn::Asked;
use hermes_tools::run;
use hermes_tools::skills::bundled;
use hermes_tools::skills::commands::{Commands, Scene, preloaded};
use hermes_tools::toolset::Grant;
use hermes_types::{Content, Part, SessionId};

const VIEW: &str = "skill_view";

/// Skills that come with the program, where the agent could read them. They are a help: what goes wrong is told to the log.
pub(super) async fn seed(hands: &Hands, tools: &Grant, stop: &Stop) {
    if !run::Hands::granted(hands.registry.clone(), tools.clone()).understands(VIEW) {
        return;
    }
    let (shop, stop) = (hands.shop.clone(), stop.clone());
    let seeded = tokio::task::spawn_blocking(move || {
        bundled::seed(&shop.settings.around, &shop.scanner, &stop).map_err(|error| error.to_string())
    });
    if let Err(error) = seeded.await.map_err(|error| error.to_string()).and_then(|seeded| seeded) {
        tracing::warn!(%error, "the skills that come with the program were not copied");
    }
}

/// What is asked, with the skills in it that were named.
pub(super) async fn with_skills(
    asked: Asked,
    loaded: &[String],
    hands: &Hands,
    (tools, session): (&Grant, &SessionId),
    stop: &Stop,
) -> Result<Asked, Trouble> {
    let mut question = match asked {
        Asked::Question(question) => question,
        Asked::GoOn if loaded.is_empty() => return Ok(Asked::GoOn),
        Asked::GoOn => return Err(Trouble::Usage("`-s` belongs to a question; add one with `-z` or `chat -q`".into())),
    };
    let text = first_text(&question.content);
    let desk = hands.desk(session.clone());
    // Commands that a skill holds are calls like all others.
    let run = hands.guarded(run::Hands::granted(hands.registry.clone(), tools.clone()));
    let scene = Scene { desk: &desk, hands: &run, stop };
    let mut said = None;
    if text.trim_start().starts_with('/') {
        let commands = Commands::scan(&hands.shop.settings, &hands.shop.scanner, &[]);
        if let Some(called) = commands.parse(&text) {
            said = Some(called.message(scene).await.map_err(|error| Trouble::Refused(error.to_string()))?);
        }
    }
    if !loaded.is_empty() {
        let before = preloaded(loaded, scene).await.map_err(|error| Trouble::Usage(error.to_string()))?;
        said = Some(format!("{before}\n\n{}", said.unwrap_or(text)));
    }
    if let Some(said) = said {
        question.content = with_text(question.content, said);
    }
    Ok(Asked::Question(question))
}

fn first_text(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => parts.iter().find_map(|part| part.text()).unwrap_or_default().to_owned(),
    }
}

fn with_text(content: Content, text: String) -> Content {
    match content {
        Content::Text(_) => Content::Text(text),
        Content::Parts(mut parts) => {
            match parts.iter_mut().find(|part| part.text().is_some()) {
                Some(part) => *part = Part::of_text(text),
                None => parts.insert(0, Part::of_text(text)),
            }
            Content::Parts(parts)
        }
    }
}
