/*
 * picture.c - draws a PNG of a box on stdout's terminal.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    an image that a box made, which the sandboxed decoder decodes; the size of the
 *           terminal.
 * Never:    sends bytes of the box to the terminal: everything is drawn from pixels.
 */
#include "cli/term/picture.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/term/width.h"

static void fill_place(struct term_image_place *place)
{
	struct winsize size;

	term_width_window(STDOUT_FILENO, &place->columns, &place->lines);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_row == 0)
		return;
	place->cell_width = size.ws_xpixel / size.ws_col;
	place->cell_height = size.ws_ypixel / size.ws_row;
	if (place->cell_width == 0 || place->cell_height == 0)
		place->cell_width = place->cell_height = 0;
}

int term_picture_draw(const struct buf *png, enum term_image_mode mode, bool coloured,
		      struct buf *ret, struct err *err)
{
	struct term_image_place place = { .mode = mode, .coloured = coloured };
	struct image image = { 0 };
	int rc;

	if (image_decode_png(buf_text(png), png->len, &image, err) < 0)
		return (int)err->code;
	fill_place(&place);
	rc = term_image_draw(&image, &place, ret, err);
	image_done(&image);
	return rc;
}
