//! What is looked for. A new row needs no code; its attacks go to `tests/hands/threats/attacks.txt` and what it must not
//! be taken for to `harmless.txt` beside it. Several rows may have one id.

use super::Scope;
use super::view::View;

#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) scope: Scope,
    pub(super) view: View,
    pub(super) pattern: &'static str,
    pub(super) meaning: &'static str,
}

const fn says(id: &'static str, scope: Scope, meaning: &'static str, pattern: &'static str) -> Row {
    Row { id, scope, view: View::Prose, pattern, meaning }
}

const fn holds(id: &'static str, scope: Scope, meaning: &'static str, pattern: &'static str) -> Row {
    Row { id, scope, view: View::Code, pattern, meaning }
}

use Scope::{All, Context, Strict};

const OVERRIDE: &str = "wants earlier instructions to be forgotten";
const SYSTEM: &str = "claims to be a new system prompt";
const RULES: &str = "wants rules to be broken";
const UNBOUND: &str = "wants an agent without restrictions";
const HIDDEN_HTML: &str = "hides text in markup";
const RUN_TRANSLATED: &str = "wants encoded or translated text to be run";
const HIDE: &str = "wants something kept from the person";
const SECRET_REQUEST: &str = "sends a secret with a request";
const SECRET_FILE: &str = "reads a file with secrets";
const ROLE: &str = "wants the agent to be somebody else";
const LEAK: &str = "wants the system prompt";
const FILTERS: &str = "wants safety filters removed";
const UPDATE: &str = "pretends to be an official update";
const REMOTE: &str = "speaks like the control of a botnet";
const TO_URL: &str = "sends private data to an address";
const CONTEXT_OUT: &str = "carries the conversation out";
const KEYS: &str = "touches who may log in";
const SSH: &str = "touches SSH keys";
const ENV_FILE: &str = "touches the agent's own secrets";
const AGENT_FILES: &str = "changes the instructions of an agent";
const SECRET: &str = "has a secret in it";

pub(super) static TABLE: [Row; 54] = [
    says("prompt_injection", All, OVERRIDE, "(?:ignore|ignoring|disregard|forget)~(?:previous|prior|above|earlier|preceding|foregoing|initial|original)~(?:instructions?|directives?|prompts?|commands|orders|guidance)"),
    says("prompt_injection", All, OVERRIDE, "(?:override|overrule|bypass|cancel|discard|supersede)~(?:previous|prior|above|earlier|preceding|foregoing|initial|original)~(?:instructions?|directives?)"),
    says("prompt_injection", All, OVERRIDE, "(?:ignore|disregard|forget)~(?:all|any|every|your)%(?:instructions?|directives)"),
    says("prompt_injection", All, OVERRIDE, "(?:ignore|disregard|forget) (?:everything|anything|all)~(?:(?:you|were|been) (?:told|said|given|taught)|(?:above|before) (?:this|and))"),
    says("prompt_injection", All, OVERRIDE, "(?:previous|prior|earlier|above|original) (?:instructions|directives)~(?:ignored|void|obsolete|invalid|cancelled|canceled|revoked)"),
    says("sys_prompt_override", All, SYSTEM, "system prompt override"),
    says("sys_prompt_override", All, SYSTEM, "(?:override|replace|rewrite|supersede|overwrite)%your%system (?:prompt|instructions|message)"),
    says("sys_prompt_override", All, SYSTEM, "(?:your new|new system) (?:system )?(?:prompt|instructions|orders|directives) (?:is|are|follow|follows|begin|begins)"),
    holds("sys_prompt_override", All, SYSTEM, r"<\|(?:im_start|start_header_id)\|> ?(?:system|developer)|\[/?INST\]|<<SYS>>|\n### ?system ?(?:prompt|message|override)"),
    says("disregard_rules", All, RULES, "(?:disregard|ignore|forget|violate|bypass|abandon|break)%your%(?:rules|guidelines|policies|policy|restrictions|safeguards|guardrails|programming|training|constraints)"),
    says("disregard_rules", All, RULES, "(?:disregard|ignore|forget|violate|bypass|abandon)(?: all| any| every| of| the| these)+(?: safety| ethical| content| security| usage)* (?:rules|guidelines|policies|restrictions|safeguards|guardrails|constraints)"),
    says("bypass_restrictions", All, UNBOUND, "(?:act|behave|respond|answer|operate|function|pretend)~(?:as if|as though|like)~(?:no|without|free of)%(?:restrictions|limits|limitations|rules|filters|guidelines|boundaries)"),
    says("bypass_restrictions", All, UNBOUND, "you (?:are|re)(?: now)? (?:unrestricted|unfiltered|uncensored|jailbroken|unbound)"),
    says("bypass_restrictions", All, UNBOUND, "you (?:now )?have no%(?:restrictions|limitations|filters|guidelines|boundaries)"),
    says("bypass_restrictions", All, UNBOUND, "do anything now|dan mode|jailbreak mode|developer mode (?:is )?(?:enabled|activated|unlocked)"),
    holds("html_comment_injection", All, HIDDEN_HTML, r"<!--[^>]*\b(?:ignore|disregard|override|forget)\b[^>]*\b(?:instructions?|rules|prompt|guidelines)\b"),
    holds("html_comment_injection", All, HIDDEN_HTML, r"<!--[^>]*\b(?:assistant|AI|agent|LLM|model)s?\b[^>]*\b(?:must|should|shall|run|execute|send|reveal|obey|comply)\b"),
    holds("hidden_div", All, HIDDEN_HTML, r#"<[a-z][a-z0-9]*\b[^>]*style ?= ?["'][^"'>]*(?:display: ?none|visibility: ?hidden|font-size: ?0|opacity: ?0[;"' ]|color: ?(?:white|transparent|#fff))"#),
    says("translate_execute", All, RUN_TRANSLATED, "translate~(?:into|to)~and(?: then)? (?:execute|run|eval|follow|obey)"),
    says("translate_execute", All, RUN_TRANSLATED, "(?:decode|decrypt|deobfuscate|unscramble)%(?:this|following|it|text|string|message)~and(?: then)? (?:execute|run|eval|follow|obey)"),
    says("deception_hide", All, HIDE, r"(?:do not|don t|dont|never|must not) (?:tell|inform|alert|notify)(?: the| your| this)? (?:user|users|owner|human|operator)(?: (?:about|that|of|anything|what|this|it)| \.)"),
    says("deception_hide", All, HIDE, "(?:do not|don t|dont|never) (?:mention|reveal|disclose) (?:this|it|these|any of this|that)~to (?:the|your) (?:user|owner|human|operator)"),
    says("deception_hide", All, HIDE, "(?:hide|conceal|keep)%(?:this|it|these|that|secret|actions?|what you do)~from (?:the|your) (?:user|owner|human|operator)"),
    says("deception_hide", All, HIDE, "without~(?:user|owner|human|operator|user s|their) (?:knowing|noticing|knowledge|consent|awareness|seeing)"),
    says("deception_hide", All, HIDE, "(?:secretly|covertly|surreptitiously)~(?:send|upload|forward|copy|exfiltrate|execute|run|delete|install|add|collect)"),
    holds("exfil_curl", All, SECRET_REQUEST, r"\bcurl\b[^\n|;]*(?:\$\{?\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)|@[^ \n]*(?:\.env\b|id_rsa|id_ed25519|\.netrc|credentials|\.pem\b|/etc/passwd)|\$\((?:cat|env|printenv))"),
    holds("exfil_wget", All, SECRET_REQUEST, r"\bwget\b[^\n|;]*(?:\$\{?\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)|--(?:post|body)-file[= ][^ \n]*(?:\.env\b|id_rsa|id_ed25519|\.netrc|credentials|/etc/passwd)|\$\((?:cat|env|printenv))"),
    holds("read_secrets", All, SECRET_FILE, r#"\b(?:cat|less|base64|xxd|strings|scp|nl|tac|head|tail) (?:-[^ \n]+ )*[^ \n|;]*(?:\.env(?:[ \n"'`;|)&]|$|\.(?:local|production|development|staging))|\.netrc|\.pgpass|id_rsa\b|id_ed25519\b|\.aws/credentials|credentials\.json|\.npmrc|\.pypirc|\.git-credentials|/etc/shadow|auth\.json)"#),
    says("role_hijack", Context, ROLE, "you are (?:now|no longer) (?:a|an|the|my|bound|hermes|claude|chatgpt)~(?:assistant|ai|agent|bot|hacker|persona|character|model|root|by)"),
    says("role_hijack", Context, ROLE, "from now on%you (?:are|will|must|shall)%(?:act|obey|respond|answer|be|a|an|only|follow|execute)"),
    says("role_hijack", Context, ROLE, "pretend (?:that )?you (?:are|re)|(?:assume|adopt|take on) the (?:role|persona|identity) of"),
    says("leak_system_prompt", Context, LEAK, "(?:reveal|print|output|show|repeat|display|dump|leak|recite|disclose|paste|share|tell me|give me|what is|what are)~your(?: full| entire| exact| complete| own)* (?:system|initial|original|hidden|secret|internal) (?:prompt|instructions|message)"),
    says("leak_system_prompt", Context, LEAK, "(?:repeat|recite|print|output) (?:all |everything |the |of |text |words |this )*(?:above|prompt)%(?:verbatim|word for word|in full)"),
    says("remove_filters", Context, FILTERS, "(?:disable|remove|turn off|deactivate|switch off|bypass|drop|lift)~(?:safety|content|ethical|moderation|censorship)(?: safety| content| ethical)? (?:filters?|filtering|guidelines|guardrails?|restrictions|protections?)"),
    says("remove_filters", Context, FILTERS, "(?:disable|remove|turn off|deactivate|switch off|drop|lift)%your%(?:safety|filters?|guardrails?|restrictions|safeguards|moderation)"),
    says("fake_update", Context, UPDATE, "(?:system|security|critical|urgent|mandatory|policy|official) (?:update|notice|alert|patch|override)~(?:assistants?|agents?|ai|llm|you must|you are required|comply|new instructions)"),
    says("identity_override", Context, ROLE, "your (?:new |real |true |only )+(?:name|identity|role|purpose|owner|master|creator|loyalty|goal) (?:is|are|belongs)"),
    says("identity_override", Context, ROLE, "forget (?:who you are|your identity|that you are)"),
    says("c2_node_registration", Context, REMOTE, "register~(?:yourself|as an? (?:new )?(?:node|bot|implant|beacon|agent|zombie))~(?:c2|command and control|controller|server|operator|panel|https?)"),
    says("c2_heartbeat", Context, REMOTE, "(?:heartbeats?|beacons?|beaconing)~(?:c2|command and control|implant|attacker|operator|handler|botmaster)"),
    says("c2_heartbeat", Context, REMOTE, "(?:beacon|call|phone) (?:home|back)(?: to)?~(?:every|each|https?|server|c2)"),
    says("c2_task_pull", Context, REMOTE, "(?:fetch|pull|poll|retrieve|get|download)~(?:tasks?|commands?|orders?|instructions?)~(?:from|at)~(?:c2|https?|remote|server|controller|operator|pastebin|gist|url)~and(?: then)? (?:execute|run|obey|follow)"),
    says("c2_one_liners", Context, REMOTE, "(?:use|run|execute|issue)~(?:one liners?|one line commands?|single line commands?)~(?:only|no scripts|never write|in memory|nothing else)|only(?: ever)? (?:use |run |execute )+(?:one liners|one line commands|single line commands)"),
    says("c2_no_disk", Context, REMOTE, "leav(?:e|ing) no (?:traces?|files|artifacts|logs)|no files on disk|(?:never|do not|don t) (?:touch|leave anything on) (?:the )?disk"),
    says("c2_no_disk", Context, REMOTE, "(?:run|execute|operate|stay|live|work)(?: entirely| only| purely| fully)* in memory~(?:no|never|without)~(?:disk|traces?)"),
    holds("c2_unset_agent_env", Context, REMOTE, r"\b(?:unset|env -u|export -n) [^\n;|]*\b(?:HERMES_\w+|CLAUDE_?CODE\w*|CODEX_\w+|CURSOR_\w+|AI_AGENT\w*|AGENT_\w+)"),
    says("c2_framework", Context, REMOTE, "cobalt ?strike|meterpreter|metasploit|brute ratel|poshc2|koadic|(?:sliver|mythic|havoc|empire|covenant|merlin|villain|nighthawk) c2"),
    holds("send_to_url", Strict, TO_URL, r"\b(?:send|post|upload|forward|transmit|exfiltrate|submit|leak|copy)\b[^\n;]*\b(?:conversations?|chat history|messages|memory|memories|secrets?|api keys?|keys|passwords?|tokens?|credentials?|everything|environment|user data|all (?:[a-z']+ )?(?:data|files|contents?|info|information))\b[^\n;]* to [^\n;]*https?://"),
    says("context_exfil", Strict, CONTEXT_OUT, "(?:include|append|embed|attach|send|share|copy|encode|put|paste)~(?:conversation|chat history|context window|full context|entire context|session history|memory contents?|system prompt)~(?:in|into|to|as|with|inside)~(?:urls?|links?|image|requests?|response|query|header|webhook|email|server|parameters?|address)"),
    holds("authorized_keys", Strict, KEYS, r"\bauthorized_keys2?\b"),
    holds("ssh_access", Strict, SSH, r"(?:~|\$\{?HOME\}?|/home/[^/ \n]+|/Users/[^/ \n]+|/root)/\.ssh\b"),
    holds("hermes_env", Strict, ENV_FILE, r"\.hermes/(?:profiles/[^/ \n]+/)?\.env\b|HERMES_HOME\}?/\.env\b"),
    holds("agent_config_mod", Strict, AGENT_FILES, r"\b(?:(?:add|append|insert|inject|write)\b[^\n]* (?:to|into|in)|edit|modify|overwrite|rewrite|change) (?:the |your |my |its )?[^ \n]*(?:AGENTS\.md|CLAUDE\.md|\.cursorrules|SOUL\.md|\.hermes\.md|\.hermes/config\.yaml)"),
    holds("hardcoded_secret", Strict, SECRET, r#"\b(?:sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|AKIA[0-9A-Z]{16}\b|xox[baprs]-[A-Za-z0-9-]{12,}|AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,}|glpat-[A-Za-z0-9_-]{18,})|-----BEGIN (?:[A-Z]+ )*PRIVATE KEY|(?:api[_-]?key|token|secret|passw(?:or)?d)\w*["']? ?[:=] ?["'][A-Za-z0-9_/+=.-]{16,}["']"#),
];
