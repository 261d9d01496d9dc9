# A number for every row and column, such as accuracy by the n and m of N:M pruning (McDanel et al.
# 2022, Figure 8). Columns of the CSV: row, column, value, text. The text is written into the cell,
# the value where it is empty; rows and columns stand as they come:
#   gnuplot -e "csv='X.csv'; out='X.svg'" plots/heat.gp
# rows='...', columns='...' and what='...' name the axes and the number.
folder(s) = s eq "" || s[strlen(s):] eq "/" ? s : folder(s[:strlen(s) - 1])
script = ARG0
load folder(script) . "style.gp"

ups = ""; sides = ""; words = ""; most = -1e300; least = 1e300; cells = 0; blanks = 0
shown(r) = strlen(text("text")) ? text("text") : text("value")
visit(r) = (ups = add(ups, text("row")), sides = add(sides, text("column")), \
           words = add(words, shown(0)), \
           known(number("value")) ? (most = larger(most, number("value")), \
                                     least = smaller(least, number("value")), cells = 1, 0) \
                                  : (blanks = 1, 0), 0)
eval reading
if (ups eq "") { eval nothing; exit }

each = larger(70, 16 + 8 * larger(longest(words), longest(sides)))
ml = 60 + 8 * longest(ups); mr = 100
pw = each * count(sides); ph = 46 * count(ups)
eval page
at = 0
eval frame
unset grid
set border 0
set tics scale 0
set xrange [0.5:count(sides) + 0.5]
set yrange [-count(ups) - 0.5:-0.5]
set xlabel exists("columns") ? columns : ""
set ylabel exists("rows") ? rows : ""
set cblabel exists("what") ? what : ""
unset xtics
unset ytics
set xtics nomirror scale 0 ("" 0)
set ytics nomirror scale 0 ("" 0)
do for [i = 1:count(sides)] { set xtics add (tick(item(sides, i)) i) }
do for [i = 1:count(ups)] { set ytics add (tick(item(ups, i)) -i) }
# From white to a blue on which black still reads.
set palette defined (0 "#f7fbff", 1 "#6baed6")
if (cells && most > least) { set cbrange [least:most] } else { unset colorbox }
set style fill solid 1 border linecolor rgb "white"
x(r) = place(sides, text("column"))
y(r) = -place(ups, text("row"))
filled(r) = known(number("value")) ? x(0) : NaN
blank(r) = known(number("value")) ? NaN : x(0)
plot for [k = 1:blanks] table \
       using (blank(0)):(y(0)):(x(0) - 0.48):(x(0) + 0.48):(y(0) - 0.46):(y(0) + 0.46) \
       with boxxyerror fillcolor rgb "#e8e8e8" notitle, \
     for [k = 1:cells] table \
       using (filled(0)):(y(0)):(x(0) - 0.48):(x(0) + 0.48):(y(0) - 0.46):(y(0) + 0.46):\
             (number("value")) with boxxyerror linecolor palette notitle, \
     table using (x(0)):(y(0)):(shown(0)) with labels notitle
