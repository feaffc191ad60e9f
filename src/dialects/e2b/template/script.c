/*
 * script.c - the script of a build, which runs its steps in a sandbox of the tenant.
 *
 * Runs in:  reckon-front-e2b, which only sends it.
 * Reads:    nothing.
 * Never:    is trusted for what it prints: a step can print the same lines about its own build.
 *
 * It reports on lines that begin with the byte 1e:
 *
 *   s STEP US  this step begins, then    l LEVEL TEXT  an entry of the log
 *   e NAME B64, w B64                    a variable, the folder that sandboxes start with
 *   f TEXT     the step failed           d             this was the last line
 *
 * A sed per stream limits the number of lines. It ends at "d", because a process that a step left
 * running may hold the pipe open.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define SHELL "/bin/bash"

const char template_script_head[] =
	"H=/home/user B=$H/" TEMPLATE_FOLDER " W=$H NAMES=() START= READY=\n"
	"step() { local s=\"s $1 ${EPOCHREALTIME/[.,]/}\"; printf '\\n\\036%s\\n' \"$s\"; "
	"printf '\\n\\036%s\\n' \"$s\" >&2; }\n"
	"say() { printf '\\n\\036l %s %s\\n' \"$1\" \"${2//$'\\n'/ }\"; }\n"
	"fail() { printf '\\n\\036f %s\\n' \"${1//$'\\n'/ }\"; exit 1; }\n"
	"whole() { case $1 in /*) realpath -ms -- \"$1\" ;; '~'|'~/'*) realpath -ms -- \"$H${1#'~'}\" ;; "
	"*) realpath -ms -- \"$W/$1\" ;; esac; }\n"
	"kept() { case $1/ in $H/*|/mnt/data/*) ;; *) return 1 ;; esac; }\n"
	"beside() { ls -A /tmp /dev/shm 2>/dev/null; }\n"
	"run() {\n"
	"  say info \"RUN $1\"\n"
	"  local was=$(beside) code=0\n"
	"  (cd -- \"$W\" && exec " SHELL " -l -c \"$1\") </dev/null || code=$?\n"
	"  [ \"$was\" = \"$(beside)\" ] || say warn 'what lies beside /home/user, as in /tmp, is not "
	"kept in the template'\n"
	"  [ $code = 0 ] && return\n"
	"  say warn 'a sandbox has no root and no network: a step can change what lies below "
	"/home/user'\n"
	"  fail \"RUN $1: exit status $code\"\n"
	"}\n"
	"workdir() {\n"
	"  say info \"WORKDIR $1\"; W=$(whole \"$1\")\n"
	"  kept \"$W\" || fail \"WORKDIR $1: it is not below /home/user, and would not be kept\"\n"
	"  mkdir -p -- \"$W\" || fail \"WORKDIR $1: it could not be made\"\n"
	"}\n"
	"copy() {\n"
	"  local from=$B/from src=$2 dest=$3 to found f\n"
	"  say info \"COPY $src $dest\"; to=$(whole \"$dest\")\n"
	"  kept \"$to\" || fail \"COPY $src $dest: it is not below /home/user, and would not be kept\"\n"
	"  rm -rf -- \"$from\"; mkdir -p -- \"$from\" && tar -xpf \"$B/$1\" -C \"$from\" || "
	"fail \"COPY $src: what was sent is not an archive that tar reads\"\n"
	"  [ -z \"$4\" ] || find \"$from\" -type f -exec chmod \"$4\" {} + || fail \"COPY $src: mode $4\"\n"
	"  shopt -s dotglob globstar nullglob\n"
	"  cd -- \"$from\"; local IFS=; found=($src); unset IFS\n"
	"  shopt -u dotglob globstar nullglob\n"
	"  [ ${#found[@]} != 0 ] || fail \"COPY $src: there is nothing of that name in what was sent\"\n"
	"  if [ ${#found[@]} = 1 ] && { [ -L \"$found\" ] || [ ! -d \"$found\" ]; } && "
	"[ \"${dest%/}\" = \"$dest\" ] && [ ! -d \"$to\" ]; then\n"
	"    mkdir -p -- \"${to%/*}\" && cp -alfT -- \"$found\" \"$to\" || fail \"COPY $src $dest\"\n"
	"  else\n"
	"    mkdir -p -- \"$to\" || fail \"COPY $src $dest: the folder could not be made\"\n"
	"    for f in \"${found[@]}\"; do\n"
	"      [ -d \"$f\" ] && [ ! -L \"$f\" ] && f=$f/.\n"
	"      cp -alf -- \"$f\" \"$to/\" || fail \"COPY $src $dest\"\n"
	"    done\n"
	"  fi\n"
	"  cd -- \"$H\"; rm -rf -- \"$from\"\n"
	"}\n"
	"finish() {\n"
	"  local pid= code until\n"
	"  step finalize\n"
	"  if [ -n \"$START\" ]; then\n"
	"    say info \"start: $START\"; mkdir -p -- \"$B\"\n"
	"    (cd -- \"$W\" && exec " SHELL " -l -c \"$START\") >\"$B/started\" 2>&1 </dev/null &\n"
	"    pid=$!; until=$((SECONDS + 1))\n"
	"  fi\n"
	"  [ -z \"$READY\" ] || until=$((SECONDS + 120))\n"
	"  while [ -n \"$pid$READY\" ]; do\n"
	"    [ -n \"$READY\" ] && (cd -- \"$W\" && exec timeout 30 " SHELL " -l -c \"$READY\") "
	">/dev/null 2>&1 </dev/null && break\n"
	"    if [ -n \"$pid\" ] && ! kill -0 $pid 2>/dev/null; then\n"
	"      wait $pid; code=$?\n"
	"      [ $code = 0 ] || { tail -n 50 \"$B/started\"; fail \"the start command ended with "
	"exit status $code\"; }\n"
	"      pid=\n"
	"    fi\n"
	"    [ $SECONDS -lt $until ] || { [ -z \"$READY\" ] && break; [ -z \"$pid\" ] || "
	"tail -n 50 \"$B/started\"; fail 'the ready command did not succeed within two minutes'; }\n"
	"    sleep 0.1\n"
	"  done\n"
	"  [ -z \"$pid\" ] || { kill -9 $pid; wait $pid; } 2>/dev/null\n"
	"  cd -- \"$H\"; rm -rf -- \"$B\"\n"
	"  local name\n"
	"  for name in \"${NAMES[@]}\"; do printf '\\036e %s %s\\n' \"$name\" "
	"\"$(printf %s \"${!name}\" | base64 -w0)\"; done\n"
	"  printf '\\036w %s\\n' \"$(printf %s \"$W\" | base64 -w0)\"\n"
	"}\n"
	"main() {\n"
	"trap \"printf '\\\\n\\\\036d\\\\n'; printf '\\\\n\\\\036d\\\\n' >&2\" EXIT\n"
	"step base\n";

const char template_script_tail[] =
	"finish\n"
	"exit 0\n"
	"}\n"
	"set -o pipefail\n"
	"cut='/^\\x1ed/q;/^\\x1e/b;1500,$d;1499s/.*/(further lines are left out)/;"
	"s/^\\(.\\{2000\\}\\).*/\\1/'\n"
	"exec 4>&1\n"
	"{ { main 4>&-; } 2>&3 3>&- | LC_ALL=C sed -u \"$cut\" >&4; } 3>&1 | "
	"LC_ALL=C sed -u \"$cut\" >&2\n";

struct api_list template_shell(const struct e2b *e2b, const char *command)
{
	struct api_argument *items = arena_new(e2b->arena, 4, sizeof(*items));

	items[0].text = SHELL;
	items[1].text = "-l";
	items[2].text = "-c";
	items[3].text = command;
	return (struct api_list){ items, 4 };
}

const char *template_until(const struct e2b *e2b, const char *ready)
{
	static const char form[] = "until (\n%s\n) >/dev/null 2>&1; do sleep 0.05; done";
	const size_t size = strlen(ready) + sizeof(form);
	char *ret = arena_new(e2b->arena, 1, size);

	(void)snprintf(ret, size, form, ready);
	return ret;
}
