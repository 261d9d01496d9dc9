#include "base/json.h"

#include <nlohmann/json.hpp>

namespace approx {

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace approx
