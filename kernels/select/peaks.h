// The k positions that represent a plane of dY, on plain memory.
#pragma once

#include <array>
#include <cstdint>

#include "base/enum_text.h"
#include "kernels/bfloat16.h"

namespace approx {

// The values at kept positions, with S the sum of the plane and v its values there:
//   kEqual   S / k for each
//   kSigned  v * S / sum(v); v where that sum is zero
//   kL1      v * sum|plane| / sum|v|; likewise
//   kNone    v
enum class PeakScale : uint8_t { kEqual, kSigned, kL1, kNone };

constexpr auto enum_texts(PeakScale) {
  return std::to_array<EnumText<PeakScale>>({{PeakScale::kEqual, "equal"},
                                             {PeakScale::kSigned, "signed"},
                                             {PeakScale::kL1, "l1"},
                                             {PeakScale::kNone, "none"}});
}

// For every plane (n, c) of dy, [N,Ho*Wo,Co] in memory: its k positions of largest magnitude, and
// their values times `factor`. The largest comes first, of equal ones the first; NaNs come before
// all others.
template <typename Number>
struct PeaksArgs {
  int64_t n = 0, plane = 0, co = 0;
  int64_t k = 1;  // at most `plane`
  PeakScale scale = PeakScale::kEqual;
  float factor = 1;
  const Number* dy = nullptr;   // [N,plane,Co]
  int32_t* position = nullptr;  // [N,Co,k]
  float* value = nullptr;       // [N,Co,k]
};

// The most positions that a GPU kernel keeps in the registers of a thread.
inline constexpr int64_t kMostPeaks = 8;

// For images n in [begin, end).
template <typename Number>
void plane_peaks_reference(const PeaksArgs<Number>& args, int64_t begin, int64_t end);

}  // namespace approx
