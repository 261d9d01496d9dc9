// The multiplications of a GPU's tensor cores, and the places of their operands in the lanes of a
// warp. Sources are PTX ISA 9.0, sections 9.7.14.5.8 and 9.7.14.6.2.2; for the places of the
// indices, a figure there and CUTLASS's reorder_meta.
//
// Thread::multiply<Number>(a, b_first, b_second, sum) adds A [16,16] times B [16,8] to D [16,8].
// Registers a, b and sum are as below. All columns of A are stored, and b has only its first two
// registers, which hold its sixteen rows.
//
// Thread::multiply_sparse<Number, kSelector>(a, b, indices, sum) adds A [16,32] times B [32,8] to D
// [16,8]. Two of every four neighbouring columns of A are stored, the lower first; all others are
// zero. A is thus [16,16] in the registers. Lane 4 g + t has:
//   a        registers 0 and 2: row g; registers 1 and 3: row g + 8. Registers 0 and 1: the stored
//            columns 2 t and 2 t + 1; registers 2 and 3: the stored columns 2 t + 8 and 2 t + 9.
//   b        register i: rows 8 i + 2 t and 8 i + 2 t + 1 of column g.
//   sum      columns 2 t and 2 t + 1, first of row g, then of row g + 8.
//   indices  are read only from the lanes with t = 2 kSelector + k, for columns 16 k to 16 k + 15.
//            The lower sixteen bits are for row g, the upper for row g + 8. In these, each four
//            bits say which of four columns are stored: bits 0 and 1 the first, bits 2 and 3 the
//            second.
// The lower of two numbers in a register is in its lower half. Two such products over 16 rows each
// take their indices from one register.
//
// Thread::load_matrices<kTransposed>(row) reads four matrices [8,8] of such numbers from shared
// memory. `row` of lane l is row l % 8 of matrix l / 8, in eight numbers whose address is a
// multiple of sixteen bytes. Register i of lane 4 g + t then has the numbers 2 t and 2 t + 1 of row
// g of matrix i; kTransposed: of its column g.
#pragma once

#include <cstdint>

#include "kernels/gpu/kernel.h"

namespace approx {

struct Registers {
  uint32_t v[4];
};

}  // namespace approx
