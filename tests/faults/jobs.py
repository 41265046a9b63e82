# SPDX-License-Identifier: MIT
"""What the programs do while something fails: every program and every format, onto new names and over old files."""
import gzip
import os
import pathlib
import subprocess
import sys
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
import image_files  # noqa: E402

# Words like ../in/FILE are inputs. A job that begins with < has its first file as stdin, one that begins with | reads
# it from a pipe; one without an output writes to stdout. Temporary files lie beside the output, or in the folder of --tmp.
COMMANDS = {
    "prefix-npy": "prefix ../in/i64.npy -o out",
    "prefix-reverse": "prefix --reverse ../in/i64.npy -o out",
    "prefix-raw": "prefix --dtype u16 --out-dtype u64 ../in/u16.raw -o out",
    "prefix-text": "prefix ../in/i64.txt -o out",
    "prefix-csv": "prefix -k a ../in/t.csv -o out",
    "prefix-tsv": "prefix -k b --exclusive ../in/t.tsv -o out",
    "prefix-pipe": "| ../in/i64.npy prefix -o out",
    "prefix-verify": "prefix --verify --reverse ../in/f32.npy -o out",
    "prefix-stdout": "prefix --op max ../in/i64.txt",
    "prefix-max-csv": "prefix -k 1 --op max --reverse --no-header ../in/plain.csv -o out",
    "prefix-json": "prefix ../in/f32.npy -o out --json out.json",
    "prefix-init": "prefix --init 5 --op mul --dtype u16 ../in/u16.raw -o out",
    "prefix-pipe-csv": "< ../in/t.csv prefix --csv -k b -o out",
    "prefix-reverse-pipe": "| ../in/i64.npy prefix --reverse -o out",
    "prefix-text-pipe": "| ../in/lines.txt prefix --tmp .",
    "prefix-text-reverse": "prefix --reverse --verify ../in/lines.txt -o out",
    "prefix-csv-pipe": "| ../in/chunks.csv prefix --csv -k a --tmp .",
    "prefix-csv-reverse": "prefix -k b --reverse ../in/chunks.csv -o out",
    "prefix-csv-float": "prefix -k a --op mul --init 0.5 --out-dtype f64 ../in/chunks.csv -o out",
    "compact-npy": "compact --where x>3 ../in/i64.npy -o out --indices out2 --rejected out3",
    "compact-invert": "compact --unique --invert ../in/i64.npy -o out",
    "compact-raw": "compact --dtype i8 --nonzero ../in/u16.raw -o out",
    "compact-finite": "compact --finite --verify ../in/f32.npy -o out",
    "compact-mask": "compact --mask ../in/mask.npy ../in/i64.npy -o out --indices out2",
    "compact-csv": "compact --invert --where isnan(b) ../in/t.csv -o out --rejected out2",
    "compact-tsv": "compact --where a>3&&b!=2 ../in/t.tsv -o out",
    "compact-text": "compact --unique ../in/i64.txt -o out --rejected out2",
    "compact-pipe-to-stdout": "| ../in/i64.npy compact --nonzero --tmp .",
    "compact-text-where": "compact --where x<5 ../in/i64.txt -o out --indices out2",
    "compact-unique-raw": "compact --unique --verify --dtype u16 ../in/u16.raw -o out --rejected out2",
    "compact-json": "compact --where a==1||isnan(b) ../in/t.csv -o out --indices out2 --json out.json",
    "compact-pipe-text": "< ../in/i64.txt compact --nonzero -o out",
    "sort-npy": "sort ../in/i64.npy -o out",
    "sort-raw": "sort -r --dtype u16 ../in/u16.raw -o out",
    "sort-text": "sort -u --verify ../in/i64.txt -o out",
    "sort-csv": "sort -k b:desc -k a ../in/t.csv -o out",
    "sort-tsv": "sort -k a ../in/t.tsv -o out",
    "sort-argsort": "sort --argsort ../in/f32.npy -o out",
    "sort-pipe": "< ../in/i64.txt sort -o out",
    "sort-stdout": "sort ../in/i64.npy",
    "sort-nan-first": "sort --nan first -r --verify ../in/f32.npy -o out",
    "sort-unique-csv": "sort -u -k a --verify ../in/t.csv -o out",
    "sort-argsort-csv": "sort --argsort -k b ../in/t.csv -o out",
    "sort-argsort-text": "sort --argsort -r ../in/i64.txt -o out",
    "sort-json": "sort -u ../in/i64.npy -o out --json out.json",
    "sort-no-header": "sort -k 2 --no-header ../in/plain.csv -o out",
    "sort-text-keys": "sort -k c:natural -k a:time ../in/t.csv -o out",
    "sort-lines": "sort --text ../in/i64.txt -o out",
    "compact-text-csv": 'compact --where c=="t7"||c>"t3" ../in/t.csv -o out',
    "compact-lines": 'compact --text --where x!="7" ../in/i64.txt -o out',
    "compact-chunks": "compact --where a>3 ../in/chunks.csv -o out --rejected out2",
    "compact-chunks-to-stdout": "compact --where a==1&&b<3 ../in/chunks.csv",
    "compact-gzip": "compact --where a>3 ../in/t.csv.gz -o out --indices out2",
    "compact-gzip-pipe": "< ../in/t.csv.gz compact --csv --where a!=2 -o out",
    "sort-zstd": "sort -k b -k c:text ../in/t.csv.zst -o out",
    "prefix-zstd": "< ../in/t.csv.zst prefix --csv -k a -o out",
    "sort-dialect": "sort -k b --delimiter ; --decimal , --comment # --missing NA,- ../in/de.csv -o out",
    "sort-span": "sort --dtype u16 ../in/levels.raw -o out",
    "sort-parts": "sort --argsort -S 1M ../in/i64.npy -o out",
    "sort-parts-text": "sort -S 1M -u --verify ../in/lines.txt -o out",
    "sort-parts-pipe": "| ../in/wide.raw sort -S 1M --dtype u16 --tmp .",
    "sort-parts-raw": "sort -S 1M -r --verify --dtype u16 ../in/wide.raw -o out",
    "sort-parts-lines": "sort -S 1M --text --argsort ../in/lines.txt -o out",
    "sort-parts-csv": "sort -S 1M -k b:desc -k a ../in/parts.csv -o out",
    "sort-parts-csv-pipe": "| ../in/parts.csv sort -S 1M --csv -k a:text --tmp .",
    "sort-parts-check": "sort -S 1M --check -k b ../in/parts.csv",
    "sort-parts-json": "sort -S 1M -u --dtype u16 ../in/wide.raw -o out --json out.json",
    "sort-levels": "sort -S 1M --tmp . --dtype u16 ../in/levels.raw -o out",
    "sort-merge-levels": "sort --merge -S 1M -u" + " ../in/sorted.npy" * 40 + " -o out",
    "sort-merge-lines": "| ../in/sorted.txt sort --merge --text -S 1M - ../in/sorted.txt --verify --tmp .",
    "sort-merge": "sort --merge ../in/sorted.npy ../in/sorted.npy -o out",
    "sort-merge-csv": "sort --merge -k a ../in/sorted.csv ../in/sorted.csv -o out",
    "sort-axis": "sort --axis 1 --argsort ../in/matrix.npy -o out",
    "prefix-axis": "prefix --axis 0 --verify ../in/matrix.npy -o out.txt",
    "compact-rows": "compact --unique --axis 0 ../in/matrix.npy -o out --rejected out2",
    "sort-check": "sort --check ../in/i64.npy",
    "equalize-png": "equalize ../in/rgb8.png -o out.png",
    "equalize-png-16": "equalize --like vips --verify ../in/grey16.png -o out.png",
    "equalize-profile": "equalize ../in/profile.png -o out.jpg",
    "equalize-jpeg": "equalize ../in/rgb8.jpg -o out.jpg --quality 80",
    "equalize-pgm": "equalize --method clahe ../in/grey16.pgm -o out.pgm",
    "equalize-mask": "equalize --mask ../in/mask.pgm --plot out.svg ../in/grey8.pgm -o out.png",
    "equalize-ppm": "< ../in/rgb8.ppm equalize --like pillow -o out.ppm",
    "equalize-skimage": "equalize --like skimage ../in/grey8.pgm -o out.jpg",
    "equalize-colour": "equalize --like imagemagick --color luma ../in/rgb8.ppm -o out.png",
    "equalize-clahe-colour": "equalize --method clahe --tiles 4x3 --clip 3 --verify ../in/rgb8.png -o out.ppm",
    "equalize-plot": "equalize --plot out.svg --json out.json ../in/grey16.png -o out.png",
    "equalize-bands": "equalize -S 1M --like vips ../in/large.ppm -o out.ppm",
    "equalize-bands-mask": "< ../in/large.pgm equalize -S 1M --mask ../in/large.pgm",
    "equalize-bands-json": "equalize -S 1M --like pillow --json out.json ../in/large.pgm -o out.pgm",
    "equalize-batch": "equalize ../in/rgb8.png ../in/grey8.pgm ../in/rgb8.jpg --out-dir out",
}


class Job:
    """One command. `old`: its outputs exist already, and -f lets it replace them."""

    def __init__(self, name, command, old):
        words = command.split()
        self.stdin, self.pipe = None, words[0] == "|"
        if words[0] in ("<", "|"):
            self.stdin, words = words[1], words[2:]
        self.name = name + ("-over" if old else "")
        self.old = old
        self.program = words[0]
        self.words = words[1:] + ["--threads", "2"] + (["-f"] if old else [])
        self.batch = "--out-dir" in words
        self.to_stdout = "-o" not in words and not self.batch

    def forced(self):
        """The words of the same run with -f."""
        return self.words if self.old else [*self.words, "-f"]


JOBS = {}
for title, text in COMMANDS.items():
    for is_old in (False, True):
        job = Job(title, text, is_old)
        if not (is_old and job.to_stdout):
            JOBS[job.name] = job


def zstd_frame(data):
    """RFC 8878: a frame of one block, which is not compressed; at most 128 KiB."""
    assert len(data) <= 128 << 10
    return b"\x28\xb5\x2f\xfd\0\x38" + (1 | len(data) << 3).to_bytes(3, "little") + data


def make_inputs(folder, programs):
    """Writes the inputs that the commands name."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 9, 40_000)
    np.save(folder / "i64.npy", x)  # more than the buffer of an output
    np.save(folder / "mask.npy", x > 4)
    np.save(folder / "matrix.npy", np.asfortranarray(x[:6000].reshape(200, 30)))
    np.save(folder / "f32.npy", np.where(x == 7, np.nan, x).astype("f4")[:9000])
    (folder / "u16.raw").write_bytes(x.astype("u2").tobytes()[:30_000])
    (folder / "i64.txt").write_text("".join(f"{v}\n" for v in x[:5000]))
    (folder / "wide.raw").write_bytes(np.repeat(x, 10).astype("u2").tobytes())
    (folder / "levels.raw").write_bytes(np.tile(x, 75).astype("u2").tobytes())
    (folder / "lines.txt").write_text("".join(f"{v * 1001}\n" for v in x[:30_000]))
    (folder / "parts.csv").write_text("a,b\n" + "".join(f"{v},{k}\n" for k, v in enumerate(x[:25_000])))
    (folder / "sorted.txt").write_text("".join(f"{v}\n" for v in sorted(x[:5000])))
    np.save(folder / "sorted.npy", np.sort(x[:9000]))
    (folder / "sorted.csv").write_text("a,b\n" + "".join(f"{v},{v % 7}\n" for v in sorted(x[:1000])))
    rows = [("a", "b", "c"), *((v, "" if v == 5 else k % 7, f"t{k % 50}") for k, v in enumerate(x[:2000]))]
    for name, delimiter in (("t.csv", ","), ("t.tsv", "\t")):
        (folder / name).write_text("".join(delimiter.join(map(str, row)) + "\n" for row in rows))
    (folder / "plain.csv").write_text("".join(f"{v},{k % 7}\n" for k, v in enumerate(x[:2000])))
    (folder / "chunks.csv").write_text("a,b\n" + "".join(f"{v},{k}\n" for k, v in enumerate(np.tile(x, 4))))  # 3 chunks
    table = (folder / "t.csv").read_bytes()
    (folder / "t.csv.gz").write_bytes(gzip.compress(table[:5000]) + gzip.compress(table[5000:]))
    (folder / "t.csv.zst").write_bytes(zstd_frame(table))
    (folder / "de.csv").write_text("# of\na;b\n" + "".join(f"{v};{('NA', '-', f'{k % 9},5')[k % 3]}\n#\n" for k, v in enumerate(x[:900])))
    grey, rgb = rng.integers(40, 90, (50, 60, 1)), rng.integers(40, 90, (50, 60, 3))
    (folder / "grey8.pgm").write_bytes(b"P5 60 50 255\n" + grey.astype("u1").tobytes())
    (folder / "mask.pgm").write_bytes(b"P5 60 50 255\n" + (grey > 60).astype("u1").tobytes())
    (folder / "grey16.pgm").write_bytes(b"P5 60 50 65535\n" + (grey * 200).astype(">u2").tobytes())
    (folder / "rgb8.ppm").write_bytes(b"P6 60 50 255\n" + rgb.astype("u1").tobytes())
    (folder / "large.pgm").write_bytes(b"P5 720 900 255\n" + np.tile(grey, (18, 12, 1)).astype("u1").tobytes())
    (folder / "large.ppm").write_bytes(b"P6 420 500 255\n" + np.tile(rgb, (10, 7, 1)).astype("u1").tobytes())
    (folder / "rgb8.png").write_bytes(image_files.png(rgb.astype("u1")))
    head = image_files.png(rgb.astype("u1"))
    profile = b"iCCPname\0\0" + zlib.compress(bytes(2000))
    (folder / "profile.png").write_bytes(head[:33] + (len(profile) - 4).to_bytes(4, "big") + profile +
                                         zlib.crc32(profile).to_bytes(4, "big") + head[33:])
    (folder / "grey16.png").write_bytes(image_files.png((grey * 200).astype("u2"), 16))
    subprocess.run([programs / "equalize", folder / "rgb8.ppm", "-o", folder / "rgb8.jpg"], check=True)
    for file in folder.iterdir():
        os.chmod(file, 0o644)
