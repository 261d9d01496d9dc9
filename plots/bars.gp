# The numbers of a paper's figure beside ours, a panel for each quantity: a bar for what was
# measured, with its 95 % interval, and a diamond for what the paper prints. Columns of the CSV:
# row, column, quantity, definition, unit, reported, measured, measured_lo, measured_hi:
#   approxtrain report paper mcdanel2022:figure10 --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/bars.gp
# Rows with neither number are left out.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

usable(r) = known(number("measured")) || known(number("reported"))
bar_panel(r) = joined(plain(text("quantity")), text("definition"))
axis(r) = plain(text("quantity")) . (text("unit") eq "" ? "" : ", " . text("unit"))
bar(r) = joined(text("column"), text("row"))
panels = ""; bars = ""
visit(r) = (usable(0) ? (panels = add(panels, bar_panel(0)), bars = add(bars, bar(0)), 0) : 0)
eval reading
if (panels eq "") { eval nothing; exit }

across = smaller(count(panels), 2); down = int((count(panels) + across - 1) / across)
pw = larger(larger(420, 60 * count(bars)), 8 * longest(panels))
mb = 30 + int(7.4 * longest(bars))
entries = 2; letters = 8
eval page
set multiplot
set yrange [*<0:0<*]
set style fill solid 0.9 noborder
set offsets 0.6, 0.6, graph 0.05, 0
unset grid
set grid ytics linecolor rgb "#dddddd" linetype 1 linewidth 0.7
do for [p = 1:count(panels)] {
  in = item(panels, p)
  here(r) = usable(0) && bar_panel(0) eq in
  marks = ""; label_y = ""; ours = 0; theirs = 0; spread = 0
  visit(r) = (here(0) ? (marks = add(marks, bar(0)), label_y = axis(0), \
                       ours = larger(ours, known(number("measured"))), \
                       theirs = larger(theirs, known(number("reported"))), \
                       spread = larger(spread, known(number("measured_lo"))), 0) : 0)
  eval reading
  at = p - 1
  eval frame
  set title in
  set ylabel label_y
  unset xtics
  set xtics nomirror scale 0 rotate by 90 right ("" -1)
  do for [i = 1:count(marks)] { set xtics add (tick(item(marks, i)) i) }
  set xrange [0.4:count(marks) + 0.6]
  x(r) = here(0) ? place(marks, bar(0)) : NaN
  plot for [k = 1:ours] table using (x(0)):(number("measured")):(0.6) with boxes \
         linecolor rgb colour(1) notitle, \
       for [k = 1:spread] table using (x(0)):(number("measured_lo")):(0):\
         (number("measured_hi") - number("measured_lo")) with vectors nohead linewidth 1.4 \
         linecolor rgb "black" notitle, \
       for [k = 1:theirs] table using (x(0)):(number("reported")) with points pointtype 13 \
         pointsize 1.6 linecolor rgb colour(2) notitle
}
eval strip
unset offsets
plot -1 with lines linewidth 8 linecolor rgb colour(1) title "ours", \
     -1 with points pointtype 13 pointsize 1.6 linecolor rgb colour(2) title "the paper"
unset multiplot
