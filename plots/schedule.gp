# Schedules as the papers draw them, a panel for each: a row for each layer, a column for each step,
# a colour and a letter for each method. Columns of the CSV: layer_index, layer, step, method
# (empty: exact), and schedule where there are several:
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/schedule.gp
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

of_schedule = ""; methods = ""; layers = ""; from = 1e300; to = -1e300; up = 1e300; low = -1e300
visit(r) = (known(number("step")) && known(number("layer_index")) \
           ? (of_schedule = add(of_schedule, maybe("schedule")), \
              layers = add(layers, layer(0)), \
              methods = text("method") eq "" ? methods : add(methods, text("method")), \
              from = smaller(from, number("step")), to = larger(to, number("step")), \
              up = smaller(up, number("layer_index")), \
              low = larger(low, number("layer_index")), 0) : 0)
eval reading
if (layers eq "") { eval nothing; exit }
names = methods
eval own_colours

side = to - from < 40 ? 26 : 13
pw = larger(160, int(side * (to - from + 1))); ph = larger(60, int(22 * (low - up + 1)))
ml = 60 + int(7.5 * longest(layers))
entries = count(methods) + 1; letters = longest(methods) + 4
across = smaller(count(of_schedule), 3)
down = int((count(of_schedule) + across - 1) / across)
# The label of a schedule is as long as its file likes.
title_of(p) = wrapped(item(of_schedule, p), int((ml + pw) / 7.5))
most_lines = 1
do for [p = 1:count(of_schedule)] { most_lines = larger(most_lines, lines_of(title_of(p))) }
mt = mt + 16 * (most_lines - 1)
eval page
set multiplot
unset grid
set border 0
set tics scale 0
set xlabel "step"
if (to - from < 6) { set xtics 1 }
set xrange [from - 0.5:to + 0.5]
set yrange [-low - 0.5:-up + 0.5]
set style fill solid 0.5 border linecolor rgb "white"
letter(i) = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(i - 1) % 26 + 1:(i - 1) % 26 + 1]
x(r) = number("step")
y(r) = -number("layer_index")
here(r) = maybe("schedule") eq in
of(i) = here(0) && text("method") eq item(used, i) ? x(0) : NaN
set ytics ("" -low - 9)
do for [i = 1:count(layers)] { set ytics add (tick(name(item(layers, i))) -index(item(layers, i))) }
exact_cells = 'table using (here(0) && text("method") eq "" ? x(0) : NaN):(y(0)):(x(0) - 0.47):\
  (x(0) + 0.47):(y(0) - 0.45):(y(0) + 0.45) with boxxyerror fillstyle solid 1 \
  linecolor rgb "#eeeeee" notitle'
other_cells = 'for [i = 1:count(used)] table using (of(i)):(y(0)):(x(0) - 0.47):(x(0) + 0.47):\
  (y(0) - 0.45):(y(0) + 0.45) with boxxyerror \
  linecolor rgb colour(place(methods, item(used, i))) notitle, \
  table using (here(0) && text("method") ne "" ? x(0) : NaN):(y(0)):\
  (letter(place(methods, text("method")))) with labels notitle'
do for [p = 1:count(of_schedule)] {
  in = item(of_schedule, p)
  exact = 0; used = ""
  visit(r) = (here(0) ? (exact = larger(exact, text("method") eq ""), \
                       used = text("method") eq "" ? used : add(used, text("method")), 0) : 0)
  eval reading
  at = p - 1
  eval frame
  set title title_of(p)
  eval "plot " . joined(exact ? exact_cells : "", used eq "" ? "" : other_cells)
}
eval strip
plot for [i = 1:count(methods)] -1 with boxes linecolor rgb colour(i) \
       title letter(i) . "  " . item(methods, i), \
     -1 with boxes fillstyle solid 1 linecolor rgb "#eeeeee" title "exact"
unset multiplot
