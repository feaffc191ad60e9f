# A workbook with a formatted table, a colour scale and an Excel chart.
table = yearly.reset_index()
rows = len(table)
with pd.ExcelWriter("co2-report.xlsx", engine="xlsxwriter") as writer:
    table.to_excel(writer, sheet_name="Years", startrow=2, index=False, header=False)
    book, sheet = writer.book, writer.sheets["Years"]
    title = book.add_format({"bold": True, "font_size": 14, "font_color": "#22303c"})
    head = book.add_format({"bold": True, "bg_color": "#22303c", "font_color": "white",
                            "align": "center", "bottom": 1})
    number = book.add_format({"num_format": "0.00"})
    sheet.write(0, 0, "Carbon dioxide at Mauna Loa, ppm by year", title)
    for column, name in enumerate(table.columns):
        sheet.write(1, column, name.capitalize(), head)
    sheet.set_column(0, 0, 8)
    sheet.set_column(1, len(table.columns) - 1, 11, number)
    sheet.freeze_panes(2, 1)
    sheet.autofilter(1, 0, rows + 1, len(table.columns) - 1)
    sheet.conditional_format(2, 4, rows + 1, 4, {"type": "2_color_scale", "min_color": "#ffffff",
                                                 "max_color": "#c8553d"})
    chart = book.add_chart({"type": "line"})
    chart.add_series({"name": "Mean", "categories": ["Years", 2, 0, rows + 1, 0],
                      "values": ["Years", 2, 1, rows + 1, 1], "line": {"color": "#c8553d"}})
    chart.set_title({"name": "Yearly mean"})
    chart.set_y_axis({"name": "ppm", "min": 310})
    chart.set_legend({"none": True})
    sheet.insert_chart("G3", chart)

# Reads the workbook back, to check that it opens.
back = pd.read_excel("co2-report.xlsx", header=1, engine="openpyxl")
assert list(back["Year"]) == list(table["year"])
print(f"co2-report.xlsx: {rows} years, {len(table.columns)} columns, read back unchanged")
