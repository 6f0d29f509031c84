use super::*;
use proptest::prelude::*;

const OPENAI: &str = "sk-proj-Ab3dEf6hIj9kLm2nOp5q";

/// Secrets that are known wherever they stand.
const SECRETS: &[&str] = &[
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
    "sk_live_0123456789abcdefABCDEF01",
    "rk_live_0123456789abcdefABCDEF01",
    "xapp-1-A0123456789-1234567890123-0123456789abcdef",
    "pplx-0123456789abcdef0123456789abcdef",
    "fal_0123456789abcdef0123456789",
    "fc-0123456789abcdef0123456789abcdef",
    "bb_live_AbCdEf0123456789",
    "gAAAAABh0123456789abcdefghijklmnopqrstuvwxyz",
    "ASIAIOSFODNN7EXAMPLE",
    "SG.0123456789abcdefghijkl.0123456789abcdefghijklmnopqrstuvwxyz01234567890",
    "r8_0123456789abcdefABCDEF0123456789abcde",
    "npm_0123456789abcdefABCDEF0123456789abcd",
    "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3",
    "dop_v1_0123456789abcdef0123456789abcdef",
    "doo_v1_0123456789abcdef0123456789abcdef",
    "am_0123456789abcdef0123",
    "tvly-0123456789abcdefghij",
    "exa_0123456789abcdef0123",
    "syt_0123456789abcdef0123",
    "retaindb_0123456789abcdef0123",
    "hsk-0123456789abcdef0123",
    "mem0_0123456789abcdef0123",
    "brv_0123456789abcdef0123",
    "xai-0123456789abcdefghij",
    "ntn_0123456789abcdef0123",
    "fw_0123456789abcdef0123",
    "fw-0123456789abcdef0123",
    "fpk_0123456789abcdef0123",
    "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0",
];

/// Text around a secret; `@` is its place.
const SURROUNDINGS: &[&str] = &[
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
const NAMED: &[&str] = &[
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
    "GITHUB_TOKEN_OF_THE_BOT=hunter2hunter2",
    "MY_SECRET_2='hunter2hunter2'",
    "Proxy-Authorization: Negotiate hunter2",
    "- db_password: hunter2\n  user: bob",
    "connect(password=f\"hunter2\")",
    "amqp://bob:hunter2@broker:5672/vhost",
    "mongodb+srv://bob:hunter2@cluster.example/db",
    "git clone https://Hunter2hunter2@github.com/me/repo",
];

const HARMLESS: &[&str] = &[
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
    "token = parser.next()",
    "let token = self.lexer.peek2;",
    "password = user.password; apiKey: config.apiKey, token: process.env.API_TOKEN",
    "api_key = API_KEY",
    "\"eos_token\" => Reason::Stop, password: secret::Kind::Plain",
    "pub struct Login { password: String, api_key: Option<String>, token: &str }",
    "headers = {\"Authorization\": \"Bearer \" + token}",
    "headers = {\"Authorization\": f\"Bearer {token}\"}",
    "DB_PASSWORD=$(pass show db) API_TOKEN=$api_token",
    "SSH_AUTH_SOCK=/tmp/ssh-0123456789ab/agent.17 XAUTHORITY=/home/bob/.Xauthority",
    "MAX_TOKENS=4096 TOKENIZERS_PARALLELISM=false PASSWORD_MIN_LENGTH=8 AUTH_TYPE=basic",
    "AUTH_URL=https://login.example.com/v2/0123456789abcdef",
    "pad_token: [PAD], eos_token: </s>",
    "\"integrity\": \"sha512-0123456789abcdefABCDEF0123456789+/abcdefABCDEF==\"",
    "checksum = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
    "serde 1.0.219 registry+https://github.com/rust-lang/crates.io-index",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAE/AKIAIOSFODNN7EXAMPLE+4gAAAAB0123456789abcd==",
    "am_user_profile_settings_v2 fw-router-config-2024-backup hf_hub_download exa_search_results_page_2",
    "npm_config_user_agent npm_package_dependencies_lodash pk_users_2024_index rk_gpio_bank3",
    "https://myorg@dev.azure.com/myorg/project/_git/repo",
    "https://first.last2024@dev.azure.com/org",
    "2024-01-31 10:15:30 +0200, a+1, 1+15551234567",
    "12345678:90 10:30:59 1700000000:ok",
    "100% sure; 50%25 %2Fetc%2Fpasswd",
];

#[test]
fn a_known_secret_survives_nowhere() {
    for known in SECRETS {
        for around in SURROUNDINGS {
            let open = around.replace('@', known);
            for covered in [text(&open), file(&open), terminal("ls", &open)] {
                assert!(!covered.contains(known) && covered.contains(MARK), "{known} in {around}: {covered}");
            }
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
fn harmless_text_stays_as_it_is_and_is_not_even_copied() {
    let is_kept = |covered: &Cow<'_, str>| matches!(covered, Cow::Borrowed(_));
    let alarms: Vec<_> = HARMLESS.iter().map(|harmless| text(harmless)).filter(|covered| !is_kept(covered)).collect();
    assert_eq!(alarms, Vec::<String>::new(), "{} false alarms of {}", alarms.len(), HARMLESS.len());
    for harmless in HARMLESS {
        assert!(is_kept(&file(harmless)), "{}", file(harmless));
    }
}

/// Code and settings in which only forms are covered: the first is what a file shows, the second what a log shows.
#[test]
fn files_keep_what_stands_behind_names() {
    let table = [
        ("password: hunter2", "password: hunter2", "password: «redacted:***»"),
        ("api_key = \"test_key_1\"", "api_key = \"test_key_1\"", "api_key = \"«redacted:***»\""),
        ("TOKEN = \"abc123def456\"", "TOKEN = \"abc123def456\"", "TOKEN = \"«redacted:***»\""),
        (
            "key = \"sk-abcdefghijklmnopqrstuvwxyz123456\"",
            "key = \"«redacted:sk-a…3456»\"",
            "key = \"«redacted:sk-a…3456»\"",
        ),
        ("postgres://u:pw@h/db", "postgres://u:«redacted:***»@h/db", "postgres://u:«redacted:***»@h/db"),
        (
            "-H 'Authorization: Bearer abc123def456'",
            "-H 'Authorization: Bearer «redacted:***»'",
            "-H 'Authorization: Bearer «redacted:***»'",
        ),
        ("x-api-key: 0123456789abcdef0123", "x-api-key: «redacted:0123…0123»", "x-api-key: «redacted:0123…0123»"),
    ];
    for (open, in_file, in_log) in table {
        assert_eq!((file(open).as_ref(), text(open).as_ref()), (in_file, in_log));
    }
}

#[test]
fn what_a_command_printed_is_covered_by_name_where_it_printed_variables() {
    let output = "HOME=/root\nDB_PASSWORD=hunter2";
    let covered = "HOME=/root\nDB_PASSWORD=«redacted:***»";
    for dump in [
        "env",
        "printenv",
        "set",
        "export",
        "declare -p",
        "env | sort",
        "FOO=1 env",
        "/usr/bin/env -0",
        "cd x && env",
        "env > /tmp/e; cat /tmp/e",
        "docker exec box env",
        "bash -c 'env'",
        "sudo env A=b",
        "echo $(printenv)",
        "declare -xp DB_PASSWORD",
        "cat .env",
        "head -5 app/.env.local",
        "tr '\\0' '\\n' < /proc/1/environ",
        "printenv DB_PASSWORD",
        "source prod.env",
    ] {
        assert_eq!(terminal(dump, output), covered, "{dump}");
    }
    for other in
        ["cat app.py", "env FOO=1 python x.py", "set -e; cargo test", "export A=b; cat x", "grep env.py src", "ls", ""]
    {
        assert_eq!(terminal(other, output), output, "{other}");
    }
}

#[test]
fn numbers_of_telephones_are_covered_by_their_own_function_alone() {
    let open = "call +15551234567, or +442071234567; not 1+15551234567, +0123456789, +12 or +1555123456789012";
    assert_eq!(text(open), open);
    assert_eq!(
        phones(open),
        "call «redacted:+155…4567», or «redacted:+442…4567»; not 1+15551234567, +0123456789, +12 or +1555123456789012"
    );
    assert_eq!(phones(&phones(open)), phones(open));
}

#[test]
fn a_mark_that_somebody_wrote_hides_nothing() {
    let open = format!("«redacted: {OPENAI} » and «redacted:{OPENAI}» and «redacted:sk-p…Op5q»");
    let covered = text(&open);
    assert_eq!(
        covered,
        "«redacted: «redacted:sk-p…Op5q» » and «redacted:«redacted:sk-p…Op5q»» and «redacted:sk-p…Op5q»"
    );
}

#[test]
fn no_text_takes_longer_than_its_length() {
    let pieces = [
        "password=x\n",
        "password=[\n",
        "a://",
        "sk-",
        "eyJ",
        "-----BEGIN ",
        "token=\"",
        "bearer ",
        "key=/",
        "key=[ ",
        "«redacted:",
        "password=\"\n",
        "token=<",
        "0a",
        "a.",
        "https://a:",
        "-----BEGIN PRIVATE KEY-----",
        "key=a ",
    ];
    for piece in pieces {
        let long = piece.repeat(40_000 / piece.len());
        // Minutes, if what follows were read again for every word.
        assert!(text(&long).len() >= 20, "{piece}");
    }
}

const PIECES: &str = "([a-z=:\"' {}\\[\\]\n\\\\é密]|password|token|Bearer |sk-0123456789ab|://|@|-----BEGIN PRIVATE KEY-----|-----END|\
     [a-zA-Z0-9+/]{20}|«redacted:|»|Authorization: |API_KEY=){0,14}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_stands_around_it_a_key_is_covered(before in "(\\PC|\n){0,30}", after in "(\\PC|\n){0,30}") {
        let open = format!("{before} {OPENAI} {after}");
        let covered = text(&open);
        prop_assert!(!covered.contains(OPENAI), "{}", covered);
    }

    #[test]
    fn covering_twice_changes_nothing_more(open in PIECES) {
        for cover in [text, file] {
            let once = cover(&open);
            prop_assert_eq!(cover(&once), once.as_ref());
        }
    }

    /// What is not a secret is there before and after, in its order: no character is cut or lost.
    #[test]
    fn only_marks_differ_between_open_and_covered(open in PIECES) {
        let covered = text(&open);
        let mut rest = open.as_str();
        let mut left = covered.as_ref();
        while let Some(at) = left.find(MARK) {
            let (kept, marked) = left.split_at(at);
            prop_assert!(rest.contains(kept), "{:?} is not in {:?}", kept, rest);
            rest = rest.split_once(kept).unwrap().1;
            left = marked.split_at(mark_length(marked).unwrap_or(MARK.len())).1;
        }
        prop_assert!(rest.ends_with(left), "{:?} does not end {:?}", left, rest);
    }
}
