#!/bin/sh
# Xiao et al., Med. Phys. 2012, Table 2, on this machine's card: branches, divergent branches, instructions (all of warps) and
# memory throughput of lines that each walk by themselves, by Algorithm 1 (original) and Algorithm 2 (nc), over the seven
# geometries of Table 1. Needs Nsight Compute (ncu) and the right to read counters.
#
#     sh benches/xiao_table2.sh
set -e
bench=$(cargo bench --bench xiao --no-run 2>&1 | sed -n 's/.*Executable benches.*(\(.*\))/\1/p')
[ -x "$bench" ] || { echo "cargo bench --bench xiao --no-run builds nothing" >&2; exit 1; }
metrics=smsp__sass_branch_targets.sum,smsp__sass_branch_targets_threads_divergent.sum,smsp__inst_executed.sum
metrics=$metrics,dram__bytes_read.sum.per_second,dram__bytes_write.sum.per_second,lts__t_bytes.sum.per_second
metrics=$metrics,gpu__time_duration.sum
printf '%-14s %-9s %10s %10s %10s %9s %9s %9s %9s\n' \
    case walk branches divergent instr. 'read GB/s' write overall 'L2 GB/s'
for case in xiao-water xiao-breast-a xiao-breast-b xiao-lung-a xiao-lung-b xiao-head-a xiao-head-b; do
    for walk in original nc; do
        ncu --clock-control none --csv --page raw --print-units base -k regex:^xiao_ --launch-count 1 --metrics "$metrics" \
            "$bench" "$case" --walk "$walk" --runs 1 |
            python3 -c '
import csv, sys
rows = list(csv.reader(line for line in sys.stdin if line.startswith("\"")))
row = dict(zip(rows[0], rows[2]))
v = [float(row[name].replace(",", "")) for name in sys.argv[3].split(",")]
print("%-14s %-9s %10.2e %10.2e %10.2e %9.1f %9.1f %9.1f %9.1f" % (
    *sys.argv[1:3], v[0], v[1], v[2], v[3] / 1e9, v[4] / 1e9, (v[3] + v[4]) / 1e9, v[5] / 1e9))
' "$case" "$walk" "$metrics"
    done
done
