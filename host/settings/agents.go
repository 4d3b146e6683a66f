package settings

import (
	"maps"

	"hostshim/host/wire"
	"hostshim/shim"
)

// Agents other than Claude Code. Each was tried as its package of npm has it: docs/agents.md names the versions, and the
// scripts a03-* run them. Common to all: the pairing stands in the variable in which the program looks for its key, the
// program's folders are moved below the host's data folder, and what would reach for other hosts than the model's is off,
// since a closed network makes each such attempt a wait.

// codex is OpenAI's Codex.
var codex = Agent{
	Name: "Codex", Command: "codex", ConfigVar: "CODEX_HOME", Folder: "codex", Package: "@openai/codex",
	Client:      Client{Upstream: "https://api.openai.com", Auth: "bearer"},
	Subcommands: []string{"exec", "e", "review", "resume", "fork", "apply", "a", "mcp", "features", "completion", "help"},
}

// codexArgs: it takes no base URL from the environment. They stand before what a person says, which wins.
var codexArgs = []string{
	"-c", `model_provider="host"`,
	"-c", `model_providers.host.name="host"`,
	"-c", `model_providers.host.base_url="` + BaseURLMark + `/v1"`,
	"-c", `model_providers.host.env_key="OPENAI_API_KEY"`,
	"-c", `model_providers.host.wire_api="responses"`,
	// Its own sandbox cannot be made inside ours: every tool call would fail.
	"-c", `sandbox_mode="danger-full-access"`,
	// Each end would wait some seconds for what cannot be sent.
	"-c", "analytics.enabled=false",
	"-c", "check_for_update_on_startup=false",
}

// opencode is sst's. It has no variable for one folder of its own.
var opencode = Agent{
	Name: "opencode", Command: "opencode", ConfigVar: "XDG_CONFIG_HOME", Folder: "opencode", Package: "opencode-ai", Installer: "postinstall.mjs",
	Client:      Client{Upstream: "https://api.openai.com", Auth: "bearer"},
	Subcommands: []string{"run", "models", "session", "stats", "export", "import", "agent", "mcp", "debug"},
	Folders:     map[string]string{"XDG_DATA_HOME": "data"},
	Env: map[string]string{
		"OPENCODE_DISABLE_AUTOUPDATE":   "1",
		"OPENCODE_DISABLE_MODELS_FETCH": "1", // the list that it comes with
		"OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
		"OPENCODE_DISABLE_SHARE":        "1",
	},
}

// opencodeConfig is laid over a person's own configuration. Other providers cannot be reached.
const opencodeConfig = `{"enabled_providers": ["openai"], "provider": {"openai": {"options": {"baseURL": "` + BaseURLMark + `/v1", "apiKey": "{env:OPENAI_API_KEY}"}}}}`

// gemini is Google's Gemini CLI.
var gemini = Agent{
	Name: "Gemini CLI", Command: "gemini", ConfigVar: "GEMINI_CLI_HOME", Folder: "gemini", Package: "@google/gemini-cli",
	Client:      Client{Upstream: "https://generativelanguage.googleapis.com", Auth: "x-goog-api-key"},
	Subcommands: []string{"mcp", "extensions", "skills", "hooks"},
	// With a base URL in the environment it takes another way to log in, which it then refuses. No variable says
	// otherwise, and a file of the system's has to be root's.
	FirstFile: ".gemini/settings.json",
	FirstText: `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}, ` +
		`"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}}` + "\n",
}

// qwen is Alibaba's Qwen Code.
var qwen = Agent{
	Name: "Qwen Code", Command: "qwen", ConfigVar: "QWEN_HOME", Folder: "qwen", Package: "@qwen-code/qwen-code",
	Client:      Client{Upstream: "https://dashscope.aliyuncs.com/compatible-mode", Auth: "bearer"},
	Subcommands: []string{"mcp", "extensions", "auth", "hooks", "sessions"},
	FirstFile:   "settings.json",
	FirstText:   `{"general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}}` + "\n",
}

// copilot is GitHub's Copilot CLI, with a key of one's own in place of a login at GitHub.
var copilot = Agent{
	Name: "Copilot CLI", Command: "copilot", ConfigVar: "COPILOT_HOME", Folder: "copilot", Package: "@github/copilot",
	Client:      Client{Upstream: "https://api.openai.com", Auth: "bearer"},
	Subcommands: []string{"mcp", "plugin", "help", "version"},
	Folders:     map[string]string{"COPILOT_CACHE_HOME": "cache"}, // where it unpacks itself at its first start
	Env:         map[string]string{"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"},
}

// Agents are all that the pair knows.
func Agents() []*Agent { return []*Agent{&Claude, &codex, &opencode, &gemini, &qwen, &copilot} }

// brokeredAgents are the built-in templates for them, which read reads where it is there.
func brokeredAgents(reads []string) []Template {
	brokered := func(id string, a *Agent, args []string, env map[string]string) Template {
		return Template{ID: id, Name: a.Name, Command: a.Command, Args: args, Env: maps.Clone(env), Agent: a, ReadIfThere: reads,
			Network: shim.NetworkModel, Credential: wire.CredentialPairing}
	}
	const v1 = BaseURLMark + "/v1"
	return []Template{
		brokered("codex", &codex, codexArgs, map[string]string{"OPENAI_API_KEY": PairingMark}),
		brokered("opencode", &opencode, nil, map[string]string{"OPENAI_API_KEY": PairingMark, "OPENCODE_CONFIG_CONTENT": opencodeConfig}),
		brokered("gemini", &gemini, nil, map[string]string{"GEMINI_API_KEY": PairingMark, "GOOGLE_GEMINI_BASE_URL": BaseURLMark}),
		brokered("qwen", &qwen, nil, map[string]string{"OPENAI_API_KEY": PairingMark, "OPENAI_BASE_URL": v1, "OPENAI_MODEL": "qwen3-coder-plus"}),
		brokered("copilot", &copilot, nil, map[string]string{"COPILOT_PROVIDER_API_KEY": PairingMark, "COPILOT_PROVIDER_BASE_URL": v1,
			"COPILOT_PROVIDER_TYPE": "openai", "COPILOT_PROVIDER_WIRE_API": "responses", "COPILOT_MODEL": "gpt-5.4"}),
	}
}
