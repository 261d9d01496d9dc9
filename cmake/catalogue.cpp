// Writes the library's catalogue of methods and networks as a C++ source that embeds its text.
#include <cstdio>
#include <fstream>

#include "core/engine/engine.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: approxtrain_catalogue OUTPUT.cpp\n");
    return 2;
  }
  const approx::Json json = approxtrain_engine()->catalogue();
  std::ofstream out(argv[1]);
  out << "namespace approx {\n\n"
      << "extern const char* const kCatalogueJson;\n"
      << "const char* const kCatalogueJson =\n";
  // A compiler may limit the length of one literal: one literal a line, joined by the compiler.
  const std::string text = json.dump(1);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out << "      R\"json(" << text.substr(begin, end - begin) << ")json\"\n";
    begin = end + 1;
  }
  out << "    ;\n\n}  // namespace approx\n";
  out.close();
  return out ? 0 : 1;
}
