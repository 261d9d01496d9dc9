// The catalogue that the build took from the library.
#include "core/config/catalogue.h"

namespace approx {

extern const char* const kCatalogueJson;  // generated, see cmake/catalogue.cpp

const Catalogue& Catalogue::embedded() {
  static const Catalogue catalogue = Json::parse(kCatalogueJson);
  return catalogue;
}

}  // namespace approx
