#!/bin/bash
#
# reckon-template - build, add and remove templates: the package trees that sessions share.
#
# Runs in: the administrator's shell, or `reckon` on first use; outside every box.
# Reads: share/templates, the caller's requirements files, wheels checked against a lock file.
# Never: runs a package's setup code (wheels only), installs a package without a hash in the lock, or
# changes a tree that sessions may be using (one rename replaces it by a new one).
#
# A template is built in TEMPLATES/.NAME.tmp-PID, but boxes see it at /opt/template, so files that
# contain a path must contain the latter.

set -euo pipefail
umask 022
export LC_ALL=C.UTF-8

readonly builder=2 # part of the stamp: increase it if the same lock gives a different tree
readonly inside=/opt/template
readonly python=${RECKON_PYTHON:-/usr/bin/python3}

share=
templates=
work=      # temporary directory to remove when interrupted
pip_options=()
wheel_dirs=()
offline=0
force=0
quiet=0
verbose=0

usage()
{
	cat <<'TEXT'
Usage: reckon-template ls
       reckon-template build [--force] NAME…
       reckon-template add NAME --requirements FILE [--lock] [--from TEMPLATE] [--preload A,B]
                       [--env K=V]… [--memory SIZE]
       reckon-template verify [-v] NAME
       reckon-template rm NAME

build and add also take --index-url URL, --find-links DIR (more than once) and --offline, which
uses the --find-links directories alone; pip's own environment and configuration hold as well.

  --lock          FILE has no hashes: pin what it asks for as of now
  --from TEMPLATE start from that template's packages, preload list, environment and limits
  --force         build again although nothing changed (new fonts on the host, say)

Templates live in $RECKON_TEMPLATES, else $RECKON_STATE/templates, else /var/lib/reckon/templates
for root, else ~/.local/state/reckon/templates.
Exit status: 0 done, 1 failed, 2 usage.
TEXT
}

# fail WHAT [REMEDY]
fail()
{
	echo "reckon-template: $1" >&2
	[[ -z ${2:-} ]] || echo "  $2" >&2
	exit 1
}

misused()
{
	echo "reckon-template: $1 (see reckon help template)" >&2
	exit 2
}

# unknown WHAT [REMEDY]: reports an unknown name, which is a usage error as well.
unknown()
{
	echo "reckon-template: $1" >&2
	echo "  ${2:-reckon template ls names those there are.}" >&2
	exit 2
}

# ---- directories and settings -------------------------------------------------------------------

find_share()
{
	local here candidate
	here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
	for candidate in "${RECKON_SHARE:-}" "$here/../share" "$here/../../share/reckon" \
		/usr/local/share/reckon /usr/share/reckon; do
		if [[ -n $candidate && -f $candidate/templates/lib/check.py ]]; then
			share=$(cd "$candidate/templates" && pwd)
			return
		fi
	done
	fail "share/templates is missing beside $here" "Install Reckon's data files, or set RECKON_SHARE."
}

find_templates()
{
	if [[ -n ${RECKON_TEMPLATES:-} ]]; then
		templates=$RECKON_TEMPLATES
	elif [[ -n ${RECKON_STATE:-} ]]; then
		templates=$RECKON_STATE/templates
	elif [[ $EUID -eq 0 ]]; then
		templates=/var/lib/reckon/templates
	else
		templates=${XDG_STATE_HOME:-$HOME/.local/state}/reckon/templates
	fi
	[[ $templates == /* ]] || templates=$PWD/$templates
}

need_name()
{
	[[ $1 =~ ^[a-z0-9][a-z0-9_-]{0,62}$ ]] ||
		misused "'$1' is no template name: use a-z, 0-9, - and _, at most 63 characters"
}

# Refuses settings that the warden's parser of template.ini would cut.
need_setting()
{
	[[ $1 =~ ^[A-Za-z_][A-Za-z0-9_]{0,59}=[^[:cntrl:]]*$ ]] || misused "--env takes NAME=value"
	local value=${1#*=}
	[[ $value == "${value#[[:blank:]]}" && $value == "${value%[[:blank:]]}" ]] ||
		misused "--env: a value neither begins nor ends with a blank"
	[[ $value != *[[:blank:]]\;* ]] || misused "--env: ';' after a blank would begin a comment"
	[[ $(printf %s "$value" | wc -c) -le 90 ]] || misused "--env: a value has 90 bytes at most"
}

# Sets `ini` and `lock` to the definition of template $1: the user's own, else one of Reckon's.
find_definition()
{
	ini=$templates/.defined/$1/template.ini
	lock=$templates/.defined/$1/lock
	if [[ ! -f $ini ]]; then
		ini=$share/$1.ini
		lock=$share/$1.lock
	fi
	[[ -f $ini ]] || unknown "no template is called '$1'"
	[[ -f $lock ]] || lock=/dev/null
}

# ini_get FILE SECTION KEY: values of repeated keys form one list.
ini_get()
{
	awk -v section="[$2]" -v key="$3" '
		/^[ \t]*[#;]/ { next }
		/^[ \t]*\[/ { gsub(/[ \t]/, ""); current = $0; next }
		current == section && (at = index($0, "=")) {
			name = substr($0, 1, at - 1); value = substr($0, at + 1)
			gsub(/^[ \t]+|[ \t]+$/, "", name); gsub(/^[ \t]+|[ \t]+$/, "", value)
			if (name == key) { list = list (list == "" ? "" : ", ") value }
		}
		END { print list }' "$1"
}

# ini_section FILE SECTION: prints its lines as "key = value", without comments.
ini_section()
{
	awk -v section="[$2]" '
		/^[ \t]*([#;]|$)/ { next }
		/^[ \t]*\[/ { gsub(/[ \t]/, ""); current = $0; next }
		current == section { sub(/[ \t]*=[ \t]*/, " = "); print }' "$1"
}

words() { tr ',' ' ' <<< "$1"; }

# Prints the version, such as "3.11": from the target of the link if possible, which is faster than
# starting the interpreter.
python_version()
{
	local real
	real=$(readlink -f "$python") || real=
	if [[ $real =~ python(3\.[0-9]+)$ ]]; then
		echo "${BASH_REMATCH[1]}"
	else
		"$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' ||
			fail "$python does not run" "Install Python 3.11 or newer."
	fi
}

# Prints a hash of all that the tree of a definition depends on; the same hash means the same tree.
stamp_of()
{
	{
		echo "builder $builder python $(python_version)"
		cat -- "$1" "$2" "$share"/lib/*
	} | sha256sum | cut -d' ' -f1
}

built_value() { awk -v key="$2" '$1 == key { print $2 }' "$templates/$1/built" 2>/dev/null || true; }

# ---- removing -----------------------------------------------------------------------------------

remove_tree()
{
	[[ -e $1 ]] || return 0
	chmod -R u+w -- "$1" 2>/dev/null || true
	rm -rf -- "$1"
}

# Removes tmp directories of template $1, which are unused because the caller has its lock, and old
# trees of every template that are not mounted in a box.
sweep()
{
	local path
	for path in "$templates/.$1".tmp-* "$templates"/.*.old-*; do
		[[ -e $path && $path != "$work" ]] || continue
		if [[ $path == *.old-* ]] &&
			grep -qsF -- "/${path##*/}/" /proc/[0-9]*/mountinfo; then
			continue
		fi
		remove_tree "$path"
	done
}

# Takes the lock of template $1 as lock_fd. `rm` removes the file, so check it again after waiting.
take_lock()
{
	local path=$templates/.$1.lock
	while :; do
		exec {lock_fd}> "$path"
		flock -n "$lock_fd" || {
			echo "$1: waiting for another build" >&2
			flock "$lock_fd"
		}
		[[ ! /proc/self/fd/$lock_fd -ef $path ]] || return 0
		exec {lock_fd}>&-
	done
}

clean_up()
{
	local status=$?
	trap - EXIT INT TERM HUP
	[[ -z $work ]] || remove_tree "$work"
	exit "$status"
}

# ---- building -----------------------------------------------------------------------------------

# pip_run ARGUMENT…: runs the distribution's pip, or the wheel of pip that python3-venv installs.
pip_run()
{
	local wheel
	# These would install packages elsewhere, or make packages visible that a box does not have.
	unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_DRY_RUN PIP_REQUIREMENT PIP_CONSTRAINT
	unset PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE
	if "$python" -c 'import pip' 2>/dev/null; then
		"$python" -m pip "$@"
		return
	fi
	for wheel in /usr/share/python-wheels/pip-*.whl; do
		[[ -f $wheel ]] || fail "pip is missing" "Install python3-pip (or python3-venv)."
		"$python" "$wheel/pip" "$@"
		return
	done
}

# Whether to show progress: stderr is a terminal that can display pip's bars.
is_watched()
{
	[[ -t 2 && -n ${TERM:-} && $TERM != dumb ]]
}

# pip_logged LOG ARGUMENT…: runs pip with the options of pip_source_options; its output goes to the
# terminal, or without one to LOG.
pip_logged()
{
	local log=$1
	shift
	if is_watched; then
		: > "$log"
		pip_run "$@" "${pip_options[@]}" >&2
		return
	fi
	pip_run "$@" "${pip_options[@]}" > "$log" 2>&1
}

pip_source_options()
{
	local directory
	pip_options=(--disable-pip-version-check --no-input)
	is_watched || pip_options+=(--progress-bar off --quiet)
	[[ -z ${index_url:-} ]] || pip_options+=(--index-url "$index_url")
	for directory in "${wheel_dirs[@]}"; do
		[[ $directory == *://* || -d $directory ]] || fail "$directory is no directory of wheels"
		pip_options+=(--find-links "$directory")
	done
	if [[ $offline -eq 1 ]]; then
		[[ ${#wheel_dirs[@]} -gt 0 ]] || misused "--offline needs --find-links"
		unset PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS
		export PIP_CONFIG_FILE=/dev/null
		pip_options+=(--no-index)
	fi
}

make_environment()
{
	local tree=$1 version=$2
	mkdir -p "$tree/bin" "$tree/lib/python$version/site-packages" "$tree/etc/fonts" \
		"$tree/var/cache/fontconfig"
	# Not `python3 -m venv`: this makes the same five names without its activate scripts, which
	# contain the path of the build.
	ln -s "$python" "$tree/bin/python3"
	ln -s python3 "$tree/bin/python"
	ln -s python3 "$tree/bin/python$version"
	ln -s lib "$tree/lib64"
	printf 'home = %s\ninclude-system-site-packages = false\nversion = %s\n' \
		"$(dirname "$python")" "$version" > "$tree/pyvenv.cfg"
}

install_packages()
{
	local name=$1 tree=$2 lockfile=$3 log=$4
	grep -q == "$lockfile" || return 0
	pip_logged "$log" --python "$tree/bin/python3" install --require-hashes \
		--only-binary :all: --no-deps --no-compile --no-warn-script-location \
		-r "$lockfile" || {
		grep -v '^WARNING: Running pip as' "$log" >&2
		fail "$name: its packages could not be installed" \
			"Without a network give --offline --find-links DIR; a mirror: --index-url URL."
	}
}

# Replaces paths of the build by paths of the box.
move_paths()
{
	local tree=$1 file
	for file in "$tree"/bin/*; do
		if [[ -f $file && ! -L $file ]] && grep -qIF -- "$tree" "$file"; then
			sed -i "s|$tree|$inside|g" "$file"
		fi
	done
	grep -rIlF --include='*.pth' --include=direct_url.json -- "$tree" "$tree/lib" |
		while IFS= read -r file; do
			sed -i "s|$tree|$inside|g" "$file"
		done || true
}

# run_inside TREE INI ARGUMENT…: runs the tree's Python with the template's environment outside of a box,
# with TREE and $scratch instead of the box's /opt/template and /tmp. -B, because compile_tree would
# not replace bytecode that is compiled here, with the path of the build in it.
run_inside()
{
	local tree=$1 definition=$2 line settings=()
	shift 2
	while IFS= read -r line; do
		line="${line%% = *}=${line#* = }"
		line=${line//$inside/$tree}
		settings+=("${line//\/tmp\//$scratch/}")
	done < <(ini_section "$definition" env)
	env -i PATH=/usr/bin:/bin HOME="$scratch" TMPDIR="$scratch" LANG=C.UTF-8 \
		"${settings[@]}" "$tree/bin/python3" -I -B "$@"
}

warm_fonts()
{
	local tree=$1 definition=$2 site=$3
	cp "$share/lib/fonts.conf" "$tree/etc/fonts/fonts.conf"
	cp "$share/lib/_reckon_template.py" "$site/_reckon_template.py"
	echo 'import _reckon_template' > "$site/_reckon_template.pth"
	if command -v fc-cache > /dev/null; then
		sed "s|$inside|$tree|g; /<cachedir>\/tmp/d" "$share/lib/fonts.conf" > "$scratch/fonts.conf"
		FONTCONFIG_FILE=$scratch/fonts.conf fc-cache > /dev/null 2>&1 || true
	fi
	run_inside "$tree" "$definition" "$share/lib/warm.py" "$tree" ||
		fail "matplotlib's font list could not be made"
}

drop_tests()
{
	local site=$1 package
	for package in $(words "$2"); do
		[[ -d $site/$package ]] || continue
		find "$site/$package" -type d -name tests -prune -exec rm -rf -- {} +
	done
}

# unchecked-hash: Python never checks the sources, because nobody can write the tree, and in a copy with
# other file times imports must not recompile.
compile_tree()
{
	local tree=$1 log=$2
	# Ignore errors, because a package may contain a file for another version of Python.
	"$python" -m compileall -q -j2 --invalidation-mode unchecked-hash -s "$tree" -p "$inside" \
		"$tree/lib" > "$log" 2>&1 || true
}

# swap A B: exchanges A and B atomically, or renames A to B if B does not exist.
swap()
{
	if [[ ! -e $2 ]]; then
		mv -T -- "$1" "$2"
		return
	fi
	"$python" -I -S - "$1" "$2" <<'PYTHON' || fail "$2 could not be replaced"
import ctypes, os, sys
AT_FDCWD, RENAME_EXCHANGE = -100, 2
libc = ctypes.CDLL(None, use_errno=True)
first, second = map(os.fsencode, sys.argv[1:])
if libc.renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
PYTHON
}

# One module per line, because the warden accepts lines of at most 200 bytes.
preload_section()
{
	local module
	echo '[preload]'
	for module in $(words "$1"); do
		echo "modules = $module"
	done
}

write_ini()
{
	local name=$1 version=$2 definition=$3 section
	printf '[template]\nname = %s\npython = %s\n' "$name" "$version"
	preload_section "$(ini_get "$definition" preload modules)"
	for section in env limits; do
		printf '[%s]\n' "$section"
		ini_section "$definition" "$section"
	done
}

# check_preload TREE INI [-v]
check_preload()
{
	local modules
	modules=$(words "$(ini_get "$2" preload modules)")
	# shellcheck disable=SC2086  # a list of module names
	run_inside "$1" "$2" "$share/lib/check.py" ${3:-} $modules
}

# step TEXT: prints the current step if progress is shown.
step()
{
	! is_watched || echo "$1" >&2
}

# fill NAME INI LOCK: makes $work hold a complete template.
fill()
{
	local name=$1 definition=$2 lockfile=$3 version tree site reason
	version=$(python_version)
	tree=$work/tree
	site=$tree/lib/python$version/site-packages
	scratch=$work/scratch
	mkdir -p "$scratch"
	make_environment "$tree" "$version"
	install_packages "$name" "$tree" "$lockfile" "$scratch/pip.log"
	step "$name: preparing what was installed"
	drop_tests "$site" "$(ini_get "$definition" build drop_tests)"
	warm_fonts "$tree" "$definition" "$site"
	step "$name: compiling"
	compile_tree "$tree" "$scratch/compile.log"
	move_paths "$tree"
	reason=$(check_preload "$tree" "$definition" 2>&1) ||
		fail "$name: $reason" "Take it off the preload list: it can be imported after the fork."
	write_ini "$name" "$version" "$definition" > "$work/template.ini"
	cp -- "$lockfile" "$work/lock"
	remove_tree "$scratch"
}

finish()
{
	local name=$1 stamp=$2 begun=$3 size packages
	size=$(du -sm --apparent-size "$work/tree" | cut -f1)
	packages=$(grep -c == "$work/lock" || true)
	printf 'stamp %s\nsize_mb %s\npackages %s\nseconds %s\n' \
		"$stamp" "$size" "$packages" "$((SECONDS - begun))" > "$work/built"
	chmod -R a+rX,a-w -- "$work/tree"
	chmod a+r,a-w -- "$work"/{template.ini,lock,built}
	chmod 755 "$work"
	# Sync the tree before the rename, so that no name refers to half a template after a power cut.
	sync -f "$work/built" 2>/dev/null || true
	swap "$work" "$templates/$name"
	if [[ -e $work ]]; then
		mv -T -- "$work" "$templates/.$name.old-$$"
	fi
	work=
	echo "$name: $packages packages, $size MB in $((SECONDS - begun)) s"
}

build_one()
{
	local name=$1 stamp begun=$SECONDS ini lock
	find_definition "$name"
	stamp=$(stamp_of "$ini" "$lock")
	if [[ $force -eq 0 && $(built_value "$name" stamp) == "$stamp" ]]; then
		echo "$name: up to date"
		return
	fi
	pip_source_options
	mkdir -p -- "$templates"
	chmod a+rx -- "$templates" 2>/dev/null || true
	take_lock "$name"
	if [[ $force -eq 1 || $(built_value "$name" stamp) != "$stamp" ]]; then
		work=$templates/.$name.tmp-$$
		sweep "$name"
		mkdir -- "$work"
		fill "$name" "$ini" "$lock"
		finish "$name" "$stamp" "$begun"
		sweep "$name"
	else
		echo "$name: up to date"
	fi
	exec {lock_fd}>&-
}

# ---- adding -------------------------------------------------------------------------------------

# pin FILE BASE: writes the lock for a requirements file to standard output. It uses the base's
# versions, so that one set of packages satisfies both lists.
pin()
{
	local requirements=$1 base=$2 constraints=()
	if [[ $base != /dev/null ]]; then
		grep -o '^[^# ]*==[^ ;\\]*' "$base" > "$work/constraints.txt"
		constraints=(--constraint "$work/constraints.txt")
	fi
	make_environment "$work/resolve" "$(python_version)"
	pip_logged "$work/pip.log" --python "$work/resolve/bin/python3" install --only-binary :all: \
		--dry-run --ignore-installed --report "$work/report.json" "${constraints[@]}" \
		-r "$requirements" || {
		grep -v '^WARNING: Running pip as' "$work/pip.log" >&2
		fail "$requirements could not be resolved to wheels" \
			"Without a network give --offline --find-links DIR; a mirror: --index-url URL."
	}
	"$python" -I "$share/lib/pin.py" "$work/report.json" "$base"
}

# define NAME: writes $work/{template.ini,lock,requirements.in} from add's options.
define()
{
	local name=$1 base_ini=/dev/null base_lock=/dev/null ini lock item modules limit
	if [[ -n $from ]]; then
		find_definition "$from"
		base_ini=$ini base_lock=$lock
	fi
	cp -- "$requirements" "$work/requirements.in"
	if [[ $pin_now -eq 1 ]]; then
		pin "$requirements" "$base_lock" > "$work/lock"
	else
		grep -q -- '--hash=sha256:' "$requirements" ||
			fail "$requirements has no hashes" \
				"Give --lock to pin what it asks for as of now, or a file made with hashes."
		cat -- "$base_lock" "$requirements" > "$work/lock"
	fi
	modules=$(ini_get "$base_ini" preload modules)
	modules+=,$preload
	limit=$memory
	[[ -n $limit ]] || limit=$(ini_get "$base_ini" limits memory)
	{
		printf '[template]\nname = %s\npython = %s\n' "$name" "$(python_version)"
		printf '[build]\ndrop_tests = %s\n' "$(ini_get "$base_ini" build drop_tests)"
		preload_section "$modules"
		echo '[env]'
		for item in "${settings[@]}"; do
			printf '%s = %s\n' "${item%%=*}" "${item#*=}"
		done
		ini_section "${base_ini/#\/dev\/null/$share/data.ini}" env |
			grep -vE "^($(IFS='|'; echo "${settings[*]%%=*}")|) = " || true
		printf '[limits]\nmemory = %s\n' "${limit:-1G}"
	} > "$work/template.ini"
	remove_tree "$work/resolve"
	rm -f "$work"/{report.json,pip.log,constraints.txt}
}

add()
{
	local name=$1 home=$templates/.defined/$1 options=() directory
	[[ ! -f $share/$name.ini ]] || fail "'$name' is one of Reckon's own templates" "Take another name."
	# A definition without a tree is left over from a killed `add` and may be replaced.
	[[ ! -e $home || ! -e $templates/$name || $force -eq 1 ]] ||
		fail "template '$name' is there already" "Remove it first, or give --force."
	pip_source_options
	mkdir -p -- "$templates/.defined"
	chmod a+rx -- "$templates" 2>/dev/null || true
	exec {defined_fd}< "$templates/.defined"
	flock "$defined_fd" # one `add` at a time, so that other tmp directories are leftovers
	for directory in "$templates"/.defined/.*.tmp-*; do
		remove_tree "$directory"
	done
	work=$templates/.defined/.$name.tmp-$$
	mkdir -- "$work"
	define "$name"
	if [[ -e $home ]]; then
		swap "$work" "$home"
	else
		mv -T -- "$work" "$home"
		work=
	fi
	# If the build fails, remove the definition or restore the old one. The build is another process,
	# because `set -e` has no effect in a condition.
	[[ -z ${index_url:-} ]] || options+=(--index-url "$index_url")
	for directory in "${wheel_dirs[@]}"; do
		options+=(--find-links "$directory")
	done
	[[ $offline -eq 0 ]] || options+=(--offline)
	if ! "$BASH" "${BASH_SOURCE[0]}" build "${options[@]}" "$name"; then
		if [[ -n $work ]]; then
			swap "$work" "$home"
		else
			remove_tree "$home"
		fi
		exit 1
	fi
}

# ---- the other commands -------------------------------------------------------------------------

list()
{
	local path name names=() state size ini lock
	for path in "$share"/*.ini "$templates"/.defined/*/template.ini; do
		[[ -f $path ]] || continue
		name=$(basename "$path" .ini)
		[[ $name != template ]] || name=$(basename "$(dirname "$path")")
		names+=("$name")
	done
	if [[ $quiet -eq 1 ]]; then
		printf '%s\n' "${names[@]}" | sort -u
		return
	fi
	printf '%-16s %-10s %8s %8s  %s\n' NAME STATE PACKAGES SIZE PRELOAD
	for name in $(printf '%s\n' "${names[@]}" | sort -u); do
		find_definition "$name"
		state='not built' size=-
		if [[ -f $templates/$name/built ]]; then
			state=built
			size="$(built_value "$name" size_mb) MB"
			[[ $(built_value "$name" stamp) == "$(stamp_of "$ini" "$lock")" ]] || state=outdated
		fi
		printf '%-16s %-10s %8s %8s  %s\n' "$name" "$state" "$(grep -c == "$lock" || true)" "$size" \
			"$(ini_get "$ini" preload modules)"
	done
}

remove()
{
	local name=$1 found=0
	if [[ -e $templates/$name || -e $templates/.defined/$name ]]; then
		found=1
		take_lock "$name"
	fi
	if [[ -e $templates/$name ]]; then
		mv -T -- "$templates/$name" "$templates/.$name.old-$$"
	fi
	if [[ -e $templates/.defined/$name ]]; then
		remove_tree "$templates/.defined/$name"
	fi
	sweep "$name"
	[[ $found -eq 1 ]] || unknown "no template '$name' is built"
	rm -f -- "$templates/.$name.lock"
}

verify()
{
	local name=$1 option=
	[[ -f $templates/$name/template.ini ]] ||
		unknown "template '$name' is not built" "Run: reckon template build $name"
	work=$(mktemp -d)
	scratch=$work
	[[ $verbose -eq 0 ]] || option=-v
	check_preload "$templates/$name/tree" "$templates/$name/template.ini" $option ||
		fail "$name: its preload list cannot be used in a zygote" \
			"Take the module off the list in the definition, and build again."
	echo "$name: preload list leaves one thread"
}

main()
{
	local command=${1:-} names=() settings=() name
	local index_url='' requirements='' pin_now=0 from='' preload='' memory=''
	[[ $# -gt 0 ]] || misused "a command is missing"
	shift
	while [[ $# -gt 0 ]]; do
		case $1 in
		--index-url | --find-links | --requirements | --from | --preload | --env | --memory)
			[[ $# -ge 2 ]] || misused "$1 needs a value"
			;;&
		--index-url) index_url=$2; shift ;;
		--find-links) wheel_dirs+=("$2"); shift ;;
		--requirements) requirements=$2; shift ;;
		--from) from=$2; shift ;;
		--preload) preload=$2; shift ;;
		--env)
			need_setting "$2"
			settings+=("$2"); shift
			;;
		--memory)
			[[ $2 =~ ^[1-9][0-9]*[KMGkmg]?$ ]] || misused "--memory takes a size such as 512M"
			memory=$2; shift
			;;
		-q | --quiet) quiet=1 ;;
		--lock) pin_now=1 ;;
		--offline) offline=1 ;;
		--force) force=1 ;;
		-v | --verbose) verbose=1 ;;
		-h | --help) usage; return ;;
		-*) misused "unknown option $1" ;;
		*) need_name "$1"; names+=("$1") ;;
		esac
		shift
	done
	find_share
	find_templates
	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	case $command in
	ls) [[ ${#names[@]} -eq 0 ]] || misused "ls takes no name" ;;
	build) ;;
	add | rm | verify) [[ ${#names[@]} -eq 1 ]] || misused "$command takes one name" ;;
	-h | --help | help) usage; return ;;
	*) misused "unknown command '$command'" ;;
	esac
	case $command in
	ls) list ;;
	build)
		[[ ${#names[@]} -gt 0 ]] || misused "build takes the names of templates"
		for name in "${names[@]}"; do
			build_one "$name"
		done
		;;
	add)
		[[ -f $requirements ]] || misused "--requirements FILE is missing, or names no file"
		[[ -z $preload || $preload =~ ^[A-Za-z_][A-Za-z0-9_.]*(,[A-Za-z_][A-Za-z0-9_.]*)*$ ]] ||
			misused "--preload takes module names with commas between"
		[[ -z $from ]] || need_name "$from"
		add "${names[0]}"
		;;
	rm) remove "${names[0]}" ;;
	verify) verify "${names[0]}" ;;
	esac
}

main "$@"
