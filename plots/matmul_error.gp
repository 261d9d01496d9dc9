# Error of sampled matrix products by the share of pairs that is taken, one panel for each kind of
# matrices (Adelman et al. 2021, Figure 1):
#   approxtrain study matmul-error --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/matmul_error.gp
# Points are means with 95 % intervals, lines the closed forms of their root mean square.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

panels = ""; methods = ""; any_closed = 0
visit(r) = (panels = add(panels, text("matrices")), methods = add(methods, text("method")), \
           any_closed = larger(any_closed, known(number("rms_closed_form"))), 0)
eval reading
if (panels eq "") { eval nothing; exit }
names = methods
eval own_colours

across = count(panels)
entries = count(methods) + any_closed
letters = larger(longest(methods), strlen("line: closed form"))
eval page
set multiplot
set xrange [0:1]
set yrange [0:*]
set xlabel "share of pairs taken"
set ylabel "error (Eq. 18)"
lines = 'for [i = 1:count(closed)] table using (x(closed, i)):(number("rms_closed_form")) \
  with lines linecolor rgb colour(place(methods, item(closed, i))) notitle'
points = 'for [i = 1:count(shown)] table \
  using (x(shown, i)):(number("error")):(number("error_half")) with yerrorbars pointtype 7 \
  pointsize 0.6 linecolor rgb colour(place(methods, item(shown, i))) notitle'
do for [p = 1:across] {
  in = item(panels, p)
  shown = ""; closed = ""
  visit(r) = (text("matrices") eq in \
             ? (shown = add(shown, text("method")), \
                closed = known(number("rms_closed_form")) ? add(closed, text("method")) : closed, \
                0) : 0)
  eval reading
  at = p - 1
  eval frame
  set title in
  x(list, i) = text("matrices") eq in && text("method") eq item(list, i) ? number("ratio") : NaN
  eval "plot " . joined(closed eq "" ? "" : lines, points)
}
eval strip
plot for [i = 1:count(methods)] -1 with points pointtype 7 linecolor rgb colour(i) \
       title item(methods, i), \
     for [k = 1:any_closed] -1 with lines linecolor rgb "#666666" title "line: closed form"
unset multiplot
