/*
 * complete.c - completion scripts and manual sections from the tables of commands.
 *
 * Runs in:  reckon, when a package is built or a shell asks.
 * Reads:    the tables.
 * Never:    prints text that a shell would expand: quotes are escaped, and the tables are trusted.
 */
#include <string.h>

#include "cli/options/opt.h"

/*
 * Quotes for a single-quoted shell word; for zsh's _arguments, `special` has brackets and colons.
 */
static void put_quoted(FILE *out, const char *text, const char *special)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			(void)fputs("'\\''", out);
		else if (strchr(special, *text) != NULL)
			(void)fprintf(out, "\\%c", *text);
		else
			(void)fputc(*text, out);
	}
}

/* After an option with an optional value, the next word can be an operand. */
static bool needs_value(const struct opt_item *item)
{
	return item->value != NULL && item->value[0] != '[';
}

static void bash_value(FILE *out, const struct opt_item *item)
{
	if (!needs_value(item))
		return;
	(void)fputs("\t\t", out);
	if (item->id < OPT_LONG)
		(void)fprintf(out, "-%c%s", item->id, item->name != NULL ? "|" : "");
	if (item->name != NULL)
		(void)fprintf(out, "--%s", item->name);
	switch (item->hint) {
	case OPT_HINT_NONE:
		(void)fputs(") return ;;\n", out);
		break;
	case OPT_HINT_FILE:
		(void)fputs(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", out);
		break;
	case OPT_HINT_DIR:
		(void)fputs(") COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n", out);
		break;
	case OPT_HINT_CHOICE:
		(void)fprintf(out, ") COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n",
			      item->choices);
		break;
	case OPT_HINT_LIVE:
		(void)fprintf(out,
			      ") COMPREPLY=($(compgen -W \"$(%s 2>/dev/null)\" -- \"$cur\")); "
			      "return ;;\n",
			      item->choices);
		break;
	}
}

static void bash_command(FILE *out, const struct opt_command *command);

/* Completes the second word, and then the options of that subcommand. */
static void bash_subs(FILE *out, const struct opt_command *command)
{
	(void)fprintf(out, "\t%s)\n\t\tif ((COMP_CWORD == 2)); then\n\t\t\toperands='",
		      opt_word(command));
	for (size_t i = 0; command->subs[i] != NULL; i++)
		(void)fprintf(out, "%s%s", i > 0 ? " " : "", opt_word(command->subs[i]));
	(void)fputs("'; words='--help'\n\t\telse\n\tcase ${COMP_WORDS[2]} in\n", out);
	for (size_t i = 0; command->subs[i] != NULL; i++)
		bash_command(out, command->subs[i]);
	(void)fputs("\tesac\n\t\tfi\n\t\t;;\n", out);
}

static void bash_command(FILE *out, const struct opt_command *command)
{
	if (command->subs != NULL) {
		bash_subs(out, command);
		return;
	}
	(void)fprintf(out, "\t%s)\n\t\tcase $prev in\n", opt_word(command));
	for (size_t i = 0; i < command->count; i++)
		bash_value(out, &command->items[i]);
	(void)fputs("\t\tesac\n\t\twords='", out);
	for (size_t i = 0; i < command->count; i++) {
		if (command->items[i].id < OPT_LONG)
			(void)fprintf(out, "-%c ", command->items[i].id);
		if (command->items[i].name != NULL)
			(void)fprintf(out, "--%s ", command->items[i].name);
	}
	(void)fputs("--help'\n", out);
	if (command->operand_hint == OPT_HINT_CHOICE)
		(void)fprintf(out, "\t\toperands='%s'\n", command->operand_choices);
	if (command->operand_hint == OPT_HINT_LIVE)
		(void)fprintf(out, "\t\t[[ $cur == -* ]] || operands=$(%s 2>/dev/null)\n",
			      command->operand_choices);
	if (command->operand_hint == OPT_HINT_FILE)
		(void)fputs("\t\tfiles=1\n", out);
	(void)fputs("\t\t;;\n", out);
}

static void print_bash(FILE *out, const struct opt_command *const *commands)
{
	(void)fputs("# bash completion for reckon, made by `reckon --completion bash`\n"
		    "_reckon()\n{\n"
		    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		    "\tlocal words='' operands='' files=''\n\n"
		    "\tif ((COMP_CWORD == 1)); then\n"
		    "\t\tCOMPREPLY=($(compgen -W '",
		    out);
	for (size_t i = 0; commands[i] != NULL; i++)
		(void)fprintf(out, "%s ", commands[i]->name);
	(void)fputs("--help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n"
		    "\tcase ${COMP_WORDS[1]} in\n",
		    out);
	for (size_t i = 0; commands[i] != NULL; i++)
		bash_command(out, commands[i]);
	(void)fputs("\tesac\n"
		    "\tif [[ $cur == -* ]]; then\n"
		    "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		    "\telif [[ -n $files ]]; then\n"
		    "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
		    "\telse\n"
		    "\t\tCOMPREPLY=($(compgen -W \"$operands\" -- \"$cur\"))\n"
		    "\tfi\n}\n"
		    "complete -o filenames -F _reckon reckon\n",
		    out);
}

static void zsh_value(FILE *out, const struct opt_item *item)
{
	if (!needs_value(item))
		return;
	(void)fputc(':', out);
	put_quoted(out, item->value, ":[]\\");
	switch (item->hint) {
	case OPT_HINT_NONE:
		(void)fputs(": ", out);
		break;
	case OPT_HINT_FILE:
		(void)fputs(":_files", out);
		break;
	case OPT_HINT_DIR:
		(void)fputs(":_files -/", out);
		break;
	case OPT_HINT_CHOICE:
		(void)fprintf(out, ":(%s)", item->choices);
		break;
	case OPT_HINT_LIVE:
		(void)fprintf(out, ":{compadd -- ${(f)\"$(%s 2>/dev/null)\"}}", item->choices);
		break;
	}
}

static void zsh_spec(FILE *out, const struct opt_item *item, bool is_long)
{
	(void)fputs(" \\\n\t\t\t'", out);
	if (item->repeat)
		(void)fputc('*', out);
	if (is_long)
		(void)fprintf(out, "--%s[", item->name);
	else
		(void)fprintf(out, "-%c[", item->id);
	put_quoted(out, item->help, ":[]\\");
	(void)fputc(']', out);
	zsh_value(out, item);
	(void)fputc('\'', out);
}

static void zsh_command(FILE *out, const struct opt_command *command);

static void zsh_subs(FILE *out, const struct opt_command *command)
{
	(void)fprintf(out, "\t%s)\n\t\tcommands=(", opt_word(command));
	for (size_t i = 0; command->subs[i] != NULL; i++) {
		(void)fprintf(out, "\n\t\t'%s:", opt_word(command->subs[i]));
		put_quoted(out, command->subs[i]->summary, ":\\");
		(void)fputc('\'', out);
	}
	(void)fputs("\n\t\t)\n\t\tif (( CURRENT == 2 )); then\n"
		    "\t\t\t_describe command commands\n\t\t\treturn\n\t\tfi\n"
		    "\t\tshift words\n\t\t(( CURRENT-- ))\n\t\tcase ${words[1]} in\n",
		    out);
	for (size_t i = 0; command->subs[i] != NULL; i++)
		zsh_command(out, command->subs[i]);
	(void)fputs("\t\tesac\n\t\t;;\n", out);
}

static void zsh_command(FILE *out, const struct opt_command *command)
{
	if (command->subs != NULL) {
		zsh_subs(out, command);
		return;
	}
	(void)fprintf(out, "\t%s)\n\t\t_arguments", opt_word(command));
	for (size_t i = 0; i < command->count; i++) {
		if (command->items[i].id < OPT_LONG)
			zsh_spec(out, &command->items[i], false);
		if (command->items[i].name != NULL)
			zsh_spec(out, &command->items[i], true);
	}
	(void)fputs(" \\\n\t\t\t'--help[explain the command]'", out);
	if (command->operand_hint == OPT_HINT_FILE)
		(void)fputs(" \\\n\t\t\t'*:file:_files'", out);
	if (command->operand_hint == OPT_HINT_CHOICE)
		(void)fprintf(out, " \\\n\t\t\t'*:word:(%s)'", command->operand_choices);
	if (command->operand_hint == OPT_HINT_LIVE)
		(void)fprintf(out, " \\\n\t\t\t'*:name:{compadd -- ${(f)\"$(%s 2>/dev/null)\"}}'",
			      command->operand_choices);
	(void)fputs("\n\t\t;;\n", out);
}

static void print_zsh(FILE *out, const struct opt_command *const *commands)
{
	(void)fputs("#compdef reckon\n"
		    "# zsh completion for reckon, made by `reckon --completion zsh`\n"
		    "_reckon() {\n\tlocal -a commands\n\tcommands=(",
		    out);
	for (size_t i = 0; commands[i] != NULL; i++) {
		(void)fprintf(out, "\n\t\t'%s:", commands[i]->name);
		put_quoted(out, commands[i]->summary, ":\\");
		(void)fputc('\'', out);
	}
	(void)fputs("\n\t)\n\tif (( CURRENT == 2 )); then\n"
		    "\t\t_describe command commands\n\t\treturn\n\tfi\n"
		    "\tshift words\n\t(( CURRENT-- ))\n"
		    "\tcase ${words[1]} in\n",
		    out);
	for (size_t i = 0; commands[i] != NULL; i++)
		zsh_command(out, commands[i]);
	(void)fputs("\tesac\n}\n_reckon \"$@\"\n", out);
}

static void fish_item(FILE *out, const char *command, const struct opt_item *item)
{
	(void)fprintf(out, "complete -c reckon -n '__fish_seen_subcommand_from %s'", command);
	if (item->id < OPT_LONG)
		(void)fprintf(out, " -s %c", item->id);
	if (item->name != NULL)
		(void)fprintf(out, " -l %s", item->name);
	if (item->value != NULL && (item->hint == OPT_HINT_FILE || item->hint == OPT_HINT_DIR))
		(void)fputs(" -r -F", out);
	else if (item->hint == OPT_HINT_CHOICE)
		(void)fprintf(out, " -x -a '%s'", item->choices);
	else if (item->hint == OPT_HINT_LIVE)
		(void)fprintf(out, " -x -a '(%s 2>/dev/null)'", item->choices);
	else if (needs_value(item))
		(void)fputs(" -x", out);
	(void)fputs(" -d '", out);
	put_quoted(out, item->help, "\\");
	(void)fputs("'\n", out);
}

/* Offers the options of `reckon session ls` when both words are present. */
static void fish_sub(FILE *out, const struct opt_command *parent, const struct opt_command *sub)
{
	char both[128];

	(void)fprintf(out, "complete -c reckon -n '__fish_seen_subcommand_from %s' -a %s -d '",
		      opt_word(parent), opt_word(sub));
	put_quoted(out, sub->summary, "\\");
	(void)fputs("'\n", out);
	(void)snprintf(both, sizeof(both), "%s; and __fish_seen_subcommand_from %s",
		       opt_word(parent), opt_word(sub));
	if (sub->operand_hint == OPT_HINT_LIVE)
		(void)fprintf(out,
			      "complete -c reckon -n '__fish_seen_subcommand_from %s' -a '(%s "
			      "2>/dev/null)'\n",
			      both, sub->operand_choices);
	for (size_t i = 0; i < sub->count; i++)
		fish_item(out, both, &sub->items[i]);
}

static void print_fish(FILE *out, const struct opt_command *const *commands)
{
	(void)fputs("# fish completion for reckon, made by `reckon --completion fish`\n"
		    "complete -c reckon -f\n",
		    out);
	for (size_t i = 0; commands[i] != NULL; i++) {
		const struct opt_command *command = commands[i];

		(void)fprintf(out, "complete -c reckon -n __fish_use_subcommand -a %s -d '",
			      command->name);
		put_quoted(out, command->summary, "\\");
		(void)fputs("'\n", out);
		if (command->operand_hint != OPT_HINT_NONE)
			(void)fprintf(out,
				      "complete -c reckon -n '__fish_seen_subcommand_from %s' %s%s"
				      "%s%s\n",
				      command->name,
				      command->operand_hint == OPT_HINT_CHOICE ? "-a '" : "-F",
				      command->operand_hint == OPT_HINT_CHOICE
					      ? command->operand_choices
					      : "",
				      command->operand_hint == OPT_HINT_CHOICE ? "'" : "", "");
		for (size_t j = 0; j < command->count; j++)
			fish_item(out, command->name, &command->items[j]);
		for (size_t j = 0; command->subs != NULL && command->subs[j] != NULL; j++)
			fish_sub(out, command, command->subs[j]);
	}
}

int opt_print_completion(FILE *out, const char *shell, const struct opt_command *const *commands,
			 struct err *err)
{
	if (strcmp(shell, "bash") == 0)
		print_bash(out, commands);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(out, commands);
	else if (strcmp(shell, "fish") == 0)
		print_fish(out, commands);
	else
		return err_set(err, ERR_INVALID, "no completion for '%.60s': bash, zsh or fish",
			       shell);
	return 0;
}

/* Escapes the characters that scdoc interprets. */
static void put_scdoc(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("_*\\`.<", *text) != NULL)
			(void)fputc('\\', out);
		(void)fputc(*text, out);
	}
}

static void manual_name(FILE *out, const struct opt_item *item)
{
	(void)fputs("*", out);
	if (item->id < OPT_LONG)
		(void)fprintf(out, "-%c%s", item->id, item->name != NULL ? "*, *" : "");
	if (item->name != NULL)
		(void)fprintf(out, "--%s", item->name);
	(void)fputs("*", out);
	if (item->value != NULL) {
		(void)fputs(" ", out);
		put_scdoc(out, item->value);
	}
}

static void manual_options(FILE *out, const struct opt_command *command)
{
	for (size_t i = 0; i < command->count; i++) {
		(void)fputs("\n", out);
		manual_name(out, &command->items[i]);
		(void)fputs("\n\t", out);
		put_scdoc(out, command->items[i].help);
		(void)fputs(command->items[i].repeat ? "; may be given several times\n" : "\n",
			    out);
	}
}

static void manual_synopsis(FILE *out, const struct opt_command *command)
{
	(void)fprintf(out, "*reckon %s*%s ", command->name,
		      command->count > 0 ? " [option...]" : "");
	put_scdoc(out, command->operands);
	(void)fputs("\n", out);
}

static void manual_subs(FILE *out, const struct opt_command *command)
{
	(void)fputs("# SYNOPSIS\n", out);
	for (size_t i = 0; command->subs[i] != NULL; i++) {
		(void)fputs("\n", out);
		manual_synopsis(out, command->subs[i]);
	}
	(void)fputs("\n# COMMANDS AND OPTIONS\n", out);
	for (size_t i = 0; command->subs[i] != NULL; i++) {
		(void)fprintf(out, "\n## %s\n\n", command->subs[i]->name);
		put_scdoc(out, command->subs[i]->summary);
		(void)fputs("\n", out);
		manual_options(out, command->subs[i]);
	}
}

void opt_print_manual(FILE *out, const struct opt_command *command)
{
	if (command->subs != NULL) {
		manual_subs(out, command);
		return;
	}
	(void)fputs("# SYNOPSIS\n\n", out);
	manual_synopsis(out, command);
	if (command->count == 0)
		return;
	(void)fputs("\n# OPTIONS\n", out);
	manual_options(out, command);
}
