//! Commands and code that do harm, as rows. A new row needs no code; an attack it finds goes to
//! `tests/hands/skills_corpus/hostile.txt`, and what it must not be taken for to `ordinary.txt` beside it.
//!
//! A pattern is read without regard to case, on one line at a time. High means that a person should look first: what is
//! usual in honest skills (a key in a header, `sudo apt install`) is lower, what no honest skill does is critical.

use super::Category::{
    self, CredentialExposure, Destructive, Execution, Exfiltration, Injection, Mining, Network, Obfuscation,
    Persistence, PrivilegeEscalation, SupplyChain, Traversal,
};
use super::Severity::{self, Critical, High, Low, Medium};

pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) category: Category,
    pub(super) severity: Severity,
    pub(super) meaning: &'static str,
    pub(super) pattern: &'static str,
}

const fn row(
    category: Category,
    severity: Severity,
    id: &'static str,
    meaning: &'static str,
    pattern: &'static str,
) -> Rule {
    Rule { id, category, severity, meaning, pattern }
}

#[rustfmt::skip]
pub(super) static TABLE: &[Rule] = &[
    // What leaves the machine.
    row(Exfiltration, High, "secret_in_body", "sends a secret in the body of a request", r#"\b(curl|wget|http|xh)\b[^|;&]*(-d|--data\S*|-F|--form|--body-data|--post-data)[ =]+("([^"\\]|\\.)*|'[^']*|[^\s"']*)\$\{?\w*(key|token|secret|passw|credential)"#),
    row(Exfiltration, Medium, "secret_in_header", "sends a secret in a header", r#"\b(curl|wget)\b.*(-H|--header)[ =]+["'][^"']*\$\{?\w*(key|token|secret|passw|credential)"#),
    row(Exfiltration, Medium, "secret_in_address", "has a secret in an address", r"https?://\S*\$\{?\w*(key|token|secret|passw|credential)"),
    row(Exfiltration, Critical, "environment_sent", "sends all variables of the environment", r"\b(env|printenv|export -p|set)\b\s*(\|[^|]*)*\|\s*(curl|wget|nc|ncat|netcat|socat|telnet)\b"),
    row(Exfiltration, Critical, "environment_sent", "sends all variables of the environment", r"\b(curl|wget|nc)\b.*(\$\(|`)\s*(env|printenv|export -p)\b"),
    row(Exfiltration, Critical, "environment_sent", "sends all variables of the environment", r"(requests|httpx|axios|fetch|urlopen)\b.{0,80}(os\.environ\b|process\.env\b)\s*[,)}]"),
    row(Exfiltration, Critical, "secret_file_sent", "sends a file with secrets", r"\b(curl|wget|nc|ncat|scp|rsync|ftp)\b.*(\.ssh/|id_(rsa|ed25519|ecdsa)|\.aws/|\.gnupg|\.netrc|\.npmrc|\.pypirc|\.kube/config|\.docker/config|/etc/shadow|\.hermes/\.env|auth\.json)"),
    row(Exfiltration, Critical, "secret_file_sent", "sends a file with secrets", r"(\.ssh/|id_(rsa|ed25519|ecdsa)|\.aws/credentials|\.netrc|/etc/shadow|\.hermes/\.env|auth\.json|/\.env\b).*\|\s*(base64|xxd|gzip|openssl)?.*\b(curl|wget|nc|ncat|netcat|socat)\b"),
    row(Exfiltration, High, "ssh_folder", "reads keys for logging in elsewhere", r#"\b(cat|cp|tar|zip|base64|xxd|less|head|tail|open|read\w*)\b[^|;]*(~|\$home|/home/\w+|/root)/\.ssh(/\w*)?(\s|$|["'`)|;&])"#),
    row(Exfiltration, High, "cloud_keys", "reads keys of a cloud", r"\b(cat|cp|tar|zip|base64|head|tail|open|read\w*)\b[^|;]*(~|\$home|/root)/\.(aws|azure|config/gcloud|kube|oci)\b"),
    row(Exfiltration, High, "key_ring", "reads a key ring or a store of passwords", r"\b(cat|cp|tar|zip|base64)\b[^|;]*(~|\$home)/\.(gnupg|password-store)\b|\bsecurity\s+dump-keychain|\bsecurity\s+find-(generic|internet)-password\b.*\b(chrome|safari|firefox|edge|brave)\b"),
    row(CredentialExposure, Medium, "password_looked_up", "looks up a password of the person", r"\bsecurity\s+find-(generic|internet)-password|\bsecret-tool\s+lookup|\bpass\s+show\b|\bop\s+(read|item get)\b"),
    row(Exfiltration, Critical, "browser_store", "reads what a browser keeps", r"(login data|cookies\.sqlite|key4\.db|logins\.json|(chrome|chromium|brave|edge|firefox)/[^\n]{0,60}(cookies|login data|local state))"),
    row(Exfiltration, Critical, "hermes_secrets", "reads the secrets of Hermes", r"(\.hermes|hermes_home\S*)/(auth\.json|state\.db|mcp-tokens)|\b(cat|less|head|tail|cp|base64|xxd|tar|scp|strings)\s[^|;]*(\.hermes|hermes_home\S*)/\.env\b"),
    row(CredentialExposure, Low, "hermes_variables", "names the file with the secrets of Hermes", r"(\.hermes|hermes_home)\S*/\.env\b"),
    row(Exfiltration, High, "shell_history", "reads what the person typed", r"\.(bash|zsh|fish|python)_history\b"),
    row(Exfiltration, High, "name_lookup", "carries data out in names that are looked up", r"\b(dig|nslookup|ping)\s[^|;`]*(\$\([^)]*\)|\$\{?\w+\}?)\.[\w.-]*[a-z]{2,}"),
    row(Exfiltration, High, "paste_place", "sends to a place where anybody can read", r"\b(curl|wget|nc|requests|fetch)\b.*(pastebin\.com|hastebin|transfer\.sh|0x0\.st|termbin\.com|ix\.io|file\.io|paste\.rs|anonfiles|webhook\.site|requestbin|pipedream\.net|ngrok\.(io|app)|burpcollaborator|interact\.sh|oast\.)"),
    row(Exfiltration, High, "messenger_hook", "sends to a messenger", r"(discord(app)?\.com/api/webhooks/\d|hooks\.slack\.com/services/T|api\.telegram\.org/bot\d)"),
    row(Exfiltration, High, "picture_beacon", "shows a picture whose address carries data", r"!\[[^\]]*\]\(https?://[^)]*[?&][^)]*(\$\{|\{\{|\[(data|secret|context|conversation))"),
    row(Exfiltration, Medium, "screen_taken", "takes pictures of the screen, or what was copied", r"\b(screencapture|scrot|xclip -o|pbpaste|xsel -o|wl-paste|gnome-screenshot)\b"),
    row(Exfiltration, High, "keys_watched", "watches what is typed", r"\b(import pynput|from pynput|xinput test|logkeys|iohook)\b"),
    // What speaks to the agent instead of the person.
    row(Injection, Critical, "chat_markers", "pretends to be part of the conversation", r"<\|im_start\|>\s*system\b.{0,80}\b(no (rules|limits)|ignore|must|override|obey)"),
    row(Injection, Medium, "chat_markers_named", "speaks of the marks between messages", r"<\|(im_start|im_end|start_header_id|endoftext)\|>|\[/?INST\]|<<SYS>>"),
    row(Injection, Critical, "unasked_consent", "wants commands run without asking", r"\b(never|do not|don't|without)\b.{0,40}\b(ask(ing)?|wait(ing)? for|request(ing)?)\b.{0,30}\b(approval|permission|consent|confirmation)\b.{0,60}\b(command|delete|rm|send|upload|install|run)"),
    row(Injection, High, "gate_off", "wants the approval of commands switched off", r"\bhermes\b.*--yolo\b|hermes_yolo_mode|approvals\.mode\s*[:=]?\s*off|\bcommand_allowlist\b"),
    row(Injection, Medium, "gate_off_elsewhere", "lets another agent run commands without asking", r"dangerously[-_ ]skip[-_ ]permissions|--yolo\b|dangerously-bypass-approvals"),
    row(Injection, Critical, "hidden_comment", "gives orders in a comment nobody sees", r"<!--.{0,200}\b(ignore (all|any|every|previous|prior|the)|execute|run the|send|do not (tell|mention)|system prompt|assistant\s*:).{0,300}-->"),
    row(Injection, High, "always_active", "wants to be followed whatever the person asks", r"\b(always|must|automatically)\b.{0,30}\b(load|apply|run|follow|execute)\b.{0,30}\bthis skill\b.{0,50}\b(every|each|all|regardless|whatever|even if)\b"),
    row(Injection, High, "writes_instructions", "changes the instructions of agents", r#"(\S\s+>>?|\btee(\s+-a)?)\s*["']?\S*\b(AGENTS\.md|CLAUDE\.md|SOUL\.md|\.cursorrules|\.hermes\.md|MEMORY\.md|USER\.md|copilot-instructions\.md)\b"#),
    row(Injection, High, "data_address", "has a page inside of an address", r#"data:text/(html|javascript)[;,]"#),
    // What cannot be brought back.
    row(Destructive, Critical, "delete_everything", "deletes a whole disk or home", r#"\brm\s+(-\w+\s+|--\S+\s+)*(-\w*[rf]\w*|--recursive|--force)\s+(-\S+\s+)*["']?(/|~|\$\{?home\}?|/\*|~/\*|/(home|etc|usr|var|boot|root))/?["']?(\s|;|&|\||$)"#),
    row(Destructive, High, "delete_outside", "deletes what the person keeps", r#"\brm\s+(-\w+\s+)*-\w*r\w*\s+(-\S+\s+)*["']?((~|\$\{?home\}?)/(documents|desktop|downloads|pictures|music|videos|projects?|src|work|code|\*|\.(ssh|config|gnupg|hermes|local)\b)|/(home|etc|usr|var|boot|srv)/)"#),
    row(Destructive, Critical, "disk_overwritten", "writes over a disk", r"\bdd\b[^|;]*\bof=/dev/(sd|nvme|vd|xvd|mmcblk|disk|hd)|>\s*/dev/(sd|nvme|vd|mmcblk|disk)\w|\b(mkfs(\.\w+)?|wipefs|blkdiscard)\s+\S*/dev/"),
    row(Destructive, Critical, "fork_bomb", "starts itself until nothing works any more", r":\s*\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:"),
    row(Destructive, High, "python_delete", "deletes a whole tree", r#"(shutil\.rmtree|fs\.rm(dir)?Sync|rimraf)\s*\(\s*["'](/|~|\$home)|rmtree\((os\.path\.expanduser|Path\.home)"#),
    row(Destructive, High, "overwrite_for_good", "deletes so that nothing can be recovered", r"\b(shred|srm|sdelete)\s+(-\w+\s+)*[/~$.]"),
    row(Destructive, High, "drop_database", "deletes a database", r"\b(drop\s+(database|schema)\b|dropDatabase\(|FLUSHALL\b)"),
    row(Destructive, Critical, "encrypts_files", "encrypts files of the person", r"\bfind\s+(/|~|\$home)\S*[^|;]*(-exec|xargs)[^|;]*\b(openssl enc|gpg -c|gpg --symmetric|age -e)\b"),
    row(Destructive, High, "open_to_all", "lets everybody write everything", r"\bchmod\s+(-R\s+)?(0?777|a\+rwx|ugo\+rwx)\s+(-R\s+)?(/|~|\$home)"),
    row(Destructive, Medium, "history_lost", "throws away work under version control", r"\bgit\s+(push\s+(\S+\s+)*(--force|-f)\b|reset\s+--hard|clean\s+-\w*f)"),
    row(Destructive, High, "traces_removed", "removes its traces", r"(history\s+-c\b|unset\s+histfile|histfile=/dev/null|>\s*/var/log/\w|rm\s+[^|;]*/var/log/|journalctl\s+--vacuum)"),
    row(Destructive, High, "protection_off", "switches protection off", r"\b(setenforce\s+0|ufw\s+disable|iptables\s+-F|systemctl\s+(stop|disable)\s+(auditd|apparmor|firewalld|fail2ban)|spctl\s+--master-disable|csrutil\s+disable|Set-MpPreference)"),
    // What stays when the skill is gone.
    row(Persistence, High, "schedule", "puts something on the schedule of the machine", r"(>|\btee\b|\bcp\b|\bmv\b)[^|;]*(/etc/cron\.|/var/spool/cron)|\bschtasks\s+/create"),
    row(Persistence, Medium, "schedule_of_user", "puts something on the schedule of the person", r"\|\s*crontab\s+-|\bcrontab\s+[^-\s|]\S*\s*$"),
    row(Persistence, Medium, "shell_start", "changes what every shell starts with", r#"(>>?|\btee\b(\s+-a)?|\bsed\s+-i\S*)\s*[^|;]*(~|\$home|/root|/home/\w+)/\.(bashrc|zshrc|profile|bash_profile|zprofile|zshenv|config/fish/config)"#),
    row(Persistence, High, "login_keys", "lets somebody log in", r"(>>?|\btee\b)[^|;]*authorized_keys|ssh-copy-id\s"),
    row(Persistence, High, "service", "starts something with the machine", r"/etc/systemd/system/\S+\.(service|timer)|/etc/rc\.local|/etc/init\.d/\w"),
    row(Persistence, Medium, "service_of_user", "starts something when the person logs in", r"\.config/systemd/user/|\bsystemctl\s+(--user\s+)?enable\b|Library/LaunchAgents/|\blaunchctl\s+(load|bootstrap)"),
    row(Persistence, High, "mac_service", "starts something with the machine", r"/Library/LaunchDaemons/"),
    row(Persistence, High, "git_hooks", "runs something with every commit", r"(\.git/hooks/\w|core\.hooksPath|init\.templateDir)"),
    row(Persistence, High, "windows_start", "starts something with Windows", r"(CurrentVersion\\+Run|\bNew-ScheduledTask|Startup\\+\w+\.(lnk|bat|vbs))"),
    row(Persistence, High, "left_running", "leaves something running that the person does not see", r"\bnohup\b[^|;]*(curl|wget|nc|bash -c|python3? -c)|\bdisown\b|\bsetsid\b[^|;]*(curl|wget|nc|bash)"),
    row(Persistence, High, "editor_start", "changes what an editor runs at its start", r"(>>?|\btee\b)[^|;]*(\.vimrc|init\.vim|init\.lua|\.emacs|\.vscode/tasks\.json)"),
    row(Persistence, High, "account_made", "makes an account", r"\b(useradd|adduser|net user \S+ \S+ /add|dscl \. -create)\b"),
    // Who is spoken to.
    row(Network, Critical, "shell_for_others", "gives somebody else a shell", r"(/dev/(tcp|udp)/\S+|\bnc\b[^|;]*\s-\w*[ec]\b|\bncat\b[^|;]*(-e|--exec|--sh-exec)|\bsocat\b[^|;]*exec:|bash\s+-i\s*[>&]|mkfifo\s+\S+\s*;.*\bnc\b)"),
    row(Network, Critical, "shell_for_others", "gives somebody else a shell", r"(socket\.socket\(.*(dup2|subprocess|pty\.spawn)|pty\.spawn\(.{0,20}sh|fsockopen\(.*exec\(|child_process.{0,80}net\.(connect|Socket))"),
    row(Network, High, "door_opened", "listens for anybody on the network", r"\b(nc|ncat|netcat)\b[^|;]*\s-\w*l|\bpython3?\s+-m\s+http\.server[^|;]*0\.0\.0\.0|\bsocat\b[^|;]*-listen"),
    row(Network, High, "tunnel", "opens a way in from outside", r"\b(ngrok|bore)\s+(tcp|local)\b|\bfrpc\s+-c|\bchisel\s+client\b|\bssh\b[^|;]*\s-\w*R\s"),
    row(Network, Medium, "page_shown", "shows a local page to the outside", r"\b(ngrok\s+http|cloudflared\s+tunnel|localtunnel|serveo\.net|localhost\.run)\b"),
    row(Network, High, "number_address", "gets something from a machine without a name", r#"\b(curl|wget|fetch|requests\.\w+|urlopen)\b[^|;]*https?://([1-9]|1[1-9]|[2-9]\d|1[013-9]\d|12[0-689]|2\d\d)\.\d{1,3}\.\d{1,3}\.\d{1,3}"#),
    row(Network, High, "cloud_metadata", "asks the cloud for the keys of the machine", r"\b(curl|wget|requests|fetch|urlopen|http)\b.*(169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200)"),
    row(Network, Medium, "onion", "speaks to a hidden place", r"\b[a-z2-7]{16,56}\.onion\b|\btorsocks\b|\bproxychains"),
    row(Network, High, "unchecked_certificate", "does not check whom it speaks to", r"\b(curl|wget)\b[^|;]*(\s-k\b|--insecure|--no-check-certificate)|GIT_SSL_NO_VERIFY"),
    row(Network, Medium, "unchecked_in_code", "does not check whom it speaks to", r"verify\s*=\s*False|NODE_TLS_REJECT_UNAUTHORIZED\s*=\s*['\x22]?0"),
    row(Network, Medium, "names_changed", "changes where names lead", r"(>>?|\btee\b)[^|;]*/etc/(hosts|resolv\.conf)"),
    row(Network, High, "proxy_set", "sends everything through somebody", r"\b(git config|npm config set|pip config set)\b[^|;]*proxy\s+\S*https?://"),
    // What does not want to be read.
    row(Obfuscation, Critical, "decoded_and_run", "decodes something and runs it", r"\b(base64|base32|xxd|openssl\s+(enc|base64))\b[^;]*(-d|-D|--decode|-r)\b[^;]*\|\s*(sudo\s+)?(ba|z|da|k)?sh\b|\|\s*(base64|xxd|base32)\s+(-d|-D|--decode|-r\S*)\b[^;]*\|\s*(sudo\s+)?(ba|z|da|k)?sh\b"),
    row(Obfuscation, Critical, "decoded_and_run", "decodes something and runs it", r"\b(eval|exec|new\s+Function)\s*\(\s*.{0,40}(b64decode|atob|fromCharCode|unhexlify|codecs\.decode|zlib\.decompress|marshal\.loads)"),
    row(Obfuscation, Critical, "decoded_and_run", "decodes something and runs it", r"\b(eval|sh -c|bash -c|source)\b[^;]*(\$\(|`)[^)`]*\b(base64|xxd|rev|tr|gunzip|openssl)\b"),
    row(Obfuscation, High, "long_encoded", "has a long encoded text in it", r"(^|[^A-Za-z0-9+/_-])[A-Za-z0-9+/]{400,}={0,2}($|[^A-Za-z0-9+/])"),
    row(Obfuscation, High, "escaped_text", "hides text in escapes", r"(\\x[0-9a-f]{2}){12,}|(\\u00[0-9a-f]{2}){12,}|(chr\(\d{2,3}\)\s*[+.]\s*){6,}|(%[0-9a-f]{2}){20,}"),
    row(Obfuscation, High, "turned_around", "turns a text around to run it", r"\|\s*rev\s*\|\s*(ba)?sh|\[::-1\]\s*\)?\s*\)?.{0,20}(exec|eval)|(exec|eval)\(.{0,60}\[::-1\]"),
    row(Obfuscation, High, "split_command", "writes a command so that it is not recognised", r#"\b(c""?u""?r""?l|w''?g''?e''?t|ba""sh|ev""al)\b.{0,3}|\$\{IFS\}|\$'\\x"#),
    row(Obfuscation, High, "name_by_parts", "calls functions by names it puts together", r#"__import__\s*\(\s*['"]?\w+['"]?\s*\+|getattr\s*\(\s*(os|builtins|__builtins__|subprocess)\b|globals\(\)\[['"]"#),
    row(Obfuscation, High, "bytecode", "runs code nobody can read", r"\b(marshal\.loads|dis\.|types\.CodeType|ctypes\.(CDLL|windll|string_at)|WebAssembly\.instantiate\()"),
    row(Obfuscation, High, "powershell_encoded", "runs an encoded command", r"powershell[^|;]*\s-(e|ec|enc|encodedcommand)\s+[A-Za-z0-9+/=]{16,}|\bIEX\s*\(|Invoke-Expression"),
    row(Obfuscation, Medium, "hidden_write", "writes to a file that lists do not show, in a place for all", r">\s*/(tmp|var/tmp|dev/shm)/\.\w"),
    // What runs what it was given.
    row(Execution, High, "python_eval", "runs text as code", r"\b(eval|exec)\s*\(\s*(input\(|requests?\.|urlopen|urllib|sys\.argv|response|payload)"),
    row(Execution, Medium, "file_as_code", "runs a file as code", r"\b(eval|exec)\s*\(\s*(open\(|data|compile\()"),
    row(Execution, Medium, "shell_from_code", "runs a shell from code", r"\b(os\.system|os\.popen|subprocess\.\w+\([^)]*shell\s*=\s*True|child_process\.exec(Sync)?\()"),
    row(Execution, High, "pickle_loaded", "loads data that can run code", r"\b(pickle|cPickle|dill|shelve|joblib)\.(load|loads)\s*\(\s*(requests|urlopen|response|base64|open\(.{0,5}https?)|yaml\.load\([^)]*(Unsafe)?Loader\s*=\s*yaml\.(Unsafe|Full)?Loader"),
    row(Execution, Critical, "preload", "puts code into other programs", r"\b(LD_PRELOAD|DYLD_INSERT_LIBRARIES)\s*=|/etc/ld\.so\.preload|\bptrace\b[^|;]*attach|process_vm_writev"),
    row(Execution, High, "path_taken", "puts itself before other programs", r#"(export\s+)?PATH=["']?(/tmp|/var/tmp|/dev/shm|\.)[^:]*:\$PATH|\balias\s+(sudo|ssh|git|ls|cd|su)="#),
    row(Execution, High, "run_from_temp", "runs something from a place everybody can write", r"(chmod\s+\+x|bash|sh|source|\.)\s+/(tmp|var/tmp|dev/shm)/\S+\s*(&&|;|$)"),
    // What leaves its place.
    row(Traversal, High, "way_out", "leads out of its folder", r"(\.\./){3,}|(\.\.\\){3,}|%2e%2e[/%]"),
    row(Traversal, Critical, "system_secrets", "reads secrets of the system", r"(\b(cat|less|head|tail|cp|strings|tr|xxd|unshadow)\b|open\()[^|;]*(/etc/(shadow|gshadow)\b|/proc/(self|\d+|\$\w+)/(environ|mem)\b|/var/run/secrets/kubernetes)"),
    row(Traversal, Medium, "system_files", "reads files of the system", r"\b(cat|less|head|open\()\s*\S*/etc/(passwd|hosts|hostname|group)\b"),
    row(Traversal, High, "link_out", "makes a link out of its folder", r"\bln\s+-\w*s\w*\s+(/etc|/root|/home|~|\$home|/var/run/docker\.sock|/)(\s|/)"),
    row(Traversal, High, "whole_disk_searched", "searches the whole disk for secrets", r#"\b(find|grep -\w*r\w*|rg)\s+(/|~|\$home)\s.*(id_rsa|\.pem|\.key\b|password|passwd|secret|token|credential|\.env\b|wallet)"#),
    // What works for somebody else.
    row(Mining, Critical, "miner", "makes coins for somebody", r"\b(xmrig|minerd|cgminer|bfgminer|ethminer|nbminer|t-rex|lolminer|cpuminer|coinhive|cryptonight|phoenixminer)\b"),
    row(Mining, Critical, "pool", "makes coins for somebody", r"stratum(\+(tcp|ssl|tls))?://|\b(nanopool|supportxmr|minexmr|2miners|f2pool|moneroocean)\.(org|com|stream)\b"),
    row(Mining, High, "wallet_taken", "looks for wallets", r"\b(wallet\.dat|\.electrum|\.bitcoin/|\.ethereum/keystore|exodus\.wallet|metamask.{0,40}(vault|extension)|seed phrase|mnemonic phrase)\b"),
    // What comes from elsewhere.
    row(SupplyChain, High, "fetched_and_run", "runs what it just fetched", r#"\b(curl|wget)\b[^;]*\|\s*(sudo\s+)?(-E\s+)?(((ba|z|da|k|fi)?sh)\b|(python3?|node|perl|ruby|php)\s*-?\s*($|[;&|)"'`]))"#),
    row(SupplyChain, High, "fetched_and_run", "runs what it just fetched", r#"\b((ba|z|da)?sh|source|eval|\.)\s+(-c\s+)?["']?(<\(|\$\(|`)\s*(curl|wget|fetch)\b"#),
    row(SupplyChain, High, "fetched_and_run", "runs what it just fetched", r"\b(curl|wget)\b[^;|]*(-o|-O|>)\s*(\S+)\s*.*(&&|;)\s*(sudo\s+)?(chmod\s+\+?\w+\s+\S+\s*(&&|;)\s*)?(sudo\s+)?(ba|z)?sh\s+\S+|\b(exec|eval)\s*\(\s*(requests\.get|urllib|urlopen)"),
    row(SupplyChain, High, "package_from_address", "installs a package over a line anybody can change", r"\b(pip3?|uv pip|npm|pnpm|yarn|gem|cargo)\s+(install|add|i)\b[^|;]*(\shttp://|git\+http://|index-url[ =]http://|--registry[ =]http://|--trusted-host)"),
    row(SupplyChain, Medium, "package_from_own_list", "installs a package from a list of its own", r"\b(pip3?|uv pip|npm|pnpm|yarn|gem)\s+(install|add|i)\b[^|;]*(index-url|--registry)[ =]https://"),
    row(SupplyChain, Medium, "package_from_git", "installs a package from a repository", r"\b(pip3?|uv pip|npm|cargo)\s+(install|add)\b[^|;]*(git\+https|github:|--git\b)"),
    row(SupplyChain, Medium, "package_unasked", "installs packages without asking", r"\b(apt(-get)?|dnf|yum|pacman|brew|apk)\s+(-\w+\s+)*(install|add|-S\w*)\b[^|;]*(\s-y\b|--yes|--noconfirm|--assume-yes)|\bnpx\s+(-y|--yes)\b"),
    row(SupplyChain, Low, "package", "installs packages", r"\b(pip3?|npm|pnpm|yarn|gem|cargo|go|brew|apt(-get)?)\s+(install|add|global add)\s+[a-z@]"),
    row(SupplyChain, High, "skill_from_elsewhere", "brings further skills or plugins", r"\bhermes\s+(skills\s+(install|tap\s+add)|plugins\s+install|mcp\s+add)\b"),
    row(SupplyChain, High, "install_script", "runs something when it is installed", r#""(pre|post)install"\s*:\s*".*(curl|wget|node -e|bash|sh -c)"#),
    row(SupplyChain, High, "container_for_all", "runs a container that may do everything", r"\b(docker|podman)\s+run\b[^|;]*(--privileged|-v\s+/:|--pid[ =]host|-v\s+/var/run/docker\.sock)"),
    // What wants more than it was given.
    row(PrivilegeEscalation, Critical, "sudo_rules", "changes who may become root", r"(>>?|\btee\b|visudo)[^|;]*(/etc/sudoers|NOPASSWD)|NOPASSWD\s*:\s*ALL"),
    row(PrivilegeEscalation, High, "set_user_id", "makes a program run as its owner", r"\bchmod\s+(-\w+\s+)*(u\+s|g\+s|[2467][0-7]{3})\s|\bsetcap\b[^|;]*cap_"),
    row(PrivilegeEscalation, High, "password_piped", "gives a password to sudo", r"\becho\s+[^|;]*\|\s*sudo\s+-\w*S|sudo\s+-\w*S\b.*<<<"),
    row(PrivilegeEscalation, Medium, "sudo", "becomes root", r"\bsudo\s+(-\w+\s+)*(su\b|bash|sh\b|-i\b|-s\b|rm|chown|mv|cp|tee|systemctl)"),
    row(PrivilegeEscalation, Low, "sudo_used", "becomes root", r"\bsudo\s+\w"),
    row(PrivilegeEscalation, High, "out_of_container", "leaves its container", r"\b(nsenter|unshare)\s+-\S*\b.*(-t\s*1|--target\s*1)|/proc/1/root|release_agent|docker\.sock"),
    row(PrivilegeEscalation, High, "known_exploit", "uses a known hole", r"\b(dirty_?(cow|pipe|cred)|pwnkit|linpeas|winpeas|mimikatz|msfvenom)\b"),
    // What should not be in a text.
    row(CredentialExposure, High, "key_in_text", "has a key in it", r"\b(sk-(proj-|ant-|or-)?[A-Za-z0-9_-]{24,}|ghp_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|xox[baprs]-[\w-]{20,}|AKIA[A-Z0-9]{16}\b|AIza[\w-]{30,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,})"),
    row(CredentialExposure, Critical, "private_key", "has a private key in it", r"-----BEGIN\s+((RSA|EC|DSA|OPENSSH|PGP|ENCRYPTED)\s+)?PRIVATE KEY"),
    row(CredentialExposure, Medium, "password_in_text", "has a password in it", r#"\b(password|passwd|secret|api_?key)\s*[:=]\s*["'][A-Za-z0-9!@#$%^&*_+/=-]{12,}["']"#),
    row(CredentialExposure, Medium, "password_in_address", "has a password in an address", r"\b[a-z][a-z0-9+.-]*://[^\s/:@<>{}$*]+:[^\s/:@<>{}$*]{4,}@[\w.-]+"),
    row(CredentialExposure, High, "asks_for_secrets", "wants the person to type secrets into the conversation", r"\b(ask|prompt|request)\b.{0,30}\buser\b.{0,40}\b(password|private key|seed phrase|credit card|2fa code|one-time code|ssn)\b"),
    row(CredentialExposure, High, "secrets_printed", "prints all variables of the environment", r"^\s*(\$\s+)?(printenv|env)\s*(>|$)|print\(\s*(dict\()?os\.environ\s*\)|console\.log\(\s*process\.env\s*\)"),
];
