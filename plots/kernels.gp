# Speedup of one product over the exact one, with its 95 % interval: a panel for each product,
# device, precision and number of threads, a row for each shape, a colour for each method and
# variant:
#   approxtrain report kernels --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/kernels.gp
# only='topk_position' shows the methods whose text contains that.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

wanted(s) = exists("only") ? strstrt(s, only) > 0 : 1
# A layer at each epoch that was recorded is a row of its own.
where(r) = text("epoch") eq "" ? text("shape") : text("shape") . ", epoch " . text("epoch")
usable(r) = known(number("speedup")) && number("speedup") > 0 && wanted(text("method"))
panel(r) = sprintf("%s, %s, %s, threads: %s", text("op"), text("device"), text("precision"), \
                  text("threads"))
line(r) = joined(text("method"), text("variant"))
panels = ""; shapes = ""; lines = ""; most = 0; least = 1e300
visit(r) = (usable(0) ? (panels = add(panels, panel(0)), shapes = add(shapes, where(0)), \
                       lines = add(lines, line(0)), most = larger(most, number("speedup")), \
                       least = smaller(least, number("speedup")), 0) : 0)
eval reading
if (panels eq "") { eval nothing; exit }

# What each panel shows: a store has few of all methods in all precisions, so that a panel with room
# for everything would be empty for the most part.
down = count(panels)
array shown_in[down]; array drawn_in[down]; array barred_in[down]; array height_of[down]
here(r) = usable(0) && panel(0) eq in
entries = count(lines); letters = longest(lines)
ml = 40 + int(7.5 * longest(shapes)); mr = 50; pw = 620
do for [p = 1:down] {
  in = item(panels, p)
  shown = ""; drawn = ""; bars = ""
  visit(r) = (here(0) ? (shown = add(shown, where(0)), drawn = add(drawn, line(0)), \
                       bars = known(number("speedup_lo")) ? add(bars, line(0)) : bars, 0) : 0)
  eval reading
  shown_in[p] = shown; drawn_in[p] = drawn; barred_in[p] = bars
  height_of[p] = larger(60, int(count(shown) * larger(26, 9 * count(drawn) + 8)))
  stacked = stacked + mt + height_of[p] + mb
}
eval page
set multiplot
set xlabel "speedup over the exact product"
if (most > 8 * least) { set logscale x }
set xrange [*<0.9:1.1<*]
set arrow 1 from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "#666666"
unset grid
set grid xtics linecolor rgb "#dddddd" linetype 1 linewidth 0.7
# By colour, and from the ninth on by the form of the point too.
form(i) = word("7 5 9 13 11 4 8 12 6 10", int((i - 1) / 8) % 10 + 1) + 0
do for [p = 1:down] {
  in = item(panels, p)
  shown = shown_in[p]; drawn = drawn_in[p]; bars = barred_in[p]
  at = p - 1; ph = height_of[p]
  eval frame
  before = before + mt + ph + mb
  set title in
  set yrange [-count(shown) - 0.5:-0.5]
  unset ytics
  set ytics scale 0 ("" 0)
  do for [i = 1:count(shown)] { set ytics add (tick(item(shown, i)) -i) }
  unset arrow
  set arrow 1 from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "#666666"
  do for [i = 1:count(shown) - 1] {
    set arrow 1 + i from graph 0, first -i - 0.5 to graph 1, first -i - 0.5 nohead \
        linecolor rgb "#dddddd"
  }
  n = count(drawn)
  y(r) = -place(shown, where(0)) - \
        (n > 1 ? (place(drawn, line(0)) - 0.5 * (n + 1)) * 0.8 / n : 0)
  # Numbers alone, below a row that is read as a header: a line that looked for its points in the
  # table would read all of it. A row with a NaN would be left out.
  or_none(v) = known(v) ? v : -1
  set table $points
  plot $row using (0):(0):(0):(0):(0) with table, \
       table using (place(drawn, line(0))):(number("speedup")):(y(0)): \
         (or_none(number("speedup_lo"))):(or_none(number("speedup_hi"))) with table if (here(0))
  unset table
  x(i) = column(1) == i ? column(2) : NaN
  barred(i) = column(4) < 0 ? NaN : x(i)
  plot for [i = 1:count(bars)] $points \
         using (barred(place(drawn, item(bars, i)))):3:4:5 with xerrorbars \
         pointtype -1 linewidth 1.4 linecolor rgb colour(place(lines, item(bars, i))) notitle, \
       for [i = 1:n] $points using (x(i)):3 with points pointtype form(place(lines, item(drawn, i))) \
         pointsize 0.6 linecolor rgb colour(place(lines, item(drawn, i))) notitle
}
eval strip
plot for [i = 1:entries] -1 with points pointtype form(i) linecolor rgb colour(i) \
       title item(lines, i)
unset multiplot
