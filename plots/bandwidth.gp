# Time of a training step of several ranks against the bandwidth between them, a colour for each arm:
# points for what was measured, from the least run to the greatest, and lines for the model fitted to
# them:
#   scripts/rank-bandwidth --model results/measured/X/rank_bandwidth.csv --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/bandwidth.gp
# Cells without a delay. Bandwidths stand as far from "unlimited" as a byte takes longer, so that
# a step that waits for its bytes lies on a straight line.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

usable(r) = number("delay_ms") == 0
arms = ""; bandwidths = ""
visit(r) = (usable(0) ? (arms = add(arms, text("arm")), heading = text("ranks") . " ranks", \
            bandwidths = add(bandwidths, text("bandwidth_mbit") eq "" ? "unlimited" : \
                                         text("bandwidth_mbit")), 0) : 0)
eval reading
if (arms eq "") { eval nothing; exit }
names = arms
eval own_colours

pw = 560
arms_shown = count(arms); entries = arms_shown + 1
letters = larger(longest(arms), strlen("line: model"))
mb = 125
eval page
set multiplot
at = 0
eval frame
place_of(mbit) = mbit eq "unlimited" || mbit eq "" ? 0 : 1000 / (mbit + 0.0)
set xtics scale 0.5 rotate by 90 right ("" -1)
do for [i = 1:count(bandwidths)] {
  set xtics add (item(bandwidths, i) place_of(item(bandwidths, i)))
}
set offsets graph 0.02, graph 0.02, graph 0.05, 0
set yrange [0:*]
set xlabel "Mbit/s of a rank, spaced by the time of a byte"
set ylabel "step, ms"
x(i) = usable(0) && text("arm") eq item(arms, i) ? place_of(text("bandwidth_mbit")) : NaN
plot for [i = 1:arms_shown] table using (x(i)):(number("model_ms")) with lines linewidth 1.2 \
       linecolor rgb colour(i) notitle, \
     for [i = 1:arms_shown] table using (x(i)):(number("step_ms")):(number("step_ms_low")):\
       (number("step_ms_high")) with yerrorbars pointtype 7 pointsize 0.6 \
       linecolor rgb colour(i) notitle
eval strip
unset offsets
plot for [i = 1:arms_shown] -1 with points pointtype 7 linecolor rgb colour(i) \
       title item(arms, i), \
     -1 with lines linewidth 1.2 linecolor rgb "#666666" title "line: model"
unset multiplot
