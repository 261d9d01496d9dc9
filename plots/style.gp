# What the figures share; each script loads it first. It checks `csv` and `out`, names the colours,
# and has what reads a table: gnuplot's own way of choosing rows and lists of what is in a column.
# Labels come as they are in the table: no text is "enhanced", and in an SVG it stays text.
bad = !exists("csv") || !exists("out")
if (!bad) {
  ending = strlen(out) > 4 ? out[strlen(out) - 3:] : ""
  bad = ending ne ".svg" && ending ne ".png"
}
if (bad) {
  print "usage: gnuplot -e \"csv='X.csv'; out='X.svg'\" " . script . "    (out: .svg or .png)"
  exit status 2
}
set encoding utf8

# gnuplot 5.4 cuts a quoted field of a CSV at its first comma, so the table is read through awk:
# tabs for commas (a tab in a field becomes a blank), a character that no table has for quotes, which
# text() turns back, and one column more, since an empty last one would be read as its header.
reads = 'awk ''{ gsub(/\t/, " "); n = split($0, p, "\""); line = ""; for (i = 1; i <= n; ++i) { \
  if (i % 2 && i > 1 && i < n && p[i] == "") p[i] = "\001"; \
  if (i % 2) gsub(/,/, "\t", p[i]); \
  line = line p[i] } print line "\t-" }'' "' . csv . '"'
# Once: figures go through their rows dozens of times. Gnuplot cuts what a command prints after 2**20
# characters, so a longer table is read each time.
if (system('wc -c < "' . csv . '"') + 0 < 800000) {
  set print $rows_read
  print system(reads)
  unset print
  table = "$rows_read"
} else {
  table = "< " . reads
}
lines_read = system('awk "END { print NR - 1 }" "' . csv . '"')
if (lines_read eq "" || lines_read eq "-1") { print "nothing to read in ", csv; exit status 1 }
set datafile separator tab
set datafile columnheaders
set datafile missing NaN

# Okabe and Ito's colours, which colour-blind readers tell apart, without their yellow, which does
# not read on white. Dashes change from line to line, for who sees no colours.
base_colour(i) = word("29362 13983232 40563 13400487 15113984 5682409 0 9203014", (i - 1) % 8 + 1) + 0
array tints[1]
tinted = 0
rgb(i) = tinted ? tints[i] : base_colour(i)
colour(i) = sprintf("#%06x", rgb(i))
pale(i) = sprintf("#c8%06x", rgb(i))
dash(i) = 1 + (i - 1) % 5

# --- colours by method: with the methods in `names`, `eval own_colours`; colour(i) is of item i ---

# `names` with the method of the row, where its series is new to `list`.
named_beside(list) = holds(list, series(0)) ? names : names . text("method") . "\n"

# A method has one colour in all figures. The words of its label choose it; the letters of a label
# with none of these words do. Methods of one kind differ in shade.
said(s, w) = strstrt(s, w) > 0
begins(s, w) = strstrt(s, w) == 1
is_exact(s) = begins(s, "dense") || begins(s, "Dense") || begins(s, "exact") || \
  begins(s, "Exact") || begins(s, "Baseline") || begins(s, "Full Gradient")
letters_known = "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
letter_sum(s) = s eq "" ? 0 : (7 * letter_sum(s[2:]) + strstrt(letters_known, s[1:1])) % 6
hue(s) = is_exact(s) ? 7 : \
  said(s, "random") || said(s, "Random") || said(s, "Rnd.") ? 6 : \
  said(s, "zero") || said(s, "Zero") || said(s, "No weight gradient") ? 2 : \
  said(s, "position") || said(s, "Approx") ? 1 : \
  said(s, "tochastic") || said(s, "p = ") ? 3 : \
  said(s, "sdgp") || said(s, "2:4") || said(s, "Mag.") || said(s, "n = ") || said(s, "m/n") ? 5 : \
  said(s, "Top-k") || said(s, "topk") || said(s, "CRS") || said(s, "crs") ? 4 : \
  said(s, "meprop") || said(s, "meProp") || said(s, "smaller") || said(s, ", exact") ? 8 : \
  letter_sum(s[:60]) + 1
# Methods of one kind differ in their numbers: p = 0.8 and p = 0.9. These choose the shade.
digit(s) = strstrt("123456789", s[1:1])
digit_sum(s) = s eq "" ? 0 : digit(s) + digit_sum(s[2:])
mixed(c, with, share) = int(c + (with - c) * share)
blended(c, with, share) = 65536 * mixed(int(c / 65536), with, share) + \
  256 * mixed(int(c / 256) % 256, with, share) + mixed(c % 256, with, share)
# The hue itself, darker, lighter; black has no darker.
shade(c, k) = k % 3 == 0 ? c : c == 0 ? blended(c, 255, 0.2 + 0.15 * (k % 3)) : \
  k % 3 == 1 ? blended(c, 0, 0.4) : blended(c, 255, 0.3)
own_colours = "array tints[larger(1, count(names))]; \
  do for [i = 1:count(names)] { \
    found = 0; tints[i] = -1; \
    do for [k = 0:3] { \
      tint = shade(base_colour(hue(item(names, i))), k + digit_sum(item(names, i)[:60])); \
      taken = int(sum [j = 1:i] (tints[j] == tint)); \
      if (!found && (!taken || k == 3)) { tints[i] = tint; found = 1 } \
    } \
  }; \
  tinted = 1"

# --- numbers ---

known(x) = x == x
larger(a, b) = a > b ? a : b
smaller(a, b) = a < b ? a : b

# --- lists of labels: each ended by a newline ---

rest(list) = list[strstrt(list, "\n") + 1:]
first(list) = list[1:strstrt(list, "\n") - 1]
holds(list, s) = strstrt("\n" . list, "\n" . s . "\n") > 0
add(list, s) = holds(list, s) ? list : list . s . "\n"
count(list) = list eq "" ? 0 : 1 + count(rest(list))
item(list, i) = i <= 1 ? first(list) : item(rest(list), i - 1)
# Of an item that the list holds.
place(list, s) = list eq "" ? 0 : first(list) eq s ? 1 : 1 + place(rest(list), s)
longest(list) = list eq "" ? 0 : larger(strlen(first(list)), longest(rest(list)))

# A label at a tick is a format: a per cent sign of its own is written twice. What comes of a format
# is cut after 49 characters, so such a label is cut before, in its middle: labels that begin alike
# differ at their ends.
doubled(s) = strstrt(s, "%") ? s[:strstrt(s, "%")] . "%" . doubled(s[strstrt(s, "%") + 1:]) : s
short(s) = strlen(s) <= 49 ? s : s[:22] . "..." . s[strlen(s) - 21:]
tick(s) = strstrt(s, "%") ? doubled(short(s)) : s

# Of an item "3 name": the number, the name.
index(s) = s[:strstrt(s, " ") - 1] + 0
name(s) = s[strstrt(s, " ") + 1:]

# --- titles: what all panels have in common stands once, above them ---

word_count(s) = s eq "" ? 0 : strstrt(s, " ") ? 1 + word_count(s[strstrt(s, " ") + 1:]) : 1
has_word(s, w) = strstrt(" " . s . " ", " " . w . " ") > 0
everywhere(list, w) = list eq "" ? 1 : has_word(first(list), w) && everywhere(rest(list), w)
spaced(a, b) = a eq "" ? b : b eq "" ? a : a . " " . b
# The words of `s` that every item of the list has (shared = 1) or not (0).
some_words(s, list, shared) = s eq "" ? "" : \
  spaced(everywhere(list, word(s, 1)) == shared ? word(s, 1) : "", \
         some_words(word_count(s) > 1 ? s[strstrt(s, " ") + 1:] : "", list, shared))
# In lines of at most n characters, broken at blanks.
cut(s, i) = i < 2 ? 0 : s[i:i] eq " " ? i : cut(s, i - 1)
wrapped(s, n) = strlen(s) <= n || !cut(s, n + 1) ? s : \
  s[:cut(s, n + 1) - 1] . "\n" . wrapped(s[cut(s, n + 1) + 1:], n)
lines_of(s) = strstrt(s, "\n") ? 1 + lines_of(s[strstrt(s, "\n") + 1:]) : 1

# --- the row that is being read ---

quoted(s) = strstrt(s, "\001") ? s[:strstrt(s, "\001") - 1] . "\"" . \
                                  quoted(s[strstrt(s, "\001") + 1:]) : s
text(column_) = quoted(stringcolumn(column_))
number(column_) = strlen(text(column_)) ? text(column_) + 0.0 : NaN
# Of a column that not every table has.
columns_line = "," . system('awk "NR == 1" "' . csv . '"') . ","
has_column(name_) = strstrt(columns_line, "," . name_ . ",") > 0
maybe(name_) = has_column(name_) ? text(name_) : ""
plain(s) = strstrt(s, "_") ? s[:strstrt(s, "_") - 1] . " " . plain(s[strstrt(s, "_") + 1:]) : s
joined(a, b) = a eq "" ? b : b eq "" ? a : a . ", " . b
series(r) = joined(text("method"), text("schedule"))
# An exact training that is shorter than the others (sweep --controls iso-time, exact_lengths):
# `report advice` and `breakeven` hold it against them; in a figure it would be a panel of its own.
shorter(r) = strstrt(text("method"), "dense in the time of ") == 1 || \
  strstrt(text("method"), "dense for ") == 1
layer(r) = text("layer_index") . " " . text("layer")
group(r) = joined(joined(text("network"), text("dataset")), text("setting"))

# The panels, each a group of rows and what else tells it apart, and their parts. `eval titles` makes
# title_of(g), what tells panel g from the others, and `heading`, what is common to all.
panels = ""; networks = ""; datasets = ""; settings = ""; others = ""
panel(other) = joined(group(0), other)
see_panel(other) = strstrt("\n" . panels, "\n" . panel(other) . "\n") ? 0 : \
  (panels = panels . panel(other) . "\n", networks = networks . text("network") . "\n", \
   datasets = datasets . text("dataset") . "\n", settings = settings . text("setting") . "\n", \
   others = others . other . "\n", 0)
distinct(list) = list eq "" ? 0 : \
  (strstrt("\n" . rest(list), "\n" . first(list) . "\n") ? 0 : 1) + distinct(rest(list))
differs(list) = distinct(list) > 1
own(list, g) = differs(list) ? item(list, g) : ""
common(list) = differs(list) ? "" : first(list)
title_of(g) = wrapped(joined(joined(joined(own(networks, g), own(datasets, g)), \
  some_words(item(settings, g), settings, 0)), own(others, g)), int(pw / 7.5))
titles = "heading = joined(joined(joined(common(networks), common(datasets)), \
    some_words(first(settings), settings, 1)), common(others)); \
  most_lines = 1; \
  do for [g = 1:count(panels)] { most_lines = larger(most_lines, lines_of(title_of(g))) }; \
  mt = mt + 16 * (most_lines - 1)"

# `eval reading` calls visit() on every row. The last part keeps gnuplot content with a table that
# has none.
$row << END
x
0
END
reading = "if (lines_read > 0) { set table $seen; \
  plot table using (visit(0)) with table, $row using 1 with table; unset table }"

# --- the page: panels of pw x ph pixels with the margins ml, mr, mt, mb, and a legend below ---

ml = 80; mr = 25; mt = 40; mb = 75; pw = 420; ph = 300
across = 1; down = 1
# Of panels below each other that differ in height (`ph`, set before each `eval frame`): what all of
# them take with their margins, and those above the next one.
stacked = 0; before = 0
entries = 0; letters = 0; heading = ""
# gnuplot takes 9.1 pixels a letter of the longest title and 83 more for a column of a legend. With
# less it makes fewer columns than were planned, and titles lie on the axis or are left out.
# Cairo draws no picture of more than 32,767 pixels a side.
most_pixels = 32000
crown = "if (head) { set label 99 above at screen 0.5, 1 - 14.0 / height center }"
page = "cell = ml + pw + mr; tall = mt + ph + mb; \
  width = larger(cell * across, larger(480, 9.2 * letters + 105)); \
  keycols = larger(1, int(width / (letters * 9.2 + 85))); \
  keyrows = entries ? int((entries - 1) / keycols) + 1 : 0; \
  legend = keyrows ? 20 * keyrows + 14 : 0; above = wrapped(heading, int(width / 7.5)); \
  head = heading eq '' ? 0 : 18 * lines_of(above) + 8; \
  height = head + (stacked ? stacked : tall * down) + legend; \
  if (ending eq '.png' && larger(width, height) > most_pixels) { \
    print sprintf('a PNG of %d x %d pixels cannot be drawn: take an SVG (--format svg)', \
                  width, height); \
    exit status 1 \
  }; \
  if (ending eq '.svg') { \
    set terminal svg noenhanced size width, height font 'sans,13' background 'white' \
  } else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) { \
    set terminal pngcairo noenhanced size width, height font 'sans,10' background 'white' \
  } else { \
    set terminal png noenhanced truecolor size width, height background '#ffffff' \
  } }; \
  set output out; \
  eval crown"

# Panel `at`, counted from 0 along the rows.
frame = "x0 = (at % across) * cell + ml; \
  y0 = head + (stacked ? before : int(at / across) * tall) + mt; \
  if (at) { unset label 99 } else { eval crown }; \
  set lmargin at screen x0 / real(width); set rmargin at screen (x0 + pw) / real(width); \
  set tmargin at screen 1 - y0 / real(height); \
  set bmargin at screen 1 - (y0 + ph) / real(height)"

# Before the plot whose titles are the legend.
strip = "unset title; unset label; unset arrow; unset xlabel; unset ylabel; unset tics; \
  unset border; unset grid; unset logscale; \
  set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; \
  set tmargin at screen legend / real(height); \
  set key center center horizontal Left reverse maxcols keycols samplen 6; \
  set xrange [0:1]; set yrange [0:1]"

# A table without rows.
nothing = "pw = 400; ph = 100; eval page; unset key; unset tics; unset border; \
  set label 1 'no data' at screen 0.5, 0.5 center; plot [0:1][0:1] -1 notitle"

set key off
set pointintervalbox 0
set grid linecolor rgb "#dddddd" linetype 1 linewidth 0.7
set border 3 linecolor rgb "#444444"
set tics nomirror
