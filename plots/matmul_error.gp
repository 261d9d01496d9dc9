# Error of sampled matrix products by the share of pairs that is taken, one panel for each kind of
# matrices (Adelman et al. 2021, Figure 1):
#   approxtrain study matmul-error --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/matmul_error.gp
# Points are means with 95 % intervals, lines the closed forms of their root mean square.
if (!exists("csv") || !exists("out")) {
  print "usage: gnuplot -e \"csv='X.csv'; out='X.svg'\" plots/matmul_error.gp"
  exit status 2
}
set terminal svg noenhanced size 900,420 font "sans,12" background "white"
set output out
set datafile separator comma
set grid
set xrange [0:1]
set yrange [0:*]
set xlabel "share of pairs taken"
set key top right
methods = "topk_crs crs bernoulli_crs"
kinds = "'mean 1 x mean 1' 'mean 0 x mean 1'"
# Columns: 1 matrices, 2 method, 3 ratio, 6 error, 7 its half interval, 9 closed form of the rms.
here(kind, method) = stringcolumn(1) eq kind && stringcolumn(2) eq method
colour(i) = word("#cc6633 #3366aa #338844", i)
set multiplot layout 1,2
do for [kind in kinds] {
  set title kind
  set ylabel kind eq "mean 1 x mean 1" ? "error (Eq. 18)" : ""
  plot for [i = 1:3] csv skip 1 using (here(kind, word(methods, i)) ? $3 : NaN):6:7 \
         with yerrorbars pointtype 7 pointsize 0.6 linecolor rgb colour(i) \
         title word(methods, i), \
       for [i = 2:3] csv skip 1 using (here(kind, word(methods, i)) ? $3 : NaN):9 \
         with lines linecolor rgb colour(i) notitle
}
unset multiplot
