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
 * A program has its own session, which no other client sees and which ends with the struct, or when
 * the client leaves. Its commands are processes that run one after the other in /mnt/data, where
 * its files are. As everywhere, negative means that there is nothing left to answer.
 *
 * While the host has no capacity the request waits, as clients of such protocols expect.
 */
#pragma once

#include "dialects/call.h"

#define PROGRAM_OUTPUT_MAX (64u * 1024u * 1024u) /* per stream */
#define PROGRAM_PATH_MAX 1024u
#define PROGRAM_ARTIFACT_SIZE 48

struct program {
	struct request *request;
	uint64_t frame; /* the call that created the session; 0: none */
	char session[64];
	char process[64]; /* the current or last command */
	char artifact[PROGRAM_ARTIFACT_SIZE]; /* of the file that was put last; "": not stored */
	uint64_t output_max; /* bytes per stream of a command; 0: PROGRAM_OUTPUT_MAX */
	struct call call;
};
#define PROGRAM_INIT ((struct program){ .call = CALL_INIT })
void program_done(struct program *program);
#define cleanup_program __attribute__((cleanup(program_done)))

/* Zero values select the usual defaults. */
struct program_order {
	const char *template;
	const char *language; /* of its kernel, for cells; commands run in a separate shell */
	uint64_t memory_bytes, output_bytes, file_bytes, processes;
	bool stays; /* the session outlives the struct: the caller ends it */
};

/* A client that interacts with a running command. */
struct program_interactive {
	/* Passes its output on, instead of collecting it. */
	int (*take_output)(struct program_interactive *self, bool is_error, const char *bytes,
			   size_t len);
	/* Returns when reckond has replied or `input` has more bytes: see websocket_next(). */
	int (*wait)(struct program_interactive *self);
	struct buf input; /* for the command to read; shrinks as it is sent */
};

/* A command line for /bin/sh; quote `name` and `value` texts in it with text_quote_for_shell(). */
struct program_stage {
	const char *command;
	const char *tag; /* of its process; NULL: no tag */
	const char *input; /* NULL: nothing */
	size_t input_len;
	uint64_t timeout_ms, cpu_ms; /* 0: no limit, or only the tenant's */
	struct program_interactive *interactive; /* instead of `input`; NULL: not interactive */
};

enum program_how {
	PROGRAM_EXITED,
	PROGRAM_SIGNALLED,
	PROGRAM_TIMEOUT,
	PROGRAM_CPU_LIMIT,
	PROGRAM_OUT_OF_MEMORY,
	PROGRAM_OUTPUT_LIMIT,
	PROGRAM_FAILED, /* a failure outside the program: `err` says why */
};

struct program_end {
	enum program_how how;
	int code; /* the exit status, or the signal */
	struct buf out, err;
	struct buf both; /* both streams as they came; only with a bound that the caller sets */
	double wall_s, cpu_s;
	uint64_t memory_bytes; /* peak memory */
	struct json_value *files; /* changes of files, as a process reports them; NULL: none */
};
#define PROGRAM_END_INIT \
	((struct program_end){ .out = BUF_INIT(PROGRAM_OUTPUT_MAX), \
			       .err = BUF_INIT(PROGRAM_OUTPUT_MAX) })
void program_end_done(struct program_end *end);
#define cleanup_program_end __attribute__((cleanup(program_end_done)))

int program_open(struct program *program, struct request *request,
		 const struct program_order *order);
/* A path in the workspace; creates its folders. */
int program_put(struct program *program, const char *path, const void *bytes, size_t len);
int program_run(struct program *program, const struct program_stage *stage,
		struct program_end *ret);
/* Signals the running command and its descendants. */
int program_signal(struct program *program, enum api_process_signal_in_signal signal);
/* As program_put(), with the contents of a descriptor. */
int program_put_file(struct program *program, const char *path, int from, uint64_t size);
/* Reads the request's body into an unnamed file of reckond, which never enters the session. */
int program_take_body(struct program *program, uint64_t max, int *ret_fd);
/* 1: appended to `ret`; 0: the file does not exist, or does not fit `ret`. */
int program_get(struct program *program, const char *path, struct buf *ret);
/* The same with any call that returns a file. */
int program_fetch(struct program *program, enum api_id id, const void *in, struct buf *ret);

/* Makes a call; waits for capacity if necessary. Negative: an answer was sent. */
int program_call_in_turn(struct program *program, enum api_id id, const void *in, void *out);

/* Appends the text as one word of a shell. */
