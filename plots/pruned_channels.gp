# Four channels of a data gradient as it is and after each pruning, a row for each (McDanel et al. 2022,
# Figure 5); exact zeros are red:
#   approxtrain study pruned-channels --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/pruned_channels.gp
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

methods = ""; channels = 0; side = 0
visit(r) = text("part") eq "pixel" ? (methods = add(methods, text("method")), \
           channels = larger(channels, number("channel") + 1), side = larger(side, number("y") + 1), \
           0) : 0
eval reading
if (methods eq "") { eval nothing; exit }

# The same as numbers alone: sixteen pictures would look at each text sixteen times. `$row` is read as
# the header.
set table $pixels
plot $row using (0):(0):(0):(0):(0) with table, \
     table using (place(methods, text("method"))):(number("channel")):(number("x")):(number("y")): \
       (number("value") != 0 ? number("value") : -1.02) with table if (text("part") eq "pixel")
unset table

across = int(channels); down = count(methods)
ml = 12; mr = 12; mt = 26; mb = 8; pw = 150; ph = 150
eval page
set multiplot
unset key; unset grid; unset border; unset xtics; unset ytics; unset colorbox
# Below -1 stand the exact zeros: an image in which pixels are missing is none.
set palette defined (-1.02 "#cc3311", -1.0001 "#cc3311", -1 "#08306b", -0.15 "#9ecae1", \
  0 "#f7f7f7", 0.15 "#a1d99b", 1 "#00441b")
set cbrange [-1.02:1]
set xrange [-0.5:side - 0.5]
set yrange [side - 0.5:-0.5]
do for [m = 1:down] {
  in = item(methods, m)
  do for [c = 1:across] {
    at = (m - 1) * across + c - 1
    eval frame
    unset label
    if (c == 1) { set label 1 in at graph 0, graph 1.07 left }
    plot $pixels using (column(1) == m && column(2) == c - 1 ? column(3) : NaN):4:5 with image
  }
}
unset multiplot
