/*
 * program_language.c - the table: name, file, compiler, command, version command.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing.
 * Never:    says whether a language is installed.
 */
#include "dialects/program/program_language.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "dialects/program/program.h"

#define BINARY "./.reckon-program"
#define ALIASES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct program_language table[] = {
	{ "python", ALIASES("python3", "py", "py3", "python3.11"), "main.py", NULL,
	  "python3 \"$main\"", "python3 -V" },
	{ "bash", ALIASES("sh", "shell"), "main.sh", NULL, "bash \"$main\"", "bash --version" },
	{ "javascript", ALIASES("nodejs", "node", "js", "node-javascript", "node-js"), "main.js",
	  NULL, "node \"$main\"", "node --version" },
	{ "typescript", ALIASES("ts", "tsc"), "main.ts", NULL, "tsx \"$main\"", "tsx --version" },
	{ "c", ALIASES("gcc"), "main.c", "gcc -std=c17 -O2 -o " BINARY " \"$main\" -lm", BINARY,
	  "gcc -dumpfullversion" },
	{ "c++", ALIASES("cpp", "g++", "c++17"), "main.cpp",
	  "g++ -std=c++17 -O2 -o " BINARY " \"$main\"", BINARY, "g++ -dumpfullversion" },
	{ "java", ALIASES("jdk"), "Main.java", "javac -d . \"$main\"",
	  "java -ea \"$(basename \"$main\" .java)\"", "javac -version" },
	{ "go", ALIASES("golang"), "main.go", "go build -o " BINARY " \"$main\"", BINARY,
	  "go version" },
	{ "rust", ALIASES("rs", "rustc"), "main.rs", "rustc -O -o " BINARY " \"$main\"", BINARY,
	  "rustc --version" },
	{ "d", ALIASES("gdc"), "main.d", "gdc -o " BINARY " \"$main\"", BINARY,
	  "gdc -dumpfullversion" },
	{ "D_ut", ALIASES("d-unittest"), "main.d", "gdc -funittest -o " BINARY " \"$main\"", BINARY,
	  "gdc -dumpfullversion" },
	{ "fortran", ALIASES("f90"), "main.f90", "gfortran -O2 -o " BINARY " \"$main\"", BINARY,
	  "gfortran -dumpfullversion" },
	{ "perl", ALIASES("pl"), "main.pl", NULL, "perl \"$main\"",
	  "perl -e 'printf \"%vd\", $^V'" },
	{ "ruby", ALIASES("rb"), "main.rb", NULL, "ruby \"$main\"", "ruby --version" },
	{ "php", ALIASES("php8"), "main.php", NULL, "php \"$main\"", "php --version" },
	{ "lua", ALIASES("lua5.4"), "main.lua", NULL, "lua \"$main\"", "lua -v" },
	{ "rscript", ALIASES("R", "r"), "main.R", NULL, "Rscript \"$main\"", "Rscript --version" },
	{ "julia", ALIASES("jl"), "main.jl", NULL, "julia \"$main\"", "julia --version" },
	{ "csharp", ALIASES("cs", "c#", "mono"), "main.cs", "mcs -out:" BINARY " \"$main\"",
	  "mono " BINARY, "mcs --version" },
	{ "kotlin", ALIASES("kt"), "main.kt", "kotlinc \"$main\" -include-runtime -d " BINARY ".jar",
	  "java -ea -jar " BINARY ".jar", "kotlinc -version" },
	{ "kotlin_script", ALIASES("kts"), "main.kts", NULL, "kotlin \"$main\"", "kotlin -version" },
	{ "scala", ALIASES("sc"), "Main.scala", "scalac -d . \"$main\"", "scala -cp . Main",
	  "scalac -version" },
	{ "racket", ALIASES("rkt"), "main.rkt", NULL, "racket \"$main\"", "racket --version" },
	{ "swift", ALIASES("swiftc"), "main.swift", "swiftc -O -o " BINARY " \"$main\"", BINARY,
	  "swiftc --version" },
	{ "verilog", ALIASES("iverilog", "vvp"), "main.v", "iverilog -g2012 -o " BINARY " \"$main\"",
	  "vvp -n " BINARY, "iverilog -V" },
	{ "lean", ALIASES("lean4"), "main.lean", NULL, "lean \"$main\"", "lean --version" },
	{ "haskell", ALIASES("hs", "ghc"), "main.hs", "ghc -O -o " BINARY " \"$main\"", BINARY,
	  "ghc --numeric-version" },
	{ "sql", ALIASES("sqlite", "sqlite3"), "main.sql", NULL,
	  "sqlite3 :memory: \".read \\\"$main\\\"\"", "sqlite3 --version" },
	{ "cuda", ALIASES("cu", "nvcc"), "main.cu", "nvcc -o " BINARY " \"$main\"", BINARY,
	  "nvcc --version" },
	{ "python2", ALIASES("py2"), "main.py", NULL, "python2 \"$main\"", "python2 -V" },
	{ "go_test", ALIASES("go-test"), "main_test.go", NULL, "go test \"$main\"", "go version" },
	{ "jest", ALIASES("js-test"), "main.test.js", NULL, "jest \"$main\"", "jest --version" },
};

const struct program_language *program_language_at(size_t index)
{
	return index < ARRAY_LEN(table) ? &table[index] : NULL;
}

const struct program_language *program_language_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
		for (const char *const *alias = table[i].aliases; *alias != NULL; alias++)
			if (strcmp(*alias, name) == 0)
				return &table[i];
	}
	return NULL;
}

int program_language_probe(const struct program_language *language, struct buf *ret,
			   struct err *err)
{
	const int first = (int)strcspn(language->version, " ");

	return buf_addf(ret, err,
			"command -v %.*s >/dev/null && printf '%%s %%s\\n' '%s' \"$(%s 2>&1 | "
			"grep -oE '[0-9]+(\\.[0-9]+)+' | head -n 1)\"\n",
			first, language->version, language->name, language->version);
}

int program_language_command(const char *command, const char *file, struct buf *ret,
			     struct err *err)
{
	if (buf_adds(ret, "main=", err) < 0 || text_quote_for_shell(file, ret, err) < 0)
		return (int)err->code;
	/* exec leaves no shell above the program: a signal that ends it is the program's own
	 * result. */
	return buf_addf(ret, err, "; exec %s", command);
}
