/*
 * builtin.c - built-in providers, with their addresses and protocols.
 *
 * Runs in:  reckon, reckond and tests.
 * Reads:    nothing.
 * Never:    names a model: such names become outdated.
 */
#include <string.h>

#include "base/cleanup.h"
#include "models/models.h"

#define CHAT AGENT_PROTOCOL_CHAT
#define TOOLS AGENT_CALLING_TOOLS
#define FENCED AGENT_CALLING_FENCED

/* The services that a protocol comes from first, then compatible ones. */
static const struct models_builtin builtins[] = {
	{ "openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY", CHAT, TOOLS,
	  true, AGENT_LIMIT_AUTO, AGENT_ECHO_AUTO },
	{ "openai-responses", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY",
	  AGENT_PROTOCOL_RESPONSES, TOOLS, true, AGENT_LIMIT_AUTO, AGENT_ECHO_AUTO },
	{ "anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY",
	  AGENT_PROTOCOL_MESSAGES, TOOLS, true, AGENT_LIMIT_AUTO, AGENT_ECHO_AUTO },
	{ "gemini", "https://generativelanguage.googleapis.com", "GEMINI_BASE_URL",
	  "GEMINI_API_KEY", AGENT_PROTOCOL_GEMINI, TOOLS, true, AGENT_LIMIT_AUTO, AGENT_ECHO_AUTO },
	/* One local server under three protocols; its address is known once it runs. */
	{ "local", NULL, NULL, NULL, CHAT, FENCED, false, AGENT_LIMIT_AUTO, AGENT_ECHO_AUTO },
	{ "local-responses", NULL, NULL, NULL, AGENT_PROTOCOL_RESPONSES, FENCED, false,
	  AGENT_LIMIT_AUTO, AGENT_ECHO_AUTO },
	{ "local-messages", NULL, NULL, NULL, AGENT_PROTOCOL_MESSAGES, FENCED, false,
	  AGENT_LIMIT_AUTO, AGENT_ECHO_AUTO },
	/* Servers on this host, without a key. */
	{ "ollama", "http://localhost:11434/v1", "OLLAMA_BASE_URL", NULL, CHAT, TOOLS, false,
	  AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
	{ "lmstudio", "http://localhost:1234/v1", "LMSTUDIO_BASE_URL", NULL, CHAT, TOOLS, false,
	  AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
	{ "vllm", "http://localhost:8000/v1", "VLLM_BASE_URL", NULL, CHAT, TOOLS, false,
	  AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
	/* Services. */
	{ "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", "OPENROUTER_API_KEY",
	  CHAT, TOOLS, false, AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
	{ "deepseek", "https://api.deepseek.com", "DEEPSEEK_BASE_URL", "DEEPSEEK_API_KEY", CHAT,
	  TOOLS, false, AGENT_LIMIT_TOKENS, AGENT_ECHO_ALL },
	{ "mistral", "https://api.mistral.ai/v1", "MISTRAL_BASE_URL", "MISTRAL_API_KEY", CHAT, TOOLS,
	  false, AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
	/* The account's name is part of the address: https://NAME.openai.azure.com/openai/v1 */
	{ "azure", "", "AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", AGENT_PROTOCOL_RESPONSES,
	  TOOLS, true, AGENT_LIMIT_COMPLETION, AGENT_ECHO_AUTO },
	/* https://bedrock-runtime.REGION.amazonaws.com/openai/v1 */
	{ "bedrock", "", "BEDROCK_BASE_URL", "AWS_BEARER_TOKEN_BEDROCK", CHAT, TOOLS, false,
	  AGENT_LIMIT_COMPLETION, AGENT_ECHO_AUTO },
	/* https://aiplatform.googleapis.com/v1/projects/P/locations/global/endpoints/openapi */
	{ "vertex", "", "VERTEX_BASE_URL", "VERTEX_ACCESS_TOKEN", CHAT, TOOLS, true,
	  AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
};

const struct models_builtin *models_builtin_at(size_t index)
{
	return index < ARRAY_LEN(builtins) ? &builtins[index] : NULL;
}

size_t models_builtin_count(void)
{
	return ARRAY_LEN(builtins);
}

const struct models_builtin *models_builtin_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(builtins); i++)
		if (strlen(builtins[i].name) == len && memcmp(builtins[i].name, name, len) == 0)
			return &builtins[i];
	return NULL;
}
