# Accuracy against time, a panel for each network and setting: exact trainings of several lengths in
# black with the curve that is fitted to them, and each method where a step of its speed takes it; a
# method above the curve saves time at equal accuracy. Time is counted in exact epochs: what a method
# trains, over its speedup. Error bars are 95 % intervals, sideways those of the speedup:
#   approxtrain report breakeven --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/breakeven.gp
# Methods that were not timed are left out. One far below the exact trainings is drawn at the lower edge,
# with its accuracy beside it, so that the others can be told apart. A machine has a shape of its own.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

usable(r) = text("part") eq "method" && known(number("speedup"))
methods = ""; machines = ""; names = ""
visit(r) = (usable(0) ? (see_panel(""), names = named_beside(methods), \
                         methods = add(methods, series(0)), machines = add(machines, text("machine")), 0) : 0)
eval reading
if (panels eq "") { eval nothing; exit }
eval own_colours

# Circle, square, triangles, diamond, filled.
shape(name) = word("7 5 9 11 13", (place(machines, name) - 1) % 5 + 1) + 0
tint(r) = rgb(place(methods, series(0)))

down = count(panels) > 1 ? int((count(panels) + 1) / 2) : 1
across = smaller(count(panels), 2)
several = count(machines) > 1
entries = count(methods) + 1 + (several ? count(machines) : 0)
letters = larger(16, larger(longest(methods), several ? longest(machines) : 0))
eval titles
eval page
set multiplot
set xlabel "time, in epochs of exact training"
set ylabel "accuracy on test images, %"
set xrange [*:*]
set yrange [*:*]
set offsets graph 0.04, graph 0.04, graph 0.04, graph 0.04
do for [g = 1:count(panels)] {
  in = item(panels, g)
  exact(r, what) = text("part") eq what && group(0) eq in
  here(r) = usable(0) && group(0) eq in
  wide = 0; tall_bars = 0; exact_bars = 0; drawn = 0; lowest = 100; highest = 0
  visit(r) = (exact(0, "exact") ? (drawn = 1, \
                lowest = smaller(lowest, number("accuracy_pct")), \
                highest = larger(highest, number("accuracy_pct")), \
                exact_bars = larger(exact_bars, known(number("accuracy_pct_half"))), 0) : 0, \
              here(0) ? (wide = larger(wide, known(number("speedup_lo"))), \
                tall_bars = larger(tall_bars, known(number("accuracy_pct_half"))), 0) : 0, 0)
  eval reading
  at = g - 1
  eval frame
  set title title_of(g)
  edge = drawn ? lowest - larger(highest - lowest, 5) : 0
  is_below(r) = here(0) && number("accuracy_pct") < edge
  y(r) = is_below(0) ? edge : number("accuracy_pct")
  accuracy_beyond(r) = is_below(0) ? sprintf("%.0f %%, beyond the axis", number("accuracy_pct")) : ""
  half(r) = is_below(0) ? NaN : number("accuracy_pct_half")
  soonest(r) = number("epochs") / number("speedup_hi")
  latest(r) = number("epochs") / number("speedup_lo")
  taken(r) = here(0) ? number("epochs") / number("speedup") : NaN
  epochs_of(r, what) = exact(0, what) ? number("epochs") : NaN
  plot for [k = 1:drawn] table using (epochs_of(0, "curve")):(y(0)) \
         with lines linewidth 1.6 linecolor rgb "black" notitle, \
       for [k = 1:exact_bars] table using (epochs_of(0, "exact")):(y(0)):(half(0)) \
         with yerrorbars pointtype -1 linecolor rgb "black" notitle, \
       for [k = 1:drawn] table using (epochs_of(0, "exact")):(y(0)) \
         with points pointtype 7 pointsize 0.9 linecolor rgb "black" notitle, \
       for [k = 1:wide] table \
         using (taken(0)):(y(0)):(soonest(0)):(latest(0)):(tint(0)) \
         with xerrorbars pointtype -1 linecolor rgb variable notitle, \
       for [k = 1:tall_bars] table using (taken(0)):(y(0)):(half(0)):(tint(0)) \
         with yerrorbars pointtype -1 linecolor rgb variable notitle, \
       table using (taken(0)):(y(0)):(shape(text("machine"))):(tint(0)) \
         with points pointsize 1.4 pointtype variable linewidth 1.5 linecolor rgb variable notitle, \
       table using (taken(0)):(y(0)):(accuracy_beyond(0)) \
         with labels left offset character 1, 0 notitle
}
eval strip
unset offsets
plot -1 with linespoints pointtype 7 pointsize 0.9 linewidth 1.6 linecolor rgb "black" \
       title "exact training", \
     for [i = 1:count(methods)] -1 with points pointtype 7 pointsize 1.4 \
       linecolor rgb colour(i) title item(methods, i), \
     for [i = 1:(several ? count(machines) : 0)] -1 with points \
       pointtype shape(item(machines, i)) pointsize 1.4 linecolor rgb "#666666" \
       title item(machines, i)
unset multiplot
