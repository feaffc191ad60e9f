/*
 * program.h - programs for dialects whose clients send code as files: files in, commands, files out.
 *
 *   cleanup_program struct program program = PROGRAM_INIT;
 *
 *   if (program_open(&program, request, &(struct program_order){ … }) < 0 ||
 *       program_put(&program, "main.py", code, len) < 0 ||
 *       program_run(&program, &(struct program_stage){ .command = "python3 main.py" }, &end) < 0)
 *           return;
 *
 * It has a session of its own, which nobody else sees and which ends with the struct, or when the
 * client goes away. Its commands are processes, one after the other, in /mnt/data, where its files
 * are. As everywhere, negative means that there is nobody left to answer.
 *
 * Where the host has no room the request waits for its turn, as clients of such protocols expect.
 */
#pragma once

#include "dialects/call.h"

#define PROGRAM_OUTPUT_MAX (64u * 1024u * 1024u) /* of each stream */
#define PROGRAM_PATH_MAX 1024u
#define PROGRAM_ARTIFACT_SIZE 48

struct program {
	struct request *request;
	uint64_t frame; /* of the call that opened the session; 0: there is none */
	char session[64];
	char process[64]; /* of the command that runs, or ran last */
	char artifact[PROGRAM_ARTIFACT_SIZE]; /* of the file that was put last; "": it is not kept */
	uint64_t output_max; /* bytes of each stream of a command; 0: PROGRAM_OUTPUT_MAX */
	struct call call;
};
#define PROGRAM_INIT ((struct program){ .call = CALL_INIT })
void program_done(struct program *program);
#define cleanup_program __attribute__((cleanup(program_done)))

/* What is left out is as everywhere. */
struct program_order {
	const char *template;
	const char *language; /* of its kernel, for cells; commands run in a shell beside it */
	uint64_t memory_bytes, output_bytes, file_bytes, processes;
	bool stays; /* the session outlives the struct: whoever opened it ends it */
};

/* Whoever is connected with a command while it runs. */
struct program_interactive {
	/* What it wrote, which is not collected then. */
	int (*take_output)(struct program_interactive *self, bool is_error, const char *bytes,
			   size_t len);
	/* Returns when reckond has answered, or `input` has more: websocket_next(). */
	int (*wait)(struct program_interactive *self);
	struct buf input; /* that it is to read next; taken off as it is sent */
};

/* A line for /bin/sh; `name` and `value` texts in it are quoted with program_quote(). */
struct program_stage {
	const char *command;
	const char *tag; /* of its process; NULL: none */
	const char *input; /* NULL: nothing */
	size_t input_len;
	uint64_t timeout_ms, cpu_ms; /* 0: no limit, or the tenant's */
	struct program_interactive *interactive; /* in place of `input`; NULL: nobody */
};

enum program_how {
	PROGRAM_EXITED,
	PROGRAM_SIGNALLED,
	PROGRAM_TIMEOUT,
	PROGRAM_CPU_LIMIT,
	PROGRAM_OUT_OF_MEMORY,
	PROGRAM_OUTPUT_LIMIT,
	PROGRAM_FAILED, /* not by its own doing: `err` says why */
};

struct program_end {
	enum program_how how;
	int code; /* of the exit, or of the signal */
	struct buf out, err;
	double wall_s, cpu_s;
	uint64_t memory_bytes; /* at most so much at once */
	struct json_value *files; /* what it did to them, as a process tells it; NULL: nothing */
};
#define PROGRAM_END_INIT \
	((struct program_end){ .out = BUF_INIT(PROGRAM_OUTPUT_MAX), \
			       .err = BUF_INIT(PROGRAM_OUTPUT_MAX) })
void program_end_done(struct program_end *end);
#define cleanup_program_end __attribute__((cleanup(program_end_done)))

int program_open(struct program *program, struct request *request,
		 const struct program_order *order);
/* A path of the workspace; folders are made. */
int program_put(struct program *program, const char *path, const void *bytes, size_t len);
int program_run(struct program *program, const struct program_stage *stage,
		struct program_end *ret);
/* To the command that runs, and what it started. */
int program_signal(struct program *program, enum api_process_signal_in_signal signal);
/* As program_put(), of what a descriptor has. */
int program_put_file(struct program *program, const char *path, int from, uint64_t size);
/* The request's body, in a nameless file of reckond's that never becomes one of the session. */
int program_take_body(struct program *program, uint64_t max, int *ret_fd);
/* 1: appended to `ret`; 0: there is no such file, or it is longer than `ret` can become. */
int program_get(struct program *program, const char *path, struct buf *ret);
/* The same of any call that gives a file. */
int program_fetch(struct program *program, enum api_id id, const void *in, struct buf *ret);

/* A call that waits for its turn where there is no room. Negative: it was answered. */
int program_call_in_turn(struct program *program, enum api_id id, const void *in, void *out);

/* Appends the text as one word of a shell. */
