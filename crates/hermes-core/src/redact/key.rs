//! Keys that tell by themselves what they are: the beginnings vendors gave them, and signed tokens.

use super::head;

/// What has to follow a beginning before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guise {
    /// Hardly anything else begins like this.
    Key,
    /// Names in code begin like this, too; only one long piece of letters and digits is a key.
    Name,
    /// Any blob of letters may have this in it; only at the start of a word.
    Blob,
}

/// How keys and tokens of known vendors begin, in their own case.
const BEGINNINGS: &[(&str, Guise)] = &[
    ("AIza", Guise::Blob),
    ("AKIA", Guise::Blob),
    ("ASIA", Guise::Blob),
    ("GOCSPX-", Guise::Key),
    ("SG.", Guise::Key),
    ("am_", Guise::Name),
    ("bb_live_", Guise::Key),
    ("brv_", Guise::Name),
    ("csk-", Guise::Key),
    ("doo_v1_", Guise::Key),
    ("dop_v1_", Guise::Key),
    ("dor_v1_", Guise::Key),
    ("exa_", Guise::Name),
    ("fal_", Guise::Name),
    ("fc-", Guise::Name),
    ("fpk_", Guise::Name),
    ("fw-", Guise::Name),
    ("fw_", Guise::Name),
    ("gAAAA", Guise::Blob),
    ("gho_", Guise::Key),
    ("ghp_", Guise::Key),
    ("ghr_", Guise::Key),
    ("ghs_", Guise::Key),
    ("ghu_", Guise::Key),
    ("github_pat_", Guise::Key),
    ("glpat-", Guise::Key),
    ("gsk_", Guise::Key),
    ("hf_", Guise::Key),
    ("hsk-", Guise::Name),
    ("mem0_", Guise::Name),
    ("npm_", Guise::Name),
    ("ntn_", Guise::Name),
    ("nvapi-", Guise::Key),
    ("pk_", Guise::Name),
    ("pplx-", Guise::Key),
    ("pypi-", Guise::Key),
    ("r8_", Guise::Name),
    ("retaindb_", Guise::Name),
    ("rk_", Guise::Name),
    ("shpat_", Guise::Key),
    ("sk-", Guise::Key),
    ("sk_", Guise::Key),
    ("syt_", Guise::Name),
    ("tgp_", Guise::Name),
    ("tvly-", Guise::Key),
    ("whsec_", Guise::Key),
    ("xai-", Guise::Key),
    ("xapp-", Guise::Key),
    ("xoxa-", Guise::Key),
    ("xoxb-", Guise::Key),
    ("xoxp-", Guise::Key),
    ("xoxr-", Guise::Key),
    ("xoxs-", Guise::Key),
    ("ya29.", Guise::Key),
];
/// `{"` in the alphabet of signed tokens.
const SIGNED: &str = "eyJ";

/// One piece of a key is this long and has a digit in it, or is longer than words are.
pub(super) const KEY_PIECE: usize = 8;
pub(super) const LONG_PIECE: usize = 20;
const NAME_PIECE: usize = 16;
/// Pieces of a long key that was cut by its own hyphens: this long, with letters and digits, and more than one of them.
const CUT_PIECE: usize = 4;
/// How far is looked ahead, so that no text takes longer than its length.
const LONGEST_KEY: usize = 256;

/// Numbers and letters of the token of a Telegram bot: `110201543:AAHdqTcv…`.
const BOT_NUMBER: std::ops::RangeInclusive<usize> = 8..=10;
const BOT_SECRET: usize = 30;

/// Where a known kind of key begins in a word of [`super::in_word`] characters. `disk-…` is a word.
pub(super) fn start(word: &str) -> Option<usize> {
    // Inside of a word only what has one of these in it begins anew; most long words have none.
    let places = if word.contains(['-', '_', '.']) { word.len() } else { 1 };
    let mut before = None;
    for (at, c) in word.char_indices().take(places) {
        let rest = word.get(at..).unwrap_or_default();
        let after_letter = before.is_some_and(|c: char| c.is_ascii_alphabetic());
        let after_digit = before.is_some_and(|c: char| c.is_ascii_digit());
        if !after_letter && (begins(rest, after_digit) || is_signed(rest)) {
            return Some(at);
        }
        before = Some(c);
    }
    None
}

fn begins(text: &str, after_digit: bool) -> bool {
    let is_key = |(beginning, guise): &(&str, Guise)| {
        text.strip_prefix(beginning).is_some_and(|rest| {
            let rest = head(rest, LONGEST_KEY);
            match guise {
                Guise::Key => is_key(rest),
                Guise::Name => pieces(rest).any(|piece| piece.len() >= NAME_PIECE && is_mixed(piece)),
                Guise::Blob => !after_digit && is_blob(rest),
            }
        })
    };
    BEGINNINGS.iter().any(is_key)
}

fn is_key(rest: &str) -> bool {
    let piece = |piece: &str| piece.len() >= KEY_PIECE && has_digit(piece) || piece.len() >= LONG_PIECE;
    let cut = || pieces(rest).filter(|piece| piece.len() >= CUT_PIECE && is_mixed(piece)).count() > 1;
    pieces(rest).any(piece) || rest.len() > LONG_PIECE && cut()
}

fn is_blob(rest: &str) -> bool {
    let first = pieces(rest).next().unwrap_or_default();
    let upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    first.len() >= NAME_PIECE && (has_digit(first) || first.bytes().all(upper))
}

fn is_signed(text: &str) -> bool {
    if !text.starts_with(SIGNED) {
        return false;
    }
    let mut parts = head(text, 2 * LONGEST_KEY).split('.');
    parts.next().is_some_and(|head| head.len() > KEY_PIECE) && parts.next().is_some_and(|body| body.len() > KEY_PIECE)
}

/// Bytes of the token of a Telegram bot that begins with this word.
pub(super) fn bot_token_length(word: &str, after: &str) -> Option<usize> {
    let number = word.strip_prefix("bot").unwrap_or(word);
    let is_number = BOT_NUMBER.contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let secret = after.strip_prefix(':').filter(|_| is_number)?;
    let length = secret.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-')).unwrap_or(secret.len());
    (length >= BOT_SECRET).then_some(word.len() + 1 + length)
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(['-', '_', '.'])
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_mixed(text: &str) -> bool {
    has_digit(text) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}
