// The catalogue that the build took from the library.
#include "cli/catalogue.h"

#include <algorithm>

#include "base/error.h"
#include "core/config/dense.h"

namespace approx {

extern const char* const kCatalogueJson;  // generated, see cmake/catalogue.cpp

namespace {

Catalogue& of_this_process() {
  static Catalogue catalogue = Json::parse(kCatalogueJson);
  return catalogue;
}

}  // namespace

const Catalogue& Catalogue::embedded() { return of_this_process(); }

void add_to_catalogue(const std::vector<MethodInfo>& methods) {
  auto& known = of_this_process().methods;
  for (const auto& method : methods) {
    const bool taken = is_dense(method.name) || is_mixed(method.name) ||
                       std::ranges::find(known, method.name, &MethodInfo::name) != known.end();
    if (taken) throw usage_error("method {}: the program has one of that name", method.name);
    known.push_back(method);
  }
}

}  // namespace approx
