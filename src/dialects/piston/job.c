/*
 * job.c - parses the body of /execute, or chooses Piston's message for the error in it.
 *
 * Runs in:  reckon-front-piston.
 * Reads:    JSON of any client.
 * Never:    accepts an invalid number.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/piston/piston.h"

#define RUN_MS 3000u
#define COMPILE_MS 10000u
#define MS_MAX 600000u

/* Whether a text can be a name or an argument: a NUL would cut it. */
static bool is_word(const struct json_value *value)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	return text != NULL && strlen(text) == len;
}

static bool read_files(const struct json_value *body, struct piston_job *ret, char *why,
		       size_t why_size)
{
	bool has_text = false;

	ret->files = json_read_member(body, "files");
	if (json_read_kind(ret->files) != JSON_KIND_ARRAY) {
		(void)snprintf(why, why_size, "files is required as an array");
		return false;
	}
	if (json_read_count(ret->files) > PISTON_FILES_MAX) {
		(void)snprintf(why, why_size, "files must be at most %u", PISTON_FILES_MAX);
		return false;
	}
	for (size_t i = 0; i < json_read_count(ret->files); i++) {
		const struct json_value *file = json_read_at(ret->files, i);
		const char *encoding = json_read_text(json_read_member(file, "encoding"), NULL);
		const struct json_value *name = json_read_member(file, "name");

		if (json_read_kind(name) != JSON_KIND_NULL && !is_word(name)) {
			(void)snprintf(why, why_size, "files[%zu].name must be a string", i);
			return false;
		}
		if (json_read_text(json_read_member(file, "content"), NULL) == NULL) {
			(void)snprintf(why, why_size, "files[%zu].content is required as a string",
				       i);
			return false;
		}
		has_text = has_text || encoding == NULL || strcmp(encoding, "utf8") == 0;
	}
	if (!has_text)
		(void)snprintf(why, why_size, "files must include at least one utf8 encoded file");
	return has_text;
}

/* Leaves `ret` alone if the number is missing, or negative, which means no limit. */
static bool read_number(const struct json_value *body, const char *name, uint64_t max,
			uint64_t *ret, char *why, size_t why_size)
{
	const struct json_value *value = json_read_member(body, name);
	double number;

	if (json_read_kind(value) == JSON_KIND_NULL)
		return true;
	if (!json_read_double(value, &number)) {
		(void)snprintf(why, why_size, "if specified, %s must be a number", name);
		return false;
	}
	if (number > (double)max) {
		(void)snprintf(why, why_size, "%s cannot exceed the configured limit of %llu", name,
			       (unsigned long long)max);
		return false;
	}
	if (number >= 1)
		*ret = (uint64_t)number;
	return true;
}

static bool read_args(const struct json_value *body, struct piston_job *ret, char *why,
		      size_t why_size)
{
	const struct json_value *input = json_read_member(body, "stdin");

	ret->args = json_read_member(body, "args");
	ret->input = json_read_text(input, &ret->input_len);
	for (size_t i = 0; i < json_read_count(ret->args); i++)
		if (!is_word(json_read_at(ret->args, i))) {
			(void)snprintf(why, why_size, "args must be an array of strings");
			return false;
		}
	if (json_read_count(ret->args) > PISTON_ARGS_MAX) {
		(void)snprintf(why, why_size, "args must be at most %u", PISTON_ARGS_MAX);
		return false;
	}
	return true;
}

static bool read_limits(const struct json_value *body, struct piston_job *ret, char *why,
			size_t why_size)
{
	uint64_t compile_memory = 0;

	ret->run_ms = RUN_MS;
	ret->compile_ms = COMPILE_MS;
	if (!read_number(body, "run_timeout", MS_MAX, &ret->run_ms, why, why_size) ||
	    !read_number(body, "compile_timeout", MS_MAX, &ret->compile_ms, why, why_size) ||
	    !read_number(body, "run_cpu_time", MS_MAX, &ret->run_cpu_ms, why, why_size) ||
	    !read_number(body, "compile_cpu_time", MS_MAX, &ret->compile_cpu_ms, why, why_size) ||
	    !read_number(body, "run_memory_limit", 1ull << 50, &ret->memory_bytes, why, why_size) ||
	    !read_number(body, "compile_memory_limit", 1ull << 50, &compile_memory, why, why_size))
		return false;
	/* Both stages share one box, and so one limit. */
	if (ret->memory_bytes != 0 && compile_memory > ret->memory_bytes)
		ret->memory_bytes = compile_memory;
	return true;
}

bool piston_job_read(const struct json_value *body, struct piston_job *ret, char *why,
		     size_t why_size)
{
	const char *language = json_read_text(json_read_member(body, "language"), NULL);

	*ret = (struct piston_job){ .body = body };
	ret->wanted = json_read_text(json_read_member(body, "version"), NULL);
	if (language == NULL || language[0] == '\0') {
		(void)snprintf(why, why_size, "language is required as a string");
		return false;
	}
	if (ret->wanted == NULL || ret->wanted[0] == '\0') {
		(void)snprintf(why, why_size, "version is required as a string");
		return false;
	}
	ret->language = program_language_find(language);
	if (!read_files(body, ret, why, why_size))
		return false;
	if (ret->language == NULL) {
		(void)snprintf(why, why_size, "%.60s-%.60s runtime is unknown", language,
			       ret->wanted);
		return false;
	}
	return read_args(body, ret, why, why_size) && read_limits(body, ret, why, why_size);
}
