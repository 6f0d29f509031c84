//! Proof of possession for a login that comes back through the person's clipboard (RFC 7636, method S256).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::RngExt;
use sha2::{Digest, Sha256};
use std::fmt;

/// A verifier we keep and the state that must come back unchanged.
#[derive(Clone, PartialEq, Eq)]
pub struct Proof {
    verifier: String,
    state: String,
}

impl Proof {
    /// Fresh randomness from the operating system's generator.
    pub fn random() -> Self {
        let mut rng = rand::rng();
        Self::from_bytes(rng.random(), rng.random())
    }

    pub(super) fn from_bytes(verifier: [u8; 32], state: [u8; 32]) -> Self {
        Self { verifier: URL_SAFE_NO_PAD.encode(verifier), state: URL_SAFE_NO_PAD.encode(state) }
    }

    /// What the authorisation server sees first; only the verifier fits it.
    pub fn challenge(&self) -> String {
        challenge(&self.verifier)
    }

    pub fn state(&self) -> &str {
        &self.state
    }

    pub(super) fn verifier(&self) -> &str {
        &self.verifier
    }
}

fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(«redacted»)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_follows_the_standard() {
        // The example of RFC 7636, appendix B.
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn each_proof_is_new_and_long_enough() {
        let (one, two) = (Proof::random(), Proof::random());
        assert_ne!(one, two);
        assert_ne!(one.verifier, one.state);
        assert_eq!(one.verifier.len(), 43);
        assert!(!format!("{one:?}").contains(&one.verifier));
    }
}
