#!/bin/sh
# build.sh RECKON SCDOC SOURCE: the manual page in troff. A line "%options COMMAND" in the source
# becomes that command's synopsis and options.
set -eu
while IFS= read -r line || [ -n "$line" ]; do
	case $line in
	'%options '*) "$1" --manual "${line#%options }" ;;
	*) printf '%s\n' "$line" ;;
	esac
done <"$3" | "$2"
