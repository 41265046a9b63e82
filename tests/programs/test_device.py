# SPDX-License-Identifier: MIT
"""The programs on a CUDA device, or in the emulator: the same bytes as on the CPU for every format and data set, in one
piece and in many. Skipped where there is no device."""
import json
import re

import numpy as np
import pytest

from device_jobs import needs_device, on_cpu, run

# {} is the output; an input is a file of data/ or one that device_jobs.py makes.
PREFIX = [
    "prefix flight_delays.npy -o {}",
    "prefix --flat jacksboro_dem.npy -o {} --verify",
    "prefix --flat --op max --reverse jacksboro_dem.npy -o {}",
    "prefix --axis 0 --op min --exclusive --init -5 jacksboro_dem.npy -o {} --verify",
    "prefix -k temp seattle-temps.csv -o {}",
    "prefix -k magnitude --op mul --reverse earthquakes.csv -o {}",
    "prefix -k depth_km --op max --exclusive earthquakes.csv -o {}",
    "prefix delays.txt -o {}",
    "prefix floats.txt --exclusive --init 0.25 -o {}",
    "prefix empty.npy -o {}",
    "prefix one.npy --reverse --exclusive -o {}",
    "prefix big_f32.npy -o {}",
    "prefix big_f32.npy --reverse -o {}",
    "prefix big_f32.npy --reverse --exclusive --out-dtype f64 -o {} --verify",
    "prefix big_f64.npy --op mul --exclusive -o {} --verify",
    "prefix big_f64.npy --op min -o {}",
    "prefix --dtype u8 --out-dtype u32 big_u8.raw -o {}",
    "prefix --dtype i16 --op max big_i16.raw --reverse -o {}",
    "prefix big_endian.npy -o {}",
] + [f"prefix {t}.npy --op {op} -o {{}}" for t in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64")
     for op in ("add", "max")]

ALGORITHMS = ["wave", "look-back", "hierarchical/kogge-stone", "hierarchical/brent-kung", "hierarchical/warp",
              "host-sums/kogge-stone", "host-sums/brent-kung", "host-sums/warp", "look-back/warp", "wave/warp",
              "auto/brent-kung"]

COMPACT = [
    "compact --where x>60||x<-30 flight_delays.npy -o {} --indices {}i.npy --rejected {}r.npy",
    "compact --where x>=500&&i<30000 --invert jacksboro_dem.npy -o {} --verify",
    "compact --unique jacksboro_dem.npy -o {} --indices {}i.npy",
    "compact --unique --axis 0 jacksboro_dem.npy -o {} --verify",
    "compact --unique flight_delays.npy -o {} --rejected {}r.npy",
    "compact --nonzero flight_delays.npy -o {} --indices {}i.npy --verify",
    "compact --mask late.npy flight_delays.npy -o {} --rejected {}r.npy --verify",
    "compact --unique sorted.npy -o {} --indices {}i.npy --verify",
    "compact --unique --invert sorted.npy -o {} --rejected {}r.npy --verify",
    "compact --mask mask.npy big_f32.npy -o {} --rejected {}r.npy --indices {}i.npy",
    "compact --mask mask.npy --invert big_f32.npy -o {}",
    "compact --finite big_f32.npy -o {} --rejected {}r.npy",
    "compact --nonzero --dtype u8 big_u8.raw -o {} --indices {}i.raw",
    "compact --where x>0.5 big_f64.npy -o {} --verify",
    "compact --where x==-1e9 big_f64.npy -o {}",
    "compact --unique big_f64.npy -o {}",
    "compact --nonzero empty.npy -o {}",
    "compact --where magnitude>=4.5&&depth_km<70 earthquakes.csv -o {} --rejected {}r.csv --indices {}i.npy",
    "compact --where temp<40||temp>80 --invert seattle-temps.csv -o {} --verify",
    "compact --where x>10 delays.txt -o {} --rejected {}r.txt",
    "compact --unique delays.txt -o {} --indices {}i.txt --verify",
    "compact --where isnan(a)||b>5 missing.csv -o {}",
] + [f"compact --where x>3 {t}.npy -o {{}} --indices {{}}i.npy" for t in ("u8", "i16", "u32", "i64", "f32", "f64")]

SORT = [
    "sort flight_delays.npy -o {}",
    "sort --axis 0 -r jacksboro_dem.npy -o {} --verify",
    "sort --flat -u jacksboro_dem.npy -o {}",
    "sort --axis 1 --argsort jacksboro_dem.npy -o {} --verify",
    "sort -u flight_delays.npy -o {}",
    "sort -u flight_delays.npy -o {} --verify",
    "sort --argsort flight_delays.npy -o {}",
    "sort --argsort -r keys_f32.npy --nan first -o {} --verify",
    "sort --argsort -u flight_delays.npy -o {}",
    "sort keys_f32.npy --nan first -o {}",
    "sort keys_f64.npy -r -o {}",
    "sort keys_f64.npy -u -o {}",
    "sort --dtype i16 keys_i16.raw -o {}",
    "sort keys_big_endian.npy -o {}",
    "sort empty.npy -o {}",
    "sort one.npy -o {}",
    "sort delays.txt -o {}",
    "sort -u delays.txt -o {} --verify",
    "sort -r floats.txt -o {}",
    "sort --argsort floats.txt -o {}",
    "sort -k magnitude:desc earthquakes.csv -o {}",
    "sort -k magnitude:desc -k depth_km -k latitude:desc earthquakes.csv -o {} --verify",
    "sort -u -k magnitude earthquakes.csv -o {} --verify",
    "sort -k temp seattle-temps.csv -o {} --verify",
    "sort --argsort -k temp seattle-temps.csv -o {}",
    "sort -k a -k b:nan=first missing.csv -o {}",
    "sort -k place:text:desc earthquakes.csv -o {} --verify",
    "sort -k a:text -k c:natural:desc missing.csv -o {} --verify",
    "sort --text -u delays.txt -o {} --verify",
] + [f"sort {t}.npy -o {{}}" for t in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64")]

IMAGES = ["moon.png", "cell.png", "retina.jpg", "hubble_deep_field.jpg", "jacksboro_dem.pgm", "expected/moon.png",
          "expected/color.ppm"]
FORMULAS = ["--like opencv", "--like pillow", "--like imagemagick", "--like vips", "--like skimage", "--method clahe"]

EQUALIZE = [f"equalize {formula} {image} -o {{}}.png" for image in IMAGES for formula in FORMULAS] + [
    "equalize moon.png -o {}.png --plot {}.svg",
    "equalize --like pillow cell.png -o {}.png --verify",
    "equalize --like imagemagick retina.jpg -o {}.ppm",
    "equalize --like skimage moon.png -o {}.pgm",
    "equalize hubble_deep_field.jpg -o {}.png --verify",
    "equalize jacksboro_dem.pgm -o {}.pgm --verify",
    "equalize --mask moon.png moon.png -o {}.png",
    "equalize --color channels retina.jpg -o {}.jpg",
    "equalize --method clahe moon.png -o {}.png --verify",
    "equalize --method clahe --tiles 7x3 --clip 5 cell.png -o {}.png",
    "equalize --method clahe --tiles 3x2 --clip 0 jacksboro_dem.pgm -o {}.pgm --verify",
    "equalize moon.png cell.png retina.jpg --out-dir {}/",
    "equalize --method clahe --tiles 2x3 cell.png jacksboro_dem.pgm moon.png hubble_deep_field.jpg --out-dir {}/ --verify",
]

JOBS = PREFIX + COMPACT + SORT + EQUALIZE


def gives_the_same(inputs, job, options="", devices=("cuda",)):
    """Each of the devices with these options must give the bytes of the CPU without them."""
    expected = on_cpu(inputs, job)
    for device in devices:
        result, files = run(inputs, job + options, device, "cuda")
        assert (result.code, result.err) == (0, "")
        assert files == expected


@needs_device
@pytest.mark.parametrize("job", JOBS)
def test_same_bytes(inputs, job):
    gives_the_same(inputs, job)


@needs_device
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("job", ["prefix flight_delays.npy -o {}", "prefix --op max --reverse big_i16.raw --dtype i16 -o {}",
                                 "prefix -k b --exclusive missing.csv -o {}", "prefix delays.txt -o {}"])
def test_every_algorithm_gives_the_same_integers(inputs, job, algorithm):
    """auto takes the device for an algorithm that only the device has, whatever the data are: the CPU refuses it. Grids add
    pieces in the same way with every block: one for each grid takes several."""
    if ALGORITHMS.index(algorithm) != [a.split("/")[0] for a in ALGORITHMS].index(algorithm.split("/")[0]):
        job = job.replace("big_i16", "keys_i16")
    gives_the_same(inputs, job, f" --algorithm {algorithm}", ("cuda",) if "big" in job else ("auto",))


@needs_device
@pytest.mark.parametrize("algorithm", ["hierarchical", "host-sums/warp", "auto/kogge-stone"])
def test_verify_does_not_know_another_order(inputs, algorithm):
    """Only floats depend on the algorithm; integers and --op max have one result."""
    for name in ("f32.npy", "floats.txt"):
        inputs.refused(2, "order of their own", "prefix", name, "--device", "cuda", "--algorithm", algorithm, "--verify", "-o",
                       "out")
        gives_the_same(inputs, f"prefix {name} --op max -o {{}} --verify", f" --algorithm {algorithm}")
    gives_the_same(inputs, "prefix u8.npy -o {} --verify", f" --algorithm {algorithm}")


@needs_device
@pytest.mark.parametrize("grid", ["look-back", "wave"])
@pytest.mark.parametrize("job", ["compact --where x>3 i64.npy -o {} --indices {}i.npy --rejected {}r.npy",
                                 "compact --mask mask.npy big_f32.npy -o {}", "compact --unique --invert sorted.npy -o {}",
                                 "compact --unique delays.txt -o {}", "compact --where temp<40 seattle-temps.csv -o {}"])
def test_both_grids_compact(inputs, job, grid):
    gives_the_same(inputs, job, f" --algorithm {grid}", ("cuda",) if "f32" in job else ("auto",))


@needs_device
def test_the_wave_is_for_one_range(inputs):
    wave = ["--device", "cuda", "--algorithm", "wave", "--where"]
    for where in ("x > 3 && i < 9", "i < 9", "(x > 3 && x < 5) || (x > 7 && x < 9)"):
        inputs.refused(2, "take look-back", "compact", "u32.npy", *wave, where, "-o", "out.npy")
    inputs.refused(2, "take look-back", "compact", "earthquakes.csv", *wave, "magnitude > 5 && depth_km < 9", "-o", "out.csv")
    gives_the_same(inputs, "compact --where x<3||x>5 u8.npy -o {}", " --algorithm wave")


@needs_device
@pytest.mark.parametrize("method", ["auto", "radix", "split"])
@pytest.mark.parametrize("job", ["sort i32.npy -o {}", "sort -r u8.npy -o {}", "sort --argsort f32.npy -o {}",
                                 "sort -k a -k b:desc missing.csv -o {}", "sort -k c:text missing.csv -o {}"])
def test_every_method_sorts(inputs, job, method):
    gives_the_same(inputs, job, f" --algorithm {method}")


@needs_device
def test_a_sample_sorts_wide_keys(inputs):
    gives_the_same(inputs, "sort --argsort f32.npy -o {}", " --algorithm sample")
    inputs.refused(2, "sample", "sort", "u8.npy", "--device", "cuda", "--algorithm", "sample", "-o", "out.npy")


@needs_device
def test_methods_of_the_cpu_alone(inputs):
    inputs.refused(2, "quick", "sort", "u32.npy", "--device", "cuda", "--algorithm", "quick", "-o", "out.npy")


@needs_device
def test_grids_of_the_cpu_alone(inputs):
    inputs.refused(2, "blocked", "prefix", "u32.npy", "--device", "cuda", "--algorithm", "blocked", "-o", "out.npy")
    inputs.refused(2, "blocked", "compact", "u32.npy", "--device", "cuda", "--algorithm", "blocked", "--nonzero", "-o",
                   "out.npy")


@needs_device
@pytest.mark.parametrize("command", ["prefix --dtype f32", "prefix --dtype f32 --reverse", "compact --dtype f32 --finite",
                                     "sort --dtype f32", "sort --dtype f32 --argsort", "compact --dtype f32 --unique"])
def test_pipes(inputs, command):
    data = np.load(inputs.path / ("keys_f32.npy" if "sort" in command else "big_f32.npy")).tobytes()
    expected = inputs.good(*command.split(), "--device", "cpu", input=data).out
    result = inputs.run(*command.split(), "--device", "cuda", input=data)
    assert (result.code, result.err) == (0, "")
    assert result.out == expected


@needs_device
@pytest.mark.parametrize("job", [
    "prefix big_f32.npy -o {}", "prefix delays.txt -o {}", "prefix -k b missing.csv -o {}",
    "prefix --algorithm hierarchical u32.npy -o {}", "compact --finite big_f32.npy -o {}", "compact --unique delays.txt -o {}",
    "compact --unique --invert sorted.npy -o {}", "compact --where a>9 missing.csv -o {}", "sort keys_f32.npy -o {}",
    "sort -u f32.npy -o {} --verify", "sort --argsort -u f32.npy -o {}", "sort delays.txt -o {}",
    "sort -u -k a -k b missing.csv -o {}", "sort -k b:text -k c:text missing.csv -o {}", "equalize moon.png -o {}.png", "equalize --mask moon.png moon.png -o {}.png",
    "equalize moon.png cell.png --out-dir {}/"])
def test_report(inputs, job):
    result, _ = run(inputs, f"{job} --json report.json --stats -f", "cuda", "cuda")
    assert result.code == 0
    report = json.loads(inputs.read("report.json"))
    assert report["device"] != "cpu" and report["ran"] and report["threads"] == 0
    for phase in ("read", "upload", "compute", "download", "write"):
        assert report["seconds"][phase] > 0 and report["phase_gb_per_s"][phase] > 0, phase
        assert re.search(rf"^{phase} .* GB/s$", result.err, re.M), phase
    assert report["seconds"]["total"] > 0 and "device_failed" not in report


@needs_device
def test_report_of_a_pipe(inputs):
    """sort takes the input in one piece."""
    inputs.good("sort", "--dtype", "f32", "--device", "cuda", "-f", "-o", "piped.raw", "--json", "piped.json",
                input=np.load(inputs.path / "f32.npy").tobytes())
    rates = json.loads(inputs.read("piped.json"))["phase_gb_per_s"]
    assert all(rates[phase] > 0 for phase in ("read", "upload", "compute", "download", "write"))


@needs_device
@pytest.mark.parametrize("job", ["prefix cut.npy -o {}", "compact --nonzero cut.npy -o {}", "sort cut.npy -o {}",
                                 "sort --nan error nan.npy -o {}", "compact --mask short.npy big_f32.npy -o {}"])
def test_bad_input(inputs, job):
    """Errors found while reading are reported as without a device, although other threads are at work then."""
    whole = inputs.read("big_f32.npy")
    inputs.write("cut.npy", whole[:-1000])
    inputs.save("nan.npy", np.array([1.0, np.nan]))
    inputs.save("short.npy", np.ones(100_000, "u1"))
    wrong, _ = run(inputs, job, "cpu", "cpu")
    result, files = run(inputs, job, "cuda", "cuda")
    assert (result.code, result.err, files) == (wrong.code, wrong.err, {}) and result.code == 2


@needs_device
def test_a_pipe_that_is_cut_short(inputs):
    data = inputs.read("big_f32.npy")[:-1000]
    wrong = inputs.run("prefix", "--device", "cpu", "-o", "cut.out", input=data)
    result = inputs.run("prefix", "--device", "cuda", "-o", "cut.out", input=data)
    assert (result.code, result.err) == (wrong.code, wrong.err) and result.code == 2
    assert not (inputs.path / "cut.out").exists()
