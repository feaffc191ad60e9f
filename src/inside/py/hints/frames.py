"""pandas, scikit-learn and plotting: tables that do not fit the operation."""

import ast
import sys

from _reckon import brief, case, hints, hints_arrays, hints_files, hints_tables, hints_values

_type = type


def _shown(facts, text, value):
    if text:
        return text
    for names in (facts.user.locals(), facts.user.globals()):
        for name, other in list(names.items())[:3000]:
            if other is value and _type(name) is str and not name.startswith("_"):
                return name
    return "the DataFrame"


@hints.on("ValueError", says=r"Length of values \((\d+)\) does not match length of index \((\d+)\)")
def _length(facts, match):
    target = getattr(facts.statement, "targets", [None])[0]
    value = getattr(facts.statement, "value", None)
    if isinstance(target, ast.Subscript):
        yield (
            f"{facts.text_of(target.value, 40)} has {match[2]} rows, {facts.text_of(value, 50)} has"
            f" {match[1]} values: one value for each row is wanted"
        )


@hints.on(
    "ValueError", says=r"All arrays must be of the same length"
)
def _dict_lengths(facts, match):
    for node in facts.nodes(ast.Call):
        for argument in node.args[:1]:
            if isinstance(argument, ast.Dict):
                pairs = [
                    (facts.try_value(k)[1], facts.try_value(v))
                    for k, v in zip(argument.keys, argument.values)
                    if k
                ]
                pairs = [(k, v) for k, (known, v) in pairs if known]
            else:
                known, value = facts.try_value(argument)
                pairs = list(value.items())[:50] if known and _type(value) is dict else []
            parts = [
                f"{brief.brief(k, 30)} has {len(v)}"
                for k, v in pairs
                if case.sized(v) and _type(v) is not str
            ]
            if parts:
                yield "items: " + ", ".join(parts)
                return


@hints.on("ValueError", says=r"using all scalar values, you must pass an index")
def _scalars(facts, match):
    yield "pd.DataFrame([d]) makes one row of a dict of single values; pd.Series(d) makes a column"


def _merged(facts):
    """The names of the two merged tables in the source."""
    for node in facts.nodes(ast.Call, within=facts.statement):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("merge", "join"):
            given = [node.func.value, *node.args]
            if facts.text_of(node.func.value) in ("pd", "pandas"):
                given = given[1:]
            if len(given) > 1 and all(isinstance(n, ast.Name) for n in given[:2]):
                return given[0].id, given[1].id
    return "left", "right"


@hints.on(
    "ValueError", says=r"You are trying to merge on (\S+) and (\S+) columns for key '([^']*)'"
)
def _merge_types(facts, match):
    left, right = _merged(facts)
    yield (
        f"the key {match[3]!r} is {match[1]} on the left and {match[2]} on the right: make them"
        f" equal, {right}[{match[3]!r}] = {right}[{match[3]!r}].astype({left}[{match[3]!r}].dtype)"
    )


@hints.on("MergeError")
def _merge(facts):
    parts = [
        f"{_shown(facts, text, value)} has {hints.listing(brief.labels(value.columns), 150)}"
        for text, value in facts.tables()[:2]
    ]
    if "No common columns" in facts.value and parts:
        yield "; ".join(parts) + ": name the keys with left_on= and right_on="


@hints.on("ValueError", says=r"columns overlap but no suffix specified: (.*)")
def _overlap(facts, match):
    yield (
        "both tables have these columns: join(…, lsuffix='_left', rsuffix='_right'), or merge(…,"
        " on=…)"
    )


@hints.on("ValueError", says=r"Index contains duplicate entries, cannot reshape")
def _pivot(facts, match):
    node = facts.node
    given = (
        {k.arg: facts.try_value(k.value)[1] for k in node.keywords}
        if isinstance(node, ast.Call)
        else {}
    )
    for text, value in facts.tables()[:1]:
        keys = [given.get("index"), given.get("columns")]
        columns = brief.labels(value.columns)
        if all(_type(k) is str and k in columns for k in keys) and value.shape[0] < 200_000:
            doubled = value[value.duplicated(keys)]
            if len(doubled):
                first = doubled.iloc[0]
                yield (
                    f"{len(doubled)} rows repeat a pair of {keys[0]} and {keys[1]}, such as "
                    f"{brief.brief(first[keys[0]], 30)}, {brief.brief(first[keys[1]], 30)}"
                )
    yield (
        "pivot_table(…, aggfunc='sum') or another aggfunc joins rows of the same place;"
        " drop_duplicates() removes them"
    )


@hints.on(
    "ValueError", says=r"cannot reindex on an axis with duplicate labels|cannot handle a non-unique"
)
def _duplicates(facts, match):
    for text, value in facts.receivers():
        if (
            (brief.is_frame(value) or brief.is_series(value))
            and len(value) < 500_000
            and not value.index.is_unique
        ):
            odd = value.index[value.index.duplicated()][:3]
            yield (
                f"the index of {_shown(facts, text, value)} repeats labels, such as"
                f" {hints.listing(list(odd), 80)}: .reset_index(drop=True), or drop the repeated"
                " rows"
            )
            return


@hints.on(
    "ValueError",
    "IntCastingNaNError",
    says=(
        r"cannot convert float NaN to integer|Cannot convert non-finite values|cannot convert NA to"
        r" integer"
    ),
)
def _nan_to_int(facts, match):
    for text, value in facts.receivers():
        if brief.is_series(value) and value.dtype.kind in "fO" and len(value) < 5_000_000:
            count = int(value.isna().sum())
            if count and text:
                yield (
                    f"{text} has {count} missing values of {len(value)}:"
                    f" {text}.fillna(0).astype(int), or .astype('Int64'), which keeps them"
                )
                return
    yield (
        "NaN has no int: fillna(…) or dropna() first, or astype('Int64'), which keeps missing"
        " values"
    )


@hints.on(
    "TypeError",
    "ValueError",
    "DataError",
    says=r"agg function failed \[how->(\w+),dtype->(\w+)\]|[Cc]annot perform reduction '(\w+)'|"
    r"Could not convert \[?'?.* to numeric|does not support operation '(\w+)'",
)
def _reduction(facts, match):
    how = match[1] or match[3] or match[4] or "mean"
    if facts.is_fixed:
        return
    for text, value in facts.tables()[:1]:
        names = [
            c
            for c, d in zip(brief.labels(value.columns), list(value.dtypes)[: brief.LABELS_MAX])
            if brief.dtype_text(d) in ("str", "object", "string", "category")
            or "datetime" in brief.dtype_text(d)
        ]
        shown = _shown(facts, text, value)
        if names and len(names) == value.shape[1]:
            yield (
                f"no column of {shown} is of numbers: {shown}.apply(pd.to_numeric, errors='coerce')"
                " makes numbers of the texts that are some"
            )
            return
        if names:
            yield (
                f"columns of {shown} that are not numbers: {hints.listing(names, 200)}; choose the"
                f" others before {how}()"
            )
            return
    for text, value in facts.receivers():
        if brief.is_series(value):
            bad, count, seen = hints_values.bad_numbers(value)
            if bad and count == seen:
                yield f"{text or 'the column'} holds no numbers: {hints.listing(bad, 120)}"
                return
            yield (
                f"{text or 'the column'} holds texts ({brief.dtype_text(value.dtype)}):"
                " pd.to_numeric(…) makes numbers of them"
                + (f"; {count} of {seen} are not numbers: {hints.listing(bad, 120)}" if bad else "")
            )
            return


@hints.on("TypeError", "LossySetitemError", says=r"Invalid value '(.*)' for dtype '?(\w+)'?")
def _set_item(facts, match):
    yield (
        f"a column of {match[2]} does not take {brief.one_line(match[1], 60)}: df[column] ="
        " df[column].astype(object) first (or float, or str), or make a new column"
    )


@hints.on(
    "ValueError",
    says=(
        r"Invalid frequency: (\S+?)[,.]? |'(\w+)' is no longer supported for offsets"
    ),
)
def _frequency(facts, match):
    text = (match[1] or match[2] or "").strip("'\".,")
    stem = text.lstrip("0123456789-").partition("-")[0]
    new = hints_tables.FREQUENCIES.get(stem)
    if new is not None:
        yield f"the frequency {stem!r} is called {new!r} in the installed pandas"


@hints.on("ValueError", says=r"No objects to concatenate")
def _concat(facts, match):
    for node in facts.nodes(ast.Call):
        if node.args:
            yield f"{facts.text_of(node.args[0], 50)} is empty: no table was put into it"
            return


@hints.on("ValueError", says=r"Worksheet named '([^']*)' not found")
def _sheet(facts, match):
    for place in reversed(facts.places):
        book = place.locals().get("self")
        if (
            brief.is_from(book, "pandas")
            and "Reader" in brief.type_name(book)
            or brief.type_name(book) == "ExcelFile"
        ):
            names = getattr(book, "sheet_names", None)
            if _type(names) is list:
                found = hints.near(match[1], names)
                yield f"the workbook has the sheets: {hints.listing(names, 250)}" + (
                    f"; the nearest is {hints.one_of(found[:1])}" if found else ""
                )
                return


@hints.on("KeyError", says=r"Worksheet (\S.*?) does not exist")
def _openpyxl_sheet(facts, match):
    value = facts.called().locals().get("self")
    if brief.is_from(value, "openpyxl"):
        names = [sheet.title for sheet in brief.own_attributes(value).get("_sheets", [])][:50]
        yield f"the workbook has the sheets: {hints.listing(names, 250)}"


@hints.on(
    "ValueError",
    says=(
        r"Usecols do not match columns.*?: \[(.*)\]|Missing column provided to '(\w+)':"
        r" '?([^']*)'?|Index (\w+) invalid"
    ),
)
def _csv_columns(facts, match):
    path = hints_files.path_given(facts)
    head = hints_files.first_lines(path, 1) if path else []
    if head:
        yield f"the first line of {brief.one_line(path, 80)} is: {brief.one_line(head[0], 300)}"


@hints.on(
    "ValueError",
    says=r"Trailing data|Unexpected character found when decoding|Expected object or value",
)
def _read_json(facts, match):
    path = hints_files.path_given(facts)
    lines = hints_files.first_lines(path, 3) if path else []
    if (
        "Trailing data" in match[0]
        and len(lines) > 1
        and all(line[:1] in "{[" and line.rstrip()[-1:] in "}]" for line in lines[:2])
    ):
        yield "there is one JSON document on each line: pd.read_json(path, lines=True)"
    elif path and (kind := hints_files.kind_of(path)):
        yield f"{brief.one_line(path, 100)} {kind}"


@hints.on(
    "ValueError",
    says=r"Columns must be same length as key|Cannot set a DataFrame with multiple columns",
)
def _columns_key(facts, match):
    target, value = getattr(facts.statement, "targets", [None])[0], getattr(
        facts.statement, "value", None
    )
    if isinstance(target, ast.Subscript) and value is not None:
        yield (
            f"the right side, {facts.text_of(value, 60)}, has another number of columns than"
            f" {facts.text_of(target, 60)} names"
        )


@hints.on("ValueError", says=r"cannot insert (.*?), already exists")
def _insert(facts, match):
    yield (
        f"the table has the column {brief.one_line(match[1], 60)} already: df[column] = … replaces"
        " it; reset_index(drop=True) makes none of the index"
    )


@hints.on("ValueError", says=r"Can only compare identically-labeled")
def _compare(facts, match):
    parts = hints_arrays.shapes(
        facts,
        [facts.node.left, *facts.node.comparators] if isinstance(facts.node, ast.Compare) else [],
    )
    yield (
        "; ".join(f"{text} has the shape {shape}" for text, shape, _ in parts)
        + (": " if parts else "")
        + "compare .values of both, or .equals(), or merge them first"
    )


@hints.on(
    "ValueError",
    says=(
        r"Excel file format cannot be determined|not a zip file"
    ),
)
@hints.on("BadZipFile", "InvalidFileException", "XLRDError")
def _excel(facts, match=None):
    path = hints_files.path_given(facts)
    kind = hints_files.kind_of(path) if path else None
    if kind:
        yield f"{brief.one_line(path, 100)} {kind}"


# ---- scikit-learn ---------------------------------------------------------------------------


@hints.on("ValueError", says=r"Input (\w+) contains (NaN|infinity)")
def _nan(facts, match):
    if match[2] == "infinity":
        yield (
            "an infinite value is in it: .replace([np.inf, -np.inf], np.nan) of a table, or"
            " np.where(np.isfinite(a), a, np.nan), makes NaN of it, which can be dropped or filled"
        )
        return
    for text, value in facts.receivers():
        if brief.is_frame(value) and value.shape[0] * value.shape[1] < 5_000_000:
            counts = value.isna().sum()
            parts = [f"{brief.brief(name, 40)} {int(n)}" for name, n in counts.items() if int(n)]
            if parts:
                yield (
                    f"missing values in {_shown(facts, text, value)} ({value.shape[0]} rows):"
                    f" {', '.join(parts[:12])}"
                )
                break
        elif brief.is_series(value) and match[1] == "y" and int(value.isna().sum()):
            yield f"{text or 'y'} has {int(value.isna().sum())} missing values of {len(value)}"
            break
        elif brief.is_array(value) and value.dtype.kind == "f" and value.size < 5_000_000:
            bad = int((value != value).sum())
            if bad:
                yield f"{text or 'the array'} has {bad} NaN of {value.size} values"
                break
    yield "dropna() or fillna(…) before, or SimpleImputer in a pipeline"


@hints.on(
    "ValueError", says=r"Found input variables with inconsistent numbers of samples: \[([\d, ]+)\]"
)
def _samples(facts, match):
    nodes = [
        n
        for call in facts.nodes(ast.Call)[:1]
        for n in [*call.args, *(k.value for k in call.keywords)]
    ]
    parts = hints_arrays.shapes(facts, nodes)
    if parts:
        yield (
            ", ".join(f"{text} has {shape[0]} rows" for text, shape, _ in parts)
            + ": both must come from the same rows"
        )


@hints.on(
    "ValueError",
    says=r"Expected 2D array, got (1D|scalar) array|Expected a 2-dimensional container",
)
def _two_dimensions(facts, match):
    for node in [n for call in facts.nodes(ast.Call)[:1] for n in call.args[:1]]:
        known, value = facts.try_value(node)
        if not known and facts.called() is not None:
            value = facts.called().locals().get("X")
            known = value is not None
        text = facts.text_of(node, 50)
        if known and brief.is_series(value):
            name = value.name
            yield f"{text} is one column (a Series): " + (
                f"df[[{brief.brief(name, 40)}]] or {text}.to_frame() is a table of one column"
                if name is not None
                else f"{text}.to_frame() is a table of one column"
            )
            return
        if known and brief.is_array(value):
            yield (
                f"{text} has the shape {value.shape}: {text}.reshape(-1, 1) for one feature,"
                f" {text}.reshape(1, -1) for one row"
            )
            return
        if known and brief.exact(value, int, float):
            yield f"{text} is one number: [[{text}]] is one row of one feature"
            return
        if known and _type(value) is list:
            yield (
                f"{text} is a list of {len(value)} values: [[v] for v in {text}] for one feature,"
                f" [{text}] for one row"
            )
            return


@hints.on(
    "ValueError",
    says=r"X has (\d+) features, but (\w+) is expecting (\d+)|feature names should match",
)
def _features(facts, match):
    node = facts.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    known, model = facts.try_value(node.func.value)
    names = brief.own_attributes(model).get("feature_names_in_") if known else None
    if names is None and match[1] and node.args:
        yield (
            f"it was fitted with {match[3]} columns, {facts.text_of(node.args[0], 50)} has {match[1]}:"
            " give it the same columns in the same order"
        )
    if brief.is_array(names):
        names = names.tolist()
        there, given = facts.try_value(node.args[0]) if node.args else (False, None)
        if there and brief.is_frame(given):
            columns = brief.labels(given.columns)
            missing, more = [n for n in names if n not in columns], [
                c for c in columns if c not in names
            ]
            yield (
                f"fitted with {hints.listing(names, 150)}"
                + (f"; missing now: {hints.listing(missing, 100)}" if missing else "")
                + (f"; too many now: {hints.listing(more, 100)}" if more else "")
                + ("" if missing or more else "; the order differs")
            )
        else:
            yield f"it was fitted with the columns {hints.listing(names, 250)}"


@hints.on("NotFittedError")
def _not_fitted(facts):
    node = facts.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        text = facts.text_of(node.func.value, 40)
        yield f"{text}.fit(…) was not called on this object (fit_transform fits and transforms)"


@hints.on("ValueError", says=r"y contains previously unseen labels|Found unknown categories")
def _unseen(facts, match):
    yield (
        "it was fitted without these values: fit on all data, or"
        " OneHotEncoder(handle_unknown='ignore')"
    )


@hints.on("ValueError", says=r"Classification metrics can't handle a mix")
def _predictions(facts, match):
    yield (
        "one side is of classes, the other of numbers: (p > 0.5).astype(int) makes classes of"
        " probabilities, model.predict(X) gives classes; for numbers there are metrics of regression"
    )


@hints.on("ValueError", says=r"Unknown label type: (\w+)")
def _labels(facts, match):
    yield (
        "a classifier was given continuous numbers: use a regressor, or make classes of y"
        " (astype(int), pd.cut)"
    )


@hints.on("ValueError", says=r"least populated classes in y have only (\d+)")
def _stratify(facts, match):
    yield "a class with one row cannot be split: leave stratify away, or drop that class first"


# ---- plots ----------------------------------------------------------------------------------


@hints.on(
    "ValueError", says=r"x and y must have same first dimension|x and y must be the same size"
)
def _plot_lengths(facts, match):
    parts = []
    for node in [n for call in facts.nodes(ast.Call)[:1] for n in call.args[:2]]:
        known, value = facts.try_value(node)
        if known and case.sized(value):
            parts.append(f"{facts.text_of(node, 50)} has {len(value)} values")
    if len(parts) == 2:
        yield ", ".join(parts)


@hints.on("OSError", says=r"'([^']*)' is not a valid package style|not a valid package style")
def _style(facts, match):
    style = sys.modules.get("matplotlib.style")
    names = list(style.__dict__.get("available") or ()) if style is not None else []
    wanted = match[1] or ""
    renamed = wanted.replace("seaborn", "seaborn-v0_8")
    if renamed in names:
        yield f"the style is called {renamed!r} here; sns.set_theme() sets seaborn's own"
    elif names:
        found = hints.near(wanted, names)
        yield f"styles: {', '.join(found or names[:25])}"


@hints.on(
    "ValueError",
    says=(
        r"Could not interpret value [`'](.*?)[`'] for [`'](\w+)[`']|Value of '(\w+)' is not the"
        r" name of a column"
    ),
)
def _plot_column(facts, match):
    wanted = match[1]
    for text, value in facts.tables()[:1]:
        columns = brief.labels(value.columns)
        found = hints.near(wanted, columns) if wanted else []
        yield f"columns of {_shown(facts, text, value)}: {hints.listing(columns, 250)}" + (
            f"; the nearest is {hints.one_of(found[:1])}" if found else ""
        )


@hints.on(
    "ValueError",
    says=(
        r"'?(\S+?)'? is not a valid (?:value for )?(?:color|cmap)|Invalid RGBA argument:"
        r" '?([^']*)'?"
    ),
)
def _color(facts, match):
    wanted = (match[1] or match[2] or "").strip("'")
    colors = sys.modules.get("matplotlib.colors")
    matplotlib = sys.modules.get("matplotlib")
    names = (
        list(colors.__dict__.get("CSS4_COLORS") or ())
        if colors is not None and "cmap" not in facts.value and "olormap" not in facts.value
        else []
    )
    if not names and matplotlib is not None:
        names = list(matplotlib.__dict__.get("colormaps") or ())
    found = hints.near(wanted, names)
    if found:
        yield f"known names: {', '.join(found)}"
