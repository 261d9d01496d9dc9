# Speedup against accuracy lost, a panel for each network and machine; error bars are 95 % intervals. Each
# point has its name beside the panel. Filled points are on the front and joined, hollow ones perhaps,
# small ones are not. Exact trainings of fewer epochs and smaller networks stand beside the methods. A
# point far from all others sets no axis: an arrow says where it lies, its name how far:
#   approxtrain report pareto --db X.db --format csv > X.csv
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/pareto.gp
# Rows that were not timed or have no loss are left out. Of the columns `kind` may be missing.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

usable(r) = known(number("speedup")) && known(number("loss_pp"))
is_shorter(r) = maybe("kind") eq "shorter"
is_smaller(r) = maybe("kind") eq "smaller"
names = ""; schedules = ""; labels = ""; any_shorter = 0; any_smaller = 0
schedule_of(r) = text("method") eq "" || is_shorter(0) || is_smaller(0) ? "" : text("schedule")
visit(r) = (usable(0) ? (see_panel(text("timed_on")), \
                       schedules = schedule_of(0) eq "" ? schedules : add(schedules, schedule_of(0)), \
                       names = is_shorter(0) ? names : add(names, text("method")), \
                       any_shorter = larger(any_shorter, is_shorter(0)), \
                       any_smaller = larger(any_smaller, is_smaller(0)), 0) : 0)
eval reading
if (panels eq "") { eval nothing; exit }
eval own_colours
several = count(schedules) > 1
# A schedule is part of a name where a method has several.
pairs = ""
visit(r) = usable(0) && schedule_of(0) ne "" ? (pairs = add(pairs, schedule_of(0) . "\t" . text("method")), 0) : 0
eval reading
of_method(list, m) = list eq "" ? 0 : \
  (first(list)[strstrt(first(list), "\t") + 1:] eq m) + of_method(rest(list), m)
brief(s) = strlen(s) <= 64 ? s : s[:30] . "..." . s[strlen(s) - 29:]
label_of(r) = brief(joined(text("method"), of_method(pairs, text("method")) > 1 ? schedule_of(0) : ""))
tint(r) = is_shorter(0) ? 0 : rgb(place(names, text("method")))

# Numbers of each panel's points, and how high it is: a line for each name.
down = count(panels)
array points_of[down]
do for [g = 1:down] {
  in = item(panels, g); n = 0
  here(r) = usable(0) && panel(text("timed_on")) eq in
  visit(r) = here(0) ? (n = n + 1, labels = add(labels, label_of(0)), 0) : 0
  eval reading
  points_of[g] = n
}
gap = 16
height_of(n) = larger(300, gap * (n + 1))
pw = 460; mr = 200 + int(7 * longest(labels)) # "(20.3 points lost)" may stand behind a name
letters = 30; entries = 4 + any_shorter + any_smaller
eval titles
heading = joined(heading, several ? "" : first(schedules))
do for [g = 1:down] { stacked = stacked + mt + height_of(points_of[g]) + mb }
eval page
set multiplot
set xlabel "speedup of a step over dense, times"
set ylabel "accuracy lost against dense, percentage points"

# How far an axis goes from `anchor` into one direction (side: 1 or -1): to the farthest of the values
# V[1] to V[n] that is no more than `factor` times as far as the next one, and to the ends E of their
# intervals, but no more than as far again. Makes `reach`, behind which values are cut off, and `room`.
axis = "array D[n]; array S[n]; \
  do for [i = 1:n] { D[i] = larger(0, side * (V[i] - anchor)) }; \
  do for [i = 1:n] { S[1 + int(sum [k = 1:n] (D[k] > D[i] || (D[k] == D[i] && k < i)))] = D[i] }; \
  off = 0; \
  do for [k = 1:int((n - 1) / 2)] { if (S[k] > factor * larger(S[k + 1], little)) { off = k } }; \
  reach = larger(least, S[off + 1]); room = reach; \
  do for [i = 1:n] { \
    if (D[i] <= reach && known(E[i])) { \
      room = larger(room, smaller(side * (E[i] - anchor), 2 * reach)) \
    } \
  }"
off_text(x, y, x_off, y_off) = \
  (y_off ? sprintf(" (%.3g points %s)", abs(y), y > 0 ? "lost" : "gained") : "") . \
  (x_off ? sprintf(" (%.3g times as fast)", x) : "")
any_off = 0
# A part without a number is not drawn at all: gnuplot warns of it.
drawn_front = '$front using 1:2 smooth unique with lines linewidth 1.5 linecolor rgb "#999999" notitle'
drawn_shorter = '$shorter using 1:2 smooth unique with lines linewidth 1.2 dashtype 3 \
  linecolor rgb "black" notitle'
drawn_wide = '$points using 1:2:3:4:9 with xerrorbars pointtype -1 linecolor rgb variable notitle'
drawn_tall = '$points using 1:2:5:6:9 with yerrorbars pointtype -1 linecolor rgb variable notitle'
drawn_points = '$points using 1:2:7:8:9 with points pointsize variable pointtype variable \
  linewidth 1.5 linecolor rgb variable notitle'
do for [g = 1:down] {
  in = item(panels, g); n = points_of[g]; i = 0
  here(r) = usable(0) && panel(text("timed_on")) eq in
  array X[n]; array Y[n]; array X0[n]; array X1[n]; array Y0[n]; array Y1[n]
  array L[n]; array T[n]; array F[n]
  # y of the front, n of those that are not on it, p of perhaps, s of shorter, S of smaller.
  form(r) = is_shorter(0) ? "s" : is_smaller(0) ? "S" : text("front")[1:1]
  visit(r) = here(0) ? (i = i + 1, X[i] = number("speedup"), Y[i] = number("loss_pp"), \
                        X0[i] = number("speedup_lo"), X1[i] = number("speedup_hi"), \
                        Y0[i] = number("loss_pp_lo"), Y1[i] = number("loss_pp_hi"), \
                        L[i] = label_of(0), T[i] = tint(0), F[i] = form(0), 0) : 0
  eval reading

  array V[n]; array E[n]
  anchor = 1; factor = 6; little = 0.1; least = 0.02
  do for [i = 1:n] { V[i] = X[i]; E[i] = X1[i] }
  side = 1; eval axis; right = 1 + reach; right_end = 1 + room
  do for [i = 1:n] { E[i] = X0[i] }
  side = -1; eval axis; left = 1 - reach; left_end = 1 - room
  anchor = 0; factor = 3; little = 1; least = 0.1
  do for [i = 1:n] { V[i] = Y[i]; E[i] = Y1[i] }
  side = 1; eval axis; top = reach; top_end = room
  do for [i = 1:n] { E[i] = Y0[i] }
  side = -1; eval axis; bottom = -reach; bottom_end = -room
  pad_x = 0.04 * (right_end - left_end); pad_y = 0.05 * (top_end - bottom_end)
  left_end = left_end - pad_x; right_end = right_end + pad_x
  bottom_end = bottom_end - pad_y; top_end = top_end + pad_y
  # An arrow takes more.
  lost = 0
  do for [i = 1:n] { lost = larger(lost, Y[i] > top) }
  if (lost) { top_end = top_end + 2 * pad_y }

  set print $points
  print "x\ty\tx0\tx1\ty0\ty1\tsize\tshape\ttint"
  set print $front
  print "x\ty"
  set print $shorter
  print "x\ty"
  fronts = 0; wide = 0; tall_bars = 0; shorter_ones = 0
  unset label; unset arrow
  at = g - 1; ph = height_of(n)
  eval frame
  before = before + mt + ph + mb
  set arrow 1 from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "#666666" back
  set arrow 2 from graph 0, first 0 to graph 1, first 0 nohead dashtype 2 linecolor rgb "#666666" back
  array PX[n]; array PY[n]; array at_y[n]; array order[n]
  do for [i = 1:n] {
    x_off = X[i] > right || X[i] < left; y_off = Y[i] > top || Y[i] < bottom
    any_off = larger(any_off, x_off || y_off)
    # Where an arrow ends, just inside of the panel.
    px = X[i] > right ? right_end : X[i] < left ? left_end : X[i]
    py = Y[i] > top ? top_end : Y[i] < bottom ? bottom_end : Y[i]
    PX[i] = px; PY[i] = ph * (top_end - py) / (top_end - bottom_end)
    if (x_off || y_off) {
      set arrow 200 + i from \
          px - (X[i] > right ? 1.2 : X[i] < left ? -1.2 : 0) * pad_x, \
          py - (Y[i] > top ? 1.8 : Y[i] < bottom ? -1.8 : 0) * pad_y \
          to px, py head filled size graph 0.02, 20 linewidth 2 linecolor rgb T[i] front
      L[i] = L[i] . off_text(X[i], Y[i], x_off, y_off)
    } else {
      wide = larger(wide, known(X0[i])); tall_bars = larger(tall_bars, known(Y0[i]))
      set print $points append
      print sprintf("%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%g\t%d\t%d", px, py, X0[i], X1[i], Y0[i], \
                    Y1[i], F[i] eq "n" ? 0.8 : F[i] eq "s" ? 0.7 : 1.4, \
                    F[i] eq "y" || F[i] eq "s" ? 7 : F[i] eq "S" ? 13 : 6, T[i])
    }
    if (F[i] eq "y") {
      fronts = fronts + 1
      set print $front append
      print sprintf("%.9g\t%.9g", px, py)
    }
    # From the whole exact training on.
    if (F[i] eq "s" || (X[i] == 1 && Y[i] == 0 && any_shorter)) {
      shorter_ones = shorter_ones + 1
      set print $shorter append
      print sprintf("%.9g\t%.9g", px, py)
    }
  }
  unset print

  # Names from above down, at the heights of their points or as near as there is room.
  do for [i = 1:n] {
    order[1 + int(sum [k = 1:n] (PY[k] < PY[i] || (PY[k] == PY[i] && PX[k] > PX[i]) || \
                                 (PY[k] == PY[i] && PX[k] == PX[i] && k < i)))] = i
  }
  do for [r = 1:n] {
    at_y[r] = larger(PY[order[r]], r > 1 ? at_y[r - 1] + gap : 4)
  }
  if (at_y[n] > ph - 4) { at_y[n] = ph - 4 }
  do for [r = n - 1:1:-1] { at_y[r] = smaller(at_y[r], at_y[r + 1] - gap) }
  do for [r = 1:n] {
    i = order[r]
    set label 100 + r L[i] at graph 1.05, graph 1 - at_y[r] / real(ph) left
    set arrow 300 + r from PX[i], graph 1 - PY[i] / real(ph) \
        to graph 1.04, graph 1 - at_y[r] / real(ph) \
        nohead linewidth 0.5 linecolor rgb blended(T[i], 255, 0.4) back
  }

  set xrange [left_end:right_end]
  set yrange [bottom_end:top_end]
  set title title_of(g)
  eval "plot " . joined(joined(joined(fronts > 1 ? drawn_front : "", \
                                      shorter_ones > 1 ? drawn_shorter : ""), \
                               joined(wide ? drawn_wide : "", tall_bars ? drawn_tall : "")), \
                        drawn_points)
}
eval strip
plot -1 with points pointtype 7 pointsize 1.4 linecolor rgb "#666666" \
       title "filled: on the front", \
     -1 with points pointtype 6 pointsize 1.4 linecolor rgb "#666666" title "hollow: perhaps", \
     -1 with points pointtype 6 pointsize 0.8 linecolor rgb "#666666" title "small: not on it", \
     for [k = 1:any_off] -1 with points pointtype 9 pointsize 1.4 linecolor rgb "#666666" \
       title "arrow: beyond the axis", \
     for [k = 1:any_shorter] -1 with linespoints pointtype 7 pointsize 0.7 dashtype 3 \
       linecolor rgb "black" title "exact, fewer epochs", \
     for [k = 1:any_smaller] -1 with points pointtype 13 pointsize 1.4 linecolor rgb "#666666" \
       title "a smaller network"
unset multiplot
