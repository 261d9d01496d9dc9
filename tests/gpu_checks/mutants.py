"""Whether gpu_checks can fail: `mutants.py BUILD SOURCE [N]` plants each of FAULTS, or every Nth,
in a copy of the kernel that it is of, compiles the check of that kernel with it, and expects it to
find it.

Exits with 77 where the build is not by Ninja, which knows how a program is compiled and linked.
"""

import functools
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

from constructs import NotOnce, place_of, replaced, reworded

PEAK, PRUNED, NM = (f"kernels/select/{name}_gpu.h" for name in ("peak", "pruned", "nm"))
PLANES, LOADS, SUMS, DRAWS = (f"kernels/gpu/{name}.h"
                               for name in ("planes", "loads", "sums", "draws"))
ENTRIES, NORMALS = "kernels/sparse_dy/entries_gpu.h", "kernels/gaussian/gaussian_gpu.h"
SLICES, ROWS_OF_PIXELS = "kernels/gpu/weight_slices.h", "kernels/gpu/pixel_rows.h"
GRADIENT_ROWS, ROWS, TILES, LISTS = (f"kernels/pruned_dy/{name}_gpu.h" for name in
                                     ("gradient_rows", "rows", "tiles", "lists"))
NORM, CHANNELS = "kernels/norm/norm_gpu.h", "kernels/sampled/channels_gpu.h"
SMOOTH, JOINED = "kernels/norm/smooth_tails_gpu.h", "kernels/gpu/joined_sums.h"
SQUARES, STREAM = "kernels/select/squares_gpu.h", "kernels/rng.h"
PEAKS, LARGEST = "kernels/select/peaks_gpu.h", "kernels/select/largest_gpu.h"
MAGNITUDES = "kernels/select/magnitude_gpu.h"
STORED, SPARSE = (f"kernels/trials/{name}_gpu.h" for name in ("compress", "mma_sp"))
PROBES, MATRIX_TILES = "kernels/gpu/probes.h", "kernels/trials/tensor_tiles.h"
COPIES, FUSED = "kernels/probe/copy_rounds_gpu.h", "kernels/trials/fused_gather_gpu.h"
# The file of its check; of the others it is "pruning". Of what several include, the first that is
# linked: of functions that are not inlined the linker takes the first.
CHECK_OF = {PEAK: "peak", PLANES: "norm", ENTRIES: "entries", NORM: "norm", CHANNELS: "channels",
            SQUARES: "squares", SLICES: "entries", ROWS_OF_PIXELS: "pruned_rows",
            GRADIENT_ROWS: "pruned_rows", ROWS: "pruned_rows", TILES: "pruned_tiles",
            LISTS: "pruned_lists", PEAKS: "peaks", LARGEST: "peaks", STORED: "two_of_four",
            SPARSE: "two_of_four", PROBES: "tensor_cores", COPIES: "copy_rounds",
            MATRIX_TILES: "fused_gather", FUSED: "fused_gather", MAGNITUDES: "magnitudes",
            SMOOTH: "smooth_norm", JOINED: "norm"}
CASES = "12"  # of each check
# What the names of its checks begin with.
PREFIX = {PEAK: "peak", PLANES: "norm:",
          ENTRIES: "SparseDY entries,", NM: "n of", PRUNED: "stochastic",
          LOADS: "stochastic", SUMS: "mean", DRAWS: "uniform", NORMALS: "normal", NORM: "norm",
          CHANNELS: "channels", SQUARES: "norms of", SLICES: "SparseDY entries,",
          ROWS_OF_PIXELS: "PrunedDY rows", GRADIENT_ROWS: "PrunedDY rows", ROWS: "PrunedDY rows",
          TILES: "PrunedDY tiles", LISTS: "PrunedDY lists", PEAKS: "all peaks",
          LARGEST: "the largest", STORED: "two of four: stored", SPARSE: "two of four: data",
          PROBES: "tensor cores", COPIES: "copies", STREAM: "uniform",
          MATRIX_TILES: "fused gather", FUSED: "fused gather",
          MAGNITUDES: "magnitudes", SMOOTH: "smooth norm", JOINED: "norm"}

CHECK_OF_PREFIX = {"stochastic": "pruning", "norms of": "squares", "channels": "channels",
                   "norm": "norm", "norm of": "norm", "smooth norm": "smooth_norm",
                   "long sums": "magnitudes", "far sums": "magnitudes", "far n": "magnitudes"}

# Of faults that other checks than those of their file find.
PREFIX_OF_FAULT = {"only the first block's sums": "norms of", "a row of the next block": "channels",
                   "a channel twice in a pair": "norm of", "the first channels' scales": "norm",
                   "another's first sums": "long sums",
                   "the slope of the other tail": "smooth norm",
                   "sums without the slope": "smooth norm",
                   "a slope without the addition before it": "smooth norm",
                   "a GELU without the addition before it": "smooth norm",
                   "no gradient of the residual": "smooth norm",
                   "a number too many": "mean", "the order of a sum by where it lies": "mean",
                   "a magnitude with its sign": "mean", "sums of any length in float": "long sums",
                   "no squares beyond float": "far sums", "no sums of planes beyond float": "far n",
                   "no sums of groups beyond float": "far n",
                   "no magnitudes beyond float": "far sums"}

# What is wrong, the kernel, the construct and what stands there instead. A construct is read as
# C++: spaces, lines and comments mean nothing, and a name of a variable stands for any one name.
FAULTS = [
    ("halves are joined without waiting", PLANES, "thread.barrier(); if (own.part < half)",
     "if (own.part < half)"),
    ("a column beyond the block", PLANES, "thread.index() / across", "thread.index() % across"),
    ("a pixel too many", PEAK, "for (int64_t pixel = begin; pixel < end; pixel += at.parts) {",
     "for (int64_t pixel = begin; pixel <= end; pixel += at.parts) {"),
    ("the last of equal peaks", PEAK, "at >= peaks.at[i]", "at <= peaks.at[i]"),
    ("a NaN is the largest", PEAK, "INFINITY : -1.0f", "INFINITY : INFINITY"),
    ("channels beyond the last", PEAK, "is_one = channel < args.co", "is_one = channel <= args.co"),
    ("too little shared memory", PEAK, ": sizeof(Peaks) + SharedSums",
     ": sizeof(Peaks) / 2 + SharedSums"),
    ("sums of any length in float", PLANES, "constexpr int kShortRows = 12;",
     "constexpr int kShortRows = 1 << 24;"),
    ("no squares beyond float", SQUARES, "return magnitude != 0 &&", "return false &&"),
    ("no sums of planes beyond float", NM, "if (!(whole <= DBL_MAX)) again", "if (false) again"),
    ("no sums of groups beyond float", NM, "if (whole > FLT_MAX) {", "if (false) {"),
    ("no magnitudes beyond float", PRUNED, "if (sum <= FLT_MAX) return sum;", "return sum;"),
    ("a pixel of a plane too many", MAGNITUDES,
     "for (int64_t pixel = begin; pixel < end; pixel += at.parts) {",
     "for (int64_t pixel = begin; pixel <= end; pixel += at.parts) {"),
    ("magnitudes of a part", MAGNITUDES, "sums.join(mine, other);", ""),
    ("magnitudes of channels beyond the last", MAGNITUDES, "is_one = channel < args.co",
     "is_one = channel <= args.co"),
    ("too little room for magnitudes", MAGNITUDES, "grid(SharedSums<kWidth>::kBytes)",
     "grid(SharedSums<kWidth>::kBytes / 2)"),
    ("half of the pixels twice", PEAK,
     "for (int64_t pixel = begin; pixel < end; pixel += at.parts) {",
     "for (int64_t pixel = begin; pixel < end; pixel += at.parts / 2 + at.parts % 2) {"),
    ("all peaks: the last of equals", PEAKS, "key == other_key && at < other_at",
     "key == other_key && at > other_at"),
    ("all peaks: a NaN is a number", PEAKS, ": 0x7F800001u", ": 0u"),
    ("all peaks: a pixel too many", PEAKS,
     "for (int64_t pixel = begin; pixel < end; pixel += at.parts) {",
     "for (int64_t pixel = begin; pixel <= end; pixel += at.parts) {"),
    ("all peaks: what makes room is lost", PEAKS, "best.at[i] = best.at[i - 1];",
     "best.at[i] = at;"),
    ("all peaks: the other parts' first alone", PEAKS,
     "for (int i = 0; i < kMost; ++i) insert(all[mine]",
     "for (int i = 0; i < 1; ++i) insert(all[mine]"),
    ("all peaks: the sum of a part", PEAKS, "sums.join(mine, other);", ""),
    ("all peaks: magnitudes with their signs", PEAKS, "kept_magnitude += double{size_of(value)};",
     "kept_magnitude += double{value};"),
    ("all peaks: too little shared memory", PEAKS, "grid(sizeof(Best) +",
     "grid(sizeof(Best) / 2 +"),
    ("few scores are read before they are there", LARGEST, "thread.barrier(); find_by_counting(",
     "find_by_counting("),
    ("the k-th is read before it is counted out", LARGEST, "key, found); thread.barrier(); } else",
     "key, found); } else"),
    ("scores and bins are read before they are there", LARGEST, "thread.barrier(); Threshold now{",
     "Threshold now{"),
    ("digits are read before they are counted", LARGEST,
     "thread.barrier(); if (thread.index() < kWarp)", "if (thread.index() < kWarp)"),
    ("a digit is read before it is found", LARGEST, "found); thread.barrier(); now", "found); now"),
    ("warps are counted before they are there", LARGEST, "of_warps[warp] = own; thread.barrier();",
     "of_warps[warp] = own;"),
    ("few equal scores are one", LARGEST, "== own && j < i", "== own && j < 0"),
    ("the last of equal scores", LARGEST, "all.at & (self - 1)", "all.at & ~(self - 1) & ~self"),
    ("one too many of few", LARGEST, "above + before + 1 ==", "above + before =="),
    ("one too many of equal scores", LARGEST, "mine.at < threshold.first",
     "mine.at <= threshold.first"),
    ("no score above the threshold", LARGEST, "key[i] > threshold.key", "false"),
    ("equal scores that are not chosen take places", LARGEST,
     "(is_among_first ? mine.at : threshold.first)", "mine.at"),
    ("a score that is none goes last", LARGEST, "return ~uint64_t{0};", "return 0;"),
    ("scores below zero the wrong way", LARGEST, "!= 0 ? ~bits :", "!= 0 ? bits :"),
    ("scores below zero are above it", LARGEST, ": bits | kSign", ": bits"),
    ("two zeros that differ", LARGEST, "score == 0 ? 0 : bits_of(score)", "bits_of(score)"),
    ("the value above the k-th's", LARGEST, "now.first <= above + own[j]",
     "now.first < above + own[j]"),
    ("values below the k-th's", LARGEST, "above < now.first && now.first", "now.first"),
    ("keys with other digits before are counted", LARGEST,
     "(key[i] ^ now.key) >> shift >> kDigitBits == 0", "true"),
    ("the digits before are forgotten", LARGEST, "{now.key | digit", "{digit"),
    ("what is above in the digits before counts again", LARGEST, "now.first - above, own[j]",
     "now.first, own[j]"),
    ("a digit with a sign", LARGEST, "key[i] >> shift & (kValues - 1));",
     "key[i] >> shift) % kValues;"),
    ("the bins of the digit before", LARGEST, "shift -= kDigitBits, bins += kValues",
     "shift -= kDigitBits"),
    ("bins that nobody has emptied", LARGEST, "i < kDigits * kValues;", "i < kValues;"),
    ("the last lanes are above themselves", LARGEST, "if (lane + lanes < kWarp) above", "above"),
    ("all digits but the last", LARGEST, "shift >= 0; shift -=", "shift > 0; shift -="),
    ("the second digit is the last", LARGEST, "now.first == now.of", "shift < 50"),
    ("a warp's first scores alone", LARGEST, "thread.threads() * kWarp;",
     "thread.threads() * 0 + kWarp;"),
    ("warps before are not counted", LARGEST, "before.at += of_warps[other].at;", ""),
    ("entries are read before they are there", ENTRIES,
     "thread.barrier(); if (at.sums) add_listed(", "if (at.sums) add_listed("),
    ("rows that have ended go on", ENTRIES, "next < end ? entry(n, next) : none()",
     "entry(n, next)"),
    ("only the first images", ENTRIES, "first += thread.threads()", "first = p.n"),
    ("the first group's channels", ENTRIES, "co / (p.co / p.geometry.groups) * p.group_inputs()",
     "0"),
    ("sums are added before they are there", SLICES,
     "thread.barrier(); if (at.part != 0 || !at.sums) return;",
     "if (at.part != 0 || !at.sums) return;"),
    ("stride down and across exchanged", SLICES, "pixel / wo * p.geometry.stride.h",
     "pixel / wo * p.geometry.stride.w"),
    ("no dilation across", SLICES, "tap % p.kw * p.geometry.dilation.w", "tap % p.kw"),
    ("the padding is read", SLICES, "one.x + at.across) >= w) {", "one.x + at.across) > w) {"),
    ("one part twice", SLICES, "int other = 1; other < at.parts",
     "int other = 0; other < at.parts"),
    ("lanes see the votes of all rows", ROWS_OF_PIXELS, "(ballot >> first) &", "ballot &"),
    ("a row too many for a block", ROWS_OF_PIXELS, "blocks_of(rows, kThreads / lanes())",
     "rows / (kThreads / lanes())"),
    ("pixels of another block", ROWS_OF_PIXELS, "thread.block_x() * (kThreads / columns())",
     "thread.block_x() * kThreads"),
    ("between two strides", GRADIENT_ROWS, "from % stride == 0 &&", ""),
    ("the last output pixel and one more", GRADIENT_ROWS, "from < outputs ? from",
     "from <= outputs ? from"),
    ("down and across exchanged", GRADIENT_ROWS, "in32(p.geometry.stride.w)",
     "in32(p.geometry.stride.h)"),
    ("no dilation", GRADIENT_ROWS, "- tap * dilation", "- tap"),
    ("the first group's rows", GRADIENT_ROWS, "* groups + group;", "* groups;"),
    ("the list of another row", ROWS, "add(entries + row * outputs", "add(entries + row"),
    ("an entry behind the row's last", ROWS,
     "for (int e = 0; e < entries_of_row; ++e) { const RowEntry",
     "for (int e = 0; e <= entries_of_row; ++e) { const RowEntry"),
    ("a lane's own vote before itself", ROWS, "(1u << at.lane) - 1", "(2u << at.lane) - 1"),
    ("each turn begins anew", ROWS, "found += bits_set(all);", "found = bits_set(all);"),
    ("the weights of the first group", ROWS, "args.w + group * outputs * of_channel + i",
     "args.w + i"),
    ("one tap's weights", ROWS, "w + tap * inputs, of_channel, sum", "w, of_channel, sum"),
    ("the channel of all groups", ROWS, "static_cast<int32_t>(channel), value",
     "static_cast<int32_t>(at.lane), value"),
    ("no tile is skipped", TILES, "uint32_t marked = 0;", "uint32_t marked = 0xFFFFFFFF;"),
    ("the marks of one pixel alone", TILES, "if (row[t] >= 0) marked |=",
     "if (row[t] >= 0) marked ="),
    ("the first word of marks", TILES, "marks[row[t] * words + word]", "marks[row[t] * words]"),
    ("marks of another row", TILES, "marks[at.row * words + word] = marked",
     "marks[at.row + word] = marked"),
    ("half of a tile is looked at", TILES, "c < kTileChannels; c += kWidth) { if",
     "c < kTileChannels / 2; c += kWidth) { if"),
    ("channels behind the last", TILES, "rest < kTileChannels ? channels : first",
     "rest < 0 ? channels : first"),
    ("the pixels behind the last", TILES, "if (pixel < pixels()) store", "store"),
    ("what is outside is read", TILES, "row[t] < 0 ? Floats<kWidth>{} :", ""),
    ("the gradient of one channel for all", TILES, "dy[t].v[k] * weights", "dy[t].v[0] * weights"),
    ("counts are read before they are there", LISTS, "thread.barrier(); if (!is_one) return;",
     "if (!is_one) return;"),
    ("warps list over one another", LISTS,
     "for (int other = 0; other < warp; ++other) before += found[",
     "for (int other = 1; other < warp; ++other) before += found["),
    ("the last warp's pixels alone are counted", LISTS, "lists.count[list] = before + own",
     "lists.count[list] = own"),
    ("pixels behind the last", LISTS, "pixel < end && pixel < left", "pixel < end"),
    ("listed pixels are read before they are there", LISTS,
     "thread.barrier(); if (at.sums) add_listed", "if (at.sums) add_listed"),
    ("listed pixels are overwritten", LISTS,
     "add_listed(listed, left, p, at, x, sum); thread.barrier();",
     "add_listed(listed, left, p, at, x, sum);"),
    ("a turn of a list alone", LISTS, "first < count; first += thread.threads()",
     "first < count; first = count"),
    ("a part's first chunk alone", LISTS, "chunk < end && chunk < Lists",
     "chunk <= begin && chunk < Lists"),
    ("sums of one channel over another's", LISTS, "if (kChannels > 1) thread.barrier();", ""),
    ("channels that a tile does not have", LISTS, "at.part == 0 && c < channels.channels) {",
     "at.part == 0) {"),
    ("every part's sums in one place", LISTS, "(part * p.co + channels.first + c)",
     "(channels.first + c)"),
    ("the pixel of another chunk", LISTS, "entry(chunk * Lists::kChunk + pixel", "entry(pixel"),
    ("the last part is not added", LISTS, "for (int64_t part = 0; part < parts; ++part) { sum +=",
     "for (int64_t part = 0; part + 1 < parts; ++part) { sum +="),
    ("warps are added before they are there", SUMS, "thread.barrier(); T sum = 0;", "T sum = 0;"),
    ("the last lanes are not added", SUMS, "int lanes = kWarp / 2", "int lanes = kWarp / 4"),
    ("another block of the stream", PRUNED, "(at + four) / 4)", "at / 4)"),
    ("another block for what is less than a vector", PRUNED, "static_cast<uint32_t>(last / 4)",
     "static_cast<uint32_t>(last)"),
    ("what is less than a vector is forgotten", PRUNED, "if (last < a.count) {", "if (last < 0) {"),
    ("the step of the launch where another stands", PRUNED, "rng.step = a.rng.current_step();", ""),
    ("the sign is lost", PRUNED, "std::copysign(tau, g)", "tau"),
    ("a number too many", PRUNED, "if (last < args.count) sum", "if (last <= args.count) sum"),
    ("the order of a sum by where it lies", PRUNED,
     "kWidth = kMostMoved<Number>; MeanMagnitudeArgs",
     "kWidth = kWide ? kMostMoved<Number> : 1; MeanMagnitudeArgs"),
    ("one set of turns alone", LOADS, "first += kTurns * step", "first = end"),
    ("turns overlap", LOADS, "first += kTurns * step", "first += step"),
    ("a turn beyond the end", LOADS, "if (first + turn * step < end)",
     "if (first + turn * step <= end)"),
    ("what another turn loaded", LOADS, "turn * step, loaded[turn]);",
     "turn * step, loaded[turn / 2]);"),
    ("the first half of a word twice", LOADS, ">> i % 2 * 16", ">> 0"),
    ("half of a word is lost", LOADS, ": all.word[i / kInWord] | bits << 16;", ": bits << 16;"),
    ("the higher of equal channels", NM, "if (key[j] > key[i])", "if (key[j] >= key[i])"),
    ("the higher of equal lanes", NM, "other == key && j < lane", "other == key && j > lane"),
    ("a NaN goes last", NM, "0x7F800001u ? 0x7F800001u", "0x7F800001u ? 0u"),
    ("all four are one group", NM, "kM == 4 ? 0x03020100 : 0x01000100", "0x03020100"),
    ("one too few stays", NM, "0x01010101u * (0x80 -", "0x01010101u * (0x81 -"),
    ("groups are not rescaled", NM, "!a.random && !a.rescale_group;", "!a.random;"),
    ("vectors of parts of dY", NM, "together % kWidth == 0", "together > 0"),
    ("sums of planes are read before they are whole", NM, "thread.barrier(); for (int channel",
     "for (int channel"),
    ("factors are read before they are there", NM, "thread.barrier(); Floats<kWidth> mine;",
     "Floats<kWidth> mine;"),
    ("sums of a warp's first rows", NM, "lanes >= at.across;", "lanes > at.across;"),
    ("sums of the first warp", NM, "double whole = 0, rest = 0; for (int warp = 0; warp < warps_;",
     "double whole = 0, rest = 0; for (int warp = 0; warp < 1;"),
    ("the factor of another channel", NM, "factors_[at.column * kWidth + i]", "factors_[i]"),
    ("no room for factors", NM, "2 * warps * sizeof(double) + sizeof(float)",
     "2 * warps * sizeof(double)"),
    ("channels beyond the last", NM, "channel < args.channels ? args.pixels",
     "channel <= args.channels ? args.pixels"),
    ("lanes of another group", NM, "first = lane / m * m", "first = lane / 8 * 8"),
    ("lanes' planes are cut by rows", NM, "if (on.rescale_plane) blocks.images",
     "if (on.images == 0) blocks.images"),
    ("another draw", NM, "[static_cast<size_t>(at % 4)]", "[static_cast<size_t>(at % 2)]"),
    ("a row of the next block", PLANES, "row < end; row += at.parts",
     "row <= end; row += at.parts"),
    ("a channel that is not kept", CHANNELS, "on.which.index[i] == channel",
     "on.which.index[i] >= channel"),
    ("the channel before", CHANNELS, "index[middle] < channel", "index[middle] <= channel"),
    ("the factor of another", CHANNELS, "which.factor[i])", "which.factor[0])"),
    ("the shift of another channel", NORM, "shift = load_ahead<kWidth>(x).floats()",
     "shift = load_ahead<kWidth>(on.x).floats()"),
    ("what is zero is not cut off", NORM, "if (y.v[i] <= 0) g.v[i] = 0;",
     "if (y.v[i] < 0) g.v[i] = 0;"),
    ("one sum over the other", PLANES,
     "float* sums = partial + (thread.block_x() * Sums::kSums + which) *",
     "float* sums = partial + (thread.block_x() * Sums::kSums) *"),
    ("only the first block's sums", PLANES, "i < blocks.plane; i += at.parts",
     "i < 1; i += at.parts"),
    ("a column's squares are another's", SQUARES, "on.norm[column]", "on.norm[0]"),
    ("the first numbers of a row alone", SQUARES, "at < on.m.columns;", "at < 256;"),
    ("numbers of a row twice", SQUARES, "int64_t{thread.threads()} * kWidth",
     "int64_t{thread.threads()}"),
    ("another block of the draws", NORM, "static_cast<uint32_t>((index + first) / 4)",
     "static_cast<uint32_t>(index / 4)"),
    ("the draws of another channel", NORM, "kDrawn == 4 ? i : index % 4", "kDrawn == 4 ? i : 0"),
    ("the offset by another mean", NORM, "std::fma(-scale.v[i], mean.v[i],",
     "std::fma(-scale.v[i], mean.v[0],"),
    ("a running variance that stays biased", NORM, "share * factor * double{now}",
     "share * double{now}"),
    ("running statistics where there are none", NORM, "if (on.moved.mean == nullptr) return;", ""),
    ("sums for others where nobody asked", NORM, "if (on.sums == nullptr) return;", ""),
    ("a result that lies otherwise", NORM, "(a.channels, a.x, a.residual, a.y, on.affine)",
     "(a.channels, a.x, a.residual, on.affine)"),
    ("scales that lie otherwise", NORM, "lies_by_sixteen(affine.bias) &&", ""),
    ("another number of blocks", NORM, "on.channels / kWidth, on.most_blocks",
     "on.channels / kWidth, on.most_blocks - 1"),
    ("blocks join before the last is there", JOINED, "last_to_come(arrivals + group,"
     " static_cast<uint32_t>(own))", "last_to_come(arrivals + group,"
     " static_cast<uint32_t>(own > 1 ? own - 1 : own))"),
    ("groups join before the last is there", JOINED, "last_to_come(arrivals + groups,"
     " static_cast<uint32_t>(groups))", "last_to_come(arrivals + groups, 1)"),
    ("more blocks are waited for than come", JOINED, "rest < kJoinedBlocks ? rest : kJoinedBlocks",
     "kJoinedBlocks"),
    ("the first blocks' sums for all", JOINED, "room.partial + begin * 2 * channels",
     "room.partial"),
    ("one group over the other", JOINED, "room.groups + group * 2 * channels + c",
     "room.groups + c"),
    ("a group too few", JOINED, "sums_in_order(room.groups, groups,",
     "sums_in_order(room.groups, groups - 1,"),
    ("the first channels for all", JOINED, "first = thread.block_y() * width", "first = 0"),
    ("channels beyond the last are joined", JOINED,
     "first + width < channels ? first + width : channels", "first + width"),
    ("counted with other channels", JOINED, "room.arrivals + thread.block_y() * (groups + 1)",
     "room.arrivals + 0"),
    ("another's first sums", JOINED, "Pair{load_fresh(at),", "Pair{load_fresh(at + channels),"),
    ("a channel twice in a pair", LOADS, "(values.v[2 * i], values.v[2 * i + 1])",
     "(values.v[2 * i], values.v[2 * i])"),
    ("the first channels' scales", LOADS, "values.v[first + i] = some.v[i]",
     "values.v[i] = some.v[i]"),
    ("what is not yet rounded is pruned", NORM, "static_cast<float>(Number(dx.v[i]));", "dx.v[i];"),
    ("a magnitude with its sign", PRUNED, "sum += std::fabs(values.v[i]);", "sum += values.v[i];"),
    ("all sums in one place", NORM, "thread.block_y() * thread.blocks() + thread.block_x()",
     "thread.block_y() * thread.blocks()"),
    ("counts over sums that are still read", NORM,
     "shared<int64_t>(static_cast<size_t>(thread.threads() / kWarp) * sizeof(double));",
     "shared<int64_t>();"),
    ("threads without channels look", NORM, "if (at.vector < blocks().vectors) write(",
     "if (at.vector <= blocks().vectors) write("),
    ("no square of the mean", NORM, "- shifted * shifted", ""),
    ("the angle of another pair", NORMALS, "words[pair + 1]", "words[3 - pair]"),
    ("one of four forgotten", DRAWS, "i < 4 && at + i", "i < 3 && at + i"),
    ("fours beyond the end", DRAWS, "kFours && at + 4 <= count", "kFours"),
    ("one place twice", STORED, "? 2 : first + 1;", "? 2 : first;"),
    ("the second of three", STORED, "first = stays[0] ? 0 : stays[1] ? 1 : 2;",
     "first = stays[0] ? 0 : 1;"),
    ("places of other fours", STORED, "high.places << 4", "high.places << 2"),
    ("places of the channels behind", STORED, "[at / kWidth] =", "[at / kWidth + 1] ="),
    ("numbers of the channels behind", STORED, "stored + at / 2,", "stored + at / 4,"),
    ("a stage is read before it is there", SPARSE, "thread.barrier(); multiply(", "multiply("),
    ("a stage is filled while it is read", SPARSE,
     "multiply(thread, stages[which], sums); thread.barrier();",
     "multiply(thread, stages[which], sums);"),
    ("copies are not waited for", SPARSE, "wait_copies<1>", "wait_copies<2>"),
    ("pixels are read before they are there", SPARSE, "thread.barrier(); write(", "write("),
    ("the padding is read", SPARSE, "y < p.ho", "y <= p.ho"),
    ("no places where there are only zeros", SPARSE, "kAnyPlaces = 0x4444", "kAnyPlaces = 0"),
    ("the places of other rows", SPARSE, "row = pixel + lane % 4 / 2 * 16", "row = pixel + 0"),
    ("the places of other channels", SPARSE, "word = 2 * half + lane % 2", "word = 2 * half"),
    ("no dilation down", SPARSE, "y = (own.y + g.padding.h - step.r * g.dilation.h)",
     "y = (own.y + g.padding.h - step.r)"),
    ("the first channels of dY alone", SPARSE, "step.channel + kOutputs < args.problem.co",
     "step.channel + kOutputs < kOutputs"),
    ("the weights of the first tap", SPARSE, "* taps + tap) * p.ci", "* taps) * p.ci"),
    ("a channel beyond the last", SPARSE, "input >= args.problem.ci", "input > args.problem.ci"),
    ("rows beyond the last", SPARSE, "own.n < p.n && own.y < p.h &&", "own.n < p.n &&"),
    ("sums of other rows", SPARSE, "v + 2 * below", "v + below"),
    ("half of the channels", SPARSE, "for (int half = 0; half < 2; ++half) { Registers",
     "for (int half = 0; half < 1; ++half) { Registers"),
    ("one selector for all", PROBES, "args.selector == 0", "args.selector >= 0"),
    ("matrices are loaded before they are there", PROBES, "thread.template wait_copies<0>();", ""),
    ("rounds run over the end", COPIES, "i + shift - vectors;", "i + shift;"),
    ("a block's part alone", COPIES, "i < vectors; i += stride", "i < vectors; i = vectors"),
    ("rows of B twice", PROBES, "args.b[at].v[0], args.b[at].v[1]",
     "args.b[at].v[0], args.b[at].v[0]"),
    ("a stage is multiplied before it is there", MATRIX_TILES,
     "thread.template wait_copies<0>(); thread.barrier();", "thread.template wait_copies<0>();"),
    ("copies of a stage are not waited for", MATRIX_TILES, "wait_copies<0>", "wait_copies<1>"),
    ("a stage is filled while it is read", MATRIX_TILES, "stages[(step + 1) % 2]",
     "stages[step % 2]"),
    ("the result is written over stages that are read", MATRIX_TILES,
     "end(step + 1, next); } thread.barrier();", "end(step + 1, next); }"),
    ("the result is read before it is whole", MATRIX_TILES, "thread.barrier(); return result;",
     "return result;"),
    ("half of a stage", MATRIX_TILES, "depth < kDepth; depth += 16", "depth < 16; depth += 16"),
    ("columns twice", MATRIX_TILES, "8 * j + lane / 16 * 8 + lane % 8;", "8 * j + lane % 8;"),
    ("the first eight of sixteen terms twice", MATRIX_TILES, "+ lane / 8 % 2 * 8", ""),
    ("sums of other rows", MATRIX_TILES, "[j].v + i % 2 * 2;", "[j].v;"),
    ("columns of another warp", MATRIX_TILES, "% 2 * kOwnColumns", "% 2 * 8"),
    ("weights of channels in their order", FUSED, "channel = on.index[j];", "channel = j;"),
    ("the scale of the first", FUSED, "on.scale[j])", "on.scale[0])"),
    ("weights are written before they are there", FUSED, "thread.barrier(); for (int i = warp",
     "for (int i = warp"),
    ("weights beyond the last", FUSED, "row >= on.rows || depth >= on.depth", "row >= on.rows"),
    ("weights of the first columns", FUSED, "weights + (row + column) * depth",
     "weights + column * depth"),
    ("the channels of the step before", FUSED,
     "low = channel_at((step + 1) * Tile::kDepth + 2 * pair);",
     "low = channel_at(step * Tile::kDepth + 2 * pair);"),
    ("one channel twice", FUSED, "high[i] = is_one && high >= 0 ? numbers[i * apart + high]",
     "high[i] = is_one && high >= 0 ? numbers[i * apart + low]"),
    ("columns beyond the last", FUSED, "column + eight >= on.columns",
     "column + eight > on.columns"),
    ("pixels beyond the last", FUSED, "pixel + row >= on.pixels ||", ""),
    ("a part begins within a vector", FUSED, "kPlacesApart] / 8 * 8", "kPlacesApart]"),
    ("a kept channel before its part", FUSED, ">= channel_of(tile)) --place",
     "> channel_of(tile)) --place"),
    ("channels after the last kept one", FUSED, "? on.channels :", "? on.index[on.kept - 1] :"),
    ("what is not kept is a product of zeros", FUSED, "(place - first) : kColumns;",
     "(place - first) : kColumns - 1;"),
    ("the scale of a part's first", FUSED, "on.scale[first + column]", "on.scale[first]"),
    ("no zero to write", FUSED, "zeros[thread.index() * Tile::kResultRow] = 0;", ";"),
    ("the first of eight alone", FUSED, "if (is_kept) ++place;", ""),
    ("terms of the next pixel", FUSED, "pixel + row < on.pixels && term < on.terms",
     "pixel + row < on.pixels"),
    ("the step of the launch", STREAM, "step_at == nullptr ? step : *step_at", "step"),
    ("the slope of the other tail", NORM, "smooth_slope_on_gpu(p.smooth, p.alpha,",
     "smooth_slope_on_gpu(NormTail::kGelu, p.alpha,"),
    ("sums without the slope", NORM, "g.v[i] *= smooth_slope_on_gpu(a.tail, a.alpha, z.v[i])",
     "g.v[i] *= 1"),
    ("a slope without the addition before it", NORM,
     "z.v[i] += residual.v[i]; } for (int i = 0; i < kWidth; ++i) g.v[i] *=",
     "z.v[i] += 0; } for (int i = 0; i < kWidth; ++i) g.v[i] *="),
    ("a GELU without the addition before it", NORM,
     "y.v[i] += residual.v[i]; } for (int i = 0; i < kWidth; ++i) { if",
     "y.v[i] += 0; } for (int i = 0; i < kWidth; ++i) { if"),
    ("no gradient of the residual", NORM,
     "if (adds) store_packed<kWidth>(a.dresidual + row * a.channels + channel, g);", ";"),
    ("a CELU without alpha", SMOOTH, "alpha * std::expm1(z / alpha)", "std::expm1(z)"),
    ("the lower half of the normal law alone", SMOOTH, "z < 0 ? tail : 1 - tail", "tail"),
    ("channels beyond the last behind a tail", NORM,
     "if (at.vector >= blocks().vectors) return;", "if (at.vector > blocks().vectors) return;"),
]


def main():
    build, source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    faults = FAULTS[::int(sys.argv[3])] if len(sys.argv) > 3 else FAULTS
    try:
        commands = subprocess.run(
            ["ninja", "-C", build, "-t", "commands", "gpu_checks"], capture_output=True,
            text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: the build is not by Ninja ({error})")
        return 77
    wrong = misplaced(source)
    for line in wrong:
        print(line)
    if wrong:
        return 1
    missed = 0
    with tempfile.TemporaryDirectory(prefix="approxtrain-mutants-") as folder:
        for what, kernel, construct, fault in faults:
            whole = (source / kernel).read_text()
            planted = pathlib.Path(folder, kernel)
            planted.parent.mkdir(parents=True, exist_ok=True)
            planted.write_text(replaced(whole, construct, fault))
            checks = PREFIX_OF_FAULT.get(what, PREFIX[kernel])
            check = CHECK_OF_PREFIX.get(checks) or CHECK_OF.get(kernel, "pruning")
            said = found(build, commands, check, checks, pathlib.Path(folder))
            planted.unlink()
            print(f"{kernel}: {what}: {said or 'NOT FOUND'}", flush=True)
            missed += not said
    print(f"{len(faults)} faults, {missed} not found")
    return 1 if missed else 0


def misplaced(source):
    """A line for each construct that its kernel has not exactly once, as it is written or with
    other words in the same places."""
    wrong = []
    for what, kernel, construct, _ in FAULTS:
        text = (source / kernel).read_text()
        try:
            place, _ = place_of(text, construct)
            if place_of(reworded(text), construct)[0] != place:
                wrong.append(f"{kernel}: {what}: found elsewhere once variables are renamed")
        except NotOnce as error:
            wrong.append(f"{kernel}: {what}: {error}")
    return wrong


def found(build, commands, check, checks, folder):
    """What these checks of a file say that is wrong, of a kernel in `folder` in place of the
    source's."""
    name = f"gpu_checks/{check}.cpp"
    out, program = folder / "mutant.o", folder / "mutant"
    compiling = next(c for c in commands if c.endswith(f"tests/{name}"))
    linking = next(c for c in reversed(commands) if re.search(r"-o \S*gpu_checks( |$)", c))
    own = re.search(rf"\S+/{re.escape(name)}\.o", linking)[0]
    compiling = compiling.replace(" -I", f" -I{folder} -I", 1)  # found before the source's
    compiling = re.sub(r" -o \S+ ", f" -o {out} ", compiling)
    linking = re.sub(r"-o \S*gpu_checks( |$)", f"-o {program} ", linking.replace(own, str(out)))
    for command in (compiling, linking):
        subprocess.run(command, shell=True, cwd=build, check=True, env=os.environ)
    # Loops for ever, crashes, or says what is wrong: all are findings.
    code, said = run(program, checks, seconds=20 + 10 * usual_seconds(build, checks))
    if code == -signal.SIGXCPU:
        return "does not end"
    if code < 0:
        return f"signal {-code}"
    wrong = [line for line in said.splitlines() if not line.endswith("cases agree")]
    return wrong[0] if code and wrong else ""


def run(program, checks, seconds):
    """The exit code and the output of its checks, which may take so long of a processor: by the
    clock a slow machine would find whatever is planted."""
    done = subprocess.run([program, CASES, checks], capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_CPU, (round(seconds), round(seconds) + 5)))
    return done.returncode, done.stdout


@functools.cache
def usual_seconds(build, checks):
    """Of a processor, where nothing is planted."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = spent()
    code, said = run(build / "gpu_checks", checks, seconds=1000)
    assert code == 0, f"{checks}: wrong before anything is planted: {said}"
    return spent() - before


if __name__ == "__main__":
    sys.exit(main())
