#include "core/python/python_methods.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/files.h"
#include "core/config/product_names.h"
#include "core/python/interpreter.h"

namespace approx {
namespace {

constexpr int64_t kLargestFile = int64_t{1} << 24;

Value value_of(const Json& json, const std::string& where) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  throw usage_error("{}: the default is neither a number, a text nor a truth value", where);
}

ParamSpec fixed(const char* name, const std::string& value, const char* help) {
  return {.name = name, .fallback = value, .help = help, .choices = {value}};
}

bool is_fixed(std::string_view name) {
  return name == kPythonFileParam || name == kPythonParam || name == kPytorchParam;
}

}  // namespace

void to_json(Json& json, const PythonMethods& methods) {
  json = {{"path", methods.file.path},
          {"text", methods.file.text},
          {"executable", methods.file.executable},
          {"worker", methods.file.worker},
          {"description", methods.description}};
}

void from_json(const Json& json, PythonMethods& methods) {
  json.at("path").get_to(methods.file.path);
  json.at("text").get_to(methods.file.text);
  json.at("executable").get_to(methods.file.executable);
  json.at("worker").get_to(methods.file.worker);
  methods.description = json.at("description");
}

std::vector<MethodInfo> infos_of(const PythonMethods& methods) {
  const std::string digest = sha256_hex(methods.file.text);
  std::vector<MethodInfo> infos;
  for (const auto& method : methods.description.at("methods")) {
    MethodInfo info;
    method.at("name").get_to(info.name);
    method.at("summary").get_to(info.summary);
    info.products = products_from(method.at("products"));
    for (const auto& param : method.at("params")) {
      const auto key = param.at(0).get<std::string>();
      const auto where =
          fmt::format("{}: method {}: parameter {}", methods.file.path, info.name, key);
      if (is_fixed(key)) {
        throw usage_error("{}: the name is taken, as each method in Python has it", where);
      }
      info.params.push_back(
          {.name = key, .fallback = value_of(param.at(1), where), .help = "as in Python"});
    }
    info.params.push_back(fixed(kPythonFileParam, digest, "SHA-256 of the Python file"));
    info.params.push_back(
        fixed(kPythonParam, methods.description.at("python").get<std::string>(), "its version"));
    info.params.push_back(
        fixed(kPytorchParam, methods.description.at("pytorch").get<std::string>(), "its version"));
    info.random_twin = "random_entries";
    info.twin_by_density = true;
    infos.push_back(std::move(info));
  }
  return infos;
}

bool is_python(const MethodInfo& info) {
  // The last three, in this order.
  const auto& params = info.params;
  return params.size() >= 3 && params[params.size() - 3].name == kPythonFileParam &&
         params[params.size() - 2].name == kPythonParam && params.back().name == kPytorchParam;
}

std::string text_for_python(const MethodInfo& info, const Params& params) {
  std::string text = info.name;
  for (const auto& [key, value] : parse_spec(params.full_text()).arguments) {
    if (is_fixed(key)) continue;
    text += fmt::format("{}{}={}", text.size() == info.name.size() ? ":" : ",", key, value);
  }
  return text;
}

PythonMethods describe_python(const std::string& path, const std::string& executable,
                              const std::string& worker) {
  std::vector<uint8_t> bytes;
  try {
    bytes = read_file(path, kLargestFile);
  } catch (const Error& error) {
    throw usage_error("--python: {}", error.what());
  }
  PythonMethods methods{.file = {.path = path,
                                 .text = std::string(bytes.begin(), bytes.end()),
                                 .executable = executable,
                                 .worker = worker},
                        .description = {}};
  methods.description = Interpreter(methods.file, /*threads=*/1).description();
  if (methods.description.at("methods").empty()) {
    throw usage_error("{}: it declares no method; write @approxtrain.method(\"name\") above one",
                      path);
  }
  return methods;
}

}  // namespace approx
