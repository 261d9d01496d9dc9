# Bias against noise of the products of each method, one panel for each product. Both are shares of
# the exact product's length, means over the layers. Methods have numbers, since colours repeat where
# there are many:
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/gradient_error.gp
# X.csv has the columns product, method, bias and noise (scripts/measured/errors.py).
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

panels = ""; methods = ""
visit(r) = (panels = add(panels, text("product")), methods = add(methods, text("method")), 0)
eval reading
if (panels eq "") { eval nothing; exit }
names = methods
eval own_colours

across = count(panels)
entries = count(methods)
letters = longest(methods)
eval page
set multiplot
set xrange [0:*]
set yrange [0:*]
set offsets graph 0, graph 0.05, graph 0.05, 0
set xlabel "bias"
set ylabel "noise of a draw"
x(list, i) = text("product") eq in && text("method") eq item(list, i) ? number("bias") : NaN
do for [p = 1:across] {
  in = item(panels, p)
  shown = ""  # not every method has every product
  visit(r) = (text("product") eq in ? (shown = add(shown, text("method")), 0) : 0)
  eval reading
  at = p - 1
  eval frame
  set title in
  plot for [i = 1:count(shown)] table using (x(shown, i)):(number("noise")) with points \
       pointtype 7 pointsize 0.8 linecolor rgb colour(place(methods, item(shown, i))) notitle, \
     for [i = 1:count(shown)] table using (x(shown, i)):(number("noise")):\
       (sprintf("%d", place(methods, item(shown, i)))) with labels left offset 0.6, 0.5 notitle
}
eval strip
unset offsets
plot for [i = 1:entries] -1 with points pointtype 7 linecolor rgb colour(i) \
       title sprintf("%d  %s", i, item(methods, i))
unset multiplot
