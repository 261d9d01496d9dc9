# Performance profiles: the share of all problems that a method solves within tau times the time of
# the best, with its interval dotted:
#   approxtrain report profile --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/profile.gp
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

lines = ""; bounded = ""; far = 0; near = 1e300
visit(r) = (known(number("tau")) && known(number("share")) \
           ? (lines = add(lines, text("method")), far = larger(far, number("tau")), \
              near = smaller(near, number("tau")), \
              bounded = known(number("lo")) ? add(bounded, text("method")) : bounded, 0) : 0)
eval reading
if (lines eq "") { eval nothing; exit }
names = lines
eval own_colours

pw = 560
entries = count(lines); letters = longest(lines)
eval page
set multiplot
at = 0
eval frame
set xlabel "time over that of the best"
set ylabel "share of the problems"
set yrange [-0.02:1.04]
if (near > 0 && far > 8 * near) { set logscale x }
one(list, i) = text("method") eq item(list, i) ? number("tau") : NaN
plot for [i = 1:count(bounded)] table using (one(bounded, i)):(number("lo")) with steps \
       dashtype 3 linecolor rgb colour(place(lines, item(bounded, i))) notitle, \
     for [i = 1:count(bounded)] table using (one(bounded, i)):(number("hi")) with steps \
       dashtype 3 linecolor rgb colour(place(lines, item(bounded, i))) notitle, \
     for [i = 1:entries] table using (one(lines, i)):(number("share")) with steps linewidth 2 \
       linecolor rgb colour(i) dashtype dash(i) notitle
eval strip
plot for [i = 1:entries] -1 with lines linewidth 2 linecolor rgb colour(i) dashtype dash(i) \
       title item(lines, i)
unset multiplot
