/*
 * span.c - handles the content of a block: text, emphasis, links, images.
 *
 * Runs in:  reckon.
 * Reads:    Markdown of a model, parsed by md4c.
 * Never:    hides a link's address: it is printed after the link's text.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/markdown/drawing.h"

static struct term_text *target(struct markdown_drawing *drawing)
{
	return drawing->table != NULL ? &drawing->table->text : &drawing->text;
}

static unsigned style_of(const struct markdown_drawing *drawing)
{
	return (drawing->bold > 0 ? TERM_BOLD : 0) | (drawing->italic > 0 ? TERM_ITALIC : 0) |
	       (drawing->strike > 0 ? TERM_STRIKE : 0) | (drawing->code > 0 ? TERM_CODE : 0) |
	       (drawing->image > 0 ? TERM_DIM : 0);
}

static int add(struct markdown_drawing *drawing, unsigned styles, const char *text, size_t len)
{
	return term_text_add(target(drawing), styles, text, len, &drawing->err);
}

static int enter_link(struct markdown_drawing *drawing, const MD_ATTRIBUTE *href)
{
	const unsigned at = drawing->address_count;

	if (at == ARRAY_LEN(drawing->address))
		return err_set(&drawing->err, ERR_LIMIT, "links in links");
	drawing->address[at] = drawing->links.len;
	drawing->address_from[at] = target(drawing)->text.len;
	drawing->address_count++;
	return buf_add(&drawing->links, href->text, href->size, &drawing->err);
}

/* Writes "text (address)", or only the address if the text is the same. */
static int leave_link(struct markdown_drawing *drawing)
{
	const unsigned at = --drawing->address_count;
	const char *href = buf_text(&drawing->links) + drawing->address[at];
	const size_t len = drawing->links.len - drawing->address[at];
	struct term_text *text = target(drawing);
	const char *label = buf_text(&text->text) + drawing->address_from[at];
	const size_t label_len = text->text.len - drawing->address_from[at];

	if (label_len == len && memcmp(label, href, len) == 0) {
		for (size_t i = drawing->address_from[at]; i < text->styles.len; i++)
			text->styles.data[i] |= (char)TERM_ADDRESS;
		return 0;
	}
	if (len == 0 || (len > 7 && memcmp(href, "mailto:", 7) == 0 && label_len == len - 7 &&
			 memcmp(label, href + 7, label_len) == 0))
		return 0;
	if (add(drawing, 0, label_len > 0 ? " (" : "(", label_len > 0 ? 2 : 1) < 0 ||
	    add(drawing, TERM_ADDRESS, href, len) < 0)
		return (int)drawing->err.code;
	return add(drawing, 0, ")", 1);
}

static int enter_image(struct markdown_drawing *drawing, const MD_ATTRIBUTE *src)
{
	if (drawing->image++ == 0 && drawing->image_count < MARKDOWN_IMAGES_MAX) {
		struct markdown_link *image = &drawing->images[drawing->image_count++];

		*image = (struct markdown_link){ drawing->links.len, src->size };
		if (buf_add(&drawing->links, src->text, src->size, &drawing->err) < 0)
			return (int)drawing->err.code;
	}
	return add(drawing, TERM_DIM, "[image: ", 8);
}

/* The nesting counter for a span type; NULL: the type has no style. */
static unsigned *depth_of(struct markdown_drawing *drawing, MD_SPANTYPE type)
{
	switch (type) {
	case MD_SPAN_EM:
		return &drawing->italic;
	case MD_SPAN_STRONG:
		return &drawing->bold;
	case MD_SPAN_CODE:
		return &drawing->code;
	case MD_SPAN_DEL:
		return &drawing->strike;
	case MD_SPAN_A:
	case MD_SPAN_IMG:
	case MD_SPAN_LATEXMATH:
	case MD_SPAN_LATEXMATH_DISPLAY:
	case MD_SPAN_WIKILINK:
	case MD_SPAN_U:
		break;
	}
	return NULL;
}

int markdown_enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct markdown_drawing *drawing = arg;
	unsigned *depth = depth_of(drawing, type);

	if (type == MD_SPAN_A)
		return enter_link(drawing, &((const MD_SPAN_A_DETAIL *)detail)->href);
	if (type == MD_SPAN_IMG)
		return enter_image(drawing, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
	if (depth != NULL)
		++*depth;
	return 0;
}

int markdown_leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct markdown_drawing *drawing = arg;
	unsigned *depth = depth_of(drawing, type);

	(void)detail;
	if (type == MD_SPAN_A)
		return leave_link(drawing);
	if (type == MD_SPAN_IMG) {
		drawing->image--;
		return add(drawing, TERM_DIM, "]", 1);
	}
	if (depth != NULL)
		--*depth;
	return 0;
}

/* Replaces the few entities that models write; others are printed as source. */
static int add_entity(struct markdown_drawing *drawing, const char *text, size_t len)
{
	static const struct {
		const char *name, *is;
	} known[] = {
		{ "&amp;", "&" }, { "&lt;", "<" }, { "&gt;", ">" }, { "&quot;", "\"" },
		{ "&apos;", "'" }, { "&#39;", "'" }, { "&nbsp;", "\xc2\xa0" },
		{ "&hellip;", "…" }, { "&mdash;", "—" }, { "&ndash;", "–" }, { "&times;", "×" },
		{ "&le;", "≤" }, { "&ge;", "≥" }, { "&ne;", "≠" }, { "&rarr;", "→" },
		{ "&deg;", "°" }, { "&euro;", "€" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strlen(known[i].name) == len && memcmp(known[i].name, text, len) == 0)
			return add(drawing, style_of(drawing), known[i].is, strlen(known[i].is));
	return add(drawing, style_of(drawing), text, len);
}

/* Adds the lines of a code block in a list or a quote. */
static int add_code(struct markdown_drawing *drawing, const char *text, size_t len)
{
	while (len > 0) {
		const char *newline = memchr(text, '\n', len);
		const size_t line = newline != NULL ? (size_t)(newline - text) : len;

		if (add(drawing, TERM_CODE, text, line) < 0)
			return (int)drawing->err.code;
		text += line;
		len -= line;
		if (newline == NULL)
			return 0;
		if (markdown_put_line(drawing, 0, drawing->text.text.len, 0) < 0)
			return (int)drawing->err.code;
		term_text_clear(&drawing->text);
		text++;
		len--;
	}
	return 0;
}

int markdown_take_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *arg)
{
	struct markdown_drawing *drawing = arg;
	const unsigned style = style_of(drawing);

	switch (type) {
	case MD_TEXT_NULLCHAR:
		return add(drawing, style, "\\x00", 4);
	case MD_TEXT_BR:
		return drawing->table != NULL ? add(drawing, style, " ", 1)
					      : term_text_break(&drawing->text, &drawing->err);
	case MD_TEXT_SOFTBR:
		return add(drawing, style, " ", 1);
	case MD_TEXT_ENTITY:
		return add_entity(drawing, text, len);
	case MD_TEXT_CODE:
		return drawing->in_code ? add_code(drawing, text, len)
					: add(drawing, style, text, len);
	case MD_TEXT_NORMAL:
	case MD_TEXT_HTML:
	case MD_TEXT_LATEXMATH:
		break;
	}
	return add(drawing, style, text, len);
}
