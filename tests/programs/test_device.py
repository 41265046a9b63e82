# SPDX-License-Identifier: MIT
"""The programs on a CUDA device, or in the emulator: the bytes of the CPU for every format and data set, in one piece and
in many; and when the device fails at any call, the CPU's bytes and one line with `auto`, exit 4 and no output with `cuda`.

Where no device answers the tests are skipped; the injected failures need the emulator (-DSCAN_CUDA=EMULATED)."""
import json
import os
import pathlib
import shutil

import numpy as np
import pytest

from conftest import DEVICE, NO_DEVICE, Box, numbers

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"

needs_device = pytest.mark.skipif(not DEVICE.answers, reason=DEVICE.reason)
needs_emulator = pytest.mark.skipif(not DEVICE.emulated, reason="failures of a device are injected by the emulator alone")

# {} is the output; an input is a file of data/ or one that `inputs` makes.
PREFIX = [
    "prefix flight_delays.npy -o {}",
    "prefix --op max --reverse jacksboro_dem.npy -o {}",
    "prefix --op min --exclusive --init -5 jacksboro_dem.npy -o {}",
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
              "host-sums/kogge-stone", "host-sums/warp", "look-back/warp", "wave/warp"]

COMPACT = [
    "compact --where x>60||x<-30 flight_delays.npy -o {} --indices {}i.npy --rejected {}r.npy",
    "compact --where x>=500&&i<100000 --invert jacksboro_dem.npy -o {} --verify",
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
    "sort -r jacksboro_dem.npy -o {} --verify",
    "sort -u flight_delays.npy -o {}",
    "sort -u flight_delays.npy -o {} --verify",
    "sort --argsort flight_delays.npy -o {}",
    "sort --argsort -r big_f32.npy --nan first -o {} --verify",
    "sort --argsort -u flight_delays.npy -o {}",
    "sort big_f32.npy --nan first -o {}",
    "sort big_f64.npy -r -o {}",
    "sort big_f64.npy -u -o {}",
    "sort --dtype i16 big_i16.raw -o {}",
    "sort big_endian.npy -o {}",
    "sort empty.npy -o {}",
    "sort one.npy -o {}",
    "sort delays.txt -o {}",
    "sort -u delays.txt -o {} --verify",
    "sort -r floats.txt -o {}",
    "sort --argsort floats.txt -o {}",
    "sort -k magnitude:desc earthquakes.csv -o {}",
    "sort -k magnitude:desc -k depth_km -k latitude:desc earthquakes.csv -o {} --verify",
    "sort -u -k magnitude earthquakes.csv -o {} --verify",
    "sort --argsort -k temp seattle-temps.csv -o {}",
    "sort -k a -k b:nan=first missing.csv -o {}",
] + [f"sort {t}.npy -o {{}}" for t in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64")]

EQUALIZE = [
    "equalize moon.png -o {}.png --plot {}.svg",
    "equalize --like pillow cell.png -o {}.png --verify",
    "equalize --like vips retina.jpg -o {}.png",
    "equalize --like imagemagick hubble_deep_field.jpg -o {}.ppm",
    "equalize --like skimage moon.png -o {}.pgm",
    "equalize hubble_deep_field.jpg -o {}.png --verify",
    "equalize jacksboro_dem.pgm -o {}.pgm --verify",
    "equalize --mask moon.png moon.png -o {}.png",
    "equalize --color channels retina.jpg -o {}.jpg",
    "equalize --method clahe moon.png -o {}.png --verify",
    "equalize --method clahe --tiles 7x3 --clip 5 cell.png -o {}.png",
    "equalize --method clahe --clip 0 jacksboro_dem.pgm -o {}.pgm --verify",
    "equalize --method clahe hubble_deep_field.jpg -o {}.png",
    "equalize moon.png cell.png retina.jpg --out-dir {}/",
    "equalize --method clahe cell.png jacksboro_dem.pgm moon.png hubble_deep_field.jpg --out-dir {}/ --verify",
]

JOBS = PREFIX + COMPACT + SORT + EQUALIZE


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The data sets, and arrays of every type, some of several pieces."""
    folder = tmp_path_factory.mktemp("inputs")
    for path in DATA.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    rng = np.random.default_rng(7)
    delays = np.load(DATA / "flight_delays.npy")
    np.save(folder / "sorted.npy", np.sort(delays))
    np.save(folder / "empty.npy", np.zeros(0, "f4"))
    np.save(folder / "one.npy", np.array([2.5]))
    for name in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"):
        np.save(folder / f"{name}.npy", numbers(name, 50_001))
    big = rng.normal(size=1_300_003).astype("f4")
    big[rng.integers(0, big.size, 50)] = np.nan
    big[rng.integers(0, big.size, 50)] = -0.0
    np.save(folder / "big_f32.npy", big)
    np.save(folder / "mask.npy", rng.random(big.size) < 0.3)
    np.save(folder / "big_f64.npy", rng.normal(size=400_001).round(2))
    np.save(folder / "big_endian.npy", rng.integers(-1000, 1000, 300_000).astype(">i4"))
    (folder / "big_u8.raw").write_bytes(rng.integers(0, 3, 3_000_000, dtype="u1").tobytes())
    (folder / "big_i16.raw").write_bytes(rng.integers(-9999, 9999, 1_000_000, dtype="i2").tobytes())
    (folder / "delays.txt").write_text("".join(f"{v}\n" for v in delays[:20_000]))
    (folder / "floats.txt").write_text("".join(f"{v}\n" for v in big[:20_000].astype("f8").round(4) + 0.0))
    (folder / "missing.csv").write_text("a,b,c\n" + "".join(
        f"{'' if k % 11 == 3 else k % 50},{'' if k % 7 == 1 else k % 9},t{k}\n" for k in range(5000)))
    return Box(folder)


def lacks_verb(result):
    return result.code == 4 and "of this version has no scan_" in result.err


def run(box, job, device, out, **environment):
    """The result, and the outputs as names and bytes."""
    target = box.path / out
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    command = [word.replace("{}", f"{out}/" if "--out-dir" in job else f"{out}/o") for word in job.split()]
    result = box.run(*command, "--device", device, env=dict(os.environ, **environment))
    if device == "cuda" and lacks_verb(result):
        pytest.skip(result.err.strip())
    return result, {str(p.relative_to(target)): p.read_bytes() for p in target.rglob("*") if p.is_file()}


def on_cpu(box, job):
    result, files = run(box, job, "cpu", "cpu")
    assert (result.code, result.err) == (0, ""), job
    assert files
    return files


@needs_device
@pytest.mark.parametrize("job", JOBS)
def test_same_bytes(inputs, job):
    expected = on_cpu(inputs, job)
    result, files = run(inputs, job, "cuda", "cuda")
    assert (result.code, result.err) == (0, "")
    assert files == expected


@needs_device
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("job", ["prefix flight_delays.npy -o {}", "prefix --op max --reverse big_i16.raw --dtype i16 -o {}",
                                 "prefix -k b --exclusive missing.csv -o {}", "prefix delays.txt -o {}"])
def test_every_algorithm_gives_the_same_integers(inputs, job, algorithm):
    """auto takes the device for what it alone has."""
    expected = on_cpu(inputs, job)
    for device in ("cuda", "auto"):
        result, files = run(inputs, f"{job} --algorithm {algorithm}", device, "cuda")
        assert (result.code, result.err) == (0, "")
        assert files == expected


@needs_device
@pytest.mark.parametrize("method", ["auto", "radix", "split"])
@pytest.mark.parametrize("job", ["sort flight_delays.npy -o {}", "sort -r u8.npy -o {}", "sort --argsort f32.npy -o {}",
                                 "sort -k a -k b:desc missing.csv -o {}"])
def test_every_method_sorts(inputs, job, method):
    expected = on_cpu(inputs, job)
    result, files = run(inputs, f"{job} --algorithm {method}", "cuda", "cuda")
    assert (result.code, result.err) == (0, "")
    assert files == expected


@needs_device
def test_methods_of_the_cpu_alone(inputs):
    run(inputs, "sort one.npy -o {}", "cuda", "cuda")
    inputs.refused(2, "quick", "sort", "u32.npy", "--device", "cuda", "--algorithm", "quick", "-o", "out.npy")


@needs_device
def test_grids_of_the_cpu_alone(inputs):
    inputs.refused(2, "blocked", "prefix", "u32.npy", "--device", "cuda", "--algorithm", "blocked", "-o", "out.npy")


@needs_device
@pytest.mark.parametrize("command", ["prefix --dtype f32", "prefix --dtype f32 --reverse", "compact --dtype f32 --finite",
                                     "sort --dtype f32", "sort --dtype f32 --argsort", "compact --dtype f32 --unique"])
def test_pipes(inputs, command):
    data = np.load(inputs.path / "big_f32.npy").tobytes()
    expected = inputs.good(*command.split(), "--device", "cpu", input=data).out
    result = inputs.run(*command.split(), "--device", "cuda", input=data)
    if lacks_verb(result):
        pytest.skip(result.err.strip())
    assert (result.code, result.err) == (0, "")
    assert result.out == expected


@needs_device
@pytest.mark.parametrize("job", ["prefix big_f32.npy -o {}", "compact --finite big_f32.npy -o {}", "sort big_f32.npy -o {}",
                                 "sort -k a missing.csv -o {}", "equalize moon.png -o {}.png",
                                 "equalize moon.png cell.png --out-dir {}/"])
def test_report(inputs, job):
    result, _ = run(inputs, f"{job} --json report.json --stats -f", "cuda", "cuda")
    assert result.code == 0
    report = json.loads(inputs.read("report.json"))
    assert report["device"] != "cpu" and report["ran"] and report["threads"] == 0
    for phase in ("upload", "compute", "download"):
        assert report["seconds"][phase] > 0 and phase in result.err
    assert report["phase_gb_per_s"]["upload"] > 0 and report["phase_gb_per_s"]["download"] > 0
    assert report["seconds"]["total"] > 0 and "device_failed" not in report


@needs_device
@pytest.mark.parametrize("job", ["prefix cut.npy -o {}", "compact --nonzero cut.npy -o {}", "sort cut.npy -o {}",
                                 "sort --nan error nan.npy -o {}", "compact --mask short.npy big_f32.npy -o {}"])
def test_bad_input(inputs, job):
    """What reading finds is said as without a device, though other threads are at work then."""
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


# ---- no device --------------------------------------------------------------------------------------------------------

LARGE = {"SCAN_CUDA_FROM": "1"}  # auto: every job is large enough
WITHOUT = ["prefix u32.npy -o {}", "compact --nonzero u32.npy -o {}", "sort u32.npy -o {}", "sort delays.txt -o {}",
           "equalize moon.png -o {}.png", "equalize moon.png cell.png --out-dir {}/"]


@pytest.mark.parametrize("job", WITHOUT)
def test_without_a_device(inputs, job):
    expected = on_cpu(inputs, job)
    result, files = run(inputs, job, "cuda", "cuda", **NO_DEVICE)
    assert result.code == 4 and result.err.count("\n") == 1 and not files
    assert ("no CUDA device" if DEVICE.built else "no CUDA backend") in result.err
    result, files = run(inputs, job, "auto", "auto", **NO_DEVICE)
    assert (result.code, result.err, files) == (0, "", expected)
    result, files = run(inputs, job, "auto", "auto", **NO_DEVICE, **LARGE)
    assert (result.code, files) == (0, expected)
    if DEVICE.built:
        assert "no CUDA device" in result.err and result.err.endswith("; the CPU does the job\n")
    assert result.err.count("\n") == DEVICE.built


@pytest.mark.parametrize("value", ["x", "-1", "0", "1e9", " 1"])
def test_threshold_that_is_no_number(inputs, value):
    if not DEVICE.built:
        pytest.skip("this build has no CUDA backend to choose")
    inputs.refused(2, "SCAN_CUDA_FROM", "prefix", "u32.npy", "-o", "out.npy",
                   env=dict(os.environ, SCAN_CUDA_FROM=value))


@needs_emulator
def test_small_jobs_do_not_load_the_driver(inputs):
    """The first call of the runtime would fail."""
    for job in WITHOUT:
        result, _ = run(inputs, job, "auto", "auto", SCAN_EMULATED_FAIL="1:35:forever")
        assert (result.code, result.err) == (0, "")


@needs_emulator
def test_the_threshold_is_in_bytes(inputs):
    bytes_of_data = 50_001 * 4
    for limit, warns in ((bytes_of_data, True), (bytes_of_data + 1, False)):
        for job in ("prefix u32.npy -o {}", "compact --nonzero u32.npy -o {}", "sort u32.npy -o {}"):
            result, _ = run(inputs, job, "auto", "auto", SCAN_EMULATED_FAIL="1:35:forever", SCAN_CUDA_FROM=str(limit))
            assert result.code == 0 and (result.err != "") == warns


# ---- a device that fails ----------------------------------------------------------------------------------------------

FAILING = [
    "prefix part_f32.npy -o {}",
    "prefix part_f32.npy --reverse --exclusive -o {}",
    "prefix part_f32.npy --algorithm look-back -o {}",
    "prefix delays.txt -o {}",
    "compact --where x>0 part_f32.npy -o {} --indices {}i.npy --rejected {}r.npy",
    "compact --unique --invert sorted.npy -o {}",
    "compact --where a>3 missing.csv -o {}",
    "sort part_f32.npy -o {}",
    "sort -u part_f32.npy -o {}",
    "sort --argsort part_f32.npy -o {}",
    "sort delays.txt -o {}",
    "sort -u -k a -k b missing.csv -o {}",
    "equalize small.pgm -o {}.pgm",
    "equalize --method clahe small.pgm --verify -o {}.pgm",
    "equalize small.pgm small2.pgm small3.pgm --out-dir {}/",
]


@pytest.fixture(scope="module")
def small_inputs(inputs):
    rng = np.random.default_rng(8)
    inputs.save("part_f32.npy", rng.normal(size=600_000).astype("f4"))
    for name in ("small", "small2", "small3"):
        inputs.write(f"{name}.pgm", b"P5 60 50 255\n" + rng.integers(40, 90, 3000, dtype="u1").tobytes())
    return inputs


def calls():
    """All of the first, then fewer and fewer."""
    call = 1
    while True:
        yield call
        call += 1 + call // 6


@needs_emulator
@pytest.mark.parametrize("job", FAILING)
def test_failures(small_inputs, job):
    """Out of memory once; an illegal address and a failed launch, after which nothing works any more."""
    box, warned, died = small_inputs, 0, 0
    expected = on_cpu(box, job.replace("--algorithm look-back", ""))
    run(box, job, "cuda", "cuda")
    for k, call in enumerate(calls()):
        if "--algorithm" in job and call < 3:
            continue  # without any device an algorithm of its own is a usage error
        fault = f"{call}:{('2', '700:forever', '719:forever')[k % 3]}"
        result, files = run(box, job, "auto", "auto", SCAN_EMULATED_FAIL=fault, **LARGE)
        assert (result.code, files) == (0, expected), (fault, result.err)
        assert result.err.count("\n") == (result.err != ""), (fault, result.err)
        assert result.err == "" or result.err.endswith("; the CPU does the job\n"), (fault, result.err)
        strict, files = run(box, job, "cuda", "cuda", SCAN_EMULATED_FAIL=fault)
        if strict.code == 0:
            assert (strict.err, files) == ("", expected), (fault, strict.err)
        else:
            batch = "--out-dir" in job  # where every image is a file of its own
            assert strict.code == 4 and (batch or (not files and strict.err.count("\n") == 1)), (fault, strict.err)
            assert all(files[name] == expected[name] for name in files)
        warned += result.err != ""
        died += strict.code == 4
        if k % 3 == 2 and not result.err and not strict.err and call > 60:
            break
    assert warned >= 5 and died >= 5


@needs_emulator
@pytest.mark.parametrize("job", ["prefix big_f64.npy -o {}", "compact --nonzero big_f64.npy -o {} --rejected {}r.npy"])
def test_short_of_device_memory_pieces_are_smaller(inputs, job):
    """64 MiB hold four slots of 1 MiB pieces, not of 8 MiB, which the length of a pipe asks for."""
    expected = on_cpu(inputs, job)
    data = inputs.read("big_f64.npy")
    command = job.replace("big_f64.npy ", "")
    assert command != job
    (inputs.path / "cuda").mkdir(exist_ok=True)
    result = inputs.run(*[word.replace("{}", "cuda/o") for word in command.split()], "-f", "--device", "cuda", input=data,
                        env=dict(os.environ, SCAN_EMULATED_MEMORY=str(64 << 20)))
    if lacks_verb(result):
        pytest.skip(result.err.strip())
    assert (result.code, result.err) == (0, "")
    assert inputs.read("cuda/o") == expected["o"]


@needs_emulator
@pytest.mark.parametrize("job", ["prefix big_f64.npy -o {}", "compact --nonzero big_f64.npy -o {}", "sort big_f64.npy -o {}",
                                 "sort --argsort big_f64.npy -o {}", "sort delays.txt -o {}", "equalize moon.png -o {}.png"])
def test_without_device_memory(inputs, job):
    expected = on_cpu(inputs, job)
    little = {"SCAN_EMULATED_MEMORY": str(1 << 16)}
    result, files = run(inputs, job, "auto", "auto", **little, **LARGE)
    assert (result.code, files) == (0, expected)
    assert result.err.count("\n") == 1 and result.err.endswith("; the CPU does the job\n")
    result, files = run(inputs, job, "cuda", "cuda", **little)
    assert result.code == 4 and not files and result.err.count("\n") == 1
    assert "bytes" in result.err or "memory" in result.err


@needs_emulator
@pytest.mark.parametrize("algorithm, code", [("look-back", 0), ("hierarchical", 4)])
def test_only_an_order_that_the_cpu_has_goes_on_there(inputs, algorithm, code):
    job = "prefix f32.npy -o {} --algorithm " + algorithm
    result, files = run(inputs, job, "auto", "auto", SCAN_EMULATED_FAIL="30:719:forever")
    assert result.code == code and result.err.count("\n") == 1
    assert files == ({} if code else on_cpu(inputs, "prefix f32.npy -o {}"))
