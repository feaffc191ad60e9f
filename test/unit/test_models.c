/*
 * test_models.c - models.ini: accepted values, refused values and their messages, precedence of
 * settings, where keys may be stored.
 *
 * Runs in:  the unit suite.
 * Reads:    texts of its own, files it makes.
 * Never:    reads the configuration or the environment of this machine.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "models/models.h"

static struct ini_problems problems;
static struct err err;

static struct models *parse(const char *text)
{
	struct models *models = NULL;

	assert_ok(&err, models_parse(text, strlen(text), true, &models, &problems, &err));
	return models;
}

static void refuse(const char *text, unsigned line, const char *words)
{
	struct models *models = NULL;

	err_clear(&err);
	assert_int_equal(models_parse(text, strlen(text), false, &models, &problems, &err),
			 ERR_INVALID);
	assert_null(models);
	assert_true(problems.count > 0);
	if (problems.list[0].line != line || strstr(problems.list[0].text, words) == NULL)
		fail_msg("line %u: %s", problems.list[0].line, problems.list[0].text);
}

#define WORK "[provider work]\nprotocol = messages\nbase-url = https://llm.example/v1\n"

/* The environment of a test: a list of NAME=VALUE. */
static const char *const *environment;

static const char *env(const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; environment != NULL && environment[i] != NULL; i++)
		if (strncmp(environment[i], name, len) == 0 && environment[i][len] == '=')
			return environment[i] + len + 1;
	return NULL;
}

static int choose(const struct models *models, const char *model, const char *base_url,
		  struct models_choice *ret)
{
	const struct models_query query = { .model = model, .base_url = base_url, .env = env };

	err_clear(&err);
	return models_choose(models, &query, ret, &err);
}

/* ---- the text ---- */

UNIT_TEST(a_file_is_parsed)
{
	struct models *models = parse(
		"\xef\xbb\xbf; ours\n\n[default] # of all\nmodel = work/big\nbudget = 0.5\n"
		"max-time = 2m\n" WORK "key_env = WORK_KEY\nimages = yes\ncalling = schema\r\n"
		"context: 32000 ; small\n"
		"[model work/a-name/that-is-longer-than-inih-takes-which-is-49-bytes:free]\n"
		"price-in = 1.25\nprice_out = 10\nprice-cached = .125\n");
	const struct models_entry *entry;

	assert_int_equal(models->count, 3);
	entry = models_entry_find(models, MODELS_DEFAULT, "", 0);
	assert_string_equal(entry->model, "work/big");
	assert_int_equal(entry->budget_micro, 500000);
	assert_int_equal(entry->wall_ms, 120000);
	entry = models_entry_find(models, MODELS_PROVIDER, "work", 4);
	assert_int_equal(entry->line, 7);
	assert_int_equal(entry->protocol, AGENT_PROTOCOL_MESSAGES);
	assert_string_equal(entry->base_url, "https://llm.example/v1");
	assert_string_equal(entry->key_env, "WORK_KEY");
	assert_int_equal(entry->images, 1);
	assert_int_equal(entry->calling, AGENT_CALLING_SCHEMA);
	assert_int_equal(entry->context_tokens, 32000);
	assert_true(entry->answer_tokens == MODELS_UNSET && entry->price_in == MODELS_UNSET);
	entry = models->entries[2];
	assert_string_equal(entry->name,
			    "work/a-name/that-is-longer-than-inih-takes-which-is-49-bytes:free");
	assert_int_equal(entry->price_in, 1250000);
	assert_int_equal(entry->price_cached, 125000);
	assert_int_equal(entry->price_out, 10000000);
	models_free(models);
	models_free(parse(""));
}

UNIT_TEST(each_mistake_is_reported_with_its_line)
{
	char text[400];

	refuse("model = x\n", 1, "before the first section");
	refuse("[default]\nmodle = openai/x\n", 2, "\"modle\" is not known");
	refuse("[defaults]\n", 1, "a section is");
	refuse("[provider a b]\n", 1, "a section is");
	refuse("[provider x\n", 1, "a section is");
	refuse("[model openai]\n", 1, "a section is");
	refuse("[model openai/a b]\n", 1, "a section is");
	refuse("[default]\nnonsense\n", 2, "neither [section] nor key");
	refuse("[default]\n\n[default]\n", 3, "was there before");
	refuse(WORK "base_url = http://x\n", 4, "was given before");
	refuse("[default]\nkey-env = X\n", 2, "has no place in [default]");
	refuse("[default]\nmodel = a\n model = b\n", 3, "begins with a space");
	refuse("[provider work]\nprotocol = chat\n", 1, "needs \"base-url\"");
	refuse("[provider work]\nbase-url = http://x\n", 1, "needs \"protocol\"");
	refuse("[provider work]\nprotocol = carrier-pigeon\n", 2, "chat responses messages gemini");
	refuse("[provider openai]\nprotocol = chat\n", 1, "built in");
	refuse("[provider local]\nbase-url = http://x\n", 1, "neither address nor key");
	refuse("[provider w]\nbase-url = ftp://x\n", 2, "invalid address");
	refuse("[provider w]\nbase-url = https://me:secret@x/v1\n", 2, "no name and password");
	refuse("[provider w]\nbase-url = https://x/v1?key=1\n", 2, "'?'");
	refuse("[provider w]\nkey-env = A-B\n", 2, "name of a variable");
	refuse("[provider w]\nkey-file = key\n", 2, "a path from /");
	refuse("[provider openai]\nanswer-limit = 7\n", 2, "max_completion_tokens");
	refuse("[provider openai]\necho-thoughts = yes\n", 2, "auto all none");
	refuse("[provider openai]\nheaders = X-Title\n", 2, "NAME: VALUE");
	refuse("[provider openai]\nheaders = X-Title: a | b\n", 2, "NAME: VALUE");
	refuse("[provider openai]\nheaders = X Y: a\n", 2, "NAME: VALUE");
	refuse("[provider openai]\nheaders = X-A: a | CONTENT-length: 0\n", 2, "set by Reckon");
	refuse("[provider openai]\nkey = sk-1\n", 2, "others can read");
	refuse("[provider openai]\nkey-env = A\ncontext = 0\n", 3, "from 1 to");
	refuse("[provider openai]\ncontext = 1k\n", 2, "takes a number");
	refuse("[provider openai]\nprice-in = 1,5\n", 2, "an amount");
	refuse("[provider openai]\nprice-in = 0.0000001\n", 2, "an amount");
	refuse("[provider openai]\nprice-in = 1\n", 1, "go together");
	refuse("[provider openai]\nprice-cached = 1\n", 1, "needs");
	refuse("[model work/x]\n", 1, "neither built in nor in this file");
	refuse("[default]\nmodel = work/x\n", 1, "no provider");
	(void)snprintf(text, sizeof(text), "[default]\n%0300d = 1\n", 0);
	refuse(text, 2, "too long");
	refuse("[nonsense]\nx = 1\n[default]\ny = 2\n", 1, "a section is");
	assert_int_equal(problems.count, 3); /* every problem, not only the first */
	assert_int_equal(problems.list[2].line, 4);
}

UNIT_TEST(messages_never_contain_a_key)
{
	static const char text[] = "[provider openai]\nkey = sk-4711\nkey = sk-4711\nkey-file = /x\n";
	struct models *models = NULL;

	for (int secret = 0; secret < 2; secret++) {
		assert_err(&err, ERR_INVALID, models_parse(text, sizeof(text) - 1, secret != 0,
							   &models, &problems, &err));
		assert_null(strstr(err.text, "4711"));
		for (unsigned i = 0; i < problems.count; i++)
			assert_null(strstr(problems.list[i].text, "4711"));
	}
}

UNIT_TEST(amounts_are_exact)
{
	static const struct {
		const char *text;
		uint64_t value;
		bool good;
	} cases[] = {
		{ "0", 0, true }, { "1.25", 1250000, true }, { ".5", 500000, true },
		{ "3.", 3000000, true }, { "0.000001", 1, true },
		{ "1000000", UINT64_C(1000000000000), true }, { "1000001", 0, false },
		{ "1000000.1", 0, false }, { "", 0, false }, { ".", 0, false }, { "-1", 0, false },
		{ "1e3", 1000000, true }, { "99999999999999999999999", 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *end = NULL;
		uint64_t value = 7;

		if (models_amount_read(cases[i].text, &end, &value) != cases[i].good)
			fail_msg("%s", cases[i].text);
		assert_int_equal(value, cases[i].good ? cases[i].value : 7);
	}
}

/* ---- the choice ---- */

UNIT_TEST(flag_before_environment_before_file_before_built_in)
{
	struct models *models = parse("[default]\nmodel = openai/of-the-file\n"
				      "[provider openai]\nbase-url = http://file/v1\nmodel = own\n");
	static const char *const with[] = { "RECKON_MODEL=openai/of-the-environment",
					    "OPENAI_BASE_URL=http://environment/v1",
					    "OPENAI_API_KEY=sk-e", NULL };
	struct models_choice choice;

	environment = with;
	assert_ok(&err, choose(models, "openai/of-the-flag", "http://flag/v1", &choice));
	assert_string_equal(choice.model, "of-the-flag");
	assert_string_equal(choice.base_url, "http://flag/v1");
	assert_string_equal(choice.key, "sk-e");
	assert_string_equal(choice.key_from, "OPENAI_API_KEY");
	models_choice_done(&choice);
	assert_ok(&err, choose(models, NULL, NULL, &choice));
	assert_string_equal(choice.model, "of-the-environment");
	assert_string_equal(choice.base_url, "http://environment/v1");
	assert_false(choice.is_own);
	models_choice_done(&choice);
	environment = NULL;
	assert_ok(&err, choose(models, NULL, NULL, &choice));
	assert_string_equal(choice.model, "of-the-file");
	assert_string_equal(choice.base_url, "http://file/v1");
	assert_string_equal(choice.key, "");
	models_choice_done(&choice);
	assert_ok(&err, choose(models, "openai", NULL, &choice));
	assert_string_equal(choice.model, "own");
	models_choice_done(&choice);
	environment = (const char *const[]){ "OPENAI_API_KEY=sk-e", NULL };
	assert_ok(&err, choose(NULL, "openai/x", NULL, &choice));
	assert_string_equal(choice.base_url, "https://api.openai.com/v1");
	assert_true(choice.is_own);
	models_choice_done(&choice);
	models_free(models);
}

UNIT_TEST(an_incomplete_choice_of_a_model_is_refused)
{
	struct models *models = parse(WORK "key-env = WORK_KEY\n");
	struct models_choice choice;

	environment = NULL;
	assert_int_equal(choose(models, NULL, NULL, &choice), ERR_INVALID);
	models_choice_done(&choice);
	assert_int_equal(choose(models, "nobody/x", NULL, &choice), ERR_INVALID);
	models_choice_done(&choice);
	assert_int_equal(choose(models, "work/", NULL, &choice), ERR_INVALID);
	models_choice_done(&choice);
	assert_int_equal(choose(models, "work", NULL, &choice), ERR_INVALID);
	assert_non_null(strstr(err.remedy, "[provider work]"));
	models_choice_done(&choice);
	assert_int_equal(choose(models, "work/x", NULL, &choice), ERR_INVALID);
	assert_string_equal(err.remedy, "set WORK_KEY");
	models_choice_done(&choice);
	assert_int_equal(choose(NULL, "anthropic/x", NULL, &choice), ERR_INVALID);
	assert_non_null(strstr(err.remedy, "ANTHROPIC_API_KEY"));
	models_choice_done(&choice);
	assert_int_equal(choose(NULL, "local/x", "http://x", &choice), ERR_INVALID);
	models_choice_done(&choice);
	assert_int_equal(choose(NULL, "openai/x", "localhost", &choice), ERR_INVALID);
	models_choice_done(&choice);
	models_free(models);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_ok(&err, fd_write_full(fd, text, strlen(text), &err));
	assert_int_equal(fchmod(fd, mode), 0);
}

UNIT_TEST(a_key_can_come_from_a_key_file)
{
	char dir[64], key_file[100], text[300];
	struct models_choice choice;
	struct models *models;

	environment = NULL;
	unit_mkdir(dir);
	(void)snprintf(key_file, sizeof(key_file), "%s/key", dir);
	(void)snprintf(text, sizeof(text), WORK "key-file = %s\n", key_file);
	models = parse(text);
	assert_int_equal(choose(models, "work/x", NULL, &choice), ERR_SYSTEM);
	models_choice_done(&choice);
	write_file(key_file, "sk-file-1\r\n", 0600);
	assert_ok(&err, choose(models, "work/x", NULL, &choice));
	assert_string_equal(choice.key, "sk-file-1");
	assert_string_equal(choice.key_from, "key-file");
	models_choice_done(&choice);
	write_file(key_file, "sk-file-1\n", 0644);
	assert_int_equal(choose(models, "work/x", NULL, &choice), ERR_DENIED);
	assert_null(strstr(err.text, "sk-file"));
	models_choice_done(&choice);
	write_file(key_file, "sk-file-1\nsk-file-2\n", 0600);
	assert_int_equal(choose(models, "work/x", NULL, &choice), ERR_INVALID);
	assert_null(strstr(err.text, "sk-file"));
	models_choice_done(&choice);
	write_file(key_file, "\n", 0600);
	assert_int_equal(choose(models, "work/x", NULL, &choice), ERR_INVALID);
	models_choice_done(&choice);
	models_free(models);
	unit_rmdir(dir);
}

UNIT_TEST(a_file_that_others_can_access_is_refused)
{
	struct models *models = NULL;
	char dir[64], path[100];

	unit_mkdir(dir);
	(void)snprintf(path, sizeof(path), "%s/models.ini", dir);
	assert_ok(&err, models_load(path, false, &models, &problems, &err));
	assert_int_equal(models->count, 0);
	models_free(models);
	models = NULL;
	assert_err(&err, ERR_SYSTEM, models_load(path, true, &models, &problems, &err));
	write_file(path, "[provider openai]\nkey = sk-1\n", 0600);
	assert_ok(&err, models_load(path, true, &models, &problems, &err));
	assert_string_equal(models->entries[0]->key, "sk-1");
	models_free(models);
	models = NULL;
	write_file(path, "[provider openai]\nkey = sk-1\n", 0640);
	assert_err(&err, ERR_INVALID, models_load(path, true, &models, &problems, &err));
	write_file(path, "[default]\n", 0666);
	assert_err(&err, ERR_DENIED, models_load(path, true, &models, &problems, &err));
	assert_err(&err, ERR_INVALID, models_load(dir, true, &models, &problems, &err));
	unit_rmdir(dir);
}

/* ---- settings ---- */

UNIT_TEST(the_most_specific_setting_applies)
{
	struct models *models = parse("[default]\ncontext = 1000\nretries = 0\nbudget = 2\n" WORK
				      "context = 2000\nprice-in = 1\nprice-out = 2\n"
				      "[model work/m]\ncontext = 3000\nprice-in = 4\nprice-out = 5\n"
				      "price-cached = 0\nimages = yes\n");
	struct agent_settings settings;
	struct models_choice choice;

	environment = NULL;
	assert_ok(&err, choose(models, "work/m", NULL, &choice));
	models_settings_init(&settings);
	assert_ok(&err, models_fill(&choice, &settings, &err));
	assert_int_equal(settings.context_tokens, 3000);
	assert_int_equal(settings.retries, 0);
	assert_int_equal(settings.price_in, 4000000);
	assert_int_equal(settings.price_cached, 0);
	assert_int_equal(settings.budget_micro, 2000000);
	assert_int_equal(settings.images, 1);
	assert_int_equal(settings.steps_max, 8);
	assert_int_equal(settings.protocol, AGENT_PROTOCOL_MESSAGES);
	assert_int_equal(settings.calling, AGENT_CALLING_TOOLS);
	models_settings_init(&settings);
	settings.context_tokens = 7;
	settings.price_in = settings.price_out = 1;
	assert_ok(&err, models_fill(&choice, &settings, &err));
	assert_int_equal(settings.context_tokens, 7);
	assert_int_equal(settings.price_cached, 1);
	models_choice_done(&choice);
	assert_ok(&err, choose(models, "work/other", NULL, &choice));
	models_settings_init(&settings);
	assert_ok(&err, models_fill(&choice, &settings, &err));
	assert_int_equal(settings.context_tokens, 2000);
	assert_int_equal(settings.price_out, 2000000);
	assert_int_equal(settings.price_cached, 1000000);
	assert_int_equal(settings.images, 0);
	models_choice_done(&choice);
	models_free(models);
}

UNIT_TEST(a_budget_needs_a_price)
{
	struct models *models = parse("[default]\nbudget = 2\n");
	struct agent_settings settings;
	struct models_choice choice;

	environment = NULL;
	assert_ok(&err, choose(models, "openai/x", "http://x", &choice));
	models_settings_init(&settings);
	assert_int_equal(models_fill(&choice, &settings, &err), ERR_INVALID);
	models_choice_done(&choice);
	assert_ok(&err, choose(models, "local/x", NULL, &choice));
	models_settings_init(&settings);
	assert_ok(&err, models_fill(&choice, &settings, &err));
	assert_int_equal(settings.budget_micro, 0);
	assert_int_equal(settings.context_tokens, 8192);
	assert_int_equal(settings.calling, AGENT_CALLING_FENCED);
	models_settings_init(&settings);
	settings.budget_micro = 1;
	assert_int_equal(models_fill(&choice, &settings, &err), ERR_INVALID);
	assert_string_equal(err.text, "--budget needs --price");
	models_choice_done(&choice);
	models_free(models);
}

/* The built-in values, without a file; some addresses come from the environment. */
UNIT_TEST(presets_need_at_most_a_key_and_an_address)
{
	static const struct {
		const char *provider, *set[3], *url, *key;
		enum agent_protocol protocol;
		enum agent_limit limit;
		enum agent_echo echo;
	} presets[] = {
		{ "ollama", { NULL }, "http://localhost:11434/v1", "", AGENT_PROTOCOL_CHAT,
		  AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
		{ "lmstudio", { NULL }, "http://localhost:1234/v1", "", AGENT_PROTOCOL_CHAT,
		  AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
		{ "vllm", { "VLLM_BASE_URL=http://gpu:8000/v1", NULL }, "http://gpu:8000/v1", "",
		  AGENT_PROTOCOL_CHAT, AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
		{ "openrouter", { "OPENROUTER_API_KEY=k", NULL }, "https://openrouter.ai/api/v1", "k",
		  AGENT_PROTOCOL_CHAT, AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
		{ "deepseek", { "DEEPSEEK_API_KEY=k", NULL }, "https://api.deepseek.com", "k",
		  AGENT_PROTOCOL_CHAT, AGENT_LIMIT_TOKENS, AGENT_ECHO_ALL },
		{ "mistral", { "MISTRAL_API_KEY=k", NULL }, "https://api.mistral.ai/v1", "k",
		  AGENT_PROTOCOL_CHAT, AGENT_LIMIT_TOKENS, AGENT_ECHO_AUTO },
		{ "azure", { "AZURE_OPENAI_API_KEY=k", "AZURE_OPENAI_BASE_URL=https://a/openai/v1", NULL },
		  "https://a/openai/v1", "k", AGENT_PROTOCOL_RESPONSES, AGENT_LIMIT_COMPLETION,
		  AGENT_ECHO_AUTO },
		{ "bedrock", { "AWS_BEARER_TOKEN_BEDROCK=k", "BEDROCK_BASE_URL=https://b/openai/v1", NULL },
		  "https://b/openai/v1", "k", AGENT_PROTOCOL_CHAT, AGENT_LIMIT_COMPLETION,
		  AGENT_ECHO_AUTO },
		{ "vertex", { "VERTEX_ACCESS_TOKEN=k", "VERTEX_BASE_URL=https://v/endpoints/openapi", NULL },
		  "https://v/endpoints/openapi", "k", AGENT_PROTOCOL_CHAT, AGENT_LIMIT_TOKENS,
		  AGENT_ECHO_AUTO },
	};
	static const char *const only_key[] = { "AZURE_OPENAI_API_KEY=k", NULL };
	struct agent_settings settings;
	struct models_choice choice;
	char model[64];

	for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
		(void)snprintf(model, sizeof(model), "%s/m", presets[i].provider);
		environment = presets[i].set;
		assert_ok(&err, choose(NULL, model, NULL, &choice));
		assert_string_equal(choice.base_url, presets[i].url);
		assert_string_equal(choice.key, presets[i].key);
		models_settings_init(&settings);
		assert_ok(&err, models_fill(&choice, &settings, &err));
		assert_int_equal(settings.protocol, presets[i].protocol);
		assert_int_equal(settings.limit, presets[i].limit);
		assert_int_equal(settings.echo, presets[i].echo);
		models_choice_done(&choice);
	}
	environment = NULL;
	assert_int_equal(choose(NULL, "deepseek/m", NULL, &choice), ERR_INVALID);
	assert_string_equal(err.text, "there is no key for deepseek");
	models_choice_done(&choice);
	environment = only_key;
	assert_int_equal(choose(NULL, "azure/m", NULL, &choice), ERR_INVALID);
	assert_string_equal(err.text, "there is no address of azure");
	models_choice_done(&choice);
	environment = NULL;
}

UNIT_TEST(providers_are_listed_once)
{
	struct models *models = parse("[provider openai]\nkey-env = A\n" WORK);
	struct models_provider provider;
	unsigned openai = 0, work = 0;

	for (size_t i = 0; models_provider_at(models, i, &provider); i++) {
		openai += strcmp(provider.name, "openai") == 0 && provider.entry != NULL &&
			  provider.builtin != NULL;
		work += strcmp(provider.name, "work") == 0 && provider.builtin == NULL;
	}
	assert_int_equal(openai, 1);
	assert_int_equal(work, 1);
	models_free(models);
}
