# The numbers of a paper's figure beside ours, a panel for each quantity and for each hardware and
# basis that the paper has of it: a bar for what was measured, with its 95 % interval, and a diamond
# for what the paper prints. Columns of the CSV: row, column, quantity, definition, unit, reported,
# measured, measured_lo, measured_hi, and where they are there basis, hardware, item, scale,
# network, dataset:
#   approxtrain report paper mcdanel2022:figure10 --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/bars.gp
# Rows with neither number are left out, and panels of which nothing was measured where others were:
# the table has what the paper prints of those.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

has_number(r) = known(number("measured")) || known(number("reported"))
what(r) = joined(plain(text("quantity")), text("definition"))
# The hardware is that of the paper's number: ours is of the machine that measured it.
basis_words(s) = s eq "measured-e2e" ? "whole steps or trainings, timed" : \
  s eq "measured-kernel" ? "one product of one layer, timed" : \
  s eq "measured-backward" ? "gradients of a step, timed" : \
  s eq "count" ? "counted" : s eq "unknown" ? "the paper does not say how" : s
made(r) = joined(maybe("hardware") eq "" ? "" : "the paper's on " . text("hardware"), \
                 basis_words(maybe("basis")))
bar_panel(r) = joined(what(0), made(0))
# Panels of which something was measured; without any all are drawn.
measured_in = ""
visit(r) = known(number("measured")) ? (measured_in = add(measured_in, bar_panel(0)), 0) : 0
eval reading
usable(r) = has_number(0) && (measured_in eq "" || holds(measured_in, bar_panel(0)))
axis(r) = plain(text("quantity")) . (text("unit") eq "" ? "" : ", " . text("unit"))
bar(r) = joined(text("column"), text("row"))
bars = ""; whats = ""; mades = ""; any_ours = 0; any_theirs = 0
see_bar(r) = strstrt("\n" . panels, "\n" . bar_panel(0) . "\n") ? 0 : \
  (panels = panels . bar_panel(0) . "\n", whats = whats . what(0) . "\n", \
   mades = mades . made(0) . "\n", 0)
scale_words(s) = s eq "" ? "" : s . " scale"
visit(r) = (usable(0) ? (see_bar(0), bars = add(bars, bar(0)), \
                       any_ours = larger(any_ours, known(number("measured"))), \
                       any_theirs = larger(any_theirs, known(number("reported"))), \
                       heading = joined(joined(maybe("item"), scale_words(maybe("scale"))), \
                                        joined(maybe("network"), maybe("dataset"))), 0) : 0)
eval reading
if (panels eq "") { eval nothing; exit }

across = smaller(count(panels), 2); down = int((count(panels) + across - 1) / across)
pw = larger(larger(420, 60 * count(bars)), 8 * longest(whats))
mb = 30 + int(7.4 * longest(bars))
# What is measured, and in the lines below it by whom and how.
two(a, b) = b eq "" ? a : a . "\n" . wrapped(b, int(pw / 7.5))
bar_title(p) = two(item(whats, p), item(mades, p))
most_lines = 1
do for [p = 1:count(panels)] { most_lines = larger(most_lines, lines_of(bar_title(p))) }
mt = mt + 16 * (most_lines - 1)
entries = any_ours + any_theirs; letters = 9
eval page
set multiplot
set style fill solid 0.9 noborder
set offsets 0.6, 0.6, graph 0.05, 0
unset grid
set grid ytics linecolor rgb "#dddddd" linetype 1 linewidth 0.7
# A part without a number is not drawn at all: gnuplot warns of it.
boxes = 'table using (x(0)):(number("measured")):(0.6) with boxes linecolor rgb colour(1) notitle'
intervals = 'table using (x(0)):(number("measured_lo")):(0):\
  (number("measured_hi") - number("measured_lo")) with vectors nohead linewidth 1.4 \
  linecolor rgb "black" notitle'
diamonds = 'table using (x(0)):(number("reported")) with points pointtype 13 pointsize 1.6 \
  linecolor rgb colour(2) notitle'
stretch(v) = known(v) ? (bottom = smaller(bottom, v), top = larger(top, v), 0) : 0
do for [p = 1:count(panels)] {
  in = item(panels, p)
  here(r) = usable(0) && bar_panel(0) eq in
  marks = ""; label_y = ""; ours = 0; theirs = 0; spread = 0; bottom = 0; top = 0
  visit(r) = (here(0) ? (marks = add(marks, bar(0)), label_y = axis(0), \
                       ours = larger(ours, known(number("measured"))), \
                       theirs = larger(theirs, known(number("reported"))), \
                       spread = larger(spread, known(number("measured_lo"))), \
                       stretch(number("measured")), stretch(number("measured_lo")), \
                       stretch(number("measured_hi")), stretch(number("reported")), 0) : 0)
  eval reading
  at = p - 1
  eval frame
  set title bar_title(p)
  set ylabel label_y
  # From zero on: of a single number gnuplot would show a hundredth around it.
  set yrange [*:*]
  if (bottom == 0) { set yrange [0:*] }
  if (top == 0) { set yrange [*:0] }
  if (bottom == top) { set yrange [0:1] }
  unset xtics
  set xtics nomirror scale 0 rotate by 90 right ("" -1)
  do for [i = 1:count(marks)] { set xtics add (tick(item(marks, i)) i) }
  set xrange [0.4:count(marks) + 0.6]
  x(r) = here(0) ? place(marks, bar(0)) : NaN
  eval "plot " . joined(joined(ours ? boxes : "", spread ? intervals : ""), \
                        theirs ? diamonds : "")
}
eval strip
unset offsets
plot for [k = 1:any_ours] -1 with lines linewidth 8 linecolor rgb colour(1) title "ours", \
     for [k = 1:any_theirs] -1 with points pointtype 13 pointsize 1.6 linecolor rgb colour(2) \
       title "the paper"
unset multiplot
