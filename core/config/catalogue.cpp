#include "core/config/catalogue.h"

#include <algorithm>

#include "base/error.h"
#include "base/known_names.h"
#include "core/config/dense.h"
#include "core/config/product_names.h"

namespace approx {
namespace {

void info_to_json(Json& json, const EntryInfo& info) {
  json = Json{{"name", info.name},         {"summary", info.summary}, {"paper", info.paper},
              {"paper_at", info.paper_at}, {"version", info.version}, {"params", info.params}};
}

void info_from_json(const Json& json, EntryInfo& info) {
  json.at("name").get_to(info.name);
  json.at("summary").get_to(info.summary);
  json.at("paper").get_to(info.paper);
  json.at("paper_at").get_to(info.paper_at);
  json.at("version").get_to(info.version);
  json.at("params").get_to(info.params);
}

template <typename Entry>
const Entry& find(const std::vector<Entry>& entries, std::string_view what, std::string_view name,
                  std::vector<std::string> names = {}) {
  for (const auto& entry : entries) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw usage_error("unknown {} \"{}\"{}", what, name, known_names(name, names));
}

// Every field under its name, one list for both ways.
template <typename AnyLayerInfo, typename Use>
void each_field(AnyLayerInfo& layer, Use use) {
  use("name", layer.name);
  use("kind", layer.kind);
  use("index", layer.index);
  use("in_channels", layer.in_channels);
  use("out_channels", layer.out_channels);
  use("kernel", layer.kernel);
  use("stride", layer.stride);
  use("padding", layer.padding);
  use("groups", layer.groups);
  use("in_size", layer.in_size);
  use("out_size", layer.out_size);
  use("parameters", layer.parameters);
  use("macs", layer.macs);
  use("norm_follows", layer.norm_follows);
  use("reads_images", layer.reads_images);
  use("frozen", layer.frozen);
  use("block", layer.block);
}

}  // namespace

void to_json(Json& json, const LayerInfo& layer) {
  each_field(layer, [&](const char* key, const auto& value) { json[key] = value; });
}

void from_json(const Json& json, LayerInfo& layer) {
  each_field(layer, [&](const char* key, auto& value) { json.at(key).get_to(value); });
}

const std::vector<Product>& MethodInfo::products_with(const Params& given) const {
  for (const auto& mode : products_of_mode) {
    if (mode.choice == given.text(kMode)) return mode.products;
  }
  return products;
}

int64_t MethodInfo::least_channels(const Params& given) const {
  const bool has = std::ranges::any_of(
      params, [](const ParamSpec& param) { return param.name == kMinChannels; });
  return has ? given.integer(kMinChannels) : 0;
}

std::string SelectionInfo::proxy_network(const Params& given) const {
  const bool has =
      std::ranges::any_of(params, [](const ParamSpec& param) { return param.name == kProxy; });
  if (!has) return "";
  std::string text = given.text(kProxy);
  const auto open = text.find('(');
  if (open == std::string::npos) return text;
  if (text.back() != ')') {
    throw usage_error("{}: {}={}: expected NETWORK or NETWORK(key=value;key=value)", name, kProxy,
                      text);
  }
  text.pop_back();
  text[open] = ':';
  std::ranges::replace(text, ';', ',');
  return text;
}

void NetworkInfo::check_side(int64_t side) const {
  if (side >= smallest) return;
  throw usage_error("{} needs images of at least {}x{} pixels, the data set's are {}x{}", name,
                    smallest, smallest, side, side);
}

void to_json(Json& json, const MethodInfo& info) {
  info_to_json(json, info);
  json["products"] = product_names(info.products);
  auto& modes = json["products_of_mode"] = Json::array();
  for (const auto& mode : info.products_of_mode) modes.push_back(product_names(mode.products));
  json["half_version"] = info.half_version;
  json["rounding_since"] = info.rounding_since;
  json["half_rounding_since"] = info.half_rounding_since;
  json["random_twin"] = info.random_twin;
  json["twin_by_density"] = info.twin_by_density;
  json["stops_blocks"] = info.stops_blocks;
}

void from_json(const Json& json, MethodInfo& info) {
  info_from_json(json, info);
  info.products = products_from(json.at("products"));
  const Json& modes = json.at("products_of_mode");
  for (const auto& param : info.params) {
    if (param.name != MethodInfo::kMode) continue;
    for (size_t i = 0; i < modes.size(); ++i) {
      info.products_of_mode.push_back({param.choices.at(i), products_from(modes[i])});
    }
  }
  json.at("half_version").get_to(info.half_version);
  json.at("rounding_since").get_to(info.rounding_since);
  json.at("half_rounding_since").get_to(info.half_rounding_since);
  json.at("random_twin").get_to(info.random_twin);
  json.at("twin_by_density").get_to(info.twin_by_density);
  json.at("stops_blocks").get_to(info.stops_blocks);
}

void to_json(Json& json, const NetworkInfo& info) {
  info_to_json(json, info);
  json.update(Json{{"classes", info.classes},
                   {"channels", info.channels},
                   {"size", info.size},
                   {"parameters", info.parameters},
                   {"macs", info.macs},
                   {"layers", info.layers},
                   {"smallest", info.smallest}});
}

void from_json(const Json& json, NetworkInfo& info) {
  info_from_json(json, info);
  json.at("classes").get_to(info.classes);
  json.at("channels").get_to(info.channels);
  json.at("size").get_to(info.size);
  json.at("parameters").get_to(info.parameters);
  json.at("macs").get_to(info.macs);
  json.at("layers").get_to(info.layers);
  json.at("smallest").get_to(info.smallest);
}

void to_json(Json& json, const StudyInfo& info) {
  info_to_json(json, info);
  json["methods"] = info.methods;
}

void from_json(const Json& json, StudyInfo& info) {
  info_from_json(json, info);
  json.at("methods").get_to(info.methods);
}

void to_json(Json& json, const SelectionInfo& info) {
  info_to_json(json, info);
  json["after_an_epoch"] = info.after_an_epoch;
}

void from_json(const Json& json, SelectionInfo& info) {
  info_from_json(json, info);
  json.at("after_an_epoch").get_to(info.after_an_epoch);
}

void to_json(Json& json, const RuledVariant& variant) {
  json = Json{{"name", variant.name},
              {"plan", variant.plan},
              {"rival", variant.rival},
              {"product", name(variant.product)},
              {"pays_above", variant.pays == Pays::kAbove},
              {"on_cpu", variant.on_cpu}};
}

void from_json(const Json& json, RuledVariant& variant) {
  json.at("name").get_to(variant.name);
  json.at("plan").get_to(variant.plan);
  json.at("rival").get_to(variant.rival);
  variant.product = products_from(Json::array({json.at("product")})).at(0);
  variant.pays = json.at("pays_above").get<bool>() ? Pays::kAbove : Pays::kBelow;
  json.at("on_cpu").get_to(variant.on_cpu);
}

void to_json(Json& json, const Catalogue& catalogue) {
  json = Json{{"schema", "approxtrain.catalogue/1"}, {"methods", catalogue.methods},
              {"networks", catalogue.networks},      {"studies", catalogue.studies},
              {"selections", catalogue.selections},  {"ruled_variants", catalogue.ruled_variants}};
}

void from_json(const Json& json, Catalogue& catalogue) {
  json.at("methods").get_to(catalogue.methods);
  json.at("networks").get_to(catalogue.networks);
  json.at("studies").get_to(catalogue.studies);
  json.at("selections").get_to(catalogue.selections);
  json.at("ruled_variants").get_to(catalogue.ruled_variants);
}

const MethodInfo& Catalogue::method(std::string_view name) const {
  static const auto word = [](std::string_view text, const char* summary) {
    MethodInfo info;
    info.name = text;
    info.summary = summary;
    return info;
  };
  static const MethodInfo dense = word(kDense, "the exact computation");
  static const MethodInfo mixed = word(kMixed, "each rule of the schedule names its own method");
  if (name == dense.name) return dense;
  if (name == mixed.name) return mixed;
  return find(methods, "method", name, {dense.name, mixed.name});
}

const NetworkInfo& Catalogue::network(std::string_view name) const {
  return find(networks, "network", name);
}

const SelectionInfo& Catalogue::selection(std::string_view name) const {
  return find(selections, "selection", name, {"none"});
}

Params Catalogue::method_params(std::string_view text) const {
  const Spec spec = parse_spec(text);
  return Params(method(spec.name).params, spec);
}

Params Catalogue::network_params(std::string_view text) const {
  const Spec spec = parse_spec(text);
  return Params(network(spec.name).params, spec);
}

Params Catalogue::selection_params(std::string_view text) const {
  const Spec spec = parse_spec(text);
  const SelectionInfo& info = selection(spec.name);
  Params params(info.params, spec);
  if (const auto proxy = info.proxy_network(params); !proxy.empty()) network_params(proxy);
  return params;
}

}  // namespace approx
