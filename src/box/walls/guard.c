/*
 * guard.c - walls against side channels of the processor.
 *
 * Runs in:  the warden, and a short-lived child that passes a cookie on.
 * Reads:    /proc/PID/status, and cookies as Linux reports them.
 * Never:    reports a wall as raised that it has not verified from outside.
 */
#include "box/walls/guard.h"

#include <errno.h>
#include <linux/prctl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/procfile.h"
#include "wire/warden.h"

static int core_call(unsigned command, pid_t pid, unsigned scope, uint64_t *cookie)
{
	return prctl(PR_SCHED_CORE, command, pid, scope, cookie) < 0 ? -errno : 0;
}

guard_core_fn *guard_core_call = core_call;

bool guard_core_is_there(const char **ret_why)
{
	uint64_t cookie;
	const int code = guard_core_call(PR_SCHED_CORE_GET, 0, PR_SCHED_CORE_SCOPE_THREAD, &cookie);

	*ret_why = code == 0	      ? ""
		   : code == -ENODEV  ? "one thread per core, as far as Linux sees"
		   : code == -EINVAL  ? "Linux without CONFIG_SCHED_CORE"
				      : strerror(-code);
	return code == 0;
}

/*
 * Only a task that has a cookie can pass it on, and it keeps the cookie. So a child makes it: if
 * the warden did, all boxes that it builds afterwards would share it.
 */
static int hand_out(pid_t member, const pid_t *pids, size_t count)
{
	int code = member == 0 ? guard_core_call(PR_SCHED_CORE_CREATE, 0,
						 PR_SCHED_CORE_SCOPE_THREAD, NULL)
			       : guard_core_call(PR_SCHED_CORE_SHARE_FROM, member,
						 PR_SCHED_CORE_SCOPE_THREAD, NULL);

	for (size_t i = 0; code == 0 && i < count; i++)
		code = guard_core_call(PR_SCHED_CORE_SHARE_TO, pids[i],
				       PR_SCHED_CORE_SCOPE_THREAD_GROUP, NULL);
	return -code;
}

static int check_cookies(pid_t member, const pid_t *pids, size_t count, struct err *err)
{
	uint64_t own, first = 0, cookie;
	int code = guard_core_call(PR_SCHED_CORE_GET, 0, PR_SCHED_CORE_SCOPE_THREAD, &own);

	if (code == 0 && member != 0)
		code = guard_core_call(PR_SCHED_CORE_GET, member, PR_SCHED_CORE_SCOPE_THREAD,
				       &first);
	for (size_t i = 0; code == 0 && i < count; i++) {
		code = guard_core_call(PR_SCHED_CORE_GET, pids[i], PR_SCHED_CORE_SCOPE_THREAD,
				       &cookie);
		first = i == 0 && member == 0 ? cookie : first;
		if (code == 0 && (cookie == 0 || cookie == own || cookie != first))
			return err_set(err, ERR_DENIED, "process %d does not have its box's "
				       "core scheduling cookie", (int)pids[i]);
	}
	return code == 0 ? 0 : err_set(err, ERR_SYSTEM, "read a core scheduling cookie: %s",
				       strerror(-code));
}

/* `member` 0: gives a new cookie; otherwise that of this process. */
static int give_cookie(pid_t member, const pid_t *pids, size_t count, struct err *err)
{
	const char *why;
	int status = 0;
	pid_t child;

	if (!guard_core_is_there(&why))
		return err_set(err, ERR_UNAVAILABLE, "no core scheduling on this host: %s", why);
	child = fork();
	if (child == 0)
		_exit(hand_out(member, pids, count));
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || !WIFEXITED(status))
		return err_set(err, ERR_SYSTEM, "make a core scheduling cookie");
	if (WEXITSTATUS(status) != 0)
		return err_set(err, ERR_SYSTEM, "give a box its core scheduling cookie: %s",
			       strerror(WEXITSTATUS(status)));
	return check_cookies(member, pids, count, err);
}

int guard_core_own(const pid_t *pids, size_t count, struct err *err)
{
	return give_cookie(0, pids, count, err);
}

/* Linux's words in /proc/PID/status, and what each means here. */
static const struct word {
	const char *text;
	enum guard_speculation state;
} store_words[] = {
	{ "not vulnerable", GUARD_HELD },	{ "thread force mitigated", GUARD_HELD },
	{ "globally mitigated", GUARD_HELD },	{ "thread mitigated", GUARD_LOOSE },
	{ "thread vulnerable", GUARD_LOOSE },
}, branch_words[] = {
	{ "not affected", GUARD_HELD },		{ "conditional force disabled", GUARD_HELD },
	{ "always disabled", GUARD_HELD },	{ "conditional disabled", GUARD_LOOSE },
	{ "conditional enabled", GUARD_LOOSE },
};

static enum guard_speculation state_of(const char *status, const char *key,
				       const struct word *words, size_t count)
{
	const char *at = strstr(status, key);

	if (at == NULL || (at != status && at[-1] != '\n'))
		return GUARD_UNKNOWN;
	at += strlen(key);
	at += strspn(at, " \t");
	for (size_t i = 0; i < count; i++) {
		const size_t len = strlen(words[i].text);

		if (strncmp(at, words[i].text, len) == 0 && (at[len] == '\n' || at[len] == '\0'))
			return words[i].state;
	}
	return GUARD_UNKNOWN;
}

/* A task is as safe as the weaker of the two; if one of them could be off and is not,
 * GUARD_LOOSE. */
enum guard_speculation guard_speculation_of(const char *status)
{
	const enum guard_speculation store = state_of(status, "Speculation_Store_Bypass:",
						      store_words, ARRAY_LEN(store_words));
	const enum guard_speculation branch = state_of(status, "SpeculationIndirectBranch:",
						       branch_words, ARRAY_LEN(branch_words));

	if (store == GUARD_LOOSE || branch == GUARD_LOOSE)
		return GUARD_LOOSE;
	return store == GUARD_HELD && branch == GUARD_HELD ? GUARD_HELD : GUARD_UNKNOWN;
}

/* Whether both can be switched off for a task, or need not be. */
bool guard_speculation_is_there(void)
{
	static const unsigned long both[] = { PR_SPEC_STORE_BYPASS, PR_SPEC_INDIRECT_BRANCH };

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		const int now = prctl(PR_GET_SPECULATION_CTRL, both[i], 0, 0, 0);

		if (now != PR_SPEC_NOT_AFFECTED && ((unsigned long)now & PR_SPEC_PRCTL) == 0 &&
		    now != PR_SPEC_DISABLE)
			return false;
		if (now < 0)
			return false;
	}
	return true;
}

static int check_speculation(pid_t kernel, uint32_t *unheld, struct err *err)
{
	char status[8192];

	if (procfile_text(kernel, "status", status, sizeof(status)) <= 0)
		return err_sys(err, "read the state of a new kernel");
	switch (guard_speculation_of(status)) {
	case GUARD_HELD:
		return 0;
	case GUARD_LOOSE:
		return err_set(err, ERR_DENIED, "a new kernel may speculate although it was told "
						"not to");
	case GUARD_UNKNOWN:
		break;
	}
	*unheld |= WARDEN_UNHELD_SPECULATION;
	return 0;
}

int guard_raise(uint32_t requested, const pid_t *pids, size_t count, pid_t kernel,
		uint32_t *ret_unheld, struct err *err)
{
	uint32_t unheld = 0;

	if ((requested & WARDEN_OPEN_CORE_SCHEDULING) != 0 &&
	    guard_core_own(pids, count, err) < 0) {
		if (err->code != ERR_UNAVAILABLE)
			return (int)err->code;
		err_clear(err);
		unheld |= WARDEN_UNHELD_CORE;
	}
	if ((requested & WARDEN_OPEN_NO_SPECULATION) != 0 &&
	    check_speculation(kernel, &unheld, err) < 0)
		return (int)err->code;
	*ret_unheld = unheld;
	return 0;
}

int guard_join(uint32_t requested, pid_t member, const pid_t *pids, size_t count, pid_t kernel,
	       struct err *err)
{
	uint32_t unheld = 0;

	if ((requested & WARDEN_OPEN_CORE_SCHEDULING) != 0 &&
	    give_cookie(member, pids, count, err) < 0) {
		if (err->code != ERR_UNAVAILABLE)
			return (int)err->code;
		err_clear(err);
	}
	return (requested & WARDEN_OPEN_NO_SPECULATION) != 0
		       ? check_speculation(kernel, &unheld, err)
		       : 0;
}

int guard_require(uint32_t requested, struct err *err)
{
	const char *why;

	if ((requested & WARDEN_OPEN_CORE_SCHEDULING) != 0 && !guard_core_is_there(&why)) {
		(void)err_set(err, ERR_UNAVAILABLE,
			      "strict mode: core scheduling was asked for, and "
			      "this host has none: %s",
			      why);
		return err_remedy(err, "a Linux kernel with CONFIG_SCHED_CORE on a processor with "
				       "several threads per core, or leave the option out");
	}
	if ((requested & WARDEN_OPEN_NO_SPECULATION) != 0 && !guard_speculation_is_there()) {
		(void)err_set(err, ERR_UNAVAILABLE,
			      "strict mode: speculation is to be off, and this "
			      "host cannot turn it off for a process");
		return err_remedy(err, "boot with spec_store_bypass_disable=prctl and "
				       "spectre_v2_user=prctl, or leave the option out");
	}
	return 0;
}
