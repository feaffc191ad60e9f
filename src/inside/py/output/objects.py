"""The classes of IPython.display: data with a MIME type, given directly or read from a file."""

import base64
import html
import json
import os
import sys

from _reckon import render

_type = type
_CORE = "IPython.core.display"


def _is_file(text):
    try:
        return os.path.exists(text)
    except (OSError, ValueError):
        return False


def _is_url(text):
    return text.startswith(("http://", "https://"))


class DisplayObject:
    """Data, or the name of a file or the URL of a page with it."""

    _read_flags = "r"
    metadata = None

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if isinstance(data, os.PathLike):
            data = os.fspath(data)
        if isinstance(data, str):
            if _is_url(data):
                url, data = url or data, None
            elif filename is None and self._is_name(data):
                filename, data = data, None
        self.url, self.filename = url, None if filename is None else os.fspath(filename)
        if metadata is not None:
            self.metadata = metadata
        elif self.metadata is None:
            self.metadata = {}
        self.data = data
        self.reload()
        self._check_data()

    def _is_name(self, text):
        return len(text) < 4096 and "\n" not in text and _is_file(text)

    def _check_data(self):
        pass

    def reload(self):
        """Reads the data from the file or URL. URLs need a network."""
        if self.filename is not None:
            text = "b" not in self._read_flags
            with open(self.filename, self._read_flags, encoding="utf-8" if text else None) as file:
                self.data = file.read()
        elif self.url is not None:
            from urllib.request import urlopen

            with urlopen(self.url, timeout=20) as page:
                found = page.read()
            self.data = found if "b" in self._read_flags else found.decode("utf-8", "replace")

    def _with_metadata(self):
        return (self.data, self.metadata) if self.metadata else self.data

    def __repr__(self):
        kind = _type(self)
        return f"<{kind.__module__}.{kind.__name__} object>"


class TextDisplayObject(DisplayObject):
    """Text."""

    def _check_data(self):
        if self.data is not None and not isinstance(self.data, str):
            raise TypeError(f"{_type(self).__name__} expects text, not {self.data!r}")


class Pretty(TextDisplayObject):
    """Plain text."""

    def _repr_pretty_(self, p, cycle):
        p.text(self.data)


class HTML(TextDisplayObject):
    """HTML."""

    def _repr_html_(self):
        return self._with_metadata()

    __html__ = lambda self: self.data


class Markdown(TextDisplayObject):
    """Markdown."""

    def _repr_markdown_(self):
        return self._with_metadata()


class Latex(TextDisplayObject):
    """LaTeX."""

    def _repr_latex_(self):
        return self._with_metadata()


class Math(TextDisplayObject):
    """LaTeX in display mode."""

    def _repr_latex_(self):
        text = "$\\displaystyle " + self.data.strip("$") + "$"
        return (text, self.metadata) if self.metadata else text


class SVG(DisplayObject):
    """An SVG image: its text, without what precedes the element."""

    _read_flags = "rb"

    def _is_name(self, text):
        return "<" not in text and super()._is_name(text)

    def reload(self):
        super().reload()
        text = self.data
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if text is not None:
            text = text[max(text.find("<svg"), 0) :]
        self.data = text

    def _repr_svg_(self):
        return self._with_metadata()


class JSON(DisplayObject):
    """A dict or a list as JSON."""

    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None,
                 root="root", **more):
        super().__init__(data, url, filename,
                         {"expanded": expanded, "root": root, **(metadata or {}), **more})

    def _is_name(self, text):
        return False

    def reload(self):
        super().reload()
        if isinstance(self.data, (str, bytes)):
            self.data = json.loads(self.data)

    def _check_data(self):
        if self.data is not None and not isinstance(self.data, (dict, list)):
            raise TypeError(f"{_type(self).__name__} expects JSONable dict or list, "
                            f"not {self.data!r}")

    def _repr_json_(self):
        return self.data, self.metadata


class GeoJSON(JSON):
    """Features for a map."""

    def __init__(self, data=None, url_template=None, layer_options=None, **more):
        metadata = dict(more.pop("metadata", None) or {})
        if url_template is not None:
            metadata["url_template"] = url_template
        if layer_options is not None:
            metadata["layer_options"] = layer_options
        super().__init__(data, metadata=metadata, **more)

    _repr_json_ = None

    def _repr_mimebundle_(self, include=None, exclude=None):
        mime = "application/geo+json"
        return {mime: self.data, "text/plain": "<IPython.display.GeoJSON object>"}, {
            mime: self.metadata}


class Javascript(TextDisplayObject):
    """JavaScript for a front end, with the libraries and style sheets that it needs."""

    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        self.lib = [lib] if isinstance(lib, str) else list(lib or ())
        self.css = [css] if isinstance(css, str) else list(css or ())
        super().__init__(data, url, filename)

    def _repr_javascript_(self):
        parts = [f"""var link = document.createElement("link");
	link.rel = "stylesheet";
	link.type = "text/css";
	link.href = "{address}";
	document.head.appendChild(link);
""" for address in self.css]
        parts += [f"""new Promise(function(resolve, reject) {{
	var script = document.createElement("script");
	script.onload = resolve;
	script.onerror = reject;
	script.src = "{address}";
	document.head.appendChild(script);
}}).then(() => {{
""" for address in self.lib]
        return "".join(parts) + self.data + "\n});" * len(self.lib)


_FORMATS = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))


class Image(DisplayObject):
    """A PNG, JPEG, GIF or WebP image: bytes, a file name, or a URL."""

    _read_flags = "rb"

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None,
                 height=None, retina=False, unconfined=False, metadata=None, alt=None):
        if isinstance(data, os.PathLike):
            data = os.fspath(data)
        if filename is None and url is None and data is None:
            raise ValueError("No image data found. Expecting filename, url, or data.")
        if isinstance(data, str) and not _is_url(data) and not self._is_name(data):
            raise FileNotFoundError(f"No such file or directory: {data!r}")
        self.embed = embed if embed is not None else url is None
        self.format = self._format(format, data, filename or url)
        if self.embed and self.format not in ("png", "jpeg", "gif", "webp"):
            raise ValueError(f"Cannot embed the '{self.format}' image format")
        metadata = dict(metadata or {})
        self.width, self.height = width or metadata.get("width"), height or metadata.get("height")
        self.unconfined, self.alt, self.retina = unconfined, alt or metadata.get("alt"), retina
        super().__init__(data, url, filename, metadata)
        size = render.size_of_png(self.data) if retina and isinstance(self.data, bytes) else None
        if size:
            self.width, self.height = size[0] // 2, size[1] // 2

    @staticmethod
    def _format(given, data, place):
        if given is None and isinstance(data, (bytes, bytearray)):
            given = next((name for start, name in _FORMATS if data.startswith(start)), "png")
        elif given is None:
            name = str(place if place is not None else data)
            given = os.path.splitext(name)[1][1:] or "png"
        return {"jpg": "jpeg"}.get(given.lower(), given.lower())

    def reload(self):
        if self.embed:
            super().reload()
            if isinstance(self.data, bytes):  # the content decides, not the file name
                self.format = next((name for start, name in _FORMATS
                                    if self.data.startswith(start)), self.format)

    def _repr_mimebundle_(self, include=None, exclude=None):
        sizes = {"width": self.width, "height": self.height, "unconfined": self.unconfined,
                 "alt": self.alt}
        given = {name: value for name, value in sizes.items() if value}
        if self.embed:
            mime = f"image/{self.format}"
            metadata = {**self.metadata, **given}
            return {mime: self.data}, {mime: metadata} if metadata else {}
        parts = [f'<img src="{html.escape(self.url or self.filename or "")}"']
        parts += [f'{name}="{int(given[name])}"' for name in ("width", "height") if name in given]
        if self.unconfined:
            parts.append('class="unconfined"')
        if self.alt:
            parts.append(f'alt="{html.escape(self.alt)}"')
        return {"text/html": " ".join(parts) + "/>"}, {}


class Video(DisplayObject):
    """A video: a file or a URL, or with embed=True the data itself."""

    def __init__(self, data=None, url=None, filename=None, embed=False, mimetype=None, width=None,
                 height=None, html_attributes="controls"):
        self.mimetype, self.embed, self.html_attributes = mimetype, embed, html_attributes
        self.width, self.height = width, height
        super().__init__(data, url, filename)
        if self.data is not None and not embed:
            raise ValueError("To embed videos, you must pass embed=True (this may make your "
                             "notebook files huge)\nConsider passing Video(url='...')")

    def reload(self):
        """Does nothing: a file is read when it is displayed."""

    def _repr_html_(self):
        size = "".join(f' {name}="{int(value)}"' for name, value in (
            ("width", self.width), ("height", self.height)) if value)
        note = "Your browser does not support the <code>video</code> element."
        if not self.embed:
            address = html.escape(self.url or self.filename or "")
            return f'<video src="{address}" {self.html_attributes}{size}>\n{note}\n</video>'
        data, mime = self.data, self.mimetype
        if self.filename is not None:
            mime = mime or _guess_mime(self.filename)
            with open(self.filename, "rb") as file:
                data = file.read()
        text = data if isinstance(data, str) else base64.b64encode(data).decode()
        return (f'<video {self.html_attributes}{size}>\n<source src="data:{mime};base64,{text}" '
                f'type="{mime}">\n{note}\n</video>')


def _guess_mime(name):
    import mimetypes

    return mimetypes.guess_type(name)[0]


_SOUND_MAX = 8 << 20


def _scale(data, normalize):
    """Samples as interleaved 16-bit integers, and the number of channels."""
    import array

    numpy = sys.modules.get("numpy")
    if numpy is not None:
        samples = numpy.array(data, dtype=float)
        if samples.ndim not in (1, 2):
            raise ValueError("Array audio input must be a 1D or 2D array")
        channels = 1 if samples.ndim == 1 else samples.shape[0]
        samples = samples.T.ravel()
        peak = float(numpy.max(numpy.abs(samples))) if samples.size else 0.0
    else:
        samples, channels = array.array("d", data), 1
        peak = max(map(abs, samples), default=0.0)
    if not normalize and peak > 1:
        raise ValueError("Audio data must be between -1 and 1 when normalize=False.")
    factor = 32767 / (peak or 1.0) if normalize else 32767
    if numpy is not None:
        return (samples * factor).astype("<h").tobytes(), channels
    return array.array("h", [int(sample * factor) for sample in samples]).tobytes(), channels


class Audio(DisplayObject):
    """Sound: samples with a rate, bytes, a file name, or a URL."""

    _read_flags = "rb"

    def __init__(self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False,
                 normalize=True, *, element_id=None):
        if filename is None and url is None and data is None:
            raise ValueError("No audio data found. Expecting filename, url, or data.")
        if embed is False and url is None:
            raise ValueError("No url found. Expecting url when embed=False")
        self.embed = url is None or embed is True
        self.autoplay, self.element_id = autoplay, element_id
        super().__init__(data, url, filename)
        self.mimetype = "audio/wav"
        if self.filename or self.url:
            self.mimetype = _guess_mime(self.filename or self.url)
        elif isinstance(self.data, str):
            raise FileNotFoundError(f"No such file or directory: {self.data!r}")
        elif not isinstance(self.data, (bytes, bytearray)):
            self.data = self._wave(self.data, rate, normalize)

    @staticmethod
    def _wave(data, rate, normalize):
        import io
        import wave

        if rate is None:
            raise ValueError("rate must be specified when data is a numpy array or list of audio "
                             "samples.")
        samples, channels = _scale(data, normalize)
        out = io.BytesIO()
        with wave.open(out, "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(2)
            file.setframerate(int(rate))
            file.writeframes(samples)
        return out.getvalue()

    def reload(self):
        if self.embed:
            super().reload()

    def _repr_mimebundle_(self, include=None, exclude=None):
        """The sound itself, for clients that do not show a page with a player."""
        small = self.embed and len(self.data) <= _SOUND_MAX
        return {self.mimetype: bytes(self.data)} if small and self.mimetype else {}

    def _repr_html_(self):
        if self.embed:
            source = f"data:{self.mimetype};base64,{base64.b64encode(self.data).decode()}"
        else:
            source = html.escape(self.url)
        name = f'id="{html.escape(self.element_id)}" ' if self.element_id else ""
        start = ' autoplay="autoplay"' if self.autoplay else ""
        return (f'<audio {name}controls="controls"{start}>\n<source src="{source}" '
                f'type="{self.mimetype}" />\nYour browser does not support the audio element.\n'
                '</audio>')


class IFrame:
    """A page inside the page."""

    def __init__(self, src, width, height, extras=None, **params):
        self.src, self.width, self.height = src, width, height
        self.extras, self.params = list(extras or ()), params

    def _repr_html_(self):
        from urllib.parse import urlencode

        params = "?" + urlencode(self.params) if self.params else ""
        extras = "".join(f" {extra}" for extra in self.extras)
        return (f'<iframe width="{html.escape(str(self.width))}" '
                f'height="{html.escape(str(self.height))}" '
                f'src="{html.escape(str(self.src))}{params}" frameborder="0" allowfullscreen '
                f'referrerpolicy="strict-origin-when-cross-origin"{extras}></iframe>')


class YouTubeVideo(IFrame):
    """A YouTube video, by its id."""

    def __init__(self, id, width=400, height=300, allow_autoplay=False, **more):
        self.id = id
        if allow_autoplay:
            more.update(autoplay=1, extras=[*more.get("extras", ()), 'allow="autoplay"'])
        super().__init__(f"https://www.youtube.com/embed/{id}", width, height, **more)


class VimeoVideo(IFrame):
    """A Vimeo video, by its id."""

    def __init__(self, id, width=400, height=300, **more):
        super().__init__(f"https://player.vimeo.com/video/{id}", width, height, **more)


class ScribdDocument(IFrame):
    """A Scribd document, by its id."""

    def __init__(self, id, width=400, height=300, **more):
        super().__init__(f"https://www.scribd.com/embeds/{id}/content", width, height, **more)


class FileLink:
    """A link to a file, which is delivered with the cell's files."""

    _LINK = "<a href='%s' target='_blank'>%s</a>"

    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        if os.path.isdir(path):
            raise ValueError(f"Cannot display a directory using FileLink. Use FileLinks to "
                             f"display '{path}'.")
        self.path, self.url_prefix = os.fsdecode(path), url_prefix
        self.result_html_prefix, self.result_html_suffix = result_html_prefix, result_html_suffix

    def _line(self, path, text, indent=""):
        link = self._LINK % (self.url_prefix + html.escape(path), html.escape(text, quote=False))
        return self.result_html_prefix + indent + link + self.result_html_suffix

    def _repr_html_(self):
        if not os.path.exists(self.path):
            return (f"Path (<tt>{html.escape(self.path)}</tt>) doesn't exist. It may still be in "
                    "the process of being generated, or you may have the incorrect path.")
        return self._line(self.path, self.path)

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    """Links to the files below a directory."""

    _LINKS_MAX = 1000

    def __init__(self, path, url_prefix="", included_suffixes=None, result_html_prefix="",
                 result_html_suffix="<br>", notebook_display_formatter=None,
                 terminal_display_formatter=None, recursive=True):
        if os.path.isfile(path):
            raise ValueError(f"Cannot display a file using FileLinks. Use FileLink to display "
                             f"'{path}'.")
        self.path, self.url_prefix = os.fsdecode(path).rstrip("/"), url_prefix
        self.included_suffixes, self.recursive = included_suffixes, recursive
        self.result_html_prefix, self.result_html_suffix = result_html_prefix, result_html_suffix

    def _found(self):
        """(directory, names of its files), sorted, at most _LINKS_MAX."""
        walked = sorted(os.walk(self.path)) if self.recursive else [next(os.walk(self.path))]
        left = self._LINKS_MAX
        for directory, _, names in walked:
            names = [name for name in names if self.included_suffixes is None
                     or os.path.splitext(name)[1] in self.included_suffixes][:left]
            left -= len(names)
            if names:
                yield directory, names

    def _repr_html_(self):
        lines = []
        for directory, names in self._found():
            lines.append(f"{self.result_html_prefix}{html.escape(directory)}/"
                         f"{self.result_html_suffix}")
            lines += [self._line(f"{directory}/{name}", name, "&nbsp;&nbsp;") for name in names]
        return "\n".join(lines)

    def __repr__(self):
        lines = []
        for directory, names in self._found():
            lines += [f"{directory}/", *(f"  {name}" for name in names)]
        return "\n".join(lines)


class Code(TextDisplayObject):
    """Source code, with colours if Pygments is installed."""

    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        super().__init__(data, url, filename)

    def _highlight(self, form, **options):
        from pygments import formatters, highlight, lexers

        if self.language:
            lexer = lexers.get_lexer_by_name(self.language)
        elif self.filename:
            lexer = lexers.get_lexer_for_filename(self.filename)
        else:
            lexer = lexers.guess_lexer(self.data)
        return highlight(self.data, lexer, getattr(formatters, form)(**options))

    def _repr_html_(self):
        try:
            from pygments.formatters import HtmlFormatter
        except ImportError:
            return f"<pre><code>{html.escape(self.data)}</code></pre>"
        style = HtmlFormatter().get_style_defs(".output_html")
        return f"<style>{style}</style>" + self._highlight("HtmlFormatter", cssclass="output_html")

    def _repr_latex_(self):
        try:
            return self._highlight("LatexFormatter")
        except ImportError:
            return None

    def __repr__(self):
        return self.data.rstrip("\n")


class ProgressBar(DisplayObject):
    """A progress bar; iterate over it, or set `progress`."""

    html_width, text_width = "60ex", 60

    def __init__(self, total):
        self.total, self._progress = total, 0
        self._display_id = os.urandom(8).hex()

    def __repr__(self):
        part = self._progress / self.total if self.total else 0
        filled = min(int(part * self.text_width), self.text_width)
        bar = "=" * filled + " " * (self.text_width - filled)
        return f"[{bar}] {self._progress}/{self.total}"

    def _repr_html_(self):
        return (f"<progress style='width:{self.html_width}' max='{self.total}' "
                f"value='{self._progress}'></progress>")

    def display(self):
        self._show(self, display_id=self._display_id)

    def update(self):
        self._show(self, display_id=self._display_id, update=True)

    @staticmethod
    def _show(value, **options):
        from _reckon import display

        display.display(value, **options)

    progress = property(lambda self: self._progress)

    @progress.setter
    def progress(self, value):
        self._progress = value
        self.update()

    def __iter__(self):
        self.display()
        self._progress = -1  # the first step makes it 0
        return self

    def __next__(self):
        self.progress += 1
        if self.progress < self.total:
            return self.progress
        raise StopIteration


IN_CORE = (DisplayObject, TextDisplayObject, Pretty, HTML, Markdown, Latex, Math, SVG, JSON,
           GeoJSON, Javascript, Image, Video, ProgressBar)
IN_LIB = (Audio, IFrame, YouTubeVideo, VimeoVideo, ScribdDocument, FileLink, FileLinks, Code)
for _kind in IN_CORE:
    _kind.__module__ = _CORE
for _kind in IN_LIB:
    _kind.__module__ = "IPython.lib.display"
