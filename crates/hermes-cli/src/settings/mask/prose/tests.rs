use super::*;
use proptest::prelude::*;

const OPENAI: &str = "sk-proj-Ab3dEf6hIj9kLm2nOp5q";

/// Secrets that are known wherever they stand.
const SECRETS: [&str; 13] = [
    OPENAI,
    "sk-ant-api03-0123456789abcdefghijklmnop-AA",
    "sk-0123456789abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "ghp_0123456789abcdefABCDEF0123456789abcd",
    "github_pat_11ABCDEFG0abcdefghijkl_0123456789",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEF",
    "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "gsk_0123456789abcdefghij",
    "glpat-0123456789abcdefghij",
    "ya29.a0AfH6SMBx0123456789abcdef",
];

/// Text around a secret; `@` is its place.
const SURROUNDINGS: [&str; 24] = [
    "@",
    "use @ please",
    "@ password=x",
    "password=x @",
    "the key is @.",
    "(@)",
    "\"@\"",
    "'@',",
    "`@`",
    "[@](http://x)",
    "{\"name\":\"@\"}",
    "{\\\"name\\\":\\\"@\\\"}",
    "line\\n@\\nline",
    "line\n@\nline",
    "\u{1b}[32m@\u{1b}[0m",
    "http://x/?key=@&b=c",
    "http://@@host/path",
    "curl -H 'Authorization: Bearer @' http://x",
    "Bearer%20@",
    "export KEY=@",
    "密钥@密钥",
    "a,@,b;@:@",
    "0123456789abcdef @ fedcba9876543210",
    "@/@",
];

/// What stands behind the name of a secret.
const NAMED: [&str; 30] = [
    "password=hunter2",
    "password = 'correct hunter2 battery'",
    "password: hunter2",
    "\"password\": \"hunter2 \\\" hunter2\"",
    "\"password\":\"hunter2\",\"b\":1",
    "\\\"password\\\": \\\"hunter2\\\"",
    "{\"password\": [\"hunter2\", {\"a\": \"hunter2 ] \"}]}",
    "{\"secret\": {\"value\": \"hunter2\"}}",
    "OPENAI_API_KEY=hunter2",
    "AWS_SECRET_ACCESS_KEY=hunter2/hunter2+hunter2",
    "aws_secret_access_key = hunter2",
    "apiKey: 'hunter2'",
    "clientSecret=hunter2&x=1",
    "db.password=hunter2",
    "--password hunter2 --verbose",
    "--api-key=hunter2",
    "Authorization: Bearer hunter2",
    "authorization: Basic hunter2==",
    "Bearer hunter2hunter2",
    "X-Api-Key: hunter2",
    "config[\"password\"] = \"hunter2\"",
    "postgres://bob:hunter2@db/x",
    "see https://bob:hunter2@host:80/path?x=1 there",
    "redis://:hunter2@cache",
    "mysql://bob:hun/hunter2@db/x",
    "passphrase => hunter2",
    "sk-proj-Ab3dEf6hIj9kLm2nOp5q password=hunter2",
    "-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\\nhunter2\\n",
    "token=hunter2hunter2",
];

const HARMLESS: [&str; 34] = [
    "",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  file.txt",
    "20251009_085320_aa0001_long_enough_to_look_like_a_key",
    "123e4567-e89b-12d3-a456-426614174000",
    "call_0123456789abcdef resp_0123456789abcdef0123456789abcdef",
    "task-1234567890 disk-0123456789ab risk_0123456789",
    "use a key like sk-... please, or sk-learn",
    "class=\"sk-container-id-1\" sk-toggleable",
    "max_tokens: 4096, total_tokens=12",
    "the token: a small piece of text",
    "key: value",
    "{\"key\": \"Enter\"}",
    "if password == other { password::check() }",
    "api_key = os.environ[\"OPENAI_API_KEY\"]",
    "api_key = get_key(name)",
    "password: null, secret = None, \"token\": \"\"",
    "api_key: ${MY_KEY}, password=$DB_PASSWORD, token: <your token>, password=****",
    "http://localhost:8080/@scope/x",
    "https://example.com/@user?x=a:b",
    "git@github.com:me/repo.git",
    "ssh://git@github.com/me/repo",
    "mail bob@example.com at 10:30",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "PWD=/home/bob",
    "bearer of good news",
    "Basic English is easy",
    "the password is on the next line:\n\nGood luck",
    "the password\nwas changed: yes",
    "汉字 ไทย עברית 👩‍🚀",
    "C:\\new\\token\\path",
    "\u{1b}[31mred\u{1b}[0m \u{1b}",
    "a\\",
    "tokenizer: fast; secretary: Ann; passwords: many",
];

#[test]
fn a_known_secret_survives_nowhere() {
    for known in SECRETS {
        for around in SURROUNDINGS {
            let covered = text(&around.replace('@', known));
            assert!(!covered.contains(known) && covered.contains(MARK), "{known} in {around}: {covered}");
        }
    }
}

#[test]
fn what_a_name_gives_away_is_covered_and_its_surroundings_stay() {
    for named in NAMED {
        let covered = text(named);
        assert!(!covered.contains("hunter2"), "{named}: {covered}");
        let also = format!("before {named}\nafter 0123456789abcdef0123456789abcdef");
        let covered = text(&also);
        assert!(covered.starts_with("before ") && !covered.contains("hunter2"), "{also}: {covered}");
    }
    let table = [
        ("a {\"password\": [1, 2], \"b\": 3} c", "a {\"password\": «redacted:***», \"b\": 3} c"),
        ("\"pin_token\": 12345678, \"x\": 1", "\"pin_token\": «redacted:***», \"x\": 1"),
        ("postgres://bob:s3cr3t@db:5432/x", "postgres://bob:«redacted:***»@db:5432/x"),
        ("Authorization: Bearer abc", "Authorization: Bearer «redacted:***»"),
        ("use sk-proj-Ab3dEf6hIj9kLm2nOp5q.", "use «redacted:sk-p…Op5q»."),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nok",
            "-----BEGIN PRIVATE KEY-----«redacted:***»-----END PRIVATE KEY-----\nok",
        ),
    ];
    for (open, covered) in table {
        assert_eq!(text(open), covered);
    }
}

#[test]
fn harmless_text_stays_as_it_is() {
    for harmless in HARMLESS {
        assert_eq!(text(harmless), harmless);
    }
}

#[test]
fn no_text_takes_longer_than_its_length() {
    for piece in ["password=x\n", "password=[\n", "a://", "sk-", "eyJ", "-----BEGIN ", "token=\"", "bearer "] {
        let long = piece.repeat(60_000 / piece.len());
        // Minutes, if what follows were read again for every word.
        assert!(text(&long).len() >= 1_000, "{piece}");
    }
}

proptest! {
    #[test]
    fn whatever_stands_around_it_a_key_is_covered(before in "(\\PC|\n){0,30}", after in "(\\PC|\n){0,30}") {
        let covered = text(&format!("{before} {OPENAI} {after}"));
        prop_assert!(!covered.contains(OPENAI), "{}", covered);
    }

    #[test]
    fn covering_twice_changes_nothing_more(text_of in "([a-z=:\"' {}\\[\\]\n]|password|token|sk-0123456789ab|://|@){0,12}") {
        let once = text(&text_of);
        prop_assert_eq!(text(&once), once);
    }
}
