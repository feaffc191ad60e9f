"""What older programs use and the locked packages no longer have, and what stands in its place."""

# Modules by the names that people import, and what does their work here.
MODULES = {
    "fitz": ("pypdf", "PyMuPDF is not installed; pypdf, pdfplumber and pypdfium2 are"),
    "pymupdf": ("pypdf", "PyMuPDF is not installed; pypdf, pdfplumber and pypdfium2 are"),
    "camelot": ("pdfplumber", "pdfplumber is installed and extracts tables: page.extract_tables()"),
    "tabula": ("pdfplumber", "pdfplumber is installed and extracts tables: page.extract_tables()"),
    "fuzzywuzzy": ("rapidfuzz", "rapidfuzz is installed: from rapidfuzz import fuzz, process"),
    "Levenshtein": ("rapidfuzz", "rapidfuzz is installed: rapidfuzz.distance.Levenshtein"),
    "xgboost":
        ("lightgbm", "xgboost is not installed; lightgbm is, and sklearn.ensemble has "
         "HistGradientBoostingClassifier and …Regressor"),
    "catboost":
        ("lightgbm", "catboost is not installed; lightgbm is, and sklearn.ensemble has "
         "HistGradientBoostingClassifier and …Regressor"),
    "tensorflow":
        ("sklearn", "tensorflow is not installed; sklearn.neural_network has MLPClassifier and "
         "MLPRegressor"),
    "keras":
        ("sklearn", "keras is not installed; sklearn.neural_network has MLPClassifier and "
         "MLPRegressor"),
    "torch":
        ("sklearn", "torch is not installed; sklearn.neural_network has MLPClassifier and "
         "MLPRegressor, numpy and scipy do array work"),
    "xlwt": ("openpyxl", "openpyxl and xlsxwriter are installed: df.to_excel('x.xlsx')"),
    "pandasql": ("duckdb", "duckdb is installed: duckdb.sql('select … from df').df()"),
    "simplejson": ("json", "the standard json module does the same"),
    "ujson": ("orjson", "orjson and the standard json module are installed"),
    "toml": ("tomllib", "the standard tomllib reads TOML: tomllib.load(open(path, 'rb'))"),
    "mock": ("unittest", "from unittest import mock"),
    "ipywidgets": (None, "ipywidgets is not installed; widgets cannot be shown here"),
    "markdown2": ("markdown", "markdown is installed: markdown.markdown(text)"),
    "imp": ("importlib", "use importlib"),
    "dask": ("polars", "dask is not installed; polars and duckdb are, for tables that are large"),
    "pyspark":
        ("polars", "pyspark is not installed; polars and duckdb are, for tables that are large"),
    "pdf2image":
        ("pypdfium2", "pdf2image is not installed; pypdfium2 draws pages: "
         "pypdfium2.PdfDocument(path)[0].render(scale=2).to_pil()"),
    "pdfkit": ("fpdf", "pdfkit is not installed; fpdf2 makes a PDF of simple HTML: FPDF().write_html"),
    "pylatex": ("reportlab", "there is no LaTeX in the box; fpdf2 and reportlab make PDFs"),
    "prophet":
        ("statsmodels", "prophet is not installed; statsmodels.tsa has ExponentialSmoothing and SARIMAX"),
    "pmdarima": ("statsmodels", "pmdarima is not installed; statsmodels.tsa has SARIMAX and ARIMA"),
    "MySQLdb":
        ("sqlite3", "there is no database server in the box; sqlite3 and duckdb work on files"),
    "psycopg2":
        ("sqlite3", "there is no database server in the box; sqlite3 and duckdb work on files"),
    "urllib2": ("urllib", "Python 3: import urllib.request"),
    "ConfigParser": ("configparser", "Python 3: import configparser"),
    "StringIO": ("io", "Python 3: from io import StringIO"),
    "cStringIO": ("io", "Python 3: from io import StringIO"),
    "cPickle": ("pickle", "Python 3: import pickle"), "Queue": ("queue", "Python 3: import queue"),
    "Tkinter": (None, "the box has no screen and so no tkinter: figures are shown as results"),
    "sklearn.cross_validation": ("sklearn", "from sklearn.model_selection import …"),
    "sklearn.grid_search": ("sklearn", "from sklearn.model_selection import GridSearchCV, …"),
    "sklearn.externals.joblib": ("joblib", "joblib is a package of its own: import joblib"),
    "sklearn.externals.six": ("six", "six is a package of its own: import six"),
    "sklearn.utils.testing": ("sklearn", "it is private now; use pytest or numpy.testing"),
    "pandas.util.testing": ("pandas", "from pandas.testing import assert_frame_equal, …"),
    "pandas.tools.plotting": ("pandas", "from pandas.plotting import scatter_matrix, …"),
    "statsmodels.tsa.arima_model": ("statsmodels", "from statsmodels.tsa.arima.model import ARIMA"),
    "matplotlib.finance":
        ("matplotlib", "it was removed; draw with plotly.graph_objects.Candlestick"),
    "plotly.plotly": ("plotly", "import plotly.express as px, or plotly.graph_objects as go"),
    "bokeh.charts": ("bokeh", "it was removed: from bokeh.plotting import figure"),
    "mpl_toolkits.basemap": (None, "basemap is not installed; plotly.express draws maps"),
    "google.colab": (None, "this is not Colab: files lie in /mnt/data"),
}

# A package's name at PyPI and the module it gives.
IMPORT_NAMES = {
    "scikit-learn": "sklearn", "scikit_learn": "sklearn", "pillow": "PIL", "Pillow": "PIL",
    "pil": "PIL", "beautifulsoup4": "bs4", "BeautifulSoup": "bs4", "beautifulsoup": "bs4",
    "python-docx": "docx", "python_docx": "docx", "python-pptx": "pptx", "python_pptx": "pptx",
    "pyyaml": "yaml", "PyYAML": "yaml", "python_dateutil": "dateutil", "scikit_image": "skimage",
    "opencv": "cv2", "Sklearn": "sklearn", "Numpy": "numpy", "Pandas": "pandas",
    "Matplotlib": "matplotlib", "Seaborn": "seaborn", "pyplot": "matplotlib.pyplot",
    "plt": "matplotlib.pyplot", "fpdf2": "fpdf", "sqlite": "sqlite3", "scikitlearn": "sklearn",
    "calamine": "python_calamine", "np": "numpy", "pd": "pandas",
}

# Names that stand for an import when they are not defined.
IMPORTS = {
    "np": "import numpy as np", "pd": "import pandas as pd", "sns": "import seaborn as sns",
    "plt": "import matplotlib.pyplot as plt", "mpl": "import matplotlib as mpl",
    "px": "import plotly.express as px", "go": "import plotly.graph_objects as go",
    "sm": "import statsmodels.api as sm", "smf": "import statsmodels.formula.api as smf",
    "pl": "import polars as pl", "sp": "import sympy as sp", "nx": "import networkx as nx",
    "xr": "import xarray as xr", "tqdm": "from tqdm import tqdm", "alt": "import altair as alt",
    "Image": "from PIL import Image", "BeautifulSoup": "from bs4 import BeautifulSoup",
    "Path": "from pathlib import Path", "defaultdict": "from collections import defaultdict",
    "Counter": "from collections import Counter",
    "OrderedDict": "from collections import OrderedDict", "deque": "from collections import deque",
    "namedtuple": "from collections import namedtuple",
    "timedelta": "from datetime import timedelta", "date": "from datetime import date",
    "partial": "from functools import partial", "reduce": "from functools import reduce",
    "lru_cache": "from functools import lru_cache", "wraps": "from functools import wraps",
    "chain": "from itertools import chain", "product": "from itertools import product",
    "combinations": "from itertools import combinations", "islice": "from itertools import islice",
    "permutations": "from itertools import permutations",
    "groupby": "from itertools import groupby", "dataclass": "from dataclasses import dataclass",
    "field": "from dataclasses import field", "Enum": "from enum import Enum",
    "ABC": "from abc import ABC", "abstractmethod": "from abc import abstractmethod",
    "Decimal": "from decimal import Decimal", "Fraction": "from fractions import Fraction",
    "StringIO": "from io import StringIO", "BytesIO": "from io import BytesIO",
    "sleep": "from time import sleep", "pprint": "from pprint import pprint",
    "deepcopy": "from copy import deepcopy", "List": "from typing import List",
    "Dict": "from typing import Dict", "Any": "from typing import Any",
    "Optional": "from typing import Optional", "Union": "from typing import Union",
    "Tuple": "from typing import Tuple", "Callable": "from typing import Callable",
    "sqrt": "from math import sqrt", "pi": "from math import pi", "ceil": "from math import ceil",
    "floor": "from math import floor", "log": "from math import log",
    "exp": "from math import exp", "sin": "from math import sin", "cos": "from math import cos",
    "randint": "from random import randint",
    "contextmanager": "from contextlib import contextmanager",
    "relativedelta": "from dateutil.relativedelta import relativedelta",
    "Workbook": "from openpyxl import Workbook",
    "load_workbook": "from openpyxl import load_workbook", "Document": "from docx import Document",
    "PdfReader": "from pypdf import PdfReader",
    "curve_fit": "from scipy.optimize import curve_fit",
    "ThreadPoolExecutor": "from concurrent.futures import ThreadPoolExecutor",
    "train_test_split": "from sklearn.model_selection import train_test_split",
    "cross_val_score": "from sklearn.model_selection import cross_val_score",
    "GridSearchCV": "from sklearn.model_selection import GridSearchCV",
    "LinearRegression": "from sklearn.linear_model import LinearRegression",
    "LogisticRegression": "from sklearn.linear_model import LogisticRegression",
    "RandomForestClassifier": "from sklearn.ensemble import RandomForestClassifier",
    "RandomForestRegressor": "from sklearn.ensemble import RandomForestRegressor",
    "StandardScaler": "from sklearn.preprocessing import StandardScaler",
    "MinMaxScaler": "from sklearn.preprocessing import MinMaxScaler",
    "LabelEncoder": "from sklearn.preprocessing import LabelEncoder",
    "OneHotEncoder": "from sklearn.preprocessing import OneHotEncoder",
    "KMeans": "from sklearn.cluster import KMeans", "PCA": "from sklearn.decomposition import PCA",
    "accuracy_score": "from sklearn.metrics import accuracy_score",
    "mean_squared_error": "from sklearn.metrics import mean_squared_error",
    "r2_score": "from sklearn.metrics import r2_score",
    "classification_report": "from sklearn.metrics import classification_report",
    "confusion_matrix": "from sklearn.metrics import confusion_matrix",
    "SimpleImputer": "from sklearn.impute import SimpleImputer",
    "Pipeline": "from sklearn.pipeline import Pipeline",
}

# Names of other languages and of Python 2.
FOREIGN = {
    "true": "True", "false": "False", "null": "None", "none": "None", "nil": "None",
    "NULL": "None", "undefined": "None", "TRUE": "True", "FALSE": "False", "raw_input": "input",
    "xrange": "range", "unicode": "str", "basestring": "str", "long": "int", "unichr": "chr",
    "NaN": "float('nan')", "nan": "float('nan')", "NA": "None", "inf": "float('inf')",
    "Infinity": "float('inf')", "execfile": "exec(open(path).read())", "this": "self",
    "console": "print",
}

# Attributes of modules that are gone, and what to write.
GONE = {
    "numpy": {
        "float": "float or np.float64", "int": "int or np.int64", "object": "object",
        "str": "str or np.str_", "complex": "complex or np.complex128", "unicode": "np.str_",
        "product": "np.prod", "cumproduct": "np.cumprod", "sometrue": "np.any",
        "alltrue": "np.all", "in1d": "np.isin", "trapz": "np.trapezoid", "float_": "np.float64",
        "complex_": "np.complex128", "NaN": "np.nan", "NAN": "np.nan", "Inf": "np.inf",
        "Infinity": "np.inf", "infty": "np.inf", "PINF": "np.inf", "NINF": "-np.inf",
        "unicode_": "np.str_", "string_": "np.bytes_", "asfarray": "np.asarray(x, dtype=float)",
        "msort": "np.sort(x, axis=0)", "find_common_type": "np.result_type", "mat": "np.asmatrix",
        "round_": "np.round", "asscalar": "x.item()", "rank": "np.ndim",
        "cast": "np.asarray(x, dtype=…)", "issubclass_": "issubclass", "row_stack": "np.vstack",
        "byte_bounds": "np.lib.array_utils.byte_bounds", "bool8": "np.bool_", "PZERO": "0.0",
        "NZERO": "-0.0", "safe_eval": "ast.literal_eval", "alen": "len",
        "trapezoidal": "np.trapezoid",
    },
    "pandas": {
        "datetime": "from datetime import datetime, or pd.Timestamp",
        "Panel": "a DataFrame with a MultiIndex", "np": "import numpy as np",
        "Int64Index": "pd.Index", "Float64Index": "pd.Index", "UInt64Index": "pd.Index",
        "value_counts": "series.value_counts()", "rolling_mean": "series.rolling(n).mean()",
        "scatter_matrix": "pd.plotting.scatter_matrix", "TimeGrouper": "pd.Grouper(freq=…)",
        "Term": "df.query",
    },
    "scipy": {
        "array": "np.array", "mean": "np.mean", "linspace": "np.linspace", "arange": "np.arange",
        "zeros": "np.zeros", "ones": "np.ones", "sqrt": "np.sqrt", "exp": "np.exp",
        "log": "np.log", "sin": "np.sin", "cos": "np.cos", "pi": "np.pi", "interp": "np.interp",
        "dot": "np.dot", "sum": "np.sum", "std": "np.std", "median": "np.median",
        "random": "np.random", "polyfit": "np.polyfit", "where": "np.where",
        "loadtxt": "np.loadtxt",
    },
    "scipy.misc": {
        "imread": "imageio.v3.imread", "imsave": "imageio.v3.imwrite",
        "imresize": "PIL.Image.resize", "comb": "scipy.special.comb",
        "factorial": "scipy.special.factorial",
        "derivative": "a difference quotient, or sympy.diff",
        "logsumexp": "scipy.special.logsumexp",
    },
    "scipy.integrate": {
        "simps": "simpson", "cumtrapz": "cumulative_trapezoid", "trapz": "trapezoid",
    },
    "scipy.stats": {
        "binom_test": "binomtest(k, n, p).pvalue",
        "median_absolute_deviation": "median_abs_deviation", "betai": "scipy.special.betainc",
    },
    "scipy.signal": {
        "hann": "scipy.signal.windows.hann", "hamming": "scipy.signal.windows.hamming",
        "gaussian": "scipy.signal.windows.gaussian", "blackman": "scipy.signal.windows.blackman",
        "tukey": "scipy.signal.windows.tukey", "kaiser": "scipy.signal.windows.kaiser",
        "bartlett": "scipy.signal.windows.bartlett", "boxcar": "scipy.signal.windows.boxcar",
    },
    "scipy.special": {
        "sph_harm": "sph_harm_y (theta and phi change places)",
    },
    "scipy.interpolate": {
        "spline": "make_interp_spline",
    },
    "sklearn.datasets": {
        "load_boston":
            "fetch_california_housing needs network; load_diabetes() is built in, for regression",
        "fetch_mldata": "fetch_openml, which needs network",
    },
    "sklearn.preprocessing": {
        "Imputer": "from sklearn.impute import SimpleImputer",
        "CategoricalEncoder": "OneHotEncoder or OrdinalEncoder",
    },
    "sklearn.metrics": {
        "plot_confusion_matrix": "ConfusionMatrixDisplay.from_estimator",
        "plot_roc_curve": "RocCurveDisplay.from_estimator",
        "plot_precision_recall_curve": "PrecisionRecallDisplay.from_estimator",
        "jaccard_similarity_score": "jaccard_score",
    },
    "sklearn.mixture": {
        "GMM": "GaussianMixture",
    },
    "sklearn.externals": {
        "joblib": "import joblib",
    },
    "matplotlib.cm": {
        "get_cmap": "matplotlib.colormaps[name] or plt.get_cmap(name)",
        "register_cmap": "matplotlib.colormaps.register",
    },
    "matplotlib.pyplot": {
        "hold": "nothing: plots always go into the same axes",
        "plot_date": "plt.plot, which takes dates", "spectral": "plt.nipy_spectral",
    },
    "seaborn": {
        "factorplot": "catplot", "tsplot": "lineplot",
    },
    "PIL.Image": {
        "ANTIALIAS": "Image.LANCZOS", "LINEAR": "Image.BILINEAR", "CUBIC": "Image.BICUBIC",
    },
    "collections": {
        "Mapping": "collections.abc.Mapping", "MutableMapping": "collections.abc.MutableMapping",
        "Iterable": "collections.abc.Iterable", "Iterator": "collections.abc.Iterator",
        "Sequence": "collections.abc.Sequence",
        "MutableSequence": "collections.abc.MutableSequence",
        "Callable": "collections.abc.Callable", "Hashable": "collections.abc.Hashable",
        "Sized": "collections.abc.Sized", "Set": "collections.abc.Set",
        "MutableSet": "collections.abc.MutableSet", "Container": "collections.abc.Container",
        "Generator": "collections.abc.Generator",
    },
    "pandas.io.json": {
        "json_normalize": "pd.json_normalize",
    },
    "pandas.core.common": {
        "SettingWithCopyWarning": "nothing: pandas 3 has no such warning",
    },
    "pandas.errors": {
        "SettingWithCopyWarning": "nothing: pandas 3 has no such warning",
        "SettingWithCopyError": "nothing: pandas 3 has no such error",
    },
    "jinja2": {
        "Markup": "from markupsafe import Markup", "escape": "from markupsafe import escape",
    },
    "networkx": {
        "from_numpy_matrix": "from_numpy_array", "to_numpy_matrix": "to_numpy_array",
        "info": "print(G)",
        "connected_component_subgraphs": "(G.subgraph(c) for c in nx.connected_components(G))",
    },
    "itertools": {
        "izip": "zip", "imap": "map", "ifilter": "filter", "izip_longest": "zip_longest",
    },
    "string": {
        "letters": "string.ascii_letters", "lowercase": "string.ascii_lowercase",
        "uppercase": "string.ascii_uppercase", "maketrans": "str.maketrans",
        "join": "sep.join(list)",
    },
    "time": {
        "clock": "time.perf_counter",
    },
    "inspect": {
        "getargspec": "inspect.getfullargspec",
    },
    "fractions": {
        "gcd": "math.gcd",
    },
    "os": {
        "getcwdu": "os.getcwd", "errno": "import errno",
    },
    "sys": {
        "maxint": "sys.maxsize", "setdefaultencoding": "nothing: text is Unicode",
    },
    "asyncio": {
        "async": "asyncio.ensure_future", "coroutine": "async def",
    },
    "pydantic": {
        "BaseSettings": "a package of its own, pydantic-settings",
    },
    "math": {
        "mean": "statistics.mean", "abs": "abs", "round": "round", "max": "max", "min": "min",
        "average": "statistics.mean", "std": "statistics.stdev",
    },
    "random": {
        "rand": "random.random() or numpy.random.rand",
        "randn": "random.gauss or numpy.random.randn",
    },
    "statsmodels.api": {
        "ols": "smf.ols after import statsmodels.formula.api as smf",
    },
}

# Attributes of objects that are gone, by the package and name of their class.
GONE_OF = {
    ("pandas", "DataFrame"): {
        "append": "pd.concat([df, other], ignore_index=True)", "iteritems": "df.items()",
        "ix": "df.loc (labels) or df.iloc (positions)", "lookup": "df.to_numpy()[rows, columns]",
        "mad": "(df - df.mean()).abs().mean()", "applymap": "df.map(function)", "swapaxes": "df.T",
        "as_matrix": "df.to_numpy()", "get_value": "df.at[row, column]",
        "set_value": "df.at[row, column] = value", "sort": "df.sort_values(by=…)",
        "pad": "df.ffill()", "backfill": "df.bfill()", "bool": "df.squeeze().item()",
        "first": "df.loc[df.index < …]", "last": "df.loc[df.index > …]",
        "tshift": "df.shift(freq=…)", "ftypes": "df.dtypes",
        "convert_objects": "df.infer_objects()", "get_dtype_counts": "df.dtypes.value_counts()",
        "select": "df.filter or df.loc", "sortlevel": "df.sort_index(level=…)",
        "unique": "df[column].unique(), or df.drop_duplicates()", "str": "df[column].str",
        "dt": "df[column].dt", "tolist": "df.values.tolist()", "to_list": "df.values.tolist()",
        "to_frame": "df itself", "between": "df[column].between(…)", "group_by": "df.groupby",
        "order_by": "df.sort_values", "select_columns": "df[[…]]", "with_columns": "df.assign",
        "show": "df or print(df)", "reshape": "df.to_numpy().reshape(…)", "length": "len(df)",
        "withColumn": "df.assign", "is_null": "df.isna()", "orderBy": "df.sort_values",
        "groupBy": "df.groupby", "argsort": "df[column].argsort()", "sort_by": "df.sort_values",
    },
    ("pandas", "Series"): {
        "append": "pd.concat([a, b])", "iteritems": "s.items()", "ix": "s.loc or s.iloc",
        "mad": "(s - s.mean()).abs().mean()", "applymap": "s.map(function)",
        "as_matrix": "s.to_numpy()", "get_value": "s.at[label]",
        "set_value": "s.at[label] = value", "order": "s.sort_values()", "sort": "s.sort_values()",
        "pad": "s.ffill()", "backfill": "s.bfill()", "bool": "s.item()", "select": "s.loc",
        "tshift": "s.shift(freq=…)", "columns": "s.name or s.index; s.to_frame() has columns",
        "reshape": "s.to_numpy().reshape(…)", "to_numeric": "pd.to_numeric(s)",
        "to_datetime": "pd.to_datetime(s)", "contains": "s.str.contains(…)",
        "split": "s.str.split(…)", "lower": "s.str.lower()", "upper": "s.str.upper()",
        "strip": "s.str.strip()", "startswith": "s.str.startswith(…)",
        "endswith": "s.str.endswith(…)", "len": "s.str.len() or len(s)", "year": "s.dt.year",
        "month": "s.dt.month", "day": "s.dt.day", "hour": "s.dt.hour", "weekday": "s.dt.weekday",
        "dayofweek": "s.dt.dayofweek", "date": "s.dt.date", "strftime": "s.dt.strftime(…)",
        "iterrows": "s.items()", "melt": "s.to_frame().melt()", "flatten": "s.to_numpy()",
        "length": "len(s)", "isnan": "s.isna()", "days": "s.dt.days",
        "total_seconds": "s.dt.total_seconds()", "select_dtypes": "s.dtype",
        "merge": "s.to_frame().merge(…)", "pivot_table": "s.to_frame().pivot_table(…)",
        "weekofyear": "s.dt.isocalendar().week", "week": "s.dt.isocalendar().week",
    },
    ("pandas", "DatetimeIndex"): {
        "week": "index.isocalendar().week", "weekofyear": "index.isocalendar().week",
        "dt": "the index itself: index.year",
    },
    ("pandas", "Index"): {
        "reshape": "index.to_numpy().reshape(…)",
    },
    ("pandas", "DataFrameGroupBy"): {
        "mad": "groupby(…).agg(lambda s: (s - s.mean()).abs().mean())", "append": "pd.concat",
        "sort_values": "an aggregate first: .sum().sort_values(…)",
        "mode": "groupby(…).agg(lambda s: s.mode()[0])",
    },
    ("pandas", "SeriesGroupBy"): {
        "sort_values": "an aggregate first: .sum().sort_values()",
        "mode": "groupby(…).agg(lambda s: s.mode()[0])",
    },
    ("pandas", "ExcelWriter"): {
        "save": "writer.close(), or with pd.ExcelWriter(…) as writer:",
    },
    ("numpy", "ndarray"): {
        "append": "np.append(x, …) or np.concatenate, which make a new array",
        "to_numpy": "it is one", "push": "np.append", "extend": "np.concatenate", "iloc": "x[…]",
        "head": "x[:5]", "unique": "np.unique(x)", "isnan": "np.isnan(x)", "abs": "np.abs(x)",
        "median": "np.median(x)", "length": "len(x) or x.size", "ptp": "np.ptp(x)",
        "newbyteorder": "x.view(x.dtype.newbyteorder(…))", "itemset": "x[i] = value",
        "columns": "pd.DataFrame(x).columns", "values": "x itself: it is an array already",
        "index": "np.where(x == value)",
        "value_counts": "np.unique(x, return_counts=True)", "fillna": "np.nan_to_num(x)",
        "toarray": "x itself: it is not sparse", "shift": "np.roll",
        "count": "np.count_nonzero(x == value)", "percentile": "np.percentile(x, …)",
        "exp": "np.exp(x)", "log": "np.log(x)", "sqrt": "np.sqrt(x)", "to_list": "x.tolist()",
        "replace": "np.where(…)", "isna": "np.isnan(x)",
        "apply": "np.vectorize(f)(x), or f on the whole array", "map": "np.vectorize(f)(x)",
        "todense": "x itself: it is not sparse", "describe": "pd.Series(x).describe()",
        "contains": "value in x",
    },
    ("builtins", "list"): {
        "shape": "len(x); np.array(x).shape", "push": "x.append(…)", "add": "x.append(…)",
        "length": "len(x)", "size": "len(x)",
        "split": "split() belongs to a text; join first, or take one item", "join": "sep.join(x)",
        "map": "[f(v) for v in x]", "filter": "[v for v in x if …]", "items": "enumerate(x)",
        "keys": "x is a list; a dict has keys", "get": "x is a list: x[i]",
        "mean": "sum(x) / len(x), or np.mean(x)", "sum": "sum(x)", "max": "max(x)",
        "min": "min(x)", "reshape": "np.array(x).reshape(…)", "flatten": "np.array(x).flatten()",
        "astype": "np.array(x).astype(…)", "unique": "list(dict.fromkeys(x))",
        "tolist": "x itself: it is a list already", "contains": "value in x",
        "strip": "[s.strip() for s in x]", "lower": "[s.lower() for s in x]",
        "replace": "[s.replace(…) for s in x]", "values": "x itself",
        "std": "statistics.stdev(x) or np.std(x)", "dtype": "np.array(x).dtype",
        "T": "np.array(x).T, or list(zip(*x))", "head": "x[:5]", "iloc": "x[…]",
        "columns": "pd.DataFrame(x).columns", "find": "x.index(value)",
        "to_list": "x itself: it is a list already",
        "appendleft": "x.insert(0, …), or a collections.deque",
        "encode": "join first: ''.join(x).encode()", "groupby": "pd.DataFrame(x).groupby(…)",
        "has": "in", "forEach": "for v in x:", "slice": "x[a:b]", "indexOf": "x.index(value)",
        "to_csv": "pd.DataFrame(x).to_csv(…)", "delete": "del x[i]", "concat": "x + other",
        "startswith": "x[0].startswith(…)",
    },
    ("builtins", "dict"): {
        "has_key": "key in d", "iteritems": "d.items()", "itervalues": "d.values()",
        "iterkeys": "d.keys()", "append": "d[key] = value", "add": "d[key] = value",
        "sort": "dict(sorted(d.items()))", "length": "len(d)", "to_json": "json.dumps(d)",
        "map": "{k: f(v) for k, v in d.items()}", "contains": "key in d", "push": "d[key] = value",
        "remove": "del d[key], or d.pop(key)", "json": "d itself: it is parsed already",
        "text": "d itself: it is not a response", "extend": "d.update(other)",
        "index": "list(d).index(key)", "to_dict": "d itself: it is a dict already",
        "head": "list(d.items())[:5]", "columns": "d.keys()",
    },
    ("builtins", "str"): {
        "append": "s += text", "decode": "s itself: it is text; bytes have decode()",
        "length": "len(s)", "contains": "part in s", "push": "s += text", "reverse": "s[::-1]",
        "includes": "part in s", "trim": "s.strip()", "toLowerCase": "s.lower()",
        "toUpperCase": "s.upper()", "substring": "s[a:b]",
        "get": "s is a text; json.loads(s) makes a dict of JSON",
        "items": "s is a text; json.loads(s) makes a dict of JSON",
        "keys": "s is a text; json.loads(s) makes a dict of JSON",
        "strftime": "parse it first: datetime.strptime(s, …) or pd.to_datetime(s)",
        "isnumber": "s.isnumeric()", "sort": "''.join(sorted(s))",
        "exists": "os.path.exists(s), or Path(s).exists()", "read": "open(s).read()",
        "astype": "float(s) or int(s)", "year": "parse it first: pd.to_datetime(s).year",
        "month": "parse it first: pd.to_datetime(s).month",
        "day": "parse it first: pd.to_datetime(s).day", "remove": "s.replace(part, '')",
        "mkdir": "os.makedirs(s), or Path(s).mkdir()", "read_text": "Path(s).read_text()",
        "glob": "Path(s).glob(…)", "stem": "Path(s).stem", "suffix": "Path(s).suffix",
        "parent": "Path(s).parent", "date": "parse it first: pd.to_datetime(s).date()",
        "replaceAll": "s.replace", "charAt": "s[i]", "indexOf": "s.find(part)", "isEmpty": "not s",
    },
    ("builtins", "bytes"): {
        "format": "text: b.decode().format(…)",
        "encode": "b itself: it is bytes already; b.decode() makes text",
    },
    ("builtins", "tuple"): {
        "append": "x + (value,), or a list", "sort": "sorted(x)", "remove": "a list: list(x)",
        "extend": "x + other, or a list", "shape": "len(x)", "items": "enumerate(x)",
        "pop": "a list: list(x)", "insert": "a list: list(x)",
    },
    ("builtins", "set"): {
        "append": "x.add(value)", "sort": "sorted(x)", "extend": "x.update(values)",
        "index": "a list: sorted(x)", "push": "x.add(value)", "insert": "x.add(value)",
    },
    ("builtins", "int"): {
        "append": "a list", "split": "str(x).split(…)", "isdigit": "x is a number already",
        "strip": "str(x)", "lower": "str(x)", "replace": "str(x).replace(…)", "sum": "x itself",
        "days": "a timedelta: timedelta(days=x)", "mean": "x itself: one number",
        "round": "round(x)", "format": "f'{x:,}'", "items": "x is a number",
        "astype": "x itself, or float(x)",
    },
    ("builtins", "float"): {
        "split": "str(x).split(…)",
        "lower": "str(x); in a column, NaN is a float: fillna('') first",
        "strip": "str(x); in a column, NaN is a float: fillna('') first",
        "replace": "str(x); in a column, NaN is a float: fillna('') first", "round": "round(x, n)",
        "sqrt": "math.sqrt(x)", "mean": "x itself: one number",
        "upper": "str(x); in a column, NaN is a float: fillna('') first",
        "astype": "x itself, or int(x)", "isdigit": "x is a number already",
        "format": "f'{x:.2f}'",
    },
    ("builtins", "map"): {
        "sort": "list(x)", "append": "list(x)", "index": "list(x)", "count": "list(x)",
    },
    ("builtins", "filter"): {
        "sort": "list(x)", "append": "list(x)",
    },
    ("builtins", "dict_keys"): {
        "sort": "sorted(d)", "index": "list(d).index(…)", "append": "list(d)",
    },
    ("builtins", "dict_values"): {
        "sort": "sorted(d.values())", "index": "list(d.values())",
    },
    ("builtins", "dict_items"): {
        "sort": "sorted(d.items())",
    },
    ("builtins", "generator"): {
        "next": "next(g)", "append": "list(g)", "sort": "sorted(g)",
    },
    ("sklearn", "CountVectorizer"): {
        "get_feature_names": "get_feature_names_out()",
    },
    ("sklearn", "TfidfVectorizer"): {
        "get_feature_names": "get_feature_names_out()",
    },
    ("sklearn", "OneHotEncoder"): {
        "get_feature_names": "get_feature_names_out()",
    },
    ("sklearn", "ColumnTransformer"): {
        "get_feature_names": "get_feature_names_out()",
    },
    ("sklearn", "PolynomialFeatures"): {
        "get_feature_names": "get_feature_names_out()",
    },
    ("polars", "DataFrame"): {
        "groupby": "df.group_by", "with_column": "df.with_columns", "apply": "df.map_rows",
        "melt": "df.unpivot", "iloc": "df[…] or df.row(i)", "loc": "df.filter(…)",
        "sort_values": "df.sort(…)", "query": "df.filter(…)", "assign": "df.with_columns(…)",
        "values": "df.to_numpy()", "index": "df.with_row_index()", "merge": "df.join(…)",
        "reset_index": "df itself: it has no index", "isna": "df.null_count()",
        "to_csv": "df.write_csv(…)", "fillna": "df.fill_null(…)", "astype": "df.cast(…)",
    },
    ("matplotlib", "Axes"): {
        "set_axis_bgcolor": "ax.set_facecolor",
        "hold": "nothing: plots always go into the same axes",
        "set_color_cycle": "ax.set_prop_cycle(color=…)", "get_axis_bgcolor": "ax.get_facecolor",
        "xlabel": "ax.set_xlabel", "ylabel": "ax.set_ylabel", "xlim": "ax.set_xlim",
        "ylim": "ax.set_ylim", "xticks": "ax.set_xticks", "yticks": "ax.set_yticks",
        "show": "plt.show()", "savefig": "ax.figure.savefig", "suptitle": "ax.figure.suptitle",
        "tight_layout": "ax.figure.tight_layout()", "subplots_adjust": "ax.figure.subplots_adjust",
    },
    ("matplotlib", "Figure"): {
        "xlabel": "fig.supxlabel, or ax.set_xlabel", "set_title": "fig.suptitle",
        "plot": "ax = fig.subplots(); ax.plot(…)", "bar": "ax = fig.subplots(); ax.bar(…)",
        "title": "fig.suptitle",
    },
    ("PIL", "ImageDraw"): {
        "textsize": "draw.textbbox((0, 0), text, font=font)",
    },
    ("PIL", "FreeTypeFont"): {
        "getsize": "font.getbbox(text)",
    },
    ("networkx", "Graph"): {
        "node": "G.nodes", "edge": "G.edges", "add_path": "nx.add_path(G, …)",
        "nodes_iter": "G.nodes",
    },
    ("networkx", "DiGraph"): {
        "node": "G.nodes", "edge": "G.edges",
    },
    ("bs4", "Tag"): {
        "has_key": "tag.has_attr",
    },
    ("openpyxl", "Workbook"): {
        "get_sheet_by_name": "wb[name]", "get_sheet_names": "wb.sheetnames",
        "get_active_sheet": "wb.active", "add_sheet": "wb.create_sheet(name)",
    },
    ("pypdf", "PdfReader"): {
        "numPages": "len(reader.pages)", "getPage": "reader.pages[i]",
        "getNumPages": "len(reader.pages)", "isEncrypted": "reader.is_encrypted",
    },
    ("pypdf", "PageObject"): {
        "extractText": "page.extract_text()",
    },
}

# (function, keyword argument) that is gone, and what to write.
KEYWORDS = {
    ("read_csv", "error_bad_lines"): "on_bad_lines='skip'",
    ("read_csv", "warn_bad_lines"): "on_bad_lines='warn'",
    ("read_csv", "infer_datetime_format"): "leave it out: formats are inferred",
    ("read_csv", "date_parser"): "date_format='%Y-%m-%d', or pd.to_datetime afterwards",
    ("read_csv", "squeeze"): ".squeeze('columns') on the result",
    ("read_csv", "delim_whitespace"): "sep=r'\\s+'",
    ("read_csv", "mangle_dupe_cols"): "leave it out",
    ("to_csv", "line_terminator"): "lineterminator=…", ("read_excel", "sheetname"): "sheet_name=…",
    ("to_datetime", "infer_datetime_format"): "leave it out: formats are inferred",
    ("mean_squared_error", "squared"): "root_mean_squared_error(…) in place of squared=False",
    ("OneHotEncoder", "sparse"): "sparse_output=False",
    ("LinearRegression", "normalize"): "make_pipeline(StandardScaler(), LinearRegression())",
    ("Ridge", "normalize"): "make_pipeline(StandardScaler(), Ridge())",
    ("Lasso", "normalize"): "make_pipeline(StandardScaler(), Lasso())",
    ("AdaBoostClassifier", "base_estimator"): "estimator=…",
    ("AdaBoostRegressor", "base_estimator"): "estimator=…",
    ("BaggingClassifier", "base_estimator"): "estimator=…",
    ("BaggingRegressor", "base_estimator"): "estimator=…",
    ("LogisticRegression", "multi_class"):
        "leave it out, or OneVsRestClassifier(LogisticRegression())",
    ("AgglomerativeClustering", "affinity"): "metric=…",
    ("fillna", "method"): "df.ffill() or df.bfill()",
    ("groupby", "axis"): "df.T.groupby(…) in place of axis=1", ("hist", "normed"): "density=True",
    ("grid", "b"): "visible=…",
}

FREQUENCIES = {
    "M": "ME", "Q": "QE", "A": "YE", "Y": "YE", "H": "h", "T": "min", "S": "s", "L": "ms",
    "U": "us", "N": "ns", "BM": "BME", "BQ": "BQE", "BA": "BYE", "SM": "SME", "CBM": "CBME",
    "AS": "YS", "BH": "bh",
}
