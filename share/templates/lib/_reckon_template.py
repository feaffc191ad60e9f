"""Makes matplotlib work from a tree that nobody may write to.

Every interpreter of the template loads this at start (_reckon_template.pth), so it costs nothing
until matplotlib is imported. Then it does two things:

- matplotlib insists on a configuration directory that it may write to. MPLCONFIGDIR names one in
  the session's /tmp; the font list that was made with the template is copied there.
- A figure's text falls back to Noto CJK for characters that its own font lacks. matplotlibrc says
  so too, but a style sheet or seaborn's set_theme() overwrites that.
"""

import os
import sys

_TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
_FALLBACK = ("Noto Sans CJK JP", "Noto Sans CJK SC")


def _fill_config_dir():
    target = os.environ.get("MPLCONFIGDIR")
    source = os.path.join(_TREE, "var", "cache", "matplotlib")
    if not target or os.path.exists(target):
        return
    try:
        os.makedirs(target)
        for name in os.listdir(source):
            with open(os.path.join(source, name), "rb") as file:
                content = file.read()
            with open(os.path.join(target, name), "wb") as file:
                file.write(content)
    except OSError:
        pass  # matplotlib then makes its own list, slowly, or says what is wrong


def _add_font_fallback(module):
    original = getattr(module.FontManager, "_find_fonts_by_props", None)
    if original is None:
        return
    known = {entry.name for entry in module.fontManager.ttflist}
    extra = [name for name in _FALLBACK if name in known]

    def _find_fonts_by_props(self, prop, fontext="ttf", *args, **kwargs):
        fonts = original(self, prop, fontext, *args, **kwargs)
        if fontext != "ttf":
            return fonts
        for name in extra:
            other = module.FontProperties._from_any(prop).copy()
            other.set_family(name)
            font = self.findfont(other, fontext)
            if font not in fonts:
                fonts.append(font)
        return fonts

    module.FontManager._find_fonts_by_props = _find_fonts_by_props


class _Finder:
    """Sees an import before the real finders do; leaves when there is nothing left to do."""

    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib":
            _fill_config_dir()
        elif name == "matplotlib.font_manager":
            sys.meta_path.remove(self)
            return self._with_fallback(name, path)
        return None

    @staticmethod
    def _with_fallback(name, path):
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            try:
                _add_font_fallback(module)
            except Exception:
                pass  # another version of matplotlib: matplotlibrc alone has to do

        spec.loader.exec_module = exec_module
        return spec


if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
