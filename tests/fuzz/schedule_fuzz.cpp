// Schedules in their three forms: a name with parameters, rules as JSON as a worker's task has
// them, and TOML as an experiment has it; then the schedule of a network that is made of them.
#include "core/config/named_schedule.h"
#include "core/config/schedule.h"
#include "core/experiment/schedule_reader.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

constexpr ErrorKind kRefused = ErrorKind::kUsage;
constexpr int64_t kStepsPerEpoch = 20, kSteps = 200;

void check_canonical(const Rule& rule) {
  accepted(kRefused, [&] {
    const Rule once = canonical_rule(rule, "topk_position", test_catalogue());
    expect(canonical_rule(once, "topk_position", test_catalogue()) == once,
           "a rule has one canonical form");
    expect(Json(once).get<Rule>() == once, "a rule as JSON and back is the same");
  });
}

void use(const std::vector<Rule>& rules) {
  for (const auto& rule : rules) check_canonical(rule);
  for (const char* method : {"topk_position:k=2", "sampler", "mixed", "dense"}) {
    accepted(kRefused, [&] {
      const auto& layers = test_catalogue().network("resnet20").layers;
      Schedule schedule(rules, layers, method, test_catalogue(), kStepsPerEpoch, kSteps);
      expect(schedule.period() >= 1, "a period has a step");
      const double share = schedule.approximated_share(kSteps);
      expect(share >= 0 && share <= 1, "a share lies from 0 to 1");
      for (int64_t step = 0; step < kSteps; step += kStepsPerEpoch) schedule.observe(0.5, step);
      for (size_t layer = 0; layer < layers.size(); ++layer) {
        const auto decision = schedule.at(layer, kSteps - 1);
        for (const int chosen : decision.method) {
          expect(chosen < static_cast<int>(schedule.methods().size()), "a decision names a method");
        }
      }
      schedule.check_together();
    });
  }
}

void read_toml(std::string_view text) {
  accepted(kRefused, [&] {
    const TomlSource source("x.toml", text);
    const auto* node = source.root().get("schedule");
    if (node == nullptr) return;
    source.each(*node, "schedule", [&](const toml::node& item, const std::string& path) {
      use(read_schedule(source, item, path, test_catalogue()).rules);
    });
  });
}

// As RunConfig reads them.
void read_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array() || json.size() > 100) return;
  accepted(kRefused, [&] {
    std::vector<Rule> rules;
    for (const auto& item : json) rules.push_back(item.get<Rule>());
    use(rules);
  });
}

}  // namespace

void run(Bytes input) {
  const auto text = text_of(input);
  accepted(kRefused, [&] { use(make_schedule(text)); });
  read_json(text);
  read_toml(text);
}

std::vector<Buffer> seeds() {
  std::vector<Buffer> all;
  for (const auto* entry : Registry<ScheduleEntry>::instance().all()) {
    all.push_back(buffer_of(entry->name));
    const Params params(entry->params, Spec{entry->name, {}});
    all.push_back(buffer_of(params.full_text()));
    accepted(kRefused, [&] { all.push_back(buffer_of(Json(entry->make(params)).dump())); });
  }
  for (const char* text :
       {"slice:layers=2::2,steps=::4", "wang2019_s3:first=true",
        "schedule = {label = \"S\", layers = \"2::4\", steps = \"::2\", method = \"zero\", "
        "products = [\"weight_gradient\"], from = \"1ep\", until = \"0.5dur\"}",
        "schedule = {label = \"S\", rules = [{layers = \"kind=conv3x3\", until = "
        "\"plateau:patience=2\"}, {layers = \"name=fc\", steps = \"1::3\"}]}",
        "schedule = {label = \"S\", matrix = [\".*\", \"a.\"], key = {a = \"zero\"}}",
        "schedule = [\"wang2019_s1\", {label = \"x\", schedule = \"wang2019_s2\"}]",
        "schedule = {label = \"S\", rules = [{layers = \"2\", method = \"sampler\"}, {layers = "
        "\"2\", steps = \"::7\", method = \"sampler:mode=backward\"}]}"}) {
    all.push_back(buffer_of(text));
  }
  return all;
}

}  // namespace approx::fuzz
