#!/bin/sh
#
# run.sh - run an analysis like one by a model, cell by cell, on real data and without network: text, a
# table, a chart, an Excel report, and a receipt for each cell.
#
# usage: examples/run.sh [OUTDIR]
set -eu
cd "$(dirname "$0")/.."

reckon=${RECKON_BIN:-build/bin/reckon}
out=${1:-build/example}

echo "\$ reckon run -t data -o $out --receipt examples/cells/*.py"
"$reckon" run -t data -o "$out" --receipt \
	examples/cells/1-load.py examples/cells/2-chart.py examples/cells/3-report.py \
	examples/cells/4-summary.py

cat <<END

The chart is in   $out/figure-2-1.png
The report is in  $out/co2-report.xlsx

Try one of your own:
  $reckon run -c 'print("hello")'
  $reckon run -t data -c 'import pandas as pd' -c 'pd.Series([1, 2, 3]).describe()'
END
for made in figure-2-1.png co2-report.xlsx; do
	[ -s "$out/$made" ] || { echo "run.sh: $out/$made was not made" >&2; exit 1; }
done
