# Training curves: a panel for each metric and network, a line for each method and schedule, a band
# for the 95 % interval, or from the least to the greatest where there is none. A line that was
# evaluated once is a point with that as its error bar:
#   approxtrain report curves --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/curves.gp
# Shows loss/train and accuracy/test where they are there; metrics='all' shows everything there is.
# Exact trainings that are as short as a method is fast are left out. Of more than six lines the exact
# ones and those that end with the best accuracy have colours; the others are grey.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

kind(r) = text("metric") . "/" . text("split")
# What an axis says; accuracies are drawn in per cent.
is_accuracy(kind) = strstrt(kind, "accuracy/") == 1
where_words(split) = split eq "test" ? "test images" : split eq "holdout" ? "held-out images" : \
                     split eq "train" ? "training images" : split
axis_words(kind) = is_accuracy(kind) ? "accuracy on " . where_words(kind[10:]) . ", %" : \
                   strstrt(kind, "loss/") == 1 ? "loss on " . where_words(kind[6:]) : kind
kinds = ""; lines = ""; names = ""
visit(r) = shorter(0) ? 0 : (see_panel(""), kinds = add(kinds, kind(0)), \
           names = named_beside(lines), lines = add(lines, series(0)), 0)
eval reading
if (kinds eq "") { eval nothing; exit }

usual = ""
do for [name in "loss/train accuracy/test"] {
  if (holds(kinds, name)) { usual = add(usual, name) }
}
everything = exists("metrics") ? metrics eq "all" : 0
if (usual ne "" && !everything) { kinds = usual }

# At most six lines have a colour: more cannot be followed. hot[i]: whether line i has one.
most_hot = 6
all = count(lines)
eval own_colours
array ends[all]
do for [i = 1:all] { ends[i] = is_exact(item(lines, i)) ? 1e9 : -i }
visit(r) = shorter(0) || !is_accuracy(kind(0)) || !known(number("mean")) || \
           is_exact(series(0)) ? 0 : (ends[place(lines, series(0))] = number("mean"), 0)
eval reading
# The first of two that end alike goes before.
ahead(i) = int(sum [j = 1:all] (ends[j] > ends[i] || (ends[j] == ends[i] && j < i)))
array hot[all]
named = ""; grey = ""
do for [i = 1:all] {
  hot[i] = ahead(i) < most_hot
  if (hot[i]) { named = named . item(lines, i) . "\n" } else { grey = grey . item(lines, i) . "\n" }
}
others_text = sprintf("%d other%s", count(grey), count(grey) == 1 ? "" : "s")

across = count(kinds); down = count(panels)
entries = count(named) + (grey ne ""); letters = larger(longest(named), 10)
ml = 95 # room for "0.305" beside the words
eval titles
eval page
set multiplot
set xlabel "epoch"
unit(r) = is_accuracy(kind(0)) ? 100 : 1
mean(r) = unit(0) * number("mean")
low(r) = unit(0) * (strlen(text("lo")) ? number("lo") : number("min"))
high(r) = unit(0) * (strlen(text("hi")) ? number("hi") : number("max"))
without(list, other) = list eq "" ? "" : \
  (holds(other, first(list)) ? "" : first(list) . "\n") . without(rest(list), other)
mark(r) = text("epoch") . " " . series(0)
stretch(v) = known(v) ? (bottom = smaller(bottom, v), top = larger(top, v), 0) : 0
# Points at one epoch would lie on each other.
aside(s) = from == to ? 0.8 * (place(lines, s) - 0.5 * (all + 1)) / all : 0
drawn_bands = 'for [i = 1:count(bands)] table \
  using (one(bands, i) ? number("epoch") : NaN):(low(0)):(high(0)) \
  with filledcurves fillcolor rgb pale(place(lines, item(bands, i))) notitle'
drawn_bars = 'for [i = 1:count(bars)] table \
  using (one(bars, i) ? number("epoch") + aside(item(bars, i)) : NaN):(mean(0)):(low(0)):(high(0)) \
  with yerrorbars pointtype -1 linewidth 1.4 \
  linecolor rgb colour(place(lines, item(bars, i))) notitle'
drawn_grey = 'for [i = 1:count(cold)] table \
  using (one(cold, i) ? number("epoch") + aside(item(cold, i)) : NaN):(mean(0)) \
  with lines linewidth 1 linecolor rgb "#bbbbbb" notitle'
drawn_lines = 'for [i = 1:count(shown)] table \
  using (one(shown, i) ? number("epoch") + aside(item(shown, i)) : NaN):(mean(0)) \
  with linespoints pointtype 7 pointsize 0.35 linewidth 1.6 \
  linecolor rgb colour(place(lines, item(shown, i))) \
  dashtype dash(place(lines, item(shown, i))) notitle'
do for [g = 1:down] {
  do for [k = 1:across] {
    in = item(panels, g); metric = item(kinds, k)
    here(r) = group(0) eq in && kind(0) eq metric && !shorter(0)
    shown = ""; banded = ""; once = ""; several = ""
    from = 1e300; to = -1e300; bottom = 1e300; top = -1e300
    visit(r) = (here(0) && known(number("mean")) \
                ? (several = !holds(shown, series(0)) || holds(once, mark(0)) \
                             ? several : add(several, series(0)), \
                   once = holds(shown, series(0)) ? once : add(once, mark(0)), \
                   shown = add(shown, series(0)), from = smaller(from, number("epoch")), \
                   to = larger(to, number("epoch")), stretch(mean(0)), stretch(low(0)), \
                   stretch(high(0)), 0) : 0, \
               here(0) && known(low(0)) ? (banded = add(banded, series(0)), 0) : 0, 0)
    eval reading
    cold = without(shown, named); shown = without(shown, cold)
    bands = without(without(banded, without(shown, several)), cold)
    bars = without(without(banded, several), cold)
    at = (g - 1) * across + k - 1
    eval frame
    set title title_of(g)
    set ylabel axis_words(metric)
    # Epochs are whole; of a single one gnuplot would make an axis from 2.97 to 3.03.
    set xrange [*:*]
    set yrange [*:*]
    set xtics autofreq
    if (bottom == top) { set yrange [bottom - 1:bottom + 1] }
    if (from == to) { set xrange [from - 1:to + 1] }
    if (to - from < 6) { set xtics 1 }
    if (shown ne "" || cold ne "") {
      one(list, i) = here(0) && series(0) eq item(list, i)
      eval "plot " . joined(joined(cold eq "" ? "" : drawn_grey, bands eq "" ? "" : drawn_bands), \
                            joined(bars eq "" ? "" : drawn_bars, shown eq "" ? "" : drawn_lines))
    }
  }
}
eval strip
plot for [i = 1:count(named)] -1 with lines linewidth 2 \
       linecolor rgb colour(place(lines, item(named, i))) \
       dashtype dash(place(lines, item(named, i))) title item(named, i), \
     for [i = 1:(grey ne "")] -1 with lines linewidth 1 linecolor rgb "#bbbbbb" title others_text
unset multiplot
