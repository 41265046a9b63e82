# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of scan-compact, scan-equalize, scan-prefix and scan-sort for bash. Installed once under each name.

# The values of an option for this word, one a line; code 1 where a file or any text may follow.
_scan_values() {
    case $1$2 in
    scan-prefix--algorithm)
        case $3 in
        host-sums/* | hierarchical/*) printf '%s\n' "${3%%/*}"/{kogge-stone,brent-kung,warp} ;;
        look-back/* | wave/*) printf '%s\n' "${3%%/*}/warp" ;;
        *) printf '%s\n' auto host-sums hierarchical look-back wave blocked ;;
        esac
        return
        ;;
    scan-compact--algorithm) printf '%s\n' auto look-back wave blocked && return ;;
    scan-sort--algorithm) printf '%s\n' auto radix split quick && return ;;
    esac
    case $2 in
    --device) printf '%s\n' auto cpu cuda ;;
    --progress) printf '%s\n' auto always never ;;
    --dtype | --out-dtype) printf '%s\n' u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 ;;
    --nan) printf '%s\n' first last error ;;
    --op) printf '%s\n' add mul min max ;;
    --method) printf '%s\n' global clahe ;;
    --like) printf '%s\n' opencv pillow imagemagick vips skimage ;;
    --color) printf '%s\n' luma channels ;;
    *) return 1 ;;
    esac
}

_scan_options() {
    case $1 in
    scan-compact) printf '%s\n' --where --unique --nonzero --finite --mask --invert --rejected --indices --dtype --csv \
        --tsv --no-header --algorithm ;;
    scan-equalize) printf '%s\n' --method --like --clip --tiles --color --mask --plot --quality --out-dir ;;
    scan-prefix) printf '%s\n' --op --exclusive --reverse --init --out-dtype --algorithm --key --dtype --csv \
        --tsv --no-header ;;
    scan-sort) printf '%s\n' --key --reverse --unique --check --argsort --nan --algorithm --dtype --csv --tsv \
        --no-header ;;
    esac
    printf '%s\n' --output --force --verify --device --threads --stats --json --progress --help --version
}

_scan_complete() {
    local program=${1##*/} word=${COMP_WORDS[COMP_CWORD]} before='' values
    ((COMP_CWORD > 0)) && before=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if values=$(_scan_values "$program" "$before" "$word"); then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
    elif [[ $before == --out-dir ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_scan_options "$program")" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

complete -o filenames -F _scan_complete scan-compact scan-equalize scan-prefix scan-sort
