# Time to target, a panel for each network and target, a bar for each method and schedule: the
# restricted mean with its 95 % interval, and how many of the runs reached the target. The dotted
# mark is the budget; where there is no mean an empty bar goes up to it. Exact trainings that are as
# short as a method is fast are left out:
#   approxtrain report tta --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/tta.gp
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

target(r) = "to " . text("target_pct") . " %"
goal(r) = panel(target(0))
span(r) = known(number("restricted_mean_se")) ? 1.96 * number("restricted_mean_se") : 0
end(r) = known(number("restricted_mean_s")) ? number("restricted_mean_s") + span(0) : 0
limit(r) = known(number("budget_s")) ? number("budget_s") : 0
# Panels without any time are left out: the table says who reached the target.
timed = ""
visit(r) = shorter(0) || (end(0) == 0 && limit(0) == 0) ? 0 : (timed = add(timed, goal(0)), 0)
eval reading
usable(r) = !shorter(0) && holds(timed, goal(0))
methods = ""; labels = ""
visit(r) = !usable(0) ? 0 : (see_panel(target(0)), methods = add(methods, text("method")), \
           labels = add(labels, series(0)), 0)
eval reading
if (panels eq "") { eval nothing; exit }
names = methods
eval own_colours

ml = 30 + int(7.5 * longest(labels)); mr = 80; pw = 480
mb = 70
across = 1; down = count(panels)
# A panel is as high as what it shows: a store has few methods of all in each.
array height_of[down]
eval titles
do for [g = 1:down] {
  in = item(panels, g); shown = ""
  visit(r) = usable(0) && goal(0) eq in ? (shown = add(shown, series(0)), 0) : 0
  eval reading
  height_of[g] = 24 * count(shown) + 16
  stacked = stacked + mt + height_of[g] + mb
}
eval page
set multiplot
set style fill solid 0.85 noborder
unset grid
set grid xtics linecolor rgb "#dddddd" linetype 1 linewidth 0.7
set border 1
set xlabel "training time to the target, seconds (mean up to the budget, dotted)"
# A part without a number is not drawn at all: gnuplot warns of it.
drawn_bars = 'table using (mean(0)):(y(0)):(0):(mean(0)):(y(0) - 0.34):(y(0) + 0.34):(tint(0)) \
  with boxxyerror linecolor rgb variable notitle'
drawn_open = 'table using (limit(0)):(empty(0)):(0):(limit(0)):(empty(0) - 0.34):(empty(0) + 0.34) \
  with boxxyerror linecolor rgb "#666666" fillstyle empty border notitle'
drawn_errors = 'table using (mean(0)):(span(0) > 0 ? y(0) : NaN):(mean(0) - span(0)):\
  (mean(0) + span(0)) with xerrorbars pointtype -1 linewidth 1.4 linecolor rgb "black" notitle'
drawn_limits = 'table using (limit(0) > 0 ? limit(0) : NaN):(y(0) - 0.45):(0):(0.9) \
  with vectors nohead dashtype 3 linewidth 1.6 linecolor rgb "#444444" notitle'
do for [g = 1:down] {
  in = item(panels, g)
  here(r) = usable(0) && goal(0) eq in
  shown = ""; tips = ""; right = 0; bars = 0; errors = 0; open = 0; limits = 0
  visit(r) = (here(0) ? (shown = add(shown, series(0)), \
                       tips = tips . text("reached") . "/" . text("runs") . "\n", \
                       right = larger(right, larger(end(0), limit(0))), \
                       bars = larger(bars, known(number("restricted_mean_s"))), \
                       errors = larger(errors, span(0) > 0), \
                       open = larger(open, !known(number("restricted_mean_s")) && limit(0) > 0), \
                       limits = larger(limits, limit(0) > 0), 0) : 0)
  eval reading
  at = g - 1; ph = height_of[g]
  unset label
  eval frame
  before = before + mt + ph + mb
  set title title_of(g)
  if (right == 0) { right = 1 }
  set xrange [0:right * 1.04]
  set yrange [-count(shown) - 0.5:-0.5]
  unset ytics
  set ytics scale 0
  set ytics ("" 0)
  do for [i = 1:count(shown)] {
    set ytics add (tick(item(shown, i)) -i)
    set label i item(tips, i) at graph 1.02, first -i
  }
  y(r) = here(0) ? -place(shown, series(0)) : NaN
  tint(r) = rgb(place(methods, text("method")))
  mean(r) = number("restricted_mean_s")
  empty(r) = known(mean(0)) ? NaN : y(0)
  eval "plot " . joined(joined(bars ? drawn_bars : "", open ? drawn_open : ""), \
                        joined(errors ? drawn_errors : "", limits ? drawn_limits : ""))
}
unset multiplot
