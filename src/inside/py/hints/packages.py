"""Modules in the template `data` that are not in the standard library."""

DATA = frozenset("""
PIL PyPDF2 aiohttp altair attrs babel bokeh bottleneck bs4 chardet chess cv2 dateutil
docutils docx duckdb faker fpdf geopandas google h5py html5lib httpx hypothesis imageio
img2pdf jinja2 joblib jsonschema lightgbm lxml markdown matplotlib mpmath networkx nltk
numexpr numpy openpyxl orjson packaging pandas pdfplumber plotly polars pptx psutil
pyarrow pydantic pygments pypdf pypdfium2 pytest python_calamine pytz pyxlsb qrcode
rapidfuzz regex reportlab requests rich scipy seaborn setuptools shapely six skimage
sklearn sqlalchemy squarify statsmodels striprtf sympy tables tabulate textblob tomli_w
toolz tqdm tzdata vl_convert wordcloud xarray xlrd xlsxwriter yaml
""".split())
