#include "kernels/multiplications.h"
#include "kernels/sampled/sampled.h"

namespace approx {
namespace {

void sampled_definition(const Arguments<Sampled, double>& args, int64_t begin, int64_t end) {
  const auto factor = [](const float* of_axis, int64_t index) {
    return of_axis == nullptr ? 1.0 : double{of_axis[index]};
  };
  multiply_all(args, begin, end, [&](int64_t n, int64_t ci, int64_t co) {
    return factor(args.example, n) * factor(args.input_channel, ci) *
           factor(args.output_channel, co);
  });
}

REGISTER_KERNEL(Sampled, "reference", sampled_definition).definition();

}  // namespace
}  // namespace approx
