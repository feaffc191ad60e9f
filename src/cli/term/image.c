/*
 * image.c - draws pixels on a terminal: as kitty, sixel or iTerm2 graphics, or as symbols.
 *
 * Runs in:  reckon.
 * Reads:    pixels from image/fence.c; TERM and similar variables.
 * Never:    reads a file of the box: everything sent to the terminal is generated from pixels.
 */
#include "cli/term/image.h"

#include <chafa.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CELL_WIDTH 10 /* assumed if the terminal does not say */
#define CELL_HEIGHT 20
#define LINES_SPARE 3 /* lines of the screen that stay free around an image */

int term_image_parse(const char *word, enum term_image_mode *ret, struct err *err)
{
	static const struct {
		const char *word;
		enum term_image_mode mode;
	} words[] = {
		{ "auto", TERM_IMAGE_AUTO },	 { "kitty", TERM_IMAGE_KITTY },
		{ "sixel", TERM_IMAGE_SIXEL },	 { "iterm2", TERM_IMAGE_ITERM2 },
		{ "blocks", TERM_IMAGE_BLOCKS }, { "none", TERM_IMAGE_NONE },
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(word, words[i].word) != 0)
			continue;
		*ret = words[i].mode;
		return 0;
	}
	err_set(err, ERR_INVALID, "invalid way to show images '%.60s'", word);
	return err_remedy(err, "auto, kitty, sixel, iterm2, blocks or none");
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value != NULL ? value : "";
}

static ChafaTermInfo *terminal(void)
{
	gchar **environment = g_get_environ();
	ChafaTermInfo *info = chafa_term_db_detect(chafa_term_db_get_default(), environment);

	g_strfreev(environment);
	return info;
}

enum term_image_mode term_image_detect(void)
{
	const char *program = env("TERM_PROGRAM");
	enum term_image_mode mode = TERM_IMAGE_BLOCKS;
	ChafaTermInfo *info;

	if (strcmp(env("TERM"), "dumb") == 0 || env("TERM")[0] == '\0')
		return TERM_IMAGE_NONE;
	/* A multiplexer does not pass graphics through to the terminal. */
	if (env("TMUX")[0] != '\0' || env("STY")[0] != '\0' ||
	    strncmp(env("TERM"), "screen", 6) == 0 || strncmp(env("TERM"), "tmux", 4) == 0)
		return TERM_IMAGE_BLOCKS;
	if (env("KITTY_WINDOW_ID")[0] != '\0' || strcmp(program, "ghostty") == 0)
		return TERM_IMAGE_KITTY;
	if (strcmp(program, "iTerm.app") == 0 || strcmp(program, "WezTerm") == 0)
		return TERM_IMAGE_ITERM2;
	info = terminal();
	if (chafa_term_info_have_seq(info, CHAFA_TERM_SEQ_BEGIN_KITTY_IMMEDIATE_IMAGE_V1))
		mode = TERM_IMAGE_KITTY;
	else if (chafa_term_info_have_seq(info, CHAFA_TERM_SEQ_BEGIN_SIXELS))
		mode = TERM_IMAGE_SIXEL;
	else if (chafa_term_info_have_seq(info, CHAFA_TERM_SEQ_BEGIN_ITERM2_IMAGE))
		mode = TERM_IMAGE_ITERM2;
	chafa_term_info_unref(info);
	return mode;
}

static ChafaPixelMode pixel_mode(enum term_image_mode mode)
{
	switch (mode) {
	case TERM_IMAGE_KITTY:
		return CHAFA_PIXEL_MODE_KITTY;
	case TERM_IMAGE_SIXEL:
		return CHAFA_PIXEL_MODE_SIXELS;
	case TERM_IMAGE_ITERM2:
		return CHAFA_PIXEL_MODE_ITERM2;
	case TERM_IMAGE_NONE:
	case TERM_IMAGE_AUTO:
	case TERM_IMAGE_BLOCKS:
		break;
	}
	return CHAFA_PIXEL_MODE_SYMBOLS;
}

static ChafaCanvasMode canvas_mode(const struct term_image_place *place, const ChafaTermInfo *info)
{
	const char *depth = env("COLORTERM");

	if (place->mode != TERM_IMAGE_BLOCKS)
		return CHAFA_CANVAS_MODE_TRUECOLOR;
	if (!place->coloured)
		return CHAFA_CANVAS_MODE_FGBG;
	if (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0)
		return CHAFA_CANVAS_MODE_TRUECOLOR;
	if (strstr(env("TERM"), "256color") != NULL ||
	    chafa_term_info_have_seq(info, CHAFA_TERM_SEQ_SET_COLOR_FGBG_256))
		return CHAFA_CANVAS_MODE_INDEXED_240;
	return CHAFA_CANVAS_MODE_INDEXED_16;
}

static gint at_least_one(size_t value)
{
	return value < 1 ? 1 : value > 10000 ? 10000 : (gint)value;
}

/*
 * Graphics: the image's own size, if it fits. Symbols: as large as fits on the screen, because each
 * character cell only shows a few pixels.
 */
static void set_geometry(ChafaCanvasConfig *config, const struct image *image,
			 const struct term_image_place *place)
{
	const size_t cell_width = place->cell_width > 0 ? place->cell_width : CELL_WIDTH;
	const size_t cell_height = place->cell_height > 0 ? place->cell_height : CELL_HEIGHT;
	gint width = at_least_one(place->columns > 1 ? place->columns - 1 : 1);
	gint height = at_least_one(place->lines > LINES_SPARE + 1 ? place->lines - LINES_SPARE : 1);

	if (place->mode != TERM_IMAGE_BLOCKS) {
		width = MIN(width, at_least_one((image->width + cell_width - 1) / cell_width));
		height = MIN(height, at_least_one((image->height + cell_height - 1) / cell_height));
	}
	chafa_calc_canvas_geometry((gint)image->width, (gint)image->height, &width, &height,
				   (gfloat)cell_width / (gfloat)cell_height, TRUE, FALSE);
	chafa_canvas_config_set_geometry(config, MAX(width, 1), MAX(height, 1));
	chafa_canvas_config_set_cell_geometry(config, at_least_one(cell_width),
					      at_least_one(cell_height));
}

static int print(ChafaCanvasConfig *config, const struct image *image, ChafaTermInfo *info,
		 struct buf *ret, struct err *err)
{
	ChafaCanvas *canvas = chafa_canvas_new(config);
	GString *made;
	int rc;

	chafa_canvas_draw_all_pixels(canvas, CHAFA_PIXEL_RGBA8_UNASSOCIATED, image->rgba,
				     (gint)image->width, (gint)image->height,
				     (gint)image->width * 4);
	made = chafa_canvas_print(canvas, info);
	rc = buf_add(ret, made->str, made->len, err);
	if (rc == 0 && (made->len == 0 || made->str[made->len - 1] != '\n'))
		rc = buf_addc(ret, '\n', err);
	(void)g_string_free(made, TRUE);
	chafa_canvas_unref(canvas);
	return rc;
}

int term_image_draw(const struct image *image, const struct term_image_place *place,
		    struct buf *ret, struct err *err)
{
	ChafaTermInfo *info = terminal();
	ChafaTermInfo *fallback = chafa_term_db_get_fallback_info(chafa_term_db_get_default());
	ChafaCanvasConfig *config = chafa_canvas_config_new();
	ChafaSymbolMap *symbols = chafa_symbol_map_new();
	int rc;

	/*
	 * The user chose the mode, so the terminal supports it, whatever its terminfo entry says.
	 */
	chafa_term_info_supplement(info, fallback);
	chafa_symbol_map_add_by_tags(symbols, CHAFA_SYMBOL_TAG_SPACE | CHAFA_SYMBOL_TAG_BLOCK |
						      CHAFA_SYMBOL_TAG_BORDER);
	chafa_canvas_config_set_symbol_map(config, symbols);
	chafa_canvas_config_set_pixel_mode(config, pixel_mode(place->mode));
	chafa_canvas_config_set_canvas_mode(config, canvas_mode(place, info));
	set_geometry(config, image, place);
	rc = print(config, image, info, ret, err);
	chafa_symbol_map_unref(symbols);
	chafa_canvas_config_unref(config);
	chafa_term_info_unref(fallback);
	chafa_term_info_unref(info);
	return rc;
}
