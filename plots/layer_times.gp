# The time of each layer's three products (McDanel et al. 2022, Figure 9), exact and by methods, and as
# a circle what the paper would estimate of these. Columns of the CSV: layer_index, layer, product
# (forward, data_gradient, weight_gradient), ms, lo, hi, method, estimated_ms, variant:
#   approxtrain study layer-times --network resnet18 --dataset synthetic224 --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/layer_times.gp
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

# Sums over all layers stand at index 0: no bars, or they would dwarf the others.
usable(r) = known(number("ms")) && known(number("layer_index")) && number("layer_index") > 0
# A study of an earlier program has the exact products alone, and no column that says so.
has_methods = strstrt("," . system('awk "NR == 1" "' . csv . '"') . ",", ",method,") > 0
has_variants = strstrt("," . system('awk "NR == 1" "' . csv . '"') . ",", ",variant,") > 0
variant_of(r) = has_variants && strlen(text("variant")) ? " by " . text("variant") : ""
method_of(r) = has_methods && text("method") ne "dense" ? text("method") . variant_of(0) : ""
drawn(r) = joined(text("product"), method_of(0))
estimated(r) = has_methods && usable(0) && known(number("estimated_ms"))
products = ""; layers = ""; errors = 0; estimates = 0
visit(r) = (usable(0) ? (products = add(products, drawn(0)), \
                       layers = add(layers, layer(0)), \
                       estimates = larger(estimates, estimated(0)), \
                       errors = larger(errors, known(number("lo")) && known(number("hi"))), 0) : 0)
eval reading
if (products eq "") { eval nothing; exit }

pw = larger(420, 34 * count(layers)); mb = 25 + int(6.2 * longest(layers))
entries = count(products); letters = longest(products)
eval page
set multiplot
at = 0
eval frame
set ylabel "ms"
set yrange [0:*]
set xtics rotate by 90 right scale 0 ("" -1)
do for [i = 1:count(layers)] { set xtics add (tick(name(item(layers, i))) index(item(layers, i))) }
unset grid
set grid ytics linecolor rgb "#dddddd" linetype 1 linewidth 0.7
set style fill solid 0.9 noborder
set offsets 0.4, 0.4, 0, 0
broad = 0.8 / entries
which(r) = place(products, drawn(0))
x(r) = number("layer_index") + (which(0) - 0.5 * (entries + 1)) * broad
here(i) = usable(0) && which(0) == i ? x(0) : NaN
plot for [i = 1:entries] table using (here(i)):(number("ms")):(broad * 0.94) with boxes \
       linecolor rgb colour(i) notitle, \
     for [k = 1:errors] table using (usable(0) ? x(0) : NaN):(number("lo")):(0):\
       (number("hi") - number("lo")) with vectors nohead linewidth 1.4 linecolor rgb "black" \
       notitle, \
     for [k = 1:estimates] table using (estimated(0) ? x(0) : NaN):(estimated(0) ? \
       number("estimated_ms") : NaN) \
       with points pointtype 6 pointsize 0.6 linecolor rgb "black" notitle
eval strip
unset offsets
plot for [i = 1:entries] -1 with lines linewidth 8 linecolor rgb colour(i) \
       title item(products, i), \
     for [k = 1:estimates] -1 with points pointtype 6 linecolor rgb "black" title "estimated"
unset multiplot
