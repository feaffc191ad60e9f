# Two charts: the monthly means, and the mean rise per year in each decade.
import matplotlib.pyplot as plt

trend = monthly.rolling(12, center=True).mean()
decade = (yearly.index // 10 * 10).rename("decade")
pace = yearly.groupby(decade)["rise"].mean().loc[1960:1990]

ink, air, line = "#22303c", "#9cc3d5", "#c8553d"
plt.rcParams.update({"font.size": 10, "axes.edgecolor": ink, "text.color": ink,
                     "axes.labelcolor": ink, "xtick.color": ink, "ytick.color": ink})
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=[2.4, 1],
                                     layout="constrained")
figure.suptitle("The climb grew steeper", x=0.01, ha="left", size=13, weight="bold")
left.plot(monthly.index, monthly, color=air, linewidth=1, label="monthly mean")
left.plot(trend.index, trend, color=line, linewidth=2, label="12-month mean")
first, last = yearly.index[0], yearly.index[-1]
for year, offset in ((first, (28, -16)), (last, (-66, -78))):
    level = yearly["mean"][year]
    left.annotate(f"{year}: {level:.0f} ppm", (pd.Timestamp(year, 7, 1), level),
                  xytext=offset, textcoords="offset points", weight="bold",
                  arrowprops={"arrowstyle": "-", "color": ink, "alpha": 0.5})
left.set(title="Carbon dioxide in the air at Mauna Loa", ylabel="parts per million", xlabel="year")
left.grid(axis="y", alpha=0.25)
left.legend(frameon=False, loc="upper left")

bars = right.bar([f"{start}s" for start in pace.index], pace, color=line, alpha=0.85)
right.bar_label(bars, fmt="%.2f", padding=3)
right.set(title="Mean rise per year", ylabel="ppm per year", ylim=(0, pace.max() * 1.18))
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
