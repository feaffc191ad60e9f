"""Code that several suites run."""

# The smallest picture there is: what a kernel displays when it has no plotting library.
PICTURE = """
import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
                                "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
Picture()
"""
