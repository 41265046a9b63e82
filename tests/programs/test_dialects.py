# SPDX-License-Identifier: MIT
"""Dialects of tables, against Python's csv module and float()."""
import csv
import io
import itertools
import random
import shlex

import pytest

from conftest import in_sanitized

pytestmark = in_sanitized("parsers of untrusted tables")

PROGRAMS = (("sort", "-k", "n"), ("compact", "--where", "n < 1e300"), ("prefix", "-k", "n"))


def rows_of(data, **dialect):
    return list(csv.reader(io.StringIO(data), strict=True, **dialect))


def number(text, decimal=".", thousands=""):
    return float(text.replace(thousands, "").replace(decimal, ".") if thousands else text.replace(decimal, "."))


NUMBERS = ["1.234.567,5", "-12,25", "999", "1.000", "+0,5", "100.000", ",5", "-1.000,0", "1e3", "12.345"]


@pytest.mark.parametrize("delimiter, decimal, thousands", [(";", ",", "."), ("|", ".", ","), ("\t", ",", " "), (" ", ".", "_"), (",", ".", "'"), (":", ";", None), ("\x01", ".", ",")])
def test_numbers_and_delimiters(box, delimiter, decimal, thousands):
    """Rows come back byte for byte, in the order, and with the sums, of the numbers that they mean."""
    cells = [x.replace(".", "T").replace(",", decimal).replace("T", thousands or "") for x in NUMBERS]
    rows = [delimiter.join((f'"{i}{delimiter}x"', cell, "-")) + "\n" for i, cell in enumerate(cells)]
    head = delimiter.join(("name", "n", "z")) + "\n"
    options = ["--csv", "--delimiter", "\\t" if delimiter == "\t" else delimiter, "--decimal", decimal, *(["--thousands", thousands] if thousands else [])]
    values = [number(cell, decimal, thousands or "") for cell in cells]
    assert [row[1] for row in rows_of("".join(rows), delimiter=delimiter)] == cells
    data = (head + "".join(rows)).encode()
    order = sorted(range(len(cells)), key=lambda i: values[i])
    assert box.good("sort", "-k", "n", "--verify", *options, input=data).out.decode() == head + "".join(rows[i] for i in order)
    kept = head + "".join(row for row, value in zip(rows, values) if value >= 999.5)
    assert box.good("compact", "--where", "n >= 999.5", "--verify", *options, input=data).out.decode() == kept
    sums = [row[3] for row in rows_of(box.good("prefix", "-k", "n", *options, input=data).out.decode(), delimiter=delimiter)]
    assert sums[0] == "n_add" and [number(x, decimal) for x in sums[1:]] == list(itertools.accumulate(values))
    assert not any("." in x for x in sums[1:]) or decimal == "."


def test_thousands_that_are_the_delimiter(box):
    data = b'a,n\nx,"1,234,567.25"\ny,"999"\nz,12\n'
    assert box.good("sort", "--csv", "-k", "n", "--thousands", ",", input=data).out == b'a,n\nz,12\ny,"999"\nx,"1,234,567.25"\n'


@pytest.mark.parametrize("cell", ["1.23", "1.2345", "1234.567", ".123", "1..234", "1.234.", "1.234.56", "1.,500", "1,234.567", "1,5,5", "1.234e1.000", "1 .000", "- 1", "." , "1.5"])
def test_groups_of_digits_are_of_three(box, cell):
    """Else a decimal point that is taken for a separator would make another number."""
    for row, where in ((cell, "line 3"), (f" {cell} ", "line 3")):
        box.refused(2, f'{where}, column 1 ("n"): "{row}" is not a number', "sort", "--csv", "-k", "n", "--delimiter", ";", "--decimal", ",", "--thousands", ".",
                    input=f"n;a\n1.000;2\n{row};1\n".encode())


def test_long_numbers_in_a_dialect(box):
    """A number of a dialect has at most 1024 characters."""
    good, bad = b"0" * 1022 + b",5", b"0" * 1023 + b",5"
    assert box.good("sort", "--csv", "-k", "n", "--delimiter", ";", "--decimal", ",", input=b"n;\n1;\n" + good + b";\n").out.endswith(b"\n1;\n")
    box.refused(2, "is not a number", "sort", "--csv", "-k", "n", "--delimiter", ";", "--decimal", ",", input=b"n;\n1;\n" + bad + b";\n")


def test_missing_words(box):
    """Words of --missing are missing where they are a whole field without quotes: as numbers, times and text."""
    rows = ["NA,1\n", "3,2\n", "-999,3\n", ",4\n", "1,5\n", "-,6\n", "NAN,7\n", '"NA",8\n', "NA ,9\n"]
    head = "n,i\n"
    data = (head + "".join(rows)).encode()
    options = ["--csv", "--missing", "NA,-999,-"]
    assert box.good("compact", "--where", "n is missing", *options, input=data).out.decode() == head + "".join(rows[i] for i in (0, 2, 3, 5))
    assert box.good("compact", "--where", 'n != "3"', *options, input=data).out.decode() == head + "".join(rows[i] for i in (4, 6, 7, 8))
    assert box.good("sort", "-k", "n:text:desc", *options, input=data).out.decode() == head + "".join(rows[i] for i in (6, 8, 7, 1, 4, 0, 2, 3, 5))
    assert box.good("sort", "-k", "n:nan=first", *options, input=(head + "".join(rows[:7])).encode()).out.decode() == head + "".join(rows[i] for i in (0, 2, 3, 5, 6, 4, 1))
    assert box.good("prefix", "-k", "n", *options, input=(head + "".join(rows[:6])).encode()).out == b"n,i,n_add\nNA,1,\n3,2,3\n-999,3,\n,4,\n1,5,4\n-,6,\n"
    assert box.good("compact", "--where", "n != 3 || isnan(n)", "--verify", *options, input=(head + "".join(rows[:6])).encode()).out.decode() == head + "".join(rows[i] for i in (0, 2, 3, 4, 5))
    times = b"t,i\nNA,1\n2020-01-02,2\n-,3\n2020-01-01,4\n"
    assert box.good("sort", "-k", "t:time", *options, input=times).out == b"t,i\n2020-01-01,4\n2020-01-02,2\nNA,1\n-,3\n"
    box.refused(2, 'line 3, column 1 ("t"): "NA" is not a time', "sort", "--csv", "-k", "t:time", input=b"t,i\n2020-01-01,1\nNA,2\n")
    box.refused(2, 'line 9, column 1 ("n"): "NA" is not a number', "sort", "-k", "n", *options, input=data)


# ---- comments, empty lines, quotes between tabs ----------------------------------------------------------------------

@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("program, option, value", PROGRAMS)
def test_comments(box, program, option, value, end):
    """Comments before the first row stay first, the others are left out; quotes in them are no quotes."""
    rows = ["n,a", "3,x", '1,"# not', '# a comment"', "-2,y"]
    plain = end.join(rows) + end
    head = f'# made "here{end}#{end}'
    data = head + end.join([rows[0], '# one "quote', "# more", *rows[1:4], "#", rows[4], '#"', "# no line end"])
    expected = box.good(program, "--csv", option, value, input=plain.encode()).out
    assert box.good(program, "--csv", option, value, "--comment", "#", "--verify", input=data.encode()).out == head.encode() + expected
    assert box.good(program, "--csv", option, value, "--comment", "#", input=head.encode()).out == head.encode()


def test_lines_are_counted_with_comments(box):
    data = b"# 1\nn,a\n# 3\n5,x\n# 5\n# 6\n7,y\n"
    for more, line in ((b"z,1\n", 8), (b"# 8\nz,1\n", 9)):
        box.refused(2, f'line {line}, column 1 ("n"): "z" is not a number', "sort", "--csv", "-k", "n", "--comment", "#", input=data + more)
    for more, text in ((b"1\n", "line 8: 1 field"), (b"#\n1,\"\n#\n", "line 9: a quote is opened here"), (b"1,x\n#\n2,\"x\"y\n", "line 10: text after the closing quote")):
        box.refused(2, text, "sort", "--csv", "-k", "n", "--comment", "#", input=data + more)
    assert "line 4: 1 field, the first row has 2" in box.run("sort", "--csv", "-k", "1", input=b"a,n\n1,2\n3,4\n# x\n").err


def test_many_comments(box):
    rng = random.Random(3)
    rows = [f'{rng.randrange(10**6)},"{rng.choice(["", "x", "#", chr(10) + "#y", "a" * 100])}"\n' for _ in range(60_000)]
    lines = [text for row in rows for text in ([row] if rng.random() < 0.7 else [rng.choice(["#\n", '# "\n', "#,,\n"]), row])]
    result = box.good("sort", "--csv", "-k", "n", "--comment", "#", "--threads", 3, input=("n,t\n" + "".join(lines)).encode()).out.decode()
    assert result == "n,t\n" + "".join(sorted(rows, key=lambda row: int(row.split(",")[0])))


@pytest.mark.parametrize("blank", ["\n", "\n\n\n", "\r\n\r\n", "\r\n\n", "\n# c\n\n"])
@pytest.mark.parametrize("program, option, value", PROGRAMS)
def test_empty_lines_at_the_end(box, program, option, value, blank):
    expected = box.good(program, "--csv", option, value, input=b"n,a\n2,x\n1,y\n").out
    assert box.good(program, "--csv", option, value, "--comment", "#", "--verify", input=b"n,a\n2,x\n1,y\n" + blank.encode()).out == expected
    assert box.good(program, "--csv", option, value, "--comment", "#", input=b"n,a\n" + blank.encode()).out == box.good(program, "--csv", option, value, input=b"n,a\n").out
    box.refused(2, "the first row has 2", program, "--csv", option, value, "--comment", "#", input=b"n,a\n2,x\n" + blank.encode() + b"1,y\n")


def test_empty_lines_of_one_column_are_rows(box):
    assert box.good("sort", "--csv", input=b"n\n2\n\n1\n\n").out == b"n\n1\n2\n\n\n"


def test_bare_quotes_between_tabs(box):
    """A quote that does not begin a field is a character; one that does opens a quoted field, as ever."""
    cells = ['5" pipe', 'a "b" c', '"tab\there"', '"two\nlines"', '"doubled ""x"""', "''", 'x""', '""', 'end"', '"""a"', '"a"""']
    rng = random.Random(5)
    rows = [f"{rng.randrange(10**6)}\t{rng.choice(cells)}\t{rng.choice(cells)}\n" for _ in range(100_000)]
    data = ("n\tsize \" of\tt\n" + "".join(rows)).encode()
    result = box.good("sort", "--tsv", "-k", "n", "--verify", "--threads", 2, input=data).out.decode()
    assert result == "n\tsize \" of\tt\n" + "".join(sorted(rows, key=lambda row: int(row.split("\t")[0])))
    kept = box.good("compact", "--tsv", "--where", '`size " of` == "5"" pipe"', input=data).out.decode()
    assert kept == "n\tsize \" of\tt\n" + "".join(row for row in rows if row.split("\t")[1] == cells[0])
    assert box.good("compact", "--tsv", "--no-header", "--where", '`1` == "a""b"', input=b'a"b\t1\n"a""b"\t2\nab\t3\n').out == b'a"b\t1\n"a""b"\t2\n'
    box.refused(2, "line 2: a quote inside a field", "sort", "--csv", "-k", "n", input=b'n,a\n1,5" x\n')
    box.refused(2, "line 2: text after the closing quote", "sort", "--tsv", "-k", "n", input=b'n\ta\n1\t"5" x\n')
    box.refused(2, "line 3: a quote is opened here", "sort", "--tsv", "-k", "n", input=b'n\ta"\n1\tx"\n2\t"5\n')


@pytest.mark.parametrize("delimiter, cell, advice", [
    (",", '"1,234"', "with --thousands , it is one"), (";", "1,5", "with --decimal , it is one"), (";", "1.234.567,5", "with --decimal , --thousands . it is one"), (";", "1,234", "with --thousands , it is one"),
    (",", "1 000", "with --thousands ' ' it is one"), (",", "1'000", "with --thousands \"'\" it is one"), (",", "NA", "with --missing NA it is missing"), (",", "-", "with --missing - it is missing"),
    (",", '"NA"', "-k n:text sorts by text"), (",", "1x", "-k n:text sorts by text"), (",", "2020-01-01", "-k n:time sorts by time"), (",", '"1,5"', "-k n:text sorts by text"),
])
def test_what_is_no_number_gets_advice(box, delimiter, cell, advice):
    """And the advice holds."""
    data = f"n{delimiter}a\n1{delimiter}\n{cell}{delimiter}\n".encode()
    text = f'line 3, column 1 ("n"): "{cell.strip(chr(34))}" is not a number'
    box.refused(2, f"{text}; {advice}\n", "sort", "--csv", "--delimiter", delimiter, "-k", "n", input=data)
    other = box.refused(2, text, "prefix", "--csv", "--delimiter", delimiter, "-k", "n", input=data).err
    assert other.endswith(f"; {advice}\n") == advice.startswith("with")
    if advice.startswith("with"):
        assert box.good("sort", "--csv", "--delimiter", delimiter, "-k", "n", *shlex.split(advice.split(" it is")[0])[1:], input=data).out == data


# ---- messages --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options, text", [
    (["--delimiter", "ab"], '--delimiter: "ab" is not one character of ASCII'), (["--delimiter", ""], "is not one character"), (["--decimal", "é"], "is not one character"),
    (["--thousands", "5"], "--thousands: a letter, a digit"), (["--comment", '"'], "--comment: a letter, a digit"), (["--delimiter", "-"], "cannot be told from the data"), (["--delimiter", "\n"], "cannot be told"),
    (["--decimal", ","], "--decimal and --delimiter are both ',': say what is between the fields"), (["--delimiter", "."], "--decimal and --delimiter are both '.'"),
    (["--thousands", "."], "--decimal and --thousands are both '.': say both, as in --decimal , --thousands ."), (["--decimal", " "], "--decimal: a blank"),
    (["--delimiter", "#", "--comment", "#"], "--comment and --delimiter are both '#'"), (["--tsv", "--delimiter", ";"], "--tsv and --delimiter exclude each other"), (["--delimiter"], "--delimiter needs a value"),
])
def test_refused_dialects(box, options, text):
    for program, option, value in PROGRAMS:
        box.refused(2, text, program, *([] if "--tsv" in options else ["--csv"]), option, value, *options, input=b"n,a\n1,2\n")


@pytest.mark.parametrize("option", [["--delimiter", ";"], ["--decimal", ","], ["--thousands", ","], ["--comment", "#"], ["--missing", "NA"], ["--no-header"]])
def test_options_of_tables_elsewhere_name_csv(box, option):
    box.write("in.txt", "1\n2\n")
    for program, arguments in (("sort", []), ("compact", ["--where", "x > 1"]), ("prefix", [])):
        for path in ([], ["in.txt"]):
            name = path[0] if path else "stdin"
            box.refused(2, f"{option[0]} is for tables; {name} is read as lines of numbers: add --csv if it is one", program, *arguments, *option, *path, input=b"1\n")
    box.refused(2, "there is no column \"price\"; x is the element, i its index; --csv reads a table", "compact", "--where", "price > 1", input=b"1\n")


@pytest.mark.parametrize("key, data, warning", [
    ("1", "5,x\n4,y\n", 'column 1 is a number, "5"'), ("2", "2,b\n2,1\n", 'column 1 is a number, "2"'), ("1:time", "2020-01-01,x\n2019-01-01,y\n", 'column 1 is a time, "2020-01-01"'),
    ("1", "inf,x\n4,y\n", None), ("2:text", "5,6\n1,2\n", None), ("1", "a1,x\n4,y\n", None), ("1", '"3,5",x\n4,y\n', None),
])
def test_a_header_that_is_a_number(box, key, data, warning):
    runs = [box.run("sort", "--csv", "-k", key, input=data.encode())]
    if ":" not in key:
        runs += [box.run("prefix", "--csv", "-k", key, input=data.encode()), box.run("compact", "--csv", "--where", f"`{key}` > 0", input=data.encode())]
    for result in runs:
        assert result.code == 0 and result.out.startswith(data.split("\n")[0].encode())
        assert (f"stdin: the name of {warning}: if the first row is data, say --no-header\n" in result.err and result.err.count("\n") == 1) if warning else result.err == ""
    assert box.run("sort", "--csv", "--no-header", "-k", "1", input=b"5\n").err == "" and "--no-header" in box.run("sort", "--csv", input=b"5\n4\n").err
