#include "core/nn/alive_rows.h"

#include <utility>

namespace approx {
namespace {

// The note is a part of the tensor, which LibTorch lets its users attach.
struct AliveNote final : c10::BackendMeta {
  AliveNote(AliveRows of_rows, uint32_t at_version)
      : rows(std::move(of_rows)), version(at_version) {}

  AliveRows rows;
  uint32_t version;
};

}  // namespace

void note_alive_rows(const at::Tensor& gradient, AliveRows rows) {
  gradient.unsafeGetTensorImpl()->set_backend_meta(
      c10::make_intrusive<AliveNote>(std::move(rows), gradient._version()));
}

const AliveRows* alive_rows(const at::Tensor& gradient) {
  const auto* note =
      dynamic_cast<const AliveNote*>(gradient.unsafeGetTensorImpl()->get_backend_meta());
  return note != nullptr && note->version == gradient._version() ? &note->rows : nullptr;
}

}  // namespace approx
