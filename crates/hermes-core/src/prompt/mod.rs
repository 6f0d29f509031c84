//! The system prompt: layers from stable to volatile, put together from plain data.
//!
//! [`Prompt::of`] turns [`Ingredients`] into [`Layer`]s. It reads no file and no clock: the same ingredients make the same
//! bytes, and conversations that differ only in a later layer share everything before it, which is what prompt caches
//! live on. Every sentence is paid for in every request, so nothing is said that a tool's own description says, guidance
//! for a tool is there only when the tool is, and nothing is said twice. The day is in it, a time never.

mod family;
mod identity;
mod ingredients;
mod layer;
mod machine;
mod platform;
pub mod steer;
#[cfg(test)]
mod tests;
mod words;

pub use family::Enforcement;
pub use identity::{names, with_model};
pub use ingredients::{ContextFile, Guidance, Ingredients};
pub use layer::{Layer, Name, Tier};
pub use machine::{Commands, Machine, System};
pub use platform::{HintOverride, platforms};

/// Bytes that make about one token.
const BYTES_PER_TOKEN: usize = 4;

/// About how many tokens a text costs.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// A finished prompt. Its layers stand in the order of [`Name::ALL`]; none is empty, none begins or ends with a space.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    pub layers: Vec<Layer>,
}

impl Prompt {
    /// ```
    /// use hermes_core::prompt::{Ingredients, Prompt};
    /// let soul = Some("You are Ada's gardener.".to_owned());
    /// assert!(Prompt::of(&Ingredients { soul, ..Ingredients::default() }).text().starts_with("You are Ada's gardener."));
    /// ```
    pub fn of(ingredients: &Ingredients) -> Self {
        let layer = |name: &Name| {
            let text = words::of(*name, ingredients)?;
            let text = text.trim();
            (!text.is_empty()).then(|| Layer { name: *name, text: text.to_owned() })
        };
        Self { layers: Name::ALL.iter().filter_map(layer).collect() }
    }

    /// What the model reads: the layers with a blank line between them.
    pub fn text(&self) -> String {
        self.layers.iter().map(|layer| layer.text.as_str()).collect::<Vec<_>>().join("\n\n")
    }

    pub fn layer(&self, name: Name) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }
}
