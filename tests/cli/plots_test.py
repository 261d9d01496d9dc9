"""The figures of reports, as gnuplot draws them: what all panels have in common stands once, titles
fit their panels, and axes have words and units. Skipped (77) where there is no gnuplot."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from program import expect, expect_equal, finish

PLOTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../plots")
COMMON = "batch_size=50 momentum=0.9 split=holdout"
LONG = ("optimizer=adam learning_rate=0.001 label_smoothing=0.1 weight_decay=0.0005 crop_padding=4 "
        "padding_mode=reflect")
PARETO = ["network,dataset,setting,schedule,method,timed_on,speedup,speedup_lo,speedup_hi,loss_pp,"
          "loss_pp_lo,loss_pp_hi,n,front"]
BREAKEVEN = ["part,network,dataset,setting,schedule,method,accuracy_pct,accuracy_pct_half,epochs,"
             "machine,speedup,speedup_lo,speedup_hi"]
CURVES = ["network,dataset,setting,schedule,method,metric,split,epoch,mean,lo,hi,min,max"]
for network, setting in [("MLP", f"{COMMON} {LONG}"), ("CNN", f"{COMMON} optimizer=sgd")]:
    for epochs in (3, 3.5, 4):
        for part, half in [("exact", 0.2), ("curve", "")]:
            BREAKEVEN.append(f"{part},{network},mnist,{setting},,dense,{80 + epochs},{half},"
                             f"{epochs},,,,")
    for method, speedup in [("zero", 1.2), ("crs", ""), ("sdgp", 1.1)]:
        ends = (speedup - .05, speedup + .05) if speedup else ("", "")
        BREAKEVEN.append(f"method,{network},mnist,{setting},,{method},83,0.1,4,box,{speedup},"
                         f"{ends[0]},{ends[1]}")
    for method, speedup in [("dense", 1), ("zero", 1.3)]:
        PARETO.append(f"{network},mnist,{setting},,{method},,{speedup},{speedup - .1},"
                      f"{speedup + .1},0.5,0.3,0.7,6,yes")
        for epoch in (1, 2, 3):
            for metric, split, value in [("accuracy", "test", .9), ("loss", "train", .3)]:
                CURVES.append(f"{network},mnist,{setting},,{method},{metric},{split},{epoch},"
                              f"{value + .01 * epoch},,,{value},{value + .05}")


BANDWIDTH = ["arm,ranks,bandwidth_mbit,delay_ms,step_ms,step_ms_low,step_ms_high,runs,model_ms"] + [
    f"{arm},2,{bandwidth},{delay},{step},{step - 1},{step + 1},2,{step}"
    for arm, step in [("dense", 100), ("half", 80)]
    for bandwidth, delay in [("", 0), (1000, 0), (200, 0), (50, 3)]]
CHANNELS = ["part,layer,method,channel,y,x,value,zeros,l1_ratio"] + [
    f"pixel,conv1,{method},{channel},{y},{x},{0 if method == 'sdgp' else (x - y) / 4 + 0.01},,"
    for method in ["exact", "sdgp"] for channel in range(3) for y in range(4) for x in range(4)]


def draw(folder, script, lines, figure):
    """How gnuplot ends on a CSV."""
    csv = os.path.join(folder, "x.csv")
    with open(csv, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return subprocess.run(["gnuplot", "-e", f"csv='{csv}'; out='{figure}'",
                           os.path.join(PLOTS, script + ".gp")], capture_output=True, text=True,
                          check=False)


def drawn(script, lines):
    """The figure that `script` makes of a CSV, as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        svg = os.path.join(folder, "x.svg")
        done = draw(folder, script, lines, svg)
        expect_equal((done.returncode, done.stderr), (0, ""), script)
        with open(svg, encoding="utf-8") as file:
            return file.read()


def kernel(op, shape, variant, lo=0.9, hi=1.1):
    return f"{op},{shape},,crs,{variant},cpu,fp32,2,1,{lo},{hi}"


def check_kernels():
    """Each panel is as high as what it shows, and every product is in one."""
    header = "op,shape,epoch,method,variant,device,precision,threads,speedup,speedup_lo,speedup_hi"
    # The exact path that the others are held against has no interval.
    lines = [header, *[kernel("forward", f"conv{i}", "mask") for i in range(20)],
             kernel("forward", "conv0", "exact", "", ""), kernel("data_gradient", "conv0", "mask")]
    figure = drawn("kernels", lines)
    height = int(re.search(r'height="(\d+)"', figure)[1])
    margins = 2 * (40 + 75) + 100
    expect(20 * 26 + 60 <= height <= 20 * 26 + 60 + margins, f"kernels: {height} pixels high")
    points = len(re.findall(r"<use xlink:href='#gpPt6'", figure))
    expect_equal(points, len(lines) - 1 + 2, "a point for each product, and two in the legend")
    many = [header, *[kernel("forward", f"conv{i}", "mask") for i in range(100)],
            *[kernel("forward", "conv0", f"variant{i}") for i in range(40)]]
    with tempfile.TemporaryDirectory() as folder:
        png = os.path.join(folder, "x.png")
        done = draw(folder, "kernels", many, png)
        expect(done.returncode == 1 and done.stderr.count("\n") == 1 and
               "--format svg" in done.stderr, f"a PNG that is too high: {done}")
        expect(not os.path.exists(png), "a PNG that is too high is begun")


def texts_of(script, lines):
    """What is written in a figure: its texts, and its width."""
    figure = drawn(script, lines)
    texts = [re.sub(r"<[^>]*>", "", text).strip()
             for text in re.findall(r"<text[^>]*>(.*?)</text>", figure, re.S)]
    return [text for text in texts if text], int(re.search(r'width="(\d+)"', figure)[1])


def check(script, lines, axes):
    texts, width = texts_of(script, lines)
    written = " ".join(texts)
    for word in ["mnist", *COMMON.split()]:
        expect_equal(written.count(word), 1, f"{script}: {word} stands once: {texts}")
    for word in ["MLP", "CNN", *LONG.split(), "optimizer=sgd"]:
        expect(word in written, f"{script}: {word} is missing: {texts}")
    for axis in axes:
        expect(axis in texts, f"{script}: no axis says {axis!r}: {texts}")
    # A panel is 420 pixels wide, a letter about 7.
    for text in texts:
        expect(len(text) * 7 <= (width if "mnist" in text else 430), f"{script}: long: {text!r}")


def places_of(figure):
    """The texts of a figure with their places, and its height."""
    found = re.findall(r'<g transform="translate\(([\d.]+),([\d.]+)\)[^>]*>\s*'
                       r'<text[^>]*>(.*?)</text>', figure, re.S)
    places = {re.sub(r"<[^>]*>", "", text).strip(): (float(x), float(y)) for x, y, text in found}
    return places, int(re.search(r'height="(\d+)"', figure)[1])


KINDS = ["filled: on the front", "hollow: perhaps", "small: not on it"]


def check_names():
    """Every point of a front has its name beside the panel, no name lies on another, and forms of
    points are said below the axis."""
    axis = "speedup of a step over dense, times"
    for names in (["dense", "zero", "topk_position", "sdgp"], ["dense", "zero"],
                  ["dense", *[f"a method with a name of {n} words" for n in range(30)]]):
        # All but the first are in one place.
        lines = PARETO[:1] + [f"MLP,mnist,{COMMON},every batch,{name},,{1.1 if i else 1},1,1.2,"
                              f"{0.3 if i else 0},-1,1,6,yes" for i, name in enumerate(names)]
        places, height = places_of(drawn("pareto", lines))
        expect(any(text.endswith(", every batch") for text in places), f"schedule: {places.keys()}")
        for title in [*names, *KINDS]:
            expect(title in places, f"front of {names}: {title!r} is missing")
        if not all(title in places for title in [*names, *KINDS, axis]):
            continue
        for title in KINDS:
            expect(places[axis][1] + 10 < places[title][1] < height,
                   f"legend of {names}: {title!r} at {places[title]}, the axis at {places[axis]}")
        beside = sorted(places[name][1] for name in names)
        expect(all(b - a >= 12 for a, b in zip(beside, beside[1:])), f"names at {beside}")
        expect(0 < beside[0] and beside[-1] < places[axis][1], f"names at {beside}")
        expect(all(places[name][0] > places[axis][0] for name in names), f"names: {places}")


def tics_of(figure, axis):
    """The numbers at the axis "x" or "y" of a figure of one panel."""
    numbers = [(place, float(text)) for text, place in places_of(figure)[0].items()
               if re.fullmatch(r"-?[\d.]+", text)]
    bottom = max(y for (_, y), _ in numbers)
    return [number for (_, y), number in numbers if (y > bottom - 2) == (axis == "x")]


def check_far_accuracy():
    """A method that learns nothing does not press the exact trainings into a line."""
    lines = [line for line in BREAKEVEN if not line.startswith("method,CNN")]
    figure = drawn("breakeven", [line.replace(",sdgp,83,", ",sdgp,11,") for line in lines])
    expect(min(tics_of(figure, "y")) >= 70, f"accuracies from {tics_of(figure, 'y')} on")
    expect("11 %, beyond the axis" in places_of(figure)[0],
           f"no word of the far method: {places_of(figure)[0].keys()}")
    expect(not any("beyond" in text for text in texts_of("breakeven", lines)[0]),
           "a method that is not far")


def check_far_points():
    """One point far from all others sets no axis: an arrow and its name say where it is."""
    def front(points):
        return drawn("pareto", PARETO[:1] + [
            f"MLP,mnist,{COMMON},,{name},,{x},{x - .01},{x + .01},{y},{y - .2},{y + .2},6,no"
            for name, x, y in points])
    near = [("dense", 1, 0), ("zero", 1.07, 1.7), ("sdgp", 1.03, 0.2), ("meprop", 1.1, 2.3)]
    figure = front([*near, ("topk", 1.35, 20.26)])
    expect(max(tics_of(figure, "y")) <= 6, f"losses up to {tics_of(figure, 'y')}")
    places = places_of(figure)[0]
    expect("topk (20.3 points lost)" in places and "arrow: beyond the axis" in places,
           f"no word of the far point: {places.keys()}")
    expect(max(tics_of(figure, "x")) >= 1.3, "the speedup of a far point is no outlier")
    figure = front([*near, ("topk", 9, -30)])
    expect(max(tics_of(figure, "x")) < 2 and min(tics_of(figure, "y")) > -6,
           f"axes {tics_of(figure, 'x')}, {tics_of(figure, 'y')}")
    expect("topk (30 points gained) (9 times as fast)" in places_of(figure)[0],
           f"far in both: {places_of(figure)[0].keys()}")
    figure = front([*near, ("topk", 1.35, 6)])
    expect(max(tics_of(figure, "y")) >= 6 and "arrow: beyond the axis" not in places_of(figure)[0],
           "a point that is not far")
    # Half of the points are no outliers.
    figure = front([("dense", 1, 0), ("zero", 1.1, 30), ("sdgp", 1.2, 29), ("meprop", 1.1, 28)])
    expect(max(tics_of(figure, "y")) >= 30, f"all lose much: {tics_of(figure, 'y')}")
    # An interval of two seeds is wide, and no reason to see nothing else.
    figure = drawn("pareto", PARETO[:1] + [
        f"MLP,mnist,{COMMON},,{name},,{x},,,{y},{y - wide},{y + wide},2,perhaps"
        for name, x, y, wide in [("dense", 1, 0, 0), ("zero", 1.1, 1, 40), ("sdgp", 1.1, 2, 1)]])
    expect(max(tics_of(figure, "y")) <= 5, f"intervals set the axis: {tics_of(figure, 'y')}")


def check_beside():
    """Exact trainings of fewer epochs and smaller networks are drawn, beside the front."""
    header = PARETO[0] + ",kind"
    lines = [header,
             f"MLP,mnist,{COMMON},,dense,,1,1,1,0,0,0,6,yes,exact",
             f"MLP,mnist,{COMMON},all,zero,,1.2,1.1,1.3,1,0.5,1.5,6,yes,method",
             f'MLP,mnist,{COMMON},,"exact, 3.2 of 4 epochs",,1.25,,,0.4,0.2,0.6,6,,shorter',
             f'MLP,mnist,{COMMON},,"MLP-2, exact",,1.4,1.3,1.5,0.6,0.2,0.9,6,,smaller']
    texts, _ = texts_of("pareto", lines)
    for text in ["exact, 3.2 of 4 epochs", "MLP-2, exact", "exact, fewer epochs",
                 "a smaller network"]:
        expect(text in texts, f"{text!r} is missing: {texts}")
    texts, _ = texts_of("pareto", lines[:3])
    expect("exact, fewer epochs" not in texts and "a smaller network" not in texts,
           f"a legend of what is not there: {texts}")


BARS = ("row,column,quantity,definition,unit,basis,hardware,reported,measured,measured_lo,"
        "measured_hi")


def check_bars():
    """A panel of which nothing was measured is left out where another was."""
    ours = "a,,speedup,whole step,x,measured-e2e,,,1.3,1.2,1.4"
    theirs = "a,,speedup,backward pass,x,measured-backward,Raspberry Pi,5.9,,,"
    texts, _ = texts_of("bars", [BARS, ours, theirs])
    expect(any("whole step" in text for text in texts), f"bars: {texts}")
    expect(not any("backward" in text or "Raspberry" in text for text in texts),
           f"an empty panel: {texts}")
    expect("the paper" not in texts, f"a legend of what is not there: {texts}")
    texts, _ = texts_of("bars", [BARS, theirs])
    expect(any("backward" in text for text in texts), f"nothing was measured anywhere: {texts}")


TTA = ("network,dataset,setting,schedule,method,target_pct,runs,reached,restricted_mean_s,"
       "restricted_mean_se,budget_s")


def check_heights():
    """A panel of times is as high as what it shows."""
    lines = [TTA, *[f"MLP,mnist,{COMMON},,method{i},60,6,6,{i + 1},0.1,50" for i in range(20)],
             f"CNN,mnist,{COMMON},,dense,60,6,6,3,0.1,50"]
    figure = drawn("tta", lines)
    height = int(re.search(r'height="(\d+)"', figure)[1])
    expect(height < 21 * 24 + 2 * 16 + 2 * (40 + 70) + 100, f"tta: {height} pixels high")
    # A panel without any time is none.
    texts, _ = texts_of("tta", [*lines, f"RNN,mnist,{COMMON},,dense,60,6,0,,,"])
    expect(any("CNN" in text for text in texts) and not any("RNN" in text for text in texts),
           f"tta: an empty panel: {texts}")


def check_long_table():
    """Gnuplot cuts what a command prints after a megabyte: no row of a longer table is lost."""
    lines = [PARETO[0] + ",remark", *[f"MLP,mnist,{COMMON},,method{i},,1.{i:02},,,{i},,,6,yes," +
                                      "word " * 6000 for i in range(40)]]
    expect(sum(map(len, lines)) > 1 << 20, "the table is not long enough")
    texts, _ = texts_of("pareto", lines)
    lost = [f"method{i}" for i in range(40)
            if not any(text.split(" (")[0] == f"method{i}" for text in texts)]
    expect_equal(lost, [], "rows of a long table that are not drawn")


def check_colours():
    """A method has one colour, whatever stands beside it; two of one kind differ."""
    def colour_of(methods, method):
        lines = CURVES[:1] + [f"MLP,mnist,{COMMON},,{name},accuracy,test,{epoch},0.{i}{epoch},,,,"
                              for i, name in enumerate(methods) for epoch in (1, 2)]
        figure = drawn("curves", lines)
        legend = figure[figure.index(f"<text>{method}</text>"):]
        return re.search(r"<path stroke='([^']*)'", legend)[1]
    alone = colour_of(["dense", "sdgp"], "sdgp")
    expect_equal(colour_of(["dense", "zero", "random", "crs", "sdgp"], "sdgp"), alone,
                 "sdgp beside others")
    front = drawn("pareto", PARETO[:1] + [f"MLP,mnist,{COMMON},,{name},,1.1,1,1.2,0.5,0.3,0.7,6,no"
                                          for name in ("dense", "zero", "sdgp")])
    expect(f"color='{alone}'" in front, f"sdgp has another colour than {alone} in a front")
    for both in (["p = 0.9", "p = 0.8"], ["p = 0.9", "p = 0.99"]):
        two = [colour_of(both, name) for name in both]
        expect(two[0] != two[1], f"two of one kind: {both}: {two}")
    expect_equal(colour_of(["p = 0.7", "p = 0.8", "p = 0.9"], "p = 0.9"),
                 colour_of(["p = 0.9"], "p = 0.9"), "p = 0.9 beside others of its kind")


def check_grey():
    """Of many curves six have a colour: the exact ones and those that end best."""
    lines = CURVES[:1]
    names = ["dense", *[f"method{n}" for n in range(9)]]
    for n, name in enumerate(names):
        for epoch in (1, 2, 3):
            # The exact one ends worst.
            lines.append(f"MLP,mnist,{COMMON},,{name},accuracy,test,{epoch},"
                         f"{0.5 + 0.02 * n + 0.01 * epoch},,,,")
    texts, _ = texts_of("curves", lines)
    shown = [name for name in names if name in texts]
    expect_equal(shown, ["dense", *names[5:]], "named lines")
    expect("4 others" in texts, f"no title for the grey lines: {texts}")
    expect(drawn("curves", lines).lower().count("bbbbbb") >= 4 or
           drawn("curves", lines).count("rgb(187, 187, 187)") >= 4, "no grey lines")
    few = [line for line in lines if "method" not in line or line.split(",")[4] < "method5"]
    texts, _ = texts_of("curves", few)
    expect(not any("other" in text for text in texts), f"six lines are all named: {texts}")


def main():
    if not shutil.which("gnuplot"):
        print("gnuplot is missing: no figure was drawn")
        sys.exit(77)
    check("pareto", PARETO, ["speedup of a step over dense, times",
                             "accuracy lost against dense, percentage points"])
    check("curves", CURVES, ["epoch", "accuracy on test images, %", "loss on training images"])
    check("breakeven", BREAKEVEN, ["time, in epochs of exact training",
                                   "accuracy on test images, %"])
    texts, _ = texts_of("breakeven", BREAKEVEN)
    expect("exact training" in texts and "zero" in texts and "sdgp" in texts,
           f"breakeven: a name is missing: {texts}")
    expect("crs" not in texts, f"breakeven: a method that was not timed is drawn: {texts}")
    # One panel needs no title of its own: all of it is common.
    texts, _ = texts_of("pareto", PARETO[:3])
    expect(any(text.startswith("MLP, mnist, ") for text in texts), f"one panel: {texts}")
    name, setting = ",dense in the time of zero,", "epochs=5 " + COMMON
    shorter = [line.replace(",dense,", name).replace(COMMON, setting) for line in CURVES[1:]
               if ",dense," in line]
    texts, _ = texts_of("curves", CURVES + shorter)
    expect(not any("in the time of" in text or "epochs=5" in text for text in texts),
           f"a shorter exact training is drawn: {texts}")
    # In a legend lines are told apart by their dashes, each of which takes its length to repeat.
    samples = [float(to) - float(start) for start, y, to, end in re.findall(
        r"<path [^>]*d='M([\d.]+),([\d.]+) L([\d.]+),([\d.]+)  '/>", drawn("curves", CURVES))[-2:]
        if y == end]
    expect(len(samples) == 2 and min(samples) >= 60, f"curves: short samples: {samples}")
    check_kernels()
    check_names()
    check_far_points()
    check_far_accuracy()
    check_beside()
    check_bars()
    check_heights()
    check_long_table()
    check_colours()
    check_grey()
    texts, _ = texts_of("bandwidth", BANDWIDTH)
    for word in ["2 ranks", "unlimited", "1000", "200", "dense", "half", "step, ms"]:
        expect(word in texts, f"bandwidth: {word!r} is missing: {texts}")
    expect("50" not in texts, f"bandwidth: a cell with a delay is drawn: {texts}")
    # A tab in a label, which old stores may have, ends no column.
    tabbed = [line.replace(",zero,", ",ze\tro,") for line in PARETO]
    expect_equal(drawn("pareto", tabbed), drawn("pareto", [line.replace("\t", " ")
                                                          for line in tabbed]),
                 "a tab in a label is drawn as a blank")
    # A picture of each channel, not a mark of each of its pixels: 16,000 of them make 2 MB.
    pictures = re.findall(r"<image [^>]*?width='([\d.]+)'[^>]*base64,([^']*)", drawn(
        "pruned_channels", CHANNELS), re.S)
    expect_equal(len(pictures), 6, "pruned_channels: a picture of each channel")
    expect_equal(len({data for _, data in pictures}), 2, "exact channels and those of zeros differ")
    finish()


if __name__ == "__main__":
    main()
