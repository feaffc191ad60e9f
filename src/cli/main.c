/*
 * main.c - reckon.
 *
 * Runs in:  reckon.
 * Reads:    the command line.
 * Never:    does any work itself; each command has a file of its own.
 */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
