# Weekly carbon dioxide at Mauna Loa, 1958 to 2001, from the data sets of statsmodels.
import pandas as pd
from statsmodels.datasets import co2

weekly = co2.load_pandas().data["co2"].rename("ppm")
gaps = int(weekly.isna().sum())
print(f"{len(weekly)} weeks from {weekly.index[0]:%B %Y} to {weekly.index[-1]:%B %Y}, "
      f"{gaps} without a measurement ({gaps / len(weekly):.1%})")

# Interpolates gaps linearly, because the values change slowly with the seasons, and drops years
# without twelve months.
monthly = weekly.interpolate("time").resample("MS").mean()
by_year = monthly.groupby(monthly.index.year)
yearly = pd.DataFrame({
    "mean": by_year.mean(),
    "low": by_year.min(),
    "high": by_year.max(),
})[by_year.size() == 12]
yearly.index.name = "year"
yearly["rise"] = yearly["mean"].diff()
print(f"{len(yearly)} whole years; the mean rose from {yearly['mean'].iloc[0]:.1f} ppm "
      f"to {yearly['mean'].iloc[-1]:.1f} ppm")
yearly.round(2).tail(8)
