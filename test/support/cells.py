"""Code of cells that several suites run."""

# Displays a PNG of one pixel, without a plotting library.
PICTURE = """
import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
                                "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
Picture()
"""
