season = monthly - trend
typical = season.groupby(season.index.month).mean()
names = pd.date_range("2000-01-01", periods=12, freq="MS").strftime("%B")
peak, low = names[typical.idxmax() - 1], names[typical.idxmin() - 1]
rises = int((yearly["rise"] > 0).sum())
print(f"""What the numbers say
- From {first} to {last} the yearly mean rose by {yearly['mean'][last] - yearly['mean'][first]:.1f} ppm, to {yearly['mean'][last]:.1f} ppm.
- It was above that of the year before {rises} times out of {yearly['rise'].count()}.
- The pace went from {pace.iloc[0]:.2f} ppm a year in the {pace.index[0]}s to {pace.iloc[-1]:.2f} in the {pace.index[-1]}s.
- Within a year it swings by {typical.max() - typical.min():.1f} ppm: highest in {peak}, lowest in {low}.""")
