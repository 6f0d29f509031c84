//! Mixtures of toolsets for runs over many prompts: each toolset is drawn by its own chance. The same seed draws the same.

use super::Catalogue;
use rand::RngExt;

/// One mixture: toolsets and how often out of a hundred each is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distribution {
    pub name: &'static str,
    pub chances: &'static [(&'static str, u8)],
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no distribution {name}; there are: {known}")]
pub struct UnknownDistribution {
    pub name: String,
    pub known: String,
}

const fn mix(name: &'static str, chances: &'static [(&'static str, u8)]) -> Distribution {
    Distribution { name, chances }
}

const DISTRIBUTIONS: &[Distribution] = &[
    mix(
        "default",
        &[("web", 100), ("vision", 100), ("image_gen", 100), ("terminal", 100), ("file", 100), ("browser", 100)],
    ),
    mix("image_gen", &[("image_gen", 90), ("vision", 90), ("web", 55), ("terminal", 45)]),
    mix("research", &[("web", 90), ("browser", 70), ("vision", 50), ("terminal", 10)]),
    mix("science", &[("web", 94), ("terminal", 94), ("file", 94), ("vision", 65), ("browser", 50), ("image_gen", 15)]),
    mix("development", &[("terminal", 80), ("file", 80), ("web", 30), ("vision", 10)]),
    mix("safe", &[("web", 80), ("browser", 70), ("vision", 60), ("image_gen", 60)]),
    mix("balanced", &[("web", 50), ("vision", 50), ("image_gen", 50), ("terminal", 50), ("file", 50), ("browser", 50)]),
    mix("minimal", &[("web", 100)]),
    mix("terminal_only", &[("terminal", 100), ("file", 100)]),
    mix("terminal_web", &[("terminal", 100), ("file", 100), ("web", 100)]),
    mix("creative", &[("image_gen", 90), ("vision", 90), ("web", 30)]),
    mix("reasoning", &[("web", 90), ("file", 60), ("terminal", 20)]),
    mix("browser_use", &[("browser", 100), ("web", 80), ("vision", 70)]),
    mix("browser_only", &[("browser", 100)]),
    mix("browser_tasks", &[("browser", 97), ("vision", 12), ("terminal", 15)]),
    mix(
        "terminal_tasks",
        &[("terminal", 97), ("file", 97), ("web", 97), ("browser", 75), ("vision", 50), ("image_gen", 10)],
    ),
    mix(
        "mixed_tasks",
        &[("browser", 92), ("terminal", 92), ("file", 92), ("web", 35), ("vision", 15), ("image_gen", 15)],
    ),
];

pub fn distributions() -> &'static [Distribution] {
    DISTRIBUTIONS
}

pub fn distribution(name: &str) -> Result<Distribution, UnknownDistribution> {
    DISTRIBUTIONS.iter().copied().find(|known| known.name == name).ok_or_else(|| {
        let known: Vec<&str> = DISTRIBUTIONS.iter().map(|known| known.name).collect();
        UnknownDistribution { name: name.to_owned(), known: known.join(", ") }
    })
}

impl Distribution {
    /// The toolsets of one run, at least one of them: the likeliest when chance gave none.
    pub fn draw<R: RngExt>(&self, rng: &mut R, catalogue: &Catalogue<'_>) -> Vec<String> {
        let known: Vec<_> = self.chances.iter().filter(|(name, _)| is_known(name, catalogue)).collect();
        let mut drawn: Vec<String> = Vec::new();
        for (name, chance) in &known {
            if rng.random::<f64>() * 100.0 < f64::from(*chance) {
                drawn.push((*name).to_owned());
            }
        }
        if drawn.is_empty() {
            // The first of the likeliest, so that a tie is no matter of chance.
            let likeliest = known.iter().rev().max_by_key(|(_, chance)| *chance);
            drawn.extend(likeliest.map(|(name, _)| (*name).to_owned()));
        }
        drawn
    }
}

fn is_known(name: &str, catalogue: &Catalogue<'_>) -> bool {
    let known = catalogue.knows(name);
    if !known {
        tracing::warn!(name, "a distribution names a toolset that does not exist; it is left out");
    }
    known
}
