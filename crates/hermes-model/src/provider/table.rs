//! The rows, in the order in which a provider is chosen when several keys are at hand.

use super::{AuthKind, COMPATIBLE, Charges, ModeRule, NameRule, Provider, Quirk, ReasoningStyle};
use crate::wire::ApiMode;

const HOME_PAGE: &str = "https://hermes-agent.nousresearch.com";
const PRODUCT: &str = "Hermes Agent";

pub static PROVIDERS: &[Provider] = &[
    Provider {
        aliases: &["vercel", "vercel-ai-gateway", "ai_gateway", "aigateway"],
        base_env: &["AI_GATEWAY_BASE_URL"],
        aux_model: Some("google/gemini-3-flash"),
        reasoning: ReasoningStyle::AiGateway,
        quirks: &[Quirk::TakesReasoningDetails],
        names: NameRule::AiGateway,
        headers: &[("HTTP-Referer", HOME_PAGE), ("X-Title", PRODUCT)],
        keys_page: "https://vercel.com/dashboard/ai-gateway/api-keys",
        models: &["anthropic/claude-sonnet-4.6", "openai/gpt-5.4", "google/gemini-3-flash", "zai/glm-5"],
        ..keyed("ai-gateway", "Vercel AI Gateway", &["AI_GATEWAY_API_KEY"], "https://ai-gateway.vercel.sh/v1")
    },
    Provider {
        aliases: &["or"],
        base_env: &["OPENROUTER_BASE_URL"],
        aux_model: Some("google/gemini-3-flash-preview"),
        reasoning: ReasoningStyle::OpenRouter,
        quirks: &[Quirk::SessionInBody, Quirk::TakesReasoningDetails],
        names: NameRule::Aggregator,
        headers: &[
            ("HTTP-Referer", HOME_PAGE),
            ("X-Title", PRODUCT),
            ("X-OpenRouter-Categories", "productivity,cli-agent"),
        ],
        keys_page: "https://openrouter.ai/keys",
        models: &[
            "z-ai/glm-5.2",
            "anthropic/claude-sonnet-4.6",
            "openai/gpt-5.4",
            "google/gemini-3-flash-preview",
            "deepseek/deepseek-v4-flash",
            "moonshotai/kimi-k2.5",
        ],
        ..keyed("openrouter", "OpenRouter", &["OPENROUTER_API_KEY"], "https://openrouter.ai/api/v1")
    },
    Provider {
        aliases: &["nous-portal", "nousresearch"],
        base_env: &["NOUS_INFERENCE_BASE_URL"],
        key_hosts: &["nousresearch.com"],
        auth: AuthKind::NousOAuth,
        aux_model: Some("google/gemini-3-flash-preview"),
        reasoning: ReasoningStyle::Nous,
        quirks: &[Quirk::NousTags, Quirk::TakesReasoningDetails],
        names: NameRule::Aggregator,
        keys_page: "https://portal.nousresearch.com",
        models: &["z-ai/glm-5.2", "anthropic/claude-sonnet-4.6", "openai/gpt-5.4", "nousresearch/hermes-4-405b"],
        ..keyed("nous", "Nous Portal", &["NOUS_API_KEY"], "https://inference-api.nousresearch.com/v1")
    },
    Provider {
        aliases: &["codex", "openai_codex"],
        base_env: &["HERMES_CODEX_BASE_URL"],
        mode: ModeRule::Always(ApiMode::CodexResponses),
        auth: AuthKind::CodexOAuth,
        quirks: &[Quirk::NoMaxTokens],
        names: NameRule::StripAny,
        keys_page: "https://chatgpt.com",
        models: &["gpt-5.4", "gpt-5.3-codex", "gpt-5.4-mini"],
        charges: Charges::Subscription,
        ..keyed("openai-codex", "OpenAI Codex", &[], "https://chatgpt.com/backend-api/codex")
    },
    Provider {
        aliases: &["github", "github-copilot", "github-models", "github-model"],
        base_env: &["COPILOT_API_BASE_URL"],
        key_hosts: &["githubcopilot.com"],
        mode: ModeRule::Copilot,
        auth: AuthKind::CopilotToken,
        reasoning: ReasoningStyle::Copilot,
        quirks: &[Quirk::CopilotHeaders, Quirk::TakesReasoningOpaque],
        names: NameRule::StripAny,
        headers: &[("Openai-Intent", "conversation-edits")],
        keys_page: "https://github.com/settings/copilot",
        models: &["gpt-5.4", "claude-sonnet-4.6", "gemini-3-flash-preview", "gpt-5-mini"],
        charges: Charges::Subscription,
        ..keyed("copilot", "GitHub Copilot", COPILOT_KEYS, "https://api.githubcopilot.com")
    },
    Provider {
        aliases: &["github-copilot-acp", "copilot-acp-agent"],
        base_env: &["COPILOT_ACP_BASE_URL"],
        auth: AuthKind::ExternalProcess,
        keys_page: "https://github.com/github/copilot-cli",
        models: &["gpt-5.4", "claude-sonnet-4.6"],
        charges: Charges::Subscription,
        ..keyed("copilot-acp", "GitHub Copilot ACP", &[], "acp://copilot")
    },
    Provider {
        aliases: &["claude", "claude-code", "claude-oauth"],
        base_env: &["ANTHROPIC_BASE_URL"],
        key_hosts: &["anthropic.com", "claude.com"],
        mode: ModeRule::Always(ApiMode::AnthropicMessages),
        auth: AuthKind::Anthropic,
        aux_model: Some("claude-haiku-4-5-20251001"),
        names: NameRule::Anthropic,
        keys_page: "https://console.anthropic.com/settings/keys",
        models: &["claude-sonnet-4-6", "claude-opus-4-8", "claude-haiku-4-5-20251001"],
        charges: Charges::Listed("anthropic"),
        ..keyed("anthropic", "Anthropic", ANTHROPIC_KEYS, "https://api.anthropic.com")
    },
    Provider {
        aliases: &["google", "google-gemini", "google-ai-studio"],
        base_env: &["GEMINI_BASE_URL"],
        aux_model: Some("gemini-3.5-flash"),
        reasoning: ReasoningStyle::Gemini,
        quirks: &[Quirk::ThoughtSignatures, Quirk::GoogleSchemas],
        names: NameRule::StripOwn,
        keys_page: "https://aistudio.google.com/apikey",
        models: &["gemini-3.5-flash", "gemini-3.1-pro-preview", "gemini-2.5-flash"],
        charges: Charges::Listed("google"),
        ..keyed("gemini", "Google AI Studio", &["GOOGLE_API_KEY", "GEMINI_API_KEY"], GEMINI_URL)
    },
    Provider {
        aliases: &["dashscope", "aliyun", "alibaba-cloud", "qwen-dashscope", "qwen"],
        base_env: &["DASHSCOPE_BASE_URL"],
        key_hosts: &["dashscope.aliyuncs.com", "dashscope-us.aliyuncs.com"],
        names: NameRule::StripOwn,
        keys_page: "https://modelstudio.console.alibabacloud.com",
        models: &["qwen3.5-plus", "qwen3-max", "qwen3-coder-plus"],
        charges: Charges::Listed("qwen"),
        ..keyed(
            "alibaba",
            "Qwen Cloud",
            &["DASHSCOPE_API_KEY"],
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        )
    },
    Provider {
        aliases: &["deepseek-chat", "deep-seek"],
        base_env: &["DEEPSEEK_BASE_URL"],
        aux_model: Some("deepseek-chat"),
        reasoning: ReasoningStyle::DeepSeek,
        quirks: &[Quirk::EchoReasoning],
        names: NameRule::DeepSeek,
        keys_page: "https://platform.deepseek.com/api_keys",
        models: &["deepseek-v4-flash", "deepseek-v4-pro", "deepseek-chat", "deepseek-reasoner"],
        charges: Charges::Listed("deepseek"),
        ..keyed("deepseek", "DeepSeek", &["DEEPSEEK_API_KEY"], "https://api.deepseek.com/v1")
    },
    Provider {
        aliases: &["glm", "z-ai", "z.ai", "zhipu"],
        base_env: &["GLM_BASE_URL"],
        key_hosts: &["open.bigmodel.cn"],
        aux_model: Some("glm-4.5-flash"),
        reasoning: ReasoningStyle::Zai,
        names: NameRule::StripOwn,
        keys_page: "https://z.ai/manage-apikey/apikey-list",
        models: &["glm-5.2", "glm-5.1", "glm-5", "glm-4.7"],
        charges: Charges::Listed("zai"),
        ..keyed("zai", "Z.AI / GLM", &["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"], "https://api.z.ai/api/paas/v4")
    },
    Provider {
        aliases: &["kimi", "moonshot", "moonshotai", "kimi-for-coding"],
        base_env: &["KIMI_BASE_URL"],
        key_hosts: &["api.kimi.com"],
        keys_page: "https://platform.moonshot.ai/console/api-keys",
        charges: Charges::Listed("moonshot"),
        ..kimi("kimi-coding", "Kimi / Moonshot", &["KIMI_API_KEY", "KIMI_CODING_API_KEY"], "https://api.moonshot.ai/v1")
    },
    Provider {
        aliases: &["kimi-cn", "moonshot-cn"],
        keys_page: "https://platform.moonshot.cn/console/api-keys",
        ..kimi("kimi-coding-cn", "Kimi (China)", &["KIMI_CN_API_KEY"], "https://api.moonshot.cn/v1")
    },
    Provider {
        aliases: &["mini-max"],
        base_env: &["MINIMAX_BASE_URL"],
        key_hosts: &["minimax.io"],
        keys_page: "https://platform.minimax.io/user-center/basic-information/interface-key",
        ..minimax("minimax", "MiniMax", &["MINIMAX_API_KEY"], "https://api.minimax.io/anthropic")
    },
    Provider {
        aliases: &["minimax-china", "minimax_cn"],
        base_env: &["MINIMAX_CN_BASE_URL"],
        key_hosts: &["minimaxi.com"],
        keys_page: "https://platform.minimaxi.com/user-center/basic-information/interface-key",
        ..minimax("minimax-cn", "MiniMax (China)", &["MINIMAX_CN_API_KEY"], "https://api.minimaxi.com/anthropic")
    },
    Provider {
        aliases: &["kilo", "kilo-code", "kilo-gateway"],
        base_env: &["KILOCODE_BASE_URL"],
        aux_model: Some("google/gemini-3-flash-preview"),
        quirks: &[Quirk::TakesReasoningDetails],
        names: NameRule::Aggregator,
        keys_page: "https://app.kilo.ai/profile",
        models: &["anthropic/claude-sonnet-4.6", "z-ai/glm-5", "minimax/minimax-m2.5"],
        ..keyed("kilocode", "Kilo Code", &["KILOCODE_API_KEY"], "https://api.kilo.ai/api/gateway")
    },
    Provider {
        aliases: &["hf", "hugging-face", "huggingface-hub"],
        base_env: &["HF_BASE_URL"],
        keys_page: "https://huggingface.co/settings/tokens",
        models: &[
            "zai-org/GLM-5",
            "moonshotai/Kimi-K2.5",
            "Qwen/Qwen3-Coder-480B-A35B-Instruct",
            "openai/gpt-oss-120b",
        ],
        ..keyed("huggingface", "Hugging Face", &["HF_TOKEN"], "https://router.huggingface.co/v1")
    },
    Provider {
        aliases: &["opencode", "zen", "opencode_zen"],
        base_env: &["OPENCODE_ZEN_BASE_URL"],
        mode: ModeRule::OpencodeZen,
        aux_model: Some("gemini-3-flash"),
        names: NameRule::OpencodeZen,
        keys_page: "https://opencode.ai/auth",
        models: &["claude-sonnet-4-6", "gpt-5.4", "glm-5", "kimi-k2.5"],
        ..keyed("opencode-zen", "OpenCode Zen", &["OPENCODE_ZEN_API_KEY"], "https://opencode.ai/zen/v1")
    },
    Provider {
        aliases: &["go", "opencode-go-sub", "opencode_go"],
        base_env: &["OPENCODE_GO_BASE_URL"],
        mode: ModeRule::OpencodeGo,
        aux_model: Some("glm-5"),
        reasoning: ReasoningStyle::OpencodeGo,
        names: NameRule::StripAny,
        keys_page: "https://opencode.ai/auth",
        models: &["glm-5.2", "kimi-k2.5", "minimax-m2.5", "mimo-v2.5-pro"],
        ..keyed("opencode-go", "OpenCode Go", &["OPENCODE_GO_API_KEY"], "https://opencode.ai/zen/go/v1")
    },
    Provider {
        aliases: &["local"],
        base_env: &["CUSTOM_BASE_URL"],
        mode: ModeRule::ByUrl,
        names: NameRule::StripOwn,
        ..local("custom", "Custom endpoint", "")
    },
    Provider {
        aliases: &["openai"],
        base_env: &["OPENAI_BASE_URL"],
        key_hosts: &["openai.com", "openai.azure.com"],
        mode: ModeRule::ByUrl,
        reasoning: ReasoningStyle::Effort,
        names: NameRule::StripOwn,
        keys_page: "https://platform.openai.com/api-keys",
        models: &["gpt-5.4", "gpt-5.4-mini", "gpt-5.3-codex", "gpt-4.1"],
        charges: Charges::Listed("openai"),
        ..keyed("openai-api", "OpenAI API", &["OPENAI_API_KEY"], "https://api.openai.com/v1")
    },
    Provider {
        aliases: &["grok", "x-ai", "x.ai"],
        base_env: &["XAI_BASE_URL"],
        mode: ModeRule::Always(ApiMode::CodexResponses),
        names: NameRule::StripOwn,
        keys_page: "https://console.x.ai",
        models: &["grok-4.3", "grok-4", "grok-code-fast-1"],
        charges: Charges::Listed("xai"),
        ..keyed("xai", "xAI", &["XAI_API_KEY"], "https://api.x.ai/v1")
    },
    Provider {
        base_env: &["OLLAMA_HOST"],
        quirks: &[Quirk::CompatibleUnderV1],
        names: NameRule::StripOwn,
        keys_page: "https://ollama.com/download",
        models: &["qwen3:32b", "gpt-oss:20b", "glm-4.7-flash"],
        ..local("ollama", "Ollama", "http://127.0.0.1:11434/v1")
    },
    Provider {
        aliases: &["ollama_cloud"],
        base_env: &["OLLAMA_BASE_URL"],
        aux_model: Some("nemotron-3-nano:30b"),
        reasoning: ReasoningStyle::OllamaCloud,
        names: NameRule::StripOwn,
        keys_page: "https://ollama.com/settings/keys",
        models: &["glm-5", "kimi-k2.5", "gpt-oss:120b", "qwen3-coder:480b"],
        ..keyed("ollama-cloud", "Ollama Cloud", &["OLLAMA_API_KEY"], "https://ollama.com/v1")
    },
    Provider {
        aliases: &["lm-studio", "lm_studio"],
        key_env: &["LM_API_KEY"],
        base_env: &["LM_BASE_URL"],
        reasoning: ReasoningStyle::LmStudio,
        quirks: &[Quirk::CompatibleUnderV1],
        keys_page: "https://lmstudio.ai",
        ..local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1")
    },
    Provider {
        key_env: &["VLLM_API_KEY"],
        base_env: &["VLLM_BASE_URL"],
        quirks: &[Quirk::CompatibleUnderV1],
        keys_page: "https://docs.vllm.ai",
        ..local("vllm", "vLLM", "http://127.0.0.1:8000/v1")
    },
    Provider {
        aliases: &["llama.cpp", "llama-cpp"],
        key_env: &["LLAMA_API_KEY"],
        base_env: &["LLAMACPP_BASE_URL"],
        quirks: &[Quirk::CompatibleUnderV1],
        keys_page: "https://github.com/ggml-org/llama.cpp",
        ..local("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1")
    },
    Provider {
        aliases: &["azure", "azure-ai", "azure-ai-foundry"],
        base_env: &["AZURE_FOUNDRY_BASE_URL"],
        key_hosts: &["openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"],
        mode: ModeRule::Azure,
        reasoning: ReasoningStyle::Effort,
        keys_page: "https://ai.azure.com",
        ..keyed("azure-foundry", "Azure Foundry", &["AZURE_FOUNDRY_API_KEY"], "")
    },
    Provider {
        aliases: &["aws", "aws-bedrock", "amazon-bedrock", "amazon"],
        base_env: &["BEDROCK_BASE_URL"],
        key_hosts: BEDROCK_HOSTS,
        keys_page: "https://console.aws.amazon.com/bedrock/home#/api-keys",
        models: &["openai.gpt-oss-120b-1:0", "openai.gpt-oss-20b-1:0"],
        charges: Charges::Listed("anthropic"),
        ..keyed("bedrock", "AWS Bedrock", &["AWS_BEARER_TOKEN_BEDROCK"], BEDROCK_URL)
    },
    Provider {
        aliases: &["nim", "nvidia-nim", "build-nvidia", "nemotron"],
        base_env: &["NVIDIA_BASE_URL"],
        headers: &[("X-BILLING-INVOKE-ORIGIN", "HermesAgent")],
        max_tokens: Some(16_384),
        keys_page: "https://build.nvidia.com/settings/api-keys",
        models: &["nvidia/nemotron-3-super-120b-a12b", "z-ai/glm5", "openai/gpt-oss-120b"],
        ..keyed("nvidia", "NVIDIA NIM", &["NVIDIA_API_KEY"], "https://integrate.api.nvidia.com/v1")
    },
    Provider {
        base_env: &["GROQ_BASE_URL"],
        reasoning: ReasoningStyle::Effort,
        quirks: &[Quirk::StrictMessages],
        keys_page: "https://console.groq.com/keys",
        models: &["openai/gpt-oss-120b", "llama-3.3-70b-versatile", "qwen/qwen3-32b"],
        ..keyed("groq", "Groq", &["GROQ_API_KEY"], "https://api.groq.com/openai/v1")
    },
    Provider {
        aliases: &["mistralai", "mistral-ai"],
        base_env: &["MISTRAL_BASE_URL"],
        quirks: &[Quirk::StrictMessages, Quirk::NineCharacterIds],
        names: NameRule::StripOwn,
        keys_page: "https://console.mistral.ai/api-keys",
        models: &["mistral-large-latest", "mistral-medium-latest", "devstral-latest", "magistral-medium-latest"],
        charges: Charges::Listed("mistral"),
        ..keyed("mistral", "Mistral AI", &["MISTRAL_API_KEY"], "https://api.mistral.ai/v1")
    },
    Provider {
        base_env: &["CEREBRAS_BASE_URL"],
        reasoning: ReasoningStyle::Effort,
        quirks: &[Quirk::StrictMessages],
        keys_page: "https://cloud.cerebras.ai",
        models: &["gpt-oss-120b", "zai-glm-4.7", "qwen-3-235b-a22b-instruct-2507"],
        ..keyed("cerebras", "Cerebras", &["CEREBRAS_API_KEY"], "https://api.cerebras.ai/v1")
    },
    Provider {
        aliases: &["togetherai", "together-ai"],
        base_env: &["TOGETHER_BASE_URL"],
        reasoning: ReasoningStyle::Effort,
        keys_page: "https://api.together.ai/settings/api-keys",
        models: &["zai-org/GLM-5", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-V3.1"],
        ..keyed("together", "Together AI", &["TOGETHER_API_KEY"], "https://api.together.xyz/v1")
    },
    Provider {
        aliases: &["fireworks-ai", "fw"],
        aux_model: Some("accounts/fireworks/models/glm-5p2"),
        reasoning: ReasoningStyle::Effort,
        keys_page: "https://app.fireworks.ai/settings/users/api-keys",
        models: &["accounts/fireworks/models/glm-5p2", "accounts/fireworks/models/gpt-oss-120b"],
        ..keyed("fireworks", "Fireworks AI", &["FIREWORKS_API_KEY"], "https://api.fireworks.ai/inference/v1")
    },
    Provider {
        aliases: &["alibaba_coding", "alibaba-coding", "alibaba_coding_plan", "dashscope-coding"],
        base_env: &["ALIBABA_CODING_PLAN_BASE_URL"],
        names: NameRule::StripOwn,
        keys_page: "https://modelstudio.console.alibabacloud.com",
        models: &["qwen3.5-plus", "qwen3-coder-plus"],
        charges: Charges::Subscription,
        ..keyed("alibaba-coding-plan", "Alibaba Coding Plan", ALIBABA_CODING_KEYS, ALIBABA_CODING_URL)
    },
    Provider {
        aliases: &["step", "stepfun-coding-plan"],
        base_env: &["STEPFUN_BASE_URL"],
        key_hosts: &["api.stepfun.com"],
        aux_model: Some("step-3.5-flash"),
        keys_page: "https://platform.stepfun.ai",
        models: &["step-3.5-flash"],
        charges: Charges::Subscription,
        ..keyed("stepfun", "StepFun", &["STEPFUN_API_KEY"], "https://api.stepfun.ai/step_plan/v1")
    },
    Provider {
        aliases: &["arcee-ai", "arceeai"],
        base_env: &["ARCEE_BASE_URL"],
        names: NameRule::StripOwn,
        keys_page: "https://chat.arcee.ai",
        models: &["trinity-large-thinking", "trinity-mini"],
        ..keyed("arcee", "Arcee AI", &["ARCEEAI_API_KEY"], "https://api.arcee.ai/api/v1")
    },
    Provider {
        aliases: &["gmi-cloud", "gmicloud"],
        base_env: &["GMI_BASE_URL"],
        aux_model: Some("google/gemini-3.1-flash-lite-preview"),
        keys_page: "https://console.gmicloud.ai",
        models: &["zai-org/GLM-5-FP8", "deepseek-ai/DeepSeek-V4-Flash"],
        ..keyed("gmi", "GMI Cloud", &["GMI_API_KEY"], "https://api.gmi-serving.com/v1")
    },
    Provider {
        aliases: &["mimo", "xiaomi-mimo"],
        base_env: &["XIAOMI_BASE_URL"],
        quirks: &[Quirk::EchoReasoning, Quirk::TextToolResults, Quirk::LowercaseModel],
        names: NameRule::StripOwn,
        keys_page: "https://platform.xiaomimimo.com",
        models: &["mimo-v2.5-pro", "mimo-v2.5"],
        ..keyed("xiaomi", "Xiaomi MiMo", &["XIAOMI_API_KEY"], "https://api.xiaomimimo.com/v1")
    },
    Provider {
        aliases: &["tencent", "tokenhub", "tencent-cloud", "tencentmaas"],
        base_env: &["TOKENHUB_BASE_URL"],
        aux_model: Some("hy3-preview"),
        reasoning: ReasoningStyle::Tokenhub,
        keys_page: "https://tokenhub.tencentmaas.com",
        models: &["hy3-preview"],
        ..keyed("tencent-tokenhub", "Tencent TokenHub", &["TOKENHUB_API_KEY"], "https://tokenhub.tencentmaas.com/v1")
    },
    Provider {
        aliases: &["deep-infra", "deepinfra-ai"],
        base_env: &["DEEPINFRA_BASE_URL"],
        aux_model: Some("deepseek-ai/DeepSeek-V4-Flash"),
        keys_page: "https://deepinfra.com/dash/api_keys",
        models: &["deepseek-ai/DeepSeek-V4-Flash", "zai-org/GLM-5", "openai/gpt-oss-120b"],
        ..keyed("deepinfra", "DeepInfra", &["DEEPINFRA_API_KEY"], "https://api.deepinfra.com/v1/openai")
    },
    Provider {
        aliases: &["novita-ai", "novitaai"],
        base_env: &["NOVITA_BASE_URL"],
        aux_model: Some("deepseek/deepseek-v3-0324"),
        keys_page: "https://novita.ai/settings/key-management",
        models: &["zai-org/glm-5", "deepseek/deepseek-v3-0324"],
        ..keyed("novita", "NovitaAI", &["NOVITA_API_KEY"], "https://api.novita.ai/openai/v1")
    },
    Provider {
        aliases: &["solar"],
        base_env: &["UPSTAGE_BASE_URL"],
        reasoning: ReasoningStyle::Upstage,
        keys_page: "https://console.upstage.ai/api-keys",
        models: &["solar-pro3", "solar-pro2", "solar-mini"],
        ..keyed("upstage", "Upstage Solar", &["UPSTAGE_API_KEY"], "https://api.upstage.ai/v1")
    },
];

const GEMINI_URL: &str = "https://generativelanguage.googleapis.com/v1beta/openai";
const ALIBABA_CODING_URL: &str = "https://coding-intl.dashscope.aliyuncs.com/v1";
const BEDROCK_URL: &str = "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1";

const COPILOT_KEYS: &[&str] = &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
const ANTHROPIC_KEYS: &[&str] = &["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
const ALIBABA_CODING_KEYS: &[&str] = &["ALIBABA_CODING_PLAN_API_KEY", "DASHSCOPE_API_KEY"];

/// Named one by one: anybody can rent a host below `amazonaws.com`.
const BEDROCK_HOSTS: &[&str] = &[
    "bedrock-runtime.us-east-2.amazonaws.com",
    "bedrock-runtime.us-west-2.amazonaws.com",
    "bedrock-runtime.ca-central-1.amazonaws.com",
    "bedrock-runtime.sa-east-1.amazonaws.com",
    "bedrock-runtime.eu-central-1.amazonaws.com",
    "bedrock-runtime.eu-north-1.amazonaws.com",
    "bedrock-runtime.eu-west-1.amazonaws.com",
    "bedrock-runtime.eu-west-2.amazonaws.com",
    "bedrock-runtime.eu-west-3.amazonaws.com",
    "bedrock-runtime.ap-northeast-1.amazonaws.com",
    "bedrock-runtime.ap-south-1.amazonaws.com",
    "bedrock-runtime.ap-southeast-1.amazonaws.com",
    "bedrock-runtime.ap-southeast-2.amazonaws.com",
];

/// A vendor that is reached with a key.
const fn keyed(
    id: &'static str,
    label: &'static str,
    key_env: &'static [&'static str],
    base_url: &'static str,
) -> Provider {
    Provider { id, label, key_env, base_url, ..COMPATIBLE }
}

/// A server the person runs.
const fn local(id: &'static str, label: &'static str, base_url: &'static str) -> Provider {
    Provider { auth: AuthKind::OptionalKey, reasoning: ReasoningStyle::Custom, ..keyed(id, label, &[], base_url) }
}

const fn kimi(
    id: &'static str,
    label: &'static str,
    key_env: &'static [&'static str],
    base_url: &'static str,
) -> Provider {
    Provider {
        mode: ModeRule::ByUrl,
        aux_model: Some("kimi-k2-turbo-preview"),
        reasoning: ReasoningStyle::Kimi,
        quirks: &[Quirk::EchoReasoning, Quirk::NoTemperature],
        names: NameRule::StripOwn,
        max_tokens: Some(32_000),
        models: &["kimi-k2.5", "kimi-k2-turbo-preview", "kimi-k2-thinking"],
        ..keyed(id, label, key_env, base_url)
    }
}

const fn minimax(
    id: &'static str,
    label: &'static str,
    key_env: &'static [&'static str],
    base_url: &'static str,
) -> Provider {
    Provider {
        mode: ModeRule::ByUrl,
        aux_model: Some("MiniMax-M3"),
        charges: Charges::Listed("minimax"),
        reasoning: ReasoningStyle::MiniMax,
        quirks: &[Quirk::BearerOnMessages, Quirk::TakesReasoningDetails],
        names: NameRule::StripOwn,
        models: &["MiniMax-M3", "MiniMax-M2.7"],
        ..keyed(id, label, key_env, base_url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use url::Url;

    #[test]
    fn every_name_leads_to_one_row() {
        let mut seen = BTreeSet::new();
        for row in PROVIDERS {
            for name in std::iter::once(&row.id).chain(row.aliases) {
                assert!(seen.insert(*name), "`{name}` stands twice");
                assert_eq!(*name, name.to_ascii_lowercase(), "names are looked up in lower case");
                assert_eq!(Provider::find(name).map(|found| found.id), Some(row.id), "{name}");
            }
        }
    }

    #[test]
    fn every_endpoint_is_https_unless_it_is_local() {
        for row in PROVIDERS.iter().filter(|row| !row.base_url.is_empty()) {
            let url = Url::parse(row.base_url).expect(row.id);
            let scheme = match row.auth {
                AuthKind::OptionalKey => "http",
                AuthKind::ExternalProcess => "acp",
                _ => "https",
            };
            assert_eq!(url.scheme(), scheme, "{}", row.id);
            assert!(!row.base_url.ends_with('/'), "{}", row.id);
            assert_eq!(row.is_self_hosted(), url.host_str() == Some("127.0.0.1"), "{}", row.id);
        }
        let homeless: Vec<&str> = PROVIDERS.iter().filter(|row| row.base_url.is_empty()).map(|row| row.id).collect();
        assert_eq!(homeless, ["custom", "azure-foundry"], "only these need an address from the person");
    }

    #[test]
    fn every_row_can_be_offered_to_a_person() {
        let is_variable = |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        for row in PROVIDERS {
            assert!(!row.label.is_empty(), "{}", row.id);
            assert!(row.key_env.iter().chain(row.base_env).all(|name| is_variable(name)), "{}", row.id);
            let needs_key = matches!(row.auth, AuthKind::ApiKey | AuthKind::Anthropic | AuthKind::CopilotToken);
            assert!(!needs_key || !row.key_env.is_empty(), "{} needs a variable for its key", row.id);
            assert!(row.id == "custom" || row.keys_page.starts_with("https://"), "{}", row.id);
            let offers = !row.models.is_empty();
            assert!(offers || row.is_self_hosted() || row.base_url.is_empty(), "{} offers no model", row.id);
            for host in row.key_hosts {
                assert!(host.contains('.') && !host.contains('/'), "{}: {host}", row.id);
            }
        }
    }

    #[test]
    fn every_known_key_variable_has_a_home() {
        let known: BTreeSet<&str> = PROVIDERS.iter().flat_map(|row| row.key_env).copied().collect();
        for name in [
            "AI_GATEWAY_API_KEY",
            "OPENROUTER_API_KEY",
            "COPILOT_GITHUB_TOKEN",
            "ANTHROPIC_API_KEY",
            "GOOGLE_API_KEY",
            "GEMINI_API_KEY",
            "DASHSCOPE_API_KEY",
            "DEEPSEEK_API_KEY",
            "GLM_API_KEY",
            "KIMI_API_KEY",
            "KIMI_CN_API_KEY",
            "MINIMAX_API_KEY",
            "MINIMAX_CN_API_KEY",
            "KILOCODE_API_KEY",
            "HF_TOKEN",
            "OPENCODE_ZEN_API_KEY",
            "OPENCODE_GO_API_KEY",
            "OPENAI_API_KEY",
            "XAI_API_KEY",
            "LM_API_KEY",
            "OLLAMA_API_KEY",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AZURE_FOUNDRY_API_KEY",
            "NVIDIA_API_KEY",
            "GROQ_API_KEY",
            "MISTRAL_API_KEY",
            "CEREBRAS_API_KEY",
            "TOGETHER_API_KEY",
            "FIREWORKS_API_KEY",
        ] {
            assert!(known.contains(name), "{name}");
        }
    }
}
