# Speedup against accuracy lost, a panel for each network and machine; error bars are 95 % intervals. Filled
# points are on the front and joined, hollow ones perhaps, small ones are not:
#   approxtrain report pareto --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/pareto.gp
# Rows that were not timed or have no loss are left out.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

usable(r) = known(number("speedup")) && known(number("loss_pp"))
methods = ""; schedules = ""
visit(r) = (usable(0) ? (see_panel(text("timed_on")), methods = add(methods, text("method")), \
                       schedules = text("schedule") eq "" ? schedules \
                                   : add(schedules, text("schedule")), 0) : 0)
eval reading
if (panels eq "") { eval nothing; exit }
names = methods
eval own_colours

# Circle, square, triangles, diamond; the next number is the filled one.
hollow(name) = name eq "" ? 6 : word("6 4 8 10 12", (place(schedules, name) - 1) % 5 + 1) + 0
shape(r) = hollow(text("schedule")) + (text("front") eq "yes")
size(r) = text("front") eq "no" ? 0.8 : 1.4
tint(r) = rgb(place(methods, text("method")))

down = count(panels) > 1 ? int((count(panels) + 1) / 2) : 1
across = smaller(count(panels), 2)
entries = count(methods) + count(schedules) + 3
letters = larger(22, larger(longest(methods), longest(schedules)))
eval titles
eval page
set multiplot
set xlabel "speedup of a step over dense, times"
set ylabel "accuracy lost against dense, percentage points"
set xrange [*<0.98:1.02<*]
set yrange [*<-0.1:0.1<*]
set offsets graph 0.04, graph 0.04, graph 0.04, graph 0.04
set arrow 1 from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "#666666"
set arrow 2 from graph 0, first 0 to graph 1, first 0 nohead dashtype 2 linecolor rgb "#666666"
do for [g = 1:count(panels)] {
  in = item(panels, g)
  here(r) = usable(0) && panel(text("timed_on")) eq in
  wide = 0; tall_bars = 0; fronts = 0
  visit(r) = (here(0) ? (wide = larger(wide, known(number("speedup_lo"))), \
                       tall_bars = larger(tall_bars, known(number("loss_pp_lo"))), \
                       fronts = fronts + (text("front") eq "yes"), 0) : 0)
  eval reading
  at = g - 1
  eval frame
  set title title_of(g)
  x(r) = here(0) ? number("speedup") : NaN
  plot for [k = 1:(fronts > 1)] table \
         using (text("front") eq "yes" ? x(0) : NaN):(number("loss_pp")) smooth unique \
         with lines linewidth 1.5 linecolor rgb "#999999" notitle, \
       for [k = 1:wide] table \
         using (x(0)):(number("loss_pp")):(number("speedup_lo")):(number("speedup_hi")):(tint(0)) \
         with xerrorbars pointtype -1 linecolor rgb variable notitle, \
       for [k = 1:tall_bars] table \
         using (x(0)):(number("loss_pp")):(number("loss_pp_lo")):(number("loss_pp_hi")):(tint(0)) \
         with yerrorbars pointtype -1 linecolor rgb variable notitle, \
       table using (x(0)):(number("loss_pp")):(size(0)):(shape(0)):(tint(0)) \
         with points pointsize variable pointtype variable linewidth 1.5 linecolor rgb variable \
         notitle
}
eval strip
unset offsets
plot for [i = 1:count(methods)] -1 with points pointtype 7 pointsize 1.4 \
       linecolor rgb colour(i) title item(methods, i), \
     for [i = 1:count(schedules)] -1 with points pointtype hollow(item(schedules, i)) \
       pointsize 1.4 linewidth 1.5 linecolor rgb "black" title item(schedules, i), \
     -1 with points pointtype 7 pointsize 1.4 linecolor rgb "#666666" \
       title "filled: on the front", \
     -1 with points pointtype 6 pointsize 1.4 linecolor rgb "#666666" title "hollow: perhaps", \
     -1 with points pointtype 6 pointsize 0.8 linecolor rgb "#666666" title "small: not on it"
unset multiplot
