/*
 * mime.c - the media type of a file by its first bytes, then its name.
 *
 * Runs in:  libreckon.
 * Reads:    hostile bytes and names.
 * Never:    trusts a name that says "image" if the bytes do not match.
 */
#include "lib/record/mime.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define OCTETS "application/octet-stream"
#define OOXML "application/vnd.openxmlformats-officedocument."
#define ODF "application/vnd.oasis.opendocument."

struct signature {
	uint16_t offset;
	uint16_t len;
	const char *bytes;
	const char *mime;
	bool in_container; /* applies only inside RIFF or ISO media */
};

static const struct signature signatures[] = {
	{ 0, 8, "\x89PNG\r\n\x1a\n", "image/png" },
	{ 0, 3, "\xff\xd8\xff", "image/jpeg" },
	{ 0, 6, "GIF87a", "image/gif" },
	{ 0, 6, "GIF89a", "image/gif" },
	{ 8, 4, "WEBP", "image/webp", true },
	{ 0, 4, "II*\0", "image/tiff" },
	{ 0, 4, "MM\0*", "image/tiff" },
	{ 0, 4, "\0\0\1\0", "image/x-icon" },
	{ 0, 5, "%PDF-", "application/pdf" },
	{ 0, 4, "PAR1", "application/vnd.apache.parquet" },
	{ 0, 6, "ARROW1", "application/vnd.apache.arrow.file" },
	{ 0, 4, "FEA1", "application/vnd.apache.arrow.file" },
	{ 0, 4, "ORC\n", OCTETS },
	{ 0, 16, "SQLite format 3\0", "application/vnd.sqlite3" },
	{ 8, 4, "DUCK", "application/vnd.duckdb" },
	{ 0, 8, "\x89HDF\r\n\x1a\n", "application/x-hdf5" },
	{ 0, 6, "\x93NUMPY", "application/x-npy" },
	{ 0, 3, "\x1f\x8b\x08", "application/gzip" },
	{ 0, 4, "\x28\xb5\x2f\xfd", "application/zstd" },
	{ 0, 3, "BZh", "application/x-bzip2" },
	{ 0, 6, "\xfd" "7zXZ\0", "application/x-xz" },
	{ 0, 6, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed" },
	{ 0, 6, "Rar!\x1a\x07", "application/vnd.rar" },
	{ 257, 5, "ustar", "application/x-tar" },
	{ 8, 4, "WAVE", "audio/wav", true },
	{ 8, 4, "AVI ", "video/x-msvideo", true },
	{ 0, 4, "fLaC", "audio/flac" },
	{ 0, 4, "OggS", "audio/ogg" },
	{ 0, 3, "ID3", "audio/mpeg" },
	{ 0, 4, "\x1a\x45\xdf\xa3", "video/webm" },
	{ 8, 4, "avif", "image/avif", true },
	{ 8, 4, "heic", "image/heic", true },
	{ 8, 2, "qt", "video/quicktime", true },
	{ 4, 4, "ftyp", "video/mp4" },
	{ 0, 4, "\x7f" "ELF", "application/x-elf" },
	{ 0, 4, "\0asm", "application/wasm" },
	{ 0, 4, "wOF2", "font/woff2" },
	{ 0, 4, "\xd0\xcf\x11\xe0", "application/x-ole-storage" },
	{ 0, 4, "PK\3\4", "application/zip" },
	{ 0, 4, "PK\5\6", "application/zip" },
};

enum content {
	CONTENT_TEXT,	/* accepted if the bytes are not binary */
	CONTENT_ZIP,	/* accepted if the bytes are a ZIP archive */
	CONTENT_OLE,	/* accepted if the bytes are an OLE compound file */
	CONTENT_BINARY, /* has no signature: accepted if the bytes are binary */
};

struct extension {
	const char *name;
	enum content content;
	const char *mime;
};

static const struct extension extensions[] = {
	{ "bash", CONTENT_TEXT, "text/x-shellscript" },
	{ "bib", CONTENT_TEXT, "text/x-bibtex" },
	{ "c", CONTENT_TEXT, "text/x-c" },
	{ "cfg", CONTENT_TEXT, "text/plain" },
	{ "cpp", CONTENT_TEXT, "text/x-c++" },
	{ "css", CONTENT_TEXT, "text/css" },
	{ "csv", CONTENT_TEXT, "text/csv" },
	{ "diff", CONTENT_TEXT, "text/x-diff" },
	{ "geojson", CONTENT_TEXT, "application/geo+json" },
	{ "go", CONTENT_TEXT, "text/x-go" },
	{ "h", CONTENT_TEXT, "text/x-c" },
	{ "htm", CONTENT_TEXT, "text/html" },
	{ "html", CONTENT_TEXT, "text/html" },
	{ "ics", CONTENT_TEXT, "text/calendar" },
	{ "ini", CONTENT_TEXT, "text/plain" },
	{ "ipynb", CONTENT_TEXT, "application/x-ipynb+json" },
	{ "java", CONTENT_TEXT, "text/x-java" },
	{ "js", CONTENT_TEXT, "text/javascript" },
	{ "json", CONTENT_TEXT, "application/json" },
	{ "jsonl", CONTENT_TEXT, "application/jsonl" },
	{ "log", CONTENT_TEXT, "text/plain" },
	{ "md", CONTENT_TEXT, "text/markdown" },
	{ "mjs", CONTENT_TEXT, "text/javascript" },
	{ "ndjson", CONTENT_TEXT, "application/x-ndjson" },
	{ "patch", CONTENT_TEXT, "text/x-diff" },
	{ "py", CONTENT_TEXT, "text/x-python" },
	{ "r", CONTENT_TEXT, "text/x-r" },
	{ "rs", CONTENT_TEXT, "text/x-rust" },
	{ "rtf", CONTENT_TEXT, "application/rtf" },
	{ "sh", CONTENT_TEXT, "text/x-shellscript" },
	{ "sql", CONTENT_TEXT, "application/sql" },
	{ "srt", CONTENT_TEXT, "application/x-subrip" },
	{ "svg", CONTENT_TEXT, "image/svg+xml" },
	{ "tex", CONTENT_TEXT, "text/x-tex" },
	{ "toml", CONTENT_TEXT, "application/toml" },
	{ "ts", CONTENT_TEXT, "text/x-typescript" },
	{ "tsv", CONTENT_TEXT, "text/tab-separated-values" },
	{ "txt", CONTENT_TEXT, "text/plain" },
	{ "vtt", CONTENT_TEXT, "text/vtt" },
	{ "xml", CONTENT_TEXT, "application/xml" },
	{ "yaml", CONTENT_TEXT, "application/yaml" },
	{ "yml", CONTENT_TEXT, "application/yaml" },
	{ "docx", CONTENT_ZIP, OOXML "wordprocessingml.document" },
	{ "epub", CONTENT_ZIP, "application/epub+zip" },
	{ "jar", CONTENT_ZIP, "application/java-archive" },
	{ "npz", CONTENT_ZIP, "application/x-npz" },
	{ "odp", CONTENT_ZIP, ODF "presentation" },
	{ "ods", CONTENT_ZIP, ODF "spreadsheet" },
	{ "odt", CONTENT_ZIP, ODF "text" },
	{ "pptx", CONTENT_ZIP, OOXML "presentationml.presentation" },
	{ "xlsm", CONTENT_ZIP, "application/vnd.ms-excel.sheet.macroenabled.12" },
	{ "xlsx", CONTENT_ZIP, OOXML "spreadsheetml.sheet" },
	{ "doc", CONTENT_OLE, "application/msword" },
	{ "ppt", CONTENT_OLE, "application/vnd.ms-powerpoint" },
	{ "xls", CONTENT_OLE, "application/vnd.ms-excel" },
	{ "arrows", CONTENT_BINARY, "application/vnd.apache.arrow.stream" },
	{ "joblib", CONTENT_BINARY, "application/x-pickle" },
	{ "pickle", CONTENT_BINARY, "application/x-pickle" },
	{ "pkl", CONTENT_BINARY, "application/x-pickle" },
	{ "pyc", CONTENT_BINARY, "application/x-python-bytecode" },
	{ "ttf", CONTENT_BINARY, "font/ttf" },
};

static const struct extension *find_extension(const char *name)
{
	const char *dot = name != NULL ? strrchr(name, '.') : NULL;

	if (dot == NULL || strchr(dot, '/') != NULL)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(extensions); i++)
		if (strcasecmp(extensions[i].name, dot + 1) == 0)
			return &extensions[i];
	return NULL;
}

static const char *find_signature(const unsigned char *head, size_t len)
{
	bool is_container = len >= 12 && (memcmp(head, "RIFF", 4) == 0 ||
					  memcmp(head + 4, "ftyp", 4) == 0);

	for (size_t i = 0; i < ARRAY_LEN(signatures); i++) {
		const struct signature *known = &signatures[i];

		if ((is_container || !known->in_container) &&
		    len >= (size_t)known->offset + known->len &&
		    memcmp(head + known->offset, known->bytes, known->len) == 0)
			return known->mime;
	}
	/* An MPEG audio frame: 11 bits of sync, layer III, a valid bit rate and sample rate. */
	if (len >= 3 && head[0] == 0xff && (head[1] & 0xe6) == 0xe2 && (head[1] & 0x18) != 0x08 &&
	    (head[2] & 0xf0) != 0xf0 && (head[2] & 0x0c) != 0x0c)
		return "audio/mpeg";
	return NULL;
}

static bool is_binary(const unsigned char *head, size_t len)
{
	bool is_utf16 = len >= 2 && ((head[0] == 0xff && head[1] == 0xfe) ||
				     (head[0] == 0xfe && head[1] == 0xff));

	return !is_utf16 && memchr(head, '\0', len) != NULL;
}

static bool is_utf8_text(const char *head, size_t len)
{
	/* A full window may end within a character; the end of a file may not. */
	if (len >= MIME_HEAD_SIZE)
		len -= utf8_incomplete_tail(head, len);
	return memchr(head, '\0', len) == NULL && utf8_is_valid(head, len);
}

static bool starts_with(const char *text, size_t len, const char *word)
{
	return len >= strlen(word) && strncasecmp(text, word, strlen(word)) == 0;
}

/* JSON without a telling name: an object or array whose first token is valid. */
static bool looks_like_json(const char *text, size_t len)
{
	const char *firsts = len > 0 && text[0] == '{' ? "\"}" : "{[\"]-0123456789";
	size_t at = 1;

	if (len < 2 || (text[0] != '{' && text[0] != '['))
		return false;
	while (at < len && strchr(" \t\r\n", text[at]) != NULL)
		at++;
	return at < len && strchr(firsts, text[at]) != NULL;
}

static const char *sniff_text(const char *text, size_t len)
{
	const char *newline;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	while (len > 0 && strchr(" \t\r\n", text[0]) != NULL) {
		text++;
		len--;
	}
	if (starts_with(text, len, "<!doctype html") || starts_with(text, len, "<html"))
		return "text/html";
	if (starts_with(text, len, "<svg"))
		return "image/svg+xml";
	if (starts_with(text, len, "<?xml"))
		return memmem(text, len, "<svg", 4) != NULL ? "image/svg+xml" : "application/xml";
	newline = memchr(text, '\n', len);
	if (starts_with(text, len, "#!") && newline != NULL)
		return memmem(text, (size_t)(newline - text), "python", 6) != NULL ?
			       "text/x-python" : "text/x-shellscript";
	return looks_like_json(text, len) ? "application/json" : "text/plain";
}

const char *mime_guess(const char *name, const void *head, size_t len)
{
	const struct extension *extension = find_extension(name);
	const char *signature;

	if (len == 0)
		head = "";
	signature = find_signature(head, len);
	if (signature != NULL) {
		bool is_zip = strcmp(signature, "application/zip") == 0;
		bool is_ole = strcmp(signature, "application/x-ole-storage") == 0;

		if (extension != NULL && ((is_zip && extension->content == CONTENT_ZIP) ||
					  (is_ole && extension->content == CONTENT_OLE)))
			return extension->mime;
		return signature;
	}
	if (extension != NULL && extension->content == CONTENT_TEXT && !is_binary(head, len))
		return extension->mime;
	if (extension != NULL && extension->content == CONTENT_BINARY && len > 0)
		return extension->mime;
	if (is_utf8_text(head, len))
		return sniff_text(head, len);
	return OCTETS;
}
