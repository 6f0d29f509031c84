//! Text as conversations have it: few words often, many rarely, some Chinese and Thai, some output of tools. The same on
//! every machine.

const VOCABULARY: usize = 20_000;
const SYLLABLES: [&str; 20] = [
    "ba", "con", "de", "er", "fi", "ga", "in", "ka", "lo", "men", "no", "or", "pre", "qua", "re", "sta", "ti", "un",
    "vor", "ze",
];
/// Words people look for, at places where they are common, usual and rare.
pub(super) const KNOWN: [(usize, &str); 6] =
    [(0, "the"), (1, "and"), (40, "docker"), (60, "deploy"), (900, "kubernetes"), (15_000, "wombat")];
const CHINESE: &str = "数据库连接池检查部署失败服务器配置文件日志错误网络请求用户登录测试代码修复版本更新缓存";
const THAI: &str = "ฉันเดินทางไปกรุงเทพเมื่อวานนี้เพื่อแก้ไขระบบฐานข้อมูลและตรวจสอบการเชื่อมต่อเครือข่าย";

pub(super) struct Corpus {
    words: Vec<String>,
    /// How often each word and all before it are used.
    weights: Vec<f64>,
    state: u64,
}

impl Corpus {
    pub(super) fn new() -> Self {
        let mut words: Vec<String> = (0..VOCABULARY).map(word).collect();
        for (place, known) in KNOWN {
            words[place] = known.to_owned();
        }
        let mut sum = 0.0;
        let weights = (0..VOCABULARY)
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 20.0);
                sum
            })
            .collect();
        Self { words, weights, state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// About this many bytes of text.
    pub(super) fn text(&mut self, bytes: usize) -> String {
        match self.below(20) {
            0 => self.unspaced(CHINESE, bytes),
            1 => self.unspaced(THAI, bytes),
            2 | 3 => self.output(bytes),
            _ => self.prose(bytes),
        }
    }

    fn prose(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            text.push_str(&self.word());
            text.push(if self.below(12) == 0 { '\n' } else { ' ' });
        }
        text
    }

    fn unspaced(&mut self, alphabet: &str, bytes: usize) -> String {
        let characters: Vec<char> = alphabet.chars().collect();
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            let from = self.below(characters.len() - 6);
            text.extend(&characters[from..from + 2 + self.below(4)]);
            if self.below(10) == 0 {
                text.push(' ');
            }
        }
        text
    }

    fn output(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 64);
        while text.len() < bytes {
            let (folder, file, number) = (self.word(), self.word(), self.below(10_000));
            text.push_str(&format!("{{\"path\": \"/srv/{folder}/my{file}file.rs\", \"line\": {number}}}\n"));
        }
        text
    }

    fn word(&mut self) -> String {
        let total = self.weights.last().copied().unwrap_or_default();
        let point = self.below(1 << 30) as f64 / f64::from(1 << 30) * total;
        let rank = self.weights.partition_point(|weight| *weight < point);
        self.words[rank.min(VOCABULARY - 1)].clone()
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % limit.max(1) as u64) as usize
    }
}

/// A word nobody knows, different for every place.
fn word(place: usize) -> String {
    let mut rest = place + SYLLABLES.len();
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[rest % SYLLABLES.len()]);
        rest /= SYLLABLES.len();
    }
    word
}
