//! The session a person means, and what they may have meant when there is none.

use super::paper::one_line;
use super::{Desk, Trouble};
use hermes_core::store::StoreError;
use hermes_types::{ListOrder, SessionFilter, SessionId};

/// Names this alike are worth a mention.
const ALIKE: f64 = 0.8;
const MOST_SUGGESTIONS: usize = 3;
/// As far back as somebody is likely to mean.
const SUGGESTED_FROM: usize = 500;

impl Desk<'_> {
    /// The session of this name: an id, the beginning of one, or a title.
    pub(super) async fn find(&self, name: &str) -> Result<SessionId, Trouble> {
        match self.store.resolve(name).await {
            Ok(id) => Ok(id),
            Err(StoreError::NoSession(_)) => Err(self.unknown(name).await),
            Err(error @ StoreError::Ambiguous { .. }) => {
                Err(Trouble::Refused(format!("{}.", one_line(&error.to_string()))))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn unknown(&self, name: &str) -> Trouble {
        let everything = SessionFilter { all: true, ..SessionFilter::default() };
        // Without suggestions the message is still true.
        let recent = self.store.list(everything, ListOrder::LastActive, SUGGESTED_FROM, 0).await.unwrap_or_default();
        let names = recent.into_iter().map(|summary| (summary.session.title.unwrap_or_default(), summary.session.id));
        let near = near(name, &names.collect::<Vec<_>>());
        let advice = match near.as_slice() {
            [] => "`hermes sessions list` shows what there is".to_owned(),
            [one] => format!("did you mean {one}?"),
            several => format!("did you mean one of these?\n  {}", several.join("\n  ")),
        };
        let end = if near.is_empty() { "." } else { "" };
        Trouble::Refused(format!("there is no session \"{}\"; {advice}{end}", one_line(name)))
    }
}

/// The sessions whose title or id is most like the name, as they are shown.
fn near(name: &str, sessions: &[(String, SessionId)]) -> Vec<String> {
    let name = name.to_lowercase();
    let alike = |title: &str, id: &SessionId| {
        let title = title.to_lowercase();
        let inside = name.chars().count() > 2 && (title.contains(&name) || id.as_str().contains(&name));
        let of_title = if title.is_empty() { 0.0 } else { strsim::jaro_winkler(&name, &title) };
        // Ids of one day begin alike, so their likeness is told by edits.
        let of_id = strsim::normalized_damerau_levenshtein(&name, id.as_str());
        if inside { 1.0 } else { of_title.max(of_id) }
    };
    let scored = sessions.iter().map(|(title, id)| (alike(title, id), title, id));
    let mut scored: Vec<_> = scored.filter(|(score, ..)| *score >= ALIKE).collect();
    scored.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let told = |title: &str, id: &SessionId| match title {
        "" => one_line(id.as_str()),
        title => format!("\"{}\" ({})", one_line(title), one_line(id.as_str())),
    };
    scored.into_iter().take(MOST_SUGGESTIONS).map(|(_, title, id)| told(title, id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_answered_with_names_like_it() {
        let sessions = [
            ("Deploy the parser", "20251009_085320_aa0001"),
            ("Long refactor", "20251009_091000_bb0001"),
            ("", "cron_job1_20251009_110000"),
        ]
        .map(|(title, id)| (title.to_owned(), SessionId::new(id)));
        let table: [(&str, &[&str]); 6] = [
            ("deploy the parsr", &["\"Deploy the parser\" (20251009_085320_aa0001)"]),
            ("refactor", &["\"Long refactor\" (20251009_091000_bb0001)"]),
            ("bb0001", &["\"Long refactor\" (20251009_091000_bb0001)"]),
            ("20251009_085320_aa0002", &["\"Deploy the parser\" (20251009_085320_aa0001)"]),
            ("cron_job2_20251009_110000", &["cron_job1_20251009_110000"]),
            ("something else", &[]),
        ];
        for (typed, suggested) in table {
            assert_eq!(near(typed, &sessions), suggested, "{typed}");
        }
    }
}
