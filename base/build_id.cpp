#include "base/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace approx {
namespace {

struct Search {
  uintptr_t address = 0;
  std::string found;
};

constexpr size_t aligned(size_t size) { return (size + 3) / 4 * 4; }

// The id among the notes of one segment, "" without.
std::string id_in(std::string_view notes) {
  constexpr std::string_view kOwner("GNU\0", 4);
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    const size_t content = sizeof note + aligned(note.n_namesz);
    const size_t next = content + aligned(note.n_descsz);
    if (next > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof note, note.n_namesz) == kOwner) {
      std::string text;
      for (const char c : notes.substr(content, note.n_descsz)) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(c));
      }
      return text;
    }
    notes.remove_prefix(next);
  }
  return "";
}

// What dl_iterate_phdr calls for each object; not 0 once the one that holds the address was seen.
int look_at(dl_phdr_info* object, size_t /*size*/, void* given) {
  auto& search = *static_cast<Search*>(given);
  bool inside = false;
  std::string id;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      inside |= search.address >= begin && search.address - begin < segment.p_memsz;
    } else if (segment.p_type == PT_NOTE && id.empty()) {
      // The loader gives it as a number. NOLINTNEXTLINE(performance-no-int-to-ptr)
      id = id_in({reinterpret_cast<const char*>(begin), segment.p_filesz});
    }
  }
  if (inside) search.found = id;
  return inside ? 1 : 0;
}

}  // namespace

std::string build_id_at(const void* address) {
  Search search{.address = reinterpret_cast<uintptr_t>(address), .found = {}};
  dl_iterate_phdr(look_at, &search);
  return search.found;
}

}  // namespace approx
