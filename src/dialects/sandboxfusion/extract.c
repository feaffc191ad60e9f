/*
 * extract.c - custom_extract_logic: a grader's own way to find the code in a model's answer.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    output of the grader's logic, which is a hostile program.
 * Never:    runs the logic outside of its own box, which ends before a test starts in another one.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

#define EXTRACT_MS 10000u
#define BLOCKS_MAX 1000u
#define RESULT ".reckon-blocks.json"
#define RESULT_MAX (16u * 1024u * 1024u)
#define WHY_MAX 400u

/* Runs the logic in Python, with the variables and functions that it expects. */
static const char driver[] =
	"import json, re, sys\n"
	"_given = json.load(sys.stdin)\n"
	"_blocks = []\n"
	"class CodeBlock:\n"
	"    def __init__(self, priority, code, language=''):\n"
	"        self.priority, self.code, self.language = priority, code, language\n"
	"def _language(label):\n"
	"    return _given['labels'].get(label.strip().lower(), '')\n"
	"def extract_fenced_code(completion):\n"
	"    found = re.finditer(r'```([^\\n]*)\\n(.*?)\\n?[ \\t]*```', completion, re.S)\n"
	"    return [CodeBlock(30, each[2], _language(each[1])) for each in found]\n"
	"def extract_heuristic_code(completion, language=''):\n"
	"    begin = r'(?:(?:import|from|@|#).*\\n)*(?:async def|def|class) .+\\n'\n"
	"    found = re.finditer('^' + begin + r'(?:[ \\t]+.*\\n|[ \\t]*\\n)+', completion + '\\n', re.M)\n"
	"    return [CodeBlock(10, each[0], language) for each in found]\n"
	"def _submit(blocks):\n"
	"    for each in blocks:\n"
	"        assert isinstance(each, CodeBlock), 'a block has to be a CodeBlock'\n"
	"        _blocks.append([int(each.priority), str(each.language), str(each.code)])\n"
	"exec(compile(_given['logic'], 'custom_extract_logic', 'exec'), {\n"
	"    'CodeBlock': CodeBlock, 'completion': _given['completion'],\n"
	"    'submit_code_blocks': _submit, 'extract_fenced_code': extract_fenced_code,\n"
	"    'extract_heuristic_code': extract_heuristic_code})\n"
	"with open('" RESULT "', 'w', encoding='utf-8') as _file:\n"
	"    json.dump(_blocks, _file)\n";

static int write_input(const struct fusion_extraction *order, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_text(&json, "completion", order->completion, order->completion_len);
	json_write_member_text(&json, "logic", order->logic, order->logic_len);
	json_write_key(&json, "labels");
	json_write_object_begin(&json);
	fusion_write_labels(&json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Answers with the last line of stderr, which names the exception. */
static int refuse_failed(struct request *request, const struct program_end *end)
{
	cleanup_buf struct buf message = BUF_INIT(1024);
	const char *text = buf_text(&end->err);
	size_t len = end->err.len, at;
	struct err err;

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	for (at = len; at > 0 && text[at - 1] != '\n'; at--)
		;
	if (end->how == PROGRAM_TIMEOUT)
		(void)buf_adds(&message, "custom_extract_logic: timed out after 10 s", &err);
	else
		(void)buf_addf(&message, &err, "custom_extract_logic failed: %.*s",
			       (int)(len - at < WHY_MAX ? len - at : WHY_MAX), text + at);
	answer_refuse_simple(request, 400, "logic", buf_text(&message), NULL);
	return -1;
}

/* Of the blocks with the highest priority, chooses the last one in the language, else the last. */
static const struct json_value *choose(const struct json_value *blocks, const char *language,
				       int64_t *ret_priority)
{
	const struct json_value *chosen = NULL;
	bool is_named = false;

	for (size_t i = 0; i < json_read_count(blocks); i++) {
		const struct json_value *block = json_read_at(blocks, i);
		const char *label = json_read_text(json_read_at(block, 1), NULL);
		int64_t priority;

		if (!json_read_int(json_read_at(block, 0), &priority) || label == NULL ||
		    json_read_text(json_read_at(block, 2), NULL) == NULL ||
		    (chosen != NULL && priority < *ret_priority))
			continue;
		if (chosen != NULL && priority == *ret_priority && is_named &&
		    strcmp(label, language) != 0)
			continue;
		chosen = block;
		*ret_priority = priority;
		is_named = strcmp(label, language) == 0;
	}
	return chosen;
}

static int read_blocks(const struct fusion_extraction *order, const struct buf *text,
		       struct buf *ret, bool *ret_found)
{
	const struct json_value *chosen;
	struct json_value *blocks;
	int64_t priority = 0;
	size_t len = 0;
	const char *code;
	struct err err;
	int status = 0;

	if (json_read_parse(buf_text(text), text->len, RESULT_MAX, &blocks, &err) < 0 ||
	    json_read_count(blocks) > BLOCKS_MAX) {
		answer_refuse_simple(order->request, 400, "logic",
				     "custom_extract_logic submitted more than 1000 blocks, or "
				     "what is none",
				     NULL);
		return -1;
	}
	chosen = choose(blocks, order->language->name, &priority);
	*ret_found = chosen != NULL && (priority >= FUSION_FENCED || !order->has_fenced);
	code = json_read_text(json_read_at(chosen, 2), &len);
	if (*ret_found)
		status = buf_add(ret, code, len, &err);
	json_read_free(blocks);
	if (status < 0)
		answer_refuse_simple(order->request, 500, "internal", err.text, NULL);
	return status;
}

static int run(const struct fusion_extraction *order, struct program_code *code, struct buf *ret,
	       bool *ret_found)
{
	cleanup_buf struct buf input = BUF_INIT(2 * (size_t)FUSION_BODY_MAX);
	cleanup_buf struct buf text = BUF_INIT(RESULT_MAX);
	struct err err;
	int got;

	if (write_input(order, &input, &err) < 0) {
		answer_refuse_simple(order->request, 500, "internal", err.text, NULL);
		return -1;
	}
	code->run_ms = EXTRACT_MS;
	if (program_open(&code->program, order->request,
			 &(struct program_order){ .output_bytes = FUSION_OUTPUT_MAX }) < 0 ||
	    program_code_compile(code, driver, sizeof(driver) - 1) < 0 ||
	    program_code_run(code, "", buf_text(&input), input.len) < 0)
		return -1;
	if (!fusion_is_good(&code->ran))
		return refuse_failed(order->request, &code->ran);
	got = program_get(&code->program, RESULT, &text);
	if (got < 0)
		return -1;
	if (got == 0)
		return refuse_failed(order->request, &code->ran);
	return read_blocks(order, &text, ret, ret_found);
}

int fusion_extract(const struct fusion_extraction *order, struct buf *ret, bool *ret_found)
{
	struct program_code code;
	int status;

	*ret_found = false;
	program_code_init(&code, program_language_at(0));
	status = run(order, &code, ret, ret_found);
	program_code_done(&code);
	return status;
}
