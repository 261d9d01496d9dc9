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

entries = count(lines); letters = longest(lines)
ml = 40 + int(7.5 * longest(shapes)); mr = 50; pw = 620
ph = larger(60, int(count(shapes) * larger(26, 9 * entries + 8)))
down = count(panels)
eval page
set multiplot
set xlabel "speedup over the exact product"
if (most > 8 * least) { set logscale x }
set xrange [*<0.9:1.1<*]
set arrow 1 from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "#666666"
unset grid
set grid xtics linecolor rgb "#dddddd" linetype 1 linewidth 0.7
do for [p = 1:down] {
  in = item(panels, p)
  here(r) = usable(0) && panel(0) eq in
  shown = ""; drawn = ""; bars = ""
  visit(r) = (here(0) ? (shown = add(shown, where(0)), drawn = add(drawn, line(0)), \
                       bars = known(number("speedup_lo")) ? add(bars, line(0)) : bars, 0) : 0)
  eval reading
  at = p - 1
  eval frame
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
  y(r) = -place(shown, where(0)) - \
        (entries > 1 ? (place(lines, line(0)) - 0.5 * (entries + 1)) * 0.8 / entries : 0)
  x(list, i) = here(0) && line(0) eq item(list, i) ? number("speedup") : NaN
  plot for [i = 1:count(bars)] table \
         using (x(bars, i)):(y(0)):(number("speedup_lo")):(number("speedup_hi")) with xerrorbars \
         pointtype -1 linewidth 1.4 linecolor rgb colour(place(lines, item(bars, i))) notitle, \
       for [i = 1:count(drawn)] table using (x(drawn, i)):(y(0)) with points pointtype 7 \
         pointsize 0.6 linecolor rgb colour(place(lines, item(drawn, i))) notitle
}
eval strip
plot for [i = 1:entries] -1 with points pointtype 7 linecolor rgb colour(i) title item(lines, i)
unset multiplot
