/* SPDX-License-Identifier: MIT
 *
 * What tools/bench --help prints.
 */
#include "bench.h"

static const char usage[] =
    "Usage: tools/bench [OPTION]...\n"
    "\n"
    "  tools/bench                                   a small table, about two minutes\n"
    "  tools/bench --all --json out/bench.json       the full one\n"
    "  tools/bench --verb sort --type u64 --n 2^26 --distribution zipf\n"
    "  tools/bench --verb prefix --type f32 --op max --threads 1 --simd avx2\n"
    "  tools/bench --verb prefix --n 2^10..2^26 --plot prefix.svg\n"
    "  tools/bench --device cuda --verb prefix --algorithm all --type u32,f32 --plot prefix.svg\n"
    "  tools/bench --device cuda --verb compact --n 2^28 --keep 0.01,0.1,0.5,0.9\n"
    "  tools/bench --hunt 200 --seed 7               random sorts, the worst of them in the end\n"
    "  tools/bench --tables                          CSV tables and lines of text; --tables --help has its options\n"
    "\n"
    "Measures the library's verbs beside peers and beside a plain copy, in turns. Results are checked first.\n"
    "Where an option takes a LIST (a,b,c), every combination is measured. A row with --offset or --reverse shows its\n"
    "share of the rate of the same row without, where that came before: with --offset 0,1, in the full table.\n"
    "\n"
    "  --verb V            one of those below\n"
    "  --type LIST        " TYPE_WORDS " (u32; images: u8 or u16)\n"
    "  --out-type T        prefix: the accumulator (as --type)\n"
    "  --op O              prefix:" OP_WORDS " (add)\n"
    "  --exclusive         prefix: without the element itself\n"
    "  --reverse           prefix: from the last element to the first; no peers\n"
    "  --algorithm A       all, GRID, GRID/BLOCK, or a method of sorting (auto)\n"
    "  --n LIST            1000, 10M, 2^26, 2^26+1, 2^10..2^30, 1000..1M*10 (2^24; a GPU: 2^10..2^30*4)\n"
    "  --distribution LIST as in tools/make_data --help (uniform)\n"
    "  --keep LIST         compact and its like: the share that stays (0.5)\n"
    "  --value-bytes N     pairs: 4 or 8 (4)\n"
    "  --offset LIST       elements, below 256, from a boundary of 256 bytes to the begin of every array (0)\n"
    "  --nan SHARE         this share of a float array is NaN (0)\n"
    "  --seed S            another input of the same kind (1)\n"
    "  --threads N         of the library, the copy and the peers (all)\n"
    "  --device D          auto, cpu, cuda, cuda:N (cpu)\n"
    "  --simd LEVEL        portable, avx2 or avx512: no more than that\n"
    "  --rounds N          measured runs of each contender, at most 101 (11); slow ones get fewer\n"
    "  --pause MS          before every measured call, so that threads sleep (0)\n"
    "  --no-peers          the library and the copy only\n"
    "  --torch             a GPU: PyTorch too, where python3 has it with CUDA; other rows lose up to 6 %\n"
    "  --additions         a GPU: only count the additions of the block scans\n"
    "  --hunt N            N sorts of random keys, of any n, type, direction, with values and without, beside the "
    "best\n"
    "                      peer; only those of --verb and --type. The first set is that of --seed alone\n"
    "  --min-n N           the hunt's smallest n (1000)\n"
    "  --max-n N           the hunt's largest n, at most 2^30 (a GPU: 2^30; else 2^25)\n"
    "  --minutes M         begin no further set after this time\n"
    "  --check             no times: the hunt's results are checked, in place too, by 1 to 7 threads; n from 1 to "
    "2^20\n"
    "  --all               the full table; with --verb its rows of that verb\n"
    "  --json FILE         the rows for machines too\n"
    "  --plot FILE         draw them over n, as SVG\n"
    "  --pack DIR          fill DIR with what another machine with a GPU needs to run this, and stop\n"
    "\n"
    "On a GPU a row shows the time of a call among others in a batch, the spread of that (between quartiles), the\n"
    "time of one call that begins on an idle GPU, and the time until a call returns; then rates, as GB/s of what any\n"
    "way to do the job must read and write, the share of the memcpy's rate, and how many times as fast as the fastest\n"
    "of CUB's rows, in a batch and alone.\n"
    "\n"
    "Verbs:\n";

void print_usage(void) {
    fputs(usage, stdout);
#define USAGE_ROW(ENUM, name, meaning) printf("  %-19s %s\n", #name, meaning);
    BENCH_VERBS(USAGE_ROW)
#undef USAGE_ROW
}
