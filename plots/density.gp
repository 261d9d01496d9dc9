# What is kept of the gradients, by layer: a panel for each network and product, a line for each
# method and schedule:
#   approxtrain report layers --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/density.gp
# Rows without a density (exact or skipped products) are left out.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

usable(r) = known(number("density")) && known(number("layer_index"))
lines = ""; layers = ""; names = ""
product(r) = plain(text("product"))
visit(r) = (usable(0) ? (see_panel(product(0)), names = named_beside(lines), \
                       lines = add(lines, series(0)), layers = add(layers, layer(0)), 0) : 0)
eval reading
if (panels eq "") { eval nothing; exit }
eval own_colours

named = count(layers) <= 60
across = smaller(count(panels), 2); down = int((count(panels) + across - 1) / across)
pw = larger(420, 17 * count(layers))
if (named) { mb = 25 + int(6.2 * longest(layers)) }
ml = 95
entries = count(lines); letters = longest(lines)
eval titles
eval page
set multiplot
set ylabel "share of entries kept"
set yrange [0:*]
set xlabel named ? "" : "layer"
set offsets 0.5, 0.5, 0, 0
do for [p = 1:count(panels)] {
  in = item(panels, p)
  here(r) = usable(0) && panel(product(0)) eq in
  shown = ""; marks = ""
  visit(r) = (here(0) ? (shown = add(shown, series(0)), marks = add(marks, layer(0)), 0) : 0)
  eval reading
  at = p - 1
  eval frame
  set title title_of(p)
  if (named) {
    unset xtics
    set xtics nomirror rotate by 90 right ("" -1)
    do for [i = 1:count(marks)] { set xtics add (tick(name(item(marks, i))) index(item(marks, i))) }
  }
  x(i) = here(0) && series(0) eq item(shown, i) ? number("layer_index") : NaN
  plot for [i = 1:count(shown)] table using (x(i)):(number("density")) with linespoints \
         pointtype 7 pointsize 0.6 linewidth 1.5 \
         linecolor rgb colour(place(lines, item(shown, i))) \
         dashtype dash(place(lines, item(shown, i))) notitle
}
eval strip
unset offsets
plot for [i = 1:entries] -1 with lines linewidth 2 linecolor rgb colour(i) dashtype dash(i) \
       title item(lines, i)
unset multiplot
