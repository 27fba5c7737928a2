"""Tables as laboratories have them, each with its mess and with what must come out.

Every case is a small table of runs made by this script: an id, a temperature, a volume, a solvent
and a yield, of which some are measured. What must come out are the candidates, their inputs and the
labels; or a refusal, after whose remedy they come out.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openpyxl import Workbook

IDS = [f"R-{n}" for n in range(1, 11)]
T = [60, 65, 70, 75, 80, 85, 90, 95, 100, 105]
V = [5.0, 7.5, 10.0, 12.5, 15.0, 7.5, 20.0, 22.5, 5.0, 27.5]
SOLVENT = ["toluene", "THF", "DMF", "toluene", "THF", "DMF", "toluene", "THF", "DMF", "THF"]
YIELD = [41.5, 52.25, None, 63.0, None, 71.5, None, None, 35.75, None]
HEAD = ["run", "T", "V", "solvent", "yield"]
LABELS = {name: [y] for name, y in zip(IDS, YIELD, strict=True) if y is not None}
INPUTS = {"T": T, "V": V, "solvent": SOLVENT}


@dataclass(frozen=True)
class Case:
    """A table, how it is asked for, and what must come out."""

    mess: str
    write: Any  # folder -> path
    ids: list[str] = field(default_factory=lambda: list(IDS))
    inputs: dict[str, list[Any]] = field(default_factory=lambda: dict(INPUTS))
    labels: dict[str, list[float]] = field(default_factory=lambda: dict(LABELS))
    id_column: str | None = "run"
    target: str | None = "yield"
    refusals: tuple[str, ...] = ()  # what is refused, one after the other
    follow: tuple[int, ...] = ()  # which remedy of each is followed
    says: tuple[str, ...] = ()  # in the notes or the plan
    skipped: dict[str, str] = field(default_factory=dict)  # rows, and their notes
    failed: dict[str, str] = field(default_factory=dict)  # rows whose run failed, and their notes
    named: tuple[str, ...] = ()  # columns that are in the table and no inputs
    options: tuple[tuple[str, str], ...] = ()  # that are given from the start
    bounds: tuple[float | None, float | None] | None = None  # of the labels

    def __str__(self):
        return self.mess


def cells(**columns):
    """The rows of the table, with other columns in place of some."""
    given = {"run": IDS, "T": T, "V": V, "solvent": SOLVENT, "yield": YIELD} | columns
    names = [name for name, some in given.items() if some is not None]
    return [names, *map(list, zip(*(given[name] for name in names), strict=True))]


def plain(cell):
    return "" if cell is None else str(cell)


def text(rows, separator=",", name="runs.csv", encoding="utf-8", end="\n"):
    """A writer of a text file; cells with the separator are quoted."""

    def quoted(cell):
        word = plain(cell)
        return f'"{word}"' if separator in word or '"' in word else word

    lines = [row if isinstance(row, str) else separator.join(map(quoted, row)) for row in rows]

    def write(folder):
        path = Path(folder, name)
        path.write_bytes((end.join(lines) + end).encode(encoding))
        return path

    return write


def book(rows, before=(), merged=(), formats=None, title="Runs", after=()):
    """A writer of a workbook; `before` and `after` are other sheets."""

    def write(folder):
        made = Workbook()
        made.remove(made.active)
        for other, lines in (*before, (title, rows), *after):
            sheet = made.create_sheet(other)
            for line in lines:
                sheet.append(list(line))
        for one in merged:
            made[title].merge_cells(one)
        for cell, form in (formats or {}).items():
            made[title][cell].number_format = form
        path = Path(folder, "runs.xlsx")
        made.save(path)
        return path

    return write


def comma(values):
    return [None if one is None else str(one).replace(".", ",") for one in values]


def with_unit(values, unit):
    return [None if one is None else f"{one}{unit}" for one in values]


def some(values, changed):
    """The values with some in place of others, by position."""
    return [changed.get(n, one) for n, one in enumerate(values)]


def only(inputs, **others):
    return {
        name: one for name, one in (INPUTS | others).items() if name in inputs or name in others
    }


ROWS = cells()
PURITY = [None if y is None else 90 + n for n, y in enumerate(YIELD)]
FORM = [None if y is None else ("crystals", "oil")[n % 2] for n, y in enumerate(YIELD)]
SMILES = {"toluene": "Cc1ccccc1", "THF": "C1CCOC1", "DMF": "CN(C)C=O"}
LOT = [f"lot {n}{n}" for n in range(10)]
NUMBERS = {"T": T, "V": V}
NAMED_SOLVENTS = [f"solvent {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(24)]


def many_levels():
    n = 48
    return [["run", "T", "solvent", "yield"]] + [
        [f"M-{k}", 50 + k % 7, NAMED_SOLVENTS[k % 24], 30.5 + k if k < 10 else None]
        for k in range(n)
    ]


def levels_first():
    rows = zip(["min", "max"] * 5, T, V, YIELD, strict=True)
    return [["speed", "T", "V", "yield"], *map(list, rows)]


def near_results():
    return [["run", "T", "V", "yield", "purity"]] + [
        [f"M-{k}", 50 + k % 7, k % 5, 30.5 + k if k < 10 else None, 90 + k % 9 if k < 11 else None]
        for k in range(40)
    ]


def percent_header(values):
    return [[*HEAD[:-1], "yield [%]"], *cells(**{"yield": values})[1:]]


CASES = [
    Case("nothing", text(ROWS)),
    # rows
    Case("footnote", text([*ROWS, "* measured twice"]), says=("'* measured twice'",)),
    Case(
        "footnotes_and_signature",
        text([*ROWS, ["", "", "", "", ""], "* by hand", ["Signed: MK", "", "", "", ""]]),
        says=("2 rows were each left out because it has no inputs", "'Signed: MK'"),
    ),
    Case(
        "total",
        text([*ROWS, ["Mean", 82.5, 16.25, "", 52.8]]),
        says=("the name of a total: 'Mean'",),
    ),
    Case(
        "total_without_inputs",
        book([*ROWS, [], ["Average:", None, None, None, 52.8]]),
        says=("'Average:'",),
    ),
    Case("header_again", text([*ROWS[:5], HEAD, *ROWS[5:]]), says=("repeats the column names",)),
    Case(
        "unit_row",
        text([HEAD, ["", "°C", "mL", "", "%"], *ROWS[1:]]),
        says=("read as units", "in °C"),
    ),
    Case(
        "unit_row_excel",
        book([HEAD, [None, "°C", "mL", None, "%"], *ROWS[1:]]),
        says=("read as units",),
    ),
    Case("blank_separators", text([*ROWS[:4], "", ",,,,", *ROWS[4:]])),
    Case(
        "block_titles",
        text([HEAD, "Series A,,,,", *ROWS[1:6], "Series B,,,,", *ROWS[6:]]),
        says=("'Series A', 'Series B'",),
    ),
    Case(
        "title_lines",
        text(["Yield of the coupling", "exported 3 May", "", *ROWS]),
        says=("the header was found on line 4",),
    ),
    Case(
        "equal_rows",
        text(cells(T=some(T, {7: 65}), V=some(V, {7: 7.5}))),
        inputs=only([], T=some(T, {7: 65}), V=some(V, {7: 7.5}), solvent=SOLVENT),
        says=("'R-2' and 'R-8'",),
    ),
    Case(
        "label_without_inputs",
        text([*ROWS, ["R-99", "", "", "", 12.5]]),
        says=("although it has a label", "'R-99'"),
    ),
    # columns
    Case(
        "results_beside_the_target",
        text(cells(purity=PURITY, form=FORM)),
        named=("purity", "form"),
        says=("filled only where 'yield' is", "--also-input purity"),
    ),
    Case(
        "results_without_a_target",
        text(cells(purity=PURITY)),
        target=None,
        refusals=("'yield', 'purity' are filled in the same rows",),
        follow=(0,),
        named=("purity",),
    ),
    Case(
        "hidden_target",
        text(cells(**{"yield": some([None] * 10, {0: 41.5, 3: 63})})),
        target=None,
        labels={"R-1": [41.5], "R-4": [63]},
        refusals=("empty in 80% of the rows: is it the target",),
        follow=(0,),
    ),
    Case(
        "twins",
        text(cells(smiles=[SMILES[one] for one in SOLVENT])),
        inputs=INPUTS | {"smiles": [SMILES[one] for one in SOLVENT]},
        says=("solvent and smiles determine each other",),
    ),
    Case(
        "twins_in_numbers",
        text(cells(kelvin=[t + 273.15 for t in T])),
        inputs=INPUTS | {"kelvin": [t + 273.15 for t in T]},
        says=("T and kelvin are linear in each other",),
    ),
    Case(
        "second_id", text(cells(lot=LOT)), named=("lot",), says=("lot is different in every row",)
    ),
    Case(
        "target_misspelt",
        text(ROWS),
        target="yeld",
        refusals=("has no column 'yeld', but one named 'yield'",),
        follow=(0,),
    ),
    Case(
        "id_misspelt", text(ROWS), id_column="Run", refusals=("has no column 'Run'",), follow=(0,)
    ),
    # cells
    Case(
        "units",
        text(
            cells(T=with_unit(T, " °C"), V=with_unit(V, "mL"), **{"yield": with_unit(YIELD, "%")})
        ),
        says=("in °C", "in mL"),
    ),
    Case("units_in_some_cells", text(cells(T=some(with_unit(T, " °C"), {2: "70", 5: "85C"})))),
    Case(
        "unit_of_the_header",
        text(
            [["run", "T (°C)", "V [mL]", "solvent", "yield"], *cells(T=some(T, {1: "65 °C"}))[1:]]
        ),
        inputs={"T (°C)": T, "V [mL]": V, "solvent": SOLVENT},
    ),
    Case(
        "two_units_of_one_dimension",
        text(cells(V=some(with_unit(V, " mL"), {3: "0.0125 L"}))),
        says=("cells in L were converted to mL",),
    ),
    Case(
        "two_units_and_none",
        text(cells(V=some(with_unit(V, " mL"), {3: "0.0125 L", 4: "15"}))),
        refusals=("V: cells have different units",),
        follow=(0,),
    ),
    Case(
        "units_that_do_not_convert",
        text(cells(V=some(with_unit(V, " mL"), {3: "3 bar"}))),
        refusals=("cannot be converted",),
        follow=(0,),
        inputs=INPUTS | {"V": some(V, {3: None})},
    ),
    Case(
        "header_in_another_unit",
        book([["run", "T (K)", "V", "solvent", "yield"], *cells(T=with_unit(T, " °C"))[1:]]),
        inputs={"T (K)": [t + 273.15 for t in T], "V": V, "solvent": SOLVENT},
        says=("cells in °C were converted to K",),
    ),
    Case("decimal_commas", text(cells(V=comma(V), **{"yield": comma(YIELD)}), ";")),
    Case(
        "decimal_commas_between_tabs",
        text(cells(V=comma(V), **{"yield": comma(YIELD)}), "\t", "runs.txt", "utf-16"),
    ),
    Case("decimal_commas_in_quotes", text(cells(V=comma(V), **{"yield": comma(YIELD)}))),
    Case("decimal_commas_in_excel", book(cells(V=comma(V), **{"yield": comma(YIELD)}))),
    Case(
        "commas_and_points",
        text(cells(V=some(comma(V), {1: "7.5"})), ";"),
        says=("decimal commas beside decimal points",),
    ),
    Case(
        "thousands",
        book(cells(V=[f"{1000 * v:,.1f}" for v in V])),
        inputs=INPUTS | {"V": [1000 * v for v in V]},
    ),
    Case(
        "thousands_with_blanks",
        text(cells(V=[f"{1000 * v:,.0f}".replace(",", " ") for v in V])),
        inputs=INPUTS | {"V": [1000 * v for v in V]},
    ),
    Case(
        "one_comma_two_readings",
        book(cells(V=[f"{n + 1},234" for n in range(10)])),
        refusals=("V: '1,234' is 1.234 or 1234",),
        follow=(0,),
        inputs=INPUTS | {"V": [n + 1.234 for n in range(10)]},
    ),
    Case(
        "one_comma_other_reading",
        text(cells(V=[f"{n + 1},234" for n in range(10)])),
        refusals=("V: '1,234' is 1.234 or 1234",),
        follow=(1,),
        inputs=INPUTS | {"V": [1000 * n + 1234 for n in range(10)]},
    ),
    Case(
        "flagged_input",
        text(cells(V=some(V, {2: "10.0*", 6: "~20"}))),
        inputs=INPUTS | {"V": some(V, {2: None, 6: None})},
        says=(
            "2 cells are not numbers and count as missing: '10.0*' (R-3), '~20' (R-7)",
            "--type V=number takes the numbers",
        ),
    ),
    Case(
        "bounded_input",
        text(cells(V=some(V, {2: "<10"}))),
        inputs=INPUTS | {"V": some(V, {2: None})},
        says=("'<10' (R-3)",),
    ),
    Case(
        "flagged_label",
        text(cells(**{"yield": some(YIELD, {3: "63*"})})),
        refusals=("must hold numbers, but 1 row does not: '63*' (R-4)",),
        follow=(0,),
    ),
    Case(
        "mostly_numbers",
        text(cells(V=some(V, {2: "low", 6: "see book"}))),
        refusals=("column 'V' holds numbers, but 2 cells are not: 'low' (R-3), 'see book' (R-7)",),
        follow=(0,),
        inputs=INPUTS | {"V": some(V, {2: None, 6: None})},
    ),
    Case(
        "mostly_numbers_as_words",
        text(cells(V=some([5, 5, 5, 5, 5, 7, 7, 7, 7, 7], {2: "low", 6: "3.5.2"}))),
        inputs=INPUTS
        | {"V": [str(x) for x in some([5, 5, 5, 5, 5, 7, 7, 7, 7, 7], {2: "low", 6: "3.5.2"})]},
    ),
    Case(
        "percent_cells_of_excel",
        book(
            cells(**{"yield": [None if y is None else y / 100 for y in YIELD]}),
            formats={f"E{n}": "0.00%" for n in range(2, 12)},
        ),
        labels={k: [round(y / 100, 10)] for k, [y] in LABELS.items()},
        says=("was read as",),
    ),
    Case(
        "percent_cells_beside_signs",
        book(
            cells(**{"yield": some([None if y is None else y / 100 for y in YIELD], {3: "63%"})}),
            formats={f"E{n}": "0.00%" for n in (2, 3, 7, 10)},
        ),
    ),
    Case(
        "shares_beside_percentages",
        text(cells(V=some([f"{n + 10} %" for n in range(10)], {4: "0.6"}))),
        refusals=("is a share or a percentage",),
        follow=(0,),
        inputs=INPUTS | {"V": some([n + 10.0 for n in range(10)], {4: 0.6})},
    ),
    Case(
        "failures_and_bounds",
        text(cells(**{"yield": some(YIELD, {2: "failed - stirrer stopped", 4: ">95", 6: "n/a"})})),
        skipped={"R-5": ">95: a bound, not learned from"},
        failed={"R-3": "stirrer stopped"},
        says=("1 row is saved as failed", "1 row has a bound", "'>95' (R-5)"),
    ),
    Case(
        "dashes_for_no_label",
        text(cells(**{"yield": ["\N{EN DASH}" if one is None else one for one in YIELD]})),
    ),
    Case(
        "word_as_label",
        text(cells(**{"yield": some(YIELD, {2: "good"})})),
        refusals=("must hold numbers, but 1 row does not: 'good' (R-3)",),
        follow=(0,),
    ),
    # bounds of the labels
    Case(
        "percent_signs_in_the_target",
        text(cells(**{"yield": with_unit(YIELD, " %")})),
        bounds=(0.0, 100.0),
        says=("yield: a percentage, so labels from 0 to 100 are expected",),
    ),
    Case(
        "percent_in_the_header",
        book(percent_header(YIELD)),
        target="yield [%]",
        bounds=(0.0, 100.0),
        says=("--range 'yield [%]=..' sets no bounds",),
    ),
    Case(
        "percentage_beyond_its_bounds",
        text(percent_header(some(YIELD, {0: 104.5}))),
        target="yield [%]",
        labels=LABELS | {"R-1": [104.5]},
        bounds=(None, None),
        says=("1 label lies outside 0 to 100: R-1 (104.5), so no bounds are set",),
    ),
    Case(
        "percentage_without_bounds",
        text(percent_header(YIELD)),
        target="yield [%]",
        options=(("range", "yield [%]=.."),),
        bounds=(None, None),
    ),
    Case(
        "bounds_that_are_given",
        text(ROWS),
        options=(("range", "yield=0..60"),),
        bounds=(0.0, 60.0),
        says=("2 labels lie outside 0..60: R-4 (63), R-6 (71.5). A typo, or another unit?",),
    ),
    # repeats
    Case(
        "repeats",
        text([*ROWS, ["R-1", 60, 5.0, "toluene", 43.5]]),
        labels=LABELS | {"R-1": [41.5, 43.5]},
        says=("1 row is a repeat", "R-1 (43.5)"),
    ),
    Case(
        "repeats_without_inputs",
        text([*ROWS, ["R-1", "", "", "", 43.5]]),
        labels=LABELS | {"R-1": [41.5, 43.5]},
        says=("1 row is a repeat",),
    ),
    Case(
        "same_line_twice",
        text([*ROWS, ROWS[1]]),
        says=("nothing to another row of the same id: R-1",),
    ),
    Case(
        "label_in_the_second_line",
        text([*ROWS, ["R-3", 70, 10.0, "DMF", 44.5]]),
        labels=LABELS | {"R-3": [44.5]},
    ),
    Case(
        "one_id_other_inputs",
        text(
            cells(
                run=some(IDS, {9: "R-1"}),
                V=[5.0] * 9 + [6.0],
                T=some(T, {9: 60}),
                solvent=some(SOLVENT, {9: "toluene"}),
            )
        ),
        refusals=(
            "two rows have the id 'R-1' but other inputs: row 1 has V '5', row 10 has V '6'",
        ),
        follow=(0,),
        ids=IDS[:9],
        inputs={"T": T[:9], "solvent": SOLVENT[:9]},
        named=("V",),
    ),
    # sheets
    Case(
        "notes_sheet_first",
        book(ROWS, before=[("Notes", [["Read me"], ["Data of May", "by MK"]])]),
        says=("read the sheet 'Runs'",),
    ),
    Case(
        "several_tables",
        book(
            ROWS,
            before=[("Stock", [["item", "amount"], ["THF", 5], ["DMF", 7]])],
            after=[("Old", [["run", "T"], ["X", 1]])],
        ),
        says=("it also has 'Stock', 'Old'",),
    ),
    Case(
        "merged_title_and_groups",
        book(
            [
                ["Couplings of May", None, None, None, None],
                [None, "conditions", None, None, "results"],
                *ROWS,
            ],
            merged=["A1:E1", "B2:D2"],
        ),
    ),
    Case(
        "merged_down",
        book(
            cells(solvent=["toluene", None, None, "THF", None, None, None, "DMF", None, None]),
            merged=["D2:D4", "D5:D8", "D9:D11"],
        ),
        inputs=INPUTS | {"solvent": ["toluene"] * 3 + ["THF"] * 4 + ["DMF"] * 3},
    ),
    Case(
        "merged_repeats",
        book(
            [*ROWS[:10], [None, None, None, None, 36.25], *ROWS[10:]],
            merged=["A10:A11", "B10:B11", "C10:C11", "D10:D11"],
        ),
        labels=LABELS | {"R-9": [35.75, 36.25]},
    ),
    Case(
        "footnote_across",
        book([*ROWS, ["* by hand, see page 7", None, None, None, None]], merged=["A12:E12"]),
        says=("'* by hand, see page 7'",),
    ),
    # files
    Case(
        "names_on_two_lines",
        book(
            [
                ["run", "conditions", None, "solvent", "yield"],
                [None, "T", "V", None, None],
                *ROWS[1:],
            ],
            merged=["B1:C1"],
        ),
        says=("the column names are on two lines",),
    ),
    Case(
        "names_on_two_lines_unmerged",
        book(
            [["run", "bath", None, "solvent", "yield"], [None, "T", "V", None, None], *ROWS[1:]],
            before=[("Notes", [["see the next sheet"]])],
        ),
    ),
    Case(
        "levels_named_like_totals",
        text(levels_first()),
        ids=[str(n) for n in range(1, 11)],
        id_column=None,
        labels={str(n): [y] for n, y in enumerate(YIELD, start=1) if y is not None},
        inputs={"speed": ["min", "max"] * 5, "T": T, "V": V},
    ),
    Case(
        "total_without_an_id_column",
        text([*ROWS, ["Mean", "", "", "", 52.8], ["* by hand", "", "", "", ""]]),
        ids=[str(n) for n in range(1, 11)],
        id_column=None,
        labels={str(n): [y] for n, y in enumerate(YIELD, start=1) if y is not None},
        says=("the name of a total: 'Mean'",),
        named=("run",),
    ),
    Case(
        "result_of_a_run_with_a_bound",
        text(
            cells(
                **{
                    "yield": some(YIELD, {4: ">95", 6: "failed"}),
                    "purity": some(PURITY, {4: 99, 6: 12}),
                }
            )
        ),
        skipped={"R-5": ">95: a bound, not learned from"},
        failed={"R-7": None},
        named=("purity",),
        says=("dropped, result (filled only where 'yield' is",),
    ),
    Case(
        "result_with_a_stray_value",
        text(near_results()),
        ids=[f"M-{k}" for k in range(40)],
        labels={f"M-{k}": [30.5 + k] for k in range(10)},
        inputs={"T": [50 + k % 7 for k in range(40)], "V": [k % 5 for k in range(40)]},
        named=("purity",),
        refusals=("the column 'purity' is filled in 10 rows with 'yield' and in only 1 without",),
        follow=(0,),
    ),
    Case("trailing_separator", text([",".join(map(plain, row)) + "," for row in ROWS])),
    Case(
        "latin_1", text(cells(T=with_unit(T, " °C")), ";", encoding="latin-1"), says=("not UTF-8",)
    ),
    Case("windows_lines_and_mark", text(ROWS, ";", encoding="utf-8-sig", end="\r\n")),
    # categories
    Case(
        "two_spellings",
        text(cells(solvent=some(SOLVENT, {4: "Thf"}))),
        inputs=INPUTS | {"solvent": some(SOLVENT, {4: "Thf"})},
        says=(
            "'Thf' (1 row) and 'THF' (3 rows) are two levels: are they the same?",
            "--same solvent:Thf=THF",
        ),
    ),
    Case(
        "many_levels",
        text(many_levels()),
        ids=[f"M-{k}" for k in range(48)],
        labels={f"M-{k}": [30.5 + k] for k in range(10)},
        inputs={
            "T": [50 + k % 7 for k in range(48)],
            "solvent": [NAMED_SOLVENTS[k % 24] for k in range(48)],
        },
    ),
]
