# Speedup against accuracy, one point with its 95 % intervals for every row of `approxtrain report`:
#   approxtrain report --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/speedup_accuracy.gp
# Rows without a measured speedup (timing runs) are left out, as gnuplot leaves out empty cells.
if (!exists("csv") || !exists("out")) {
  print "usage: gnuplot -e \"csv='X.csv'; out='X.svg'\" plots/speedup_accuracy.gp"
  exit status 2
}
set terminal svg noenhanced size 800,500 font "sans,12" background "white"
set output out
set datafile separator comma
set key off
set grid
set xlabel "speedup over dense, timing runs (95 % interval)"
set ylabel "accuracy, % (mean over seeds, 95 % interval)"
set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 2
label(method, schedule) = schedule eq "" ? method : method . ", " . schedule
plot csv using "speedup":"accuracy_pct":"speedup_lo":"speedup_hi":\
       (column("accuracy_pct") - column("accuracy_pct_half")):\
       (column("accuracy_pct") + column("accuracy_pct_half")) \
       with xyerrorbars pointtype 7 linecolor "#3366aa", \
     csv using "speedup":"accuracy_pct":(label(stringcolumn("method"), stringcolumn("schedule"))) \
       with labels left offset 0.5,0.5 font "sans,9"
