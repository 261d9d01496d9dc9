// What the tensor cores of a GPU multiply, as the lanes of a warp hold it (PTX ISA 9.0, sections
// 9.7.14.5.8 and 9.7.14.6.2.2; where the indices lie is a figure there, and what CUTLASS's
// reorder_meta says).
//
// Thread::multiply<Number>(a, b_first, b_second, sum) adds A [16,16] times B [16,8] to D [16,8]. a,
// b and sum are as below, of an A all of whose columns are there and of the first two registers of
// b, which are its sixteen rows.
//
// Thread::multiply_sparse<Number, kSelector>(a, b, indices, sum) adds A [16,32] times B [32,8] to
// D [16,8]. Of every four neighbouring columns of A two are stored, the lower first, so that it is
// [16,16] in the registers; all others are zero. Of lane 4 g + t:
//   a        registers 0 and 2: row g, registers 1 and 3: row g + 8; of what is stored the columns
//            2 t and 2 t + 1, in registers 2 and 3 those eight further
//   b        register i: rows 8 i + 2 t and 8 i + 2 t + 1 of column g
//   sum      columns 2 t and 2 t + 1, first of row g, then of row g + 8
//   indices  read of the lanes with t = 2 kSelector + k alone, for columns 16 k to 16 k + 15: of
//            row g in the lower sixteen bits, of row g + 8 in the upper. Of these each four bits
//            say which of four columns are stored: bits 0 and 1 the first, bits 2 and 3 the second.
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
