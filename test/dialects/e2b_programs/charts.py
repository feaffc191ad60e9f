"""Charts and tables: needs the template `data`."""
from e2b_code_interpreter import Sandbox

sandbox = Sandbox.create(timeout=300)
execution = sandbox.run_code("""
import matplotlib.pyplot as plt
import pandas as pd
plt.plot([1, 2, 3], [4, 5, 6], label="a")
plt.title("T")
plt.xlabel("x (m)")
plt.show()
pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
""")
figure, table = execution.results
assert figure.png and not figure.is_main_result and figure.extra in (None, {}), figure.extra
chart = figure.chart
assert (chart.type.value, chart.title, chart.x_label, chart.x_unit) == ("line", "T", "x (m)", "m")
assert [tuple(point) for point in chart.elements[0].points] == [(1, 4), (2, 5), (3, 6)]
assert table.data == {"a": [1, 2], "b": ["x", "y"]} and "<table" in table.html and table.is_main_result
sandbox.kill()
