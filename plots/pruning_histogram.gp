# Gradients before and after stochastic pruning in units of the threshold tau, a panel for each of up to
# six layers (Ye et al. 2020, Figure 2):
#   approxtrain study densities --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/pruning_histogram.gp
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

panels = ""
visit(r) = text("part") eq "histogram" ? (panels = add(panels, text("layer")), 0) : 0
eval reading
if (panels eq "") { eval nothing; exit }

shown = smaller(6, count(panels))
across = smaller(3, shown); down = int((shown + 2) / 3)
ml = 80; mr = 20; pw = 300; ph = 200
eval page
set multiplot
set style fill solid 0.5 noborder
set boxwidth 0.09
set xrange [-2.05:2.05]
set xlabel "gradient / tau"
set ylabel "entries"
set format y "%.0s%c"
set logscale y
set yrange [0.8:*]
do for [g = 1:shown] {
  in = item(panels, g)
  here(r) = text("part") eq "histogram" && text("layer") eq in
  at = g - 1
  eval frame
  set title in
  if (g == 1) { set key top left samplen 1 } else { set key off }
  plot table using (here(0) ? number("from") + 0.05 : NaN):(number("count_before")) \
         with boxes linecolor rgb colour(1) title "before", \
       table using (here(0) ? number("from") + 0.05 : NaN):(number("count_after")) \
         with points pointtype 7 pointsize 0.45 linecolor rgb colour(2) title "after"
}
unset multiplot
