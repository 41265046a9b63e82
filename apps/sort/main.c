/* SPDX-License-Identifier: MIT
 *
 * sort: arrays, lines and table rows in order. Stable; floats in NumPy's order, NaN last; strings by their bytes.
 */
#include "apps/support/die.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "sort.h"

int main(int argc, char **argv) {
    static sort_job j;
    cli c = {0};
    sort_read_options(&j, &c, argc, argv);
    const char *path = j.merge ? sort_inputs(&j, &c) : cli_operand(&c);
    report_start(&c.common);
    input_open(&j.in, path);
    j.in.threads = j.threads;
    if (!j.dtype)
        input_decompress(&j.in);
    report_text("input", j.in.name);
    data_format format = j.text ? FORMAT_TEXT : data_format_of(&j.in, j.dtype, j.dialect.csv, j.dialect.tsv);
    dialect_settle(&j.dialect, &j.in, format, j.text);
    if (!format_is_binary(format))
        axis_refuse(&j.axis, j.in.name);
    if (!format_is_binary(format) && j.device_memory != SIZE_MAX)
        die_usage("%s: --device-memory is for arrays", j.in.name);
    if (j.merge)
        ranks_refuse("--merge is for one: sort the files as one");
    if (!j.check) {
        j.out_format = array_output_format(c.common.output, format);
        j.out = output_open_shared(c.common.output, c.common.force, format_is_binary(format));
        output_refuse_input(j.in.fd, j.in.name);
        report_text("output", output_name(j.out));
        session_open(&j.session, &c.common);
    }
    switch (format) {
    case FORMAT_NPY:
    case FORMAT_RAW:
        if (j.merge)
            sort_merge_arrays(&j, format);
        else
            sort_array(&j, format);
        break;
    case FORMAT_CSV:
    case FORMAT_TSV:
    case FORMAT_TEXT:
        if (j.merge)
            sort_merge_rows(&j, format);
        else
            sort_lines_or_rows(&j, format);
        break;
    }
    if (!j.check) {
        session_report(&j.session);
        session_close(&j.session);
    }
    if (j.verify)
        report_flag("verified", true);
    input_close(&j.in);
    report_finish();
    return session_leave(&j.session, EXIT_DONE);
}
