/*
 * words.c - reads remedies of a daemon, one per line, and prints each as the command line shows it.
 *
 * Runs in:  test/tools/test_remedies.py.
 * Reads:    standard input.
 * Never:    connects to a daemon.
 */
#include <stdio.h>
#include <string.h>

#include "client/inner.h"

int main(void)
{
	char line[4096], words[WORDS_SIZE];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		words_remedy(line, words, sizeof(words));
		(void)puts(words);
	}
	return 0;
}
