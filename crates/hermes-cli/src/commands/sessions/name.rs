//! The session a person means, and what they may have meant when there is none.

use super::paper::{cut, one_line};
use super::{Desk, Trouble};
use hermes_core::store::StoreError;
use hermes_types::{ListOrder, Meant, SessionFilter, SessionId};

/// Names this alike are worth a mention.
const ALIKE: f64 = 0.8;
const MOST_SUGGESTIONS: usize = 3;
/// More sessions than this are not counted for a message.
const COUNTED: usize = 1000;
const WHAT_CELLS: usize = 60;
/// As far back as somebody is likely to mean.
const SUGGESTED_FROM: usize = 500;

impl Desk<'_> {
    /// The session of this name: an id, the beginning of one, or a title.
    pub(super) async fn find(&self, name: &str) -> Result<SessionId, Trouble> {
        if name.trim().is_empty() {
            return Err(Trouble::Usage("an empty name is nobody's; `hermes sessions list` shows what there is".into()));
        }
        match self.store.find(name, Meant::Exactly).await {
            Ok(id) => Ok(id),
            Err(StoreError::NoSession(_)) => Err(self.unknown(name).await),
            Err(StoreError::Ambiguous { prefix, ids }) => {
                let more = self.others(&prefix, ids.len()).await;
                Err(Trouble::Refused(several(&prefix, &ids, &more)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// How many sessions besides these begin so, in words; none when there are no others.
    async fn others(&self, prefix: &str, named: usize) -> String {
        let everything = SessionFilter { all: true, ..SessionFilter::default() };
        let seen = self.store.list(everything, ListOrder::LastActive, COUNTED, 0).await.unwrap_or_default();
        let alike = seen.iter().filter(|summary| summary.session.id.as_str().starts_with(prefix)).count();
        match alike.saturating_sub(named) {
            0 if seen.len() < COUNTED => String::new(),
            more if seen.len() < COUNTED => format!(" and {more} more"),
            _ => " and maybe others".to_owned(),
        }
    }

    async fn unknown(&self, name: &str) -> Trouble {
        let everything = SessionFilter { all: true, ..SessionFilter::default() };
        // Without suggestions the message is still true.
        let recent = self.store.list(everything, ListOrder::LastActive, SUGGESTED_FROM, 0).await.unwrap_or_default();
        let known = recent.into_iter().map(|summary| Known {
            title: one_line(&summary.session.title.unwrap_or_default()),
            preview: one_line(&summary.preview),
            id: summary.session.id,
        });
        let near = near(name, &known.collect::<Vec<_>>());
        let advice = match near.as_slice() {
            [] => "`hermes sessions list` shows what there is".to_owned(),
            [one] => format!("did you mean {one}?"),
            several => format!("did you mean one of these?\n  {}", several.join("\n  ")),
        };
        let end = if near.is_empty() { "." } else { "" };
        Trouble::Refused(format!("there is no session \"{}\"; {advice}{end}", one_line(name)))
    }
}

/// A name that means several sessions, some of them named.
fn several(prefix: &str, ids: &[String], more: &str) -> String {
    let shown: Vec<String> = ids.iter().map(|id| one_line(id)).collect();
    let prefix = one_line(prefix);
    format!("{prefix} is the beginning of several ids: {}{more}; type more of it.", shown.join(", "))
}

/// What a session may be called by.
struct Known {
    title: String,
    preview: String,
    id: SessionId,
}

/// The sessions whose title, id or first words are most like the name, as they are shown.
fn near(name: &str, sessions: &[Known]) -> Vec<String> {
    let name = one_line(name).to_lowercase();
    // In scripts without spaces two characters are a word.
    let tells = name.chars().count() > 2 || !name.is_ascii();
    let alike = |known: &Known| {
        let (title, preview) = (known.title.to_lowercase(), known.preview.to_lowercase());
        let begun = preview.trim_end_matches(['.', '…']);
        let inside = tells && (title.contains(&name) || known.id.as_str().contains(&name) || preview.contains(&name));
        // The list may show less of the first words than were typed.
        let inside = inside || begun.chars().count() > 2 && name.starts_with(begun);
        let of_title = if title.is_empty() { 0.0 } else { strsim::jaro_winkler(&name, &title) };
        // Ids of one day begin alike, so their likeness is told by edits.
        let of_id = strsim::normalized_damerau_levenshtein(&name, known.id.as_str());
        if inside { 1.0 } else { of_title.max(of_id) }
    };
    let scored = sessions.iter().map(|known| (alike(known), known));
    let mut scored: Vec<_> = scored.filter(|(score, _)| *score >= ALIKE).collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().take(MOST_SUGGESTIONS).map(|(_, known)| told(known)).collect()
}

fn told(known: &Known) -> String {
    let id = one_line(known.id.as_str());
    match (known.title.as_str(), known.preview.as_str()) {
        ("", "") => id,
        ("", preview) => format!("{id} ({})", cut(preview, WHAT_CELLS)),
        (title, _) => format!("\"{title}\" ({id})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_answered_with_names_like_it() {
        let sessions = [
            ("Deploy the parser", "", "20251009_085320_aa0001"),
            ("Long refactor", "", "20251009_091000_bb0001"),
            ("部署数据库", "", "20251009_092000_cc0001"),
            ("", "Why is the sky blue?", "20251009_093000_dd0001"),
            ("", "a question that is longer than...", "20251009_094000_ee0001"),
            ("", "", "cron_job1_20251009_110000"),
        ]
        .map(|(title, preview, id)| Known {
            title: title.into(),
            preview: preview.into(),
            id: SessionId::new(id),
        });
        let table: [(&str, &[&str]); 10] = [
            ("deploy the parsr", &["\"Deploy the parser\" (20251009_085320_aa0001)"]),
            ("refactor", &["\"Long refactor\" (20251009_091000_bb0001)"]),
            ("bb0001", &["\"Long refactor\" (20251009_091000_bb0001)"]),
            ("20251009_085320_aa0002", &["\"Deploy the parser\" (20251009_085320_aa0001)"]),
            ("cron_job2_20251009_110000", &["cron_job1_20251009_110000"]),
            ("部署", &["\"部署数据库\" (20251009_092000_cc0001)"]),
            ("why is the sky blue?", &["20251009_093000_dd0001 (Why is the sky blue?)"]),
            ("why is the", &["20251009_093000_dd0001 (Why is the sky blue?)"]),
            (
                "A question that is longer than the list shows",
                &["20251009_094000_ee0001 (a question that is longer than...)"],
            ),
            ("something else", &[]),
        ];
        for (typed, suggested) in table {
            assert_eq!(near(typed, &sessions), suggested, "{typed}");
        }
    }
}
