#include "cli/serve/site.h"

#include <gtest/gtest.h>

#include <fstream>

#include "cli/serve/live_page.h"
#include "tests/cli/serve/count.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

using Mode = RunStore::Mode;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
constexpr const char* kHostile = "<script>alert(1)</script>\"'&amp;";

// The element <div class="part" id=ID>, to the next one.
std::string part_of(const std::string& html, const std::string& id) {
  const std::string begin = "<div class=\"part\" id=\"" + id + "\"";
  const size_t at = html.find(begin);
  if (at == html.npos) return "no part " + id;
  return html.substr(at, html.find("<div class=\"part\"", at + 1) - at);
}

// A store with a finished, a failed, a running and a planned run.
class SiteTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "<b>store.db";
  const std::string at_work_ = folder_ / "at-work";
  const SiteAddress address_ = {.port = 4711, .token = kToken, .nonce = "a-nonce"};
  std::unique_ptr<RunStore> writer_;
  int64_t running_ = 0;

  void fill() {
    auto failed = planned("zero", 1);
    failed.method_label = kHostile;
    auto bf16 = planned("zero", 2);
    bf16.config.precision = Precision::kBf16;
    const std::vector<PlannedRun> plans = {planned("dense", 0), failed, bf16, planned("sdgp", 3)};
    writer_ = std::make_unique<RunStore>(path_, Mode::kWrite);
    writer_->add_experiment(experiment_of(plans, "test:<i>one"), "sweep");
    const auto dense = writer_->begin(plans[0].key, environment_of(), folder_ / "dense");
    writer_->finish(*dense, accuracy_events({0.5, 0.75}), {});
    const auto lost = writer_->begin(plans[1].key, environment_of("other"), folder_ / "lost");
    writer_->finish(*lost, {}, {.state = RunState::kFailed, .error = kHostile});
    std::filesystem::create_directories(at_work_);
    running_ = *writer_->begin(bf16.key, environment_of(), at_work_);
    report(accuracy_event(1, 0.25));
  }

  // What the run at work says.
  void report(const Json& event) const {
    std::ofstream(at_work_ + "/events.jsonl", std::ios::app) << event.dump() << "\n";
  }

  HttpRequest get(const std::string& path, HttpFields query = {}) const {
    return {.method = "GET", .path = path, .query = std::move(query), .hosts = {"127.0.0.1:4711"}};
  }

  HttpResponse ask(const HttpRequest& request) {
    LiveStore store(path_, nullptr);
    return answer(request, address_, store);
  }

  std::string live(HttpFields query = {}) {
    const auto response = ask(get("/" + address_.token + "/live", std::move(query)));
    EXPECT_EQ(response.status, 200);
    return response.body;
  }
};

std::string header_of(const HttpResponse& response, const std::string& name) {
  for (const auto& [header, value] : response.headers) {
    if (header == name) return value;
  }
  return "";
}

TEST_F(SiteTest, OnlyWhoHasTheTokenGetsAnything) {
  fill();
  const std::string token = kToken;
  for (const std::string path :
       {"/", "", "/live", "//", "/x/", "/0123456789abcdef0123456789abcdeF/",
        "/0123456789abcdef0123456789abcde/", "/0123456789abcdef0123456789abcdef0/",
        "0123456789abcdef0123456789abcdef/", "//0123456789abcdef0123456789abcdef/"}) {
    const auto response = ask(get(path));
    EXPECT_EQ(response.status, 403) << path;
    EXPECT_EQ(count(response.body, token), 0u) << path;
  }
  EXPECT_EQ(ask(get("/" + token + "/")).status, 200);
  EXPECT_EQ(ask(get("/" + token + "/live")).status, 200);
  EXPECT_EQ(ask(get("/" + token + "/events")).type, kEventType);
  EXPECT_EQ(header_of(ask(get("/" + token)), "Location"), "/" + token + "/");
  EXPECT_EQ(ask(get("/" + token + "/other")).status, 404);
  EXPECT_EQ(ask(get("/" + token + "/../etc/passwd")).status, 404);
}

TEST_F(SiteTest, OnlyTheLoopbackIsAHost) {
  auto request = get("/" + address_.token + "/live");
  const auto status = [&](std::vector<std::string> hosts, int port = 4711) {
    request.hosts = std::move(hosts);
    LiveStore store(path_, nullptr);
    return answer(request, {.port = port, .token = kToken, .nonce = "n"}, store).status;
  };
  EXPECT_EQ(status({"127.0.0.1:4711"}), 200);
  EXPECT_EQ(status({"localhost:4711"}), 200);
  EXPECT_EQ(status({"127.0.0.1"}, 80), 200);
  for (const char* host : {"", "127.0.0.1", "localhost", "127.0.0.1:4712", "evil.example:4711",
                           "127.0.0.1.evil.example:4711", "127.0.0.1:4711.evil.example"}) {
    EXPECT_EQ(status({host}), 403) << host;
  }
  EXPECT_EQ(status({}), 403);
  EXPECT_EQ(status({"127.0.0.1:4711", "evil.example"}), 403);
}

TEST_F(SiteTest, NothingButReadingIsAllowed) {
  fill();
  const std::string before = file_bytes(path_);
  auto request = get("/" + address_.token + "/");
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}) {
    request.method = method;
    const auto response = ask(request);
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(header_of(response, "Allow"), "GET, HEAD") << method;
    request.path = "/";
    EXPECT_EQ(ask(request).status, 403) << method << " without the token";
    request.path = "/" + address_.token + "/";
  }
  request.method = "HEAD";
  EXPECT_EQ(ask(request).status, 200);
  live();
  EXPECT_TRUE(file_bytes(path_) == before);
}

TEST_F(SiteTest, ABrowserLoadsNothingFromElsewhere) {
  fill();
  const auto page = ask(get("/" + address_.token + "/"));
  const auto policy = header_of(page, "Content-Security-Policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'nonce-a-nonce'; ")) << policy;
  EXPECT_EQ(count(policy, "unsafe"), 0u) << policy;
  for (const auto& response : {page, ask(get("/" + address_.token + "/live")), ask(get("/"))}) {
    EXPECT_EQ(count(header_of(response, "Content-Security-Policy"), "default-src 'none'"), 1u);
    EXPECT_EQ(header_of(response, "Cache-Control"), "no-store");
    EXPECT_EQ(header_of(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header_of(response, "Referrer-Policy"), "no-referrer");
  }
  EXPECT_EQ(count(page.body, "<script"), 1u);
  EXPECT_EQ(count(page.body, "<script nonce=\"a-nonce\">"), 1u);
  EXPECT_EQ(count(page.body, " style="), 0u) << "the policy would refuse it";
  EXPECT_EQ(count(page.body, "http:") + count(page.body, "https:"), 0u);
}

TEST_F(SiteTest, TextOfTheStoreIsText) {
  fill();
  const auto page = ask(get("/" + address_.token + "/", {{"method", kHostile}, {"x", kHostile}}));
  EXPECT_EQ(count(page.body, "alert(1)</script>"), 0u);
  EXPECT_GE(count(page.body, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;amp;"), 2u);
  EXPECT_EQ(count(page.body, "<b>store"), 0u);
  EXPECT_EQ(count(page.body, "<i>one"), 0u);
  EXPECT_GE(count(page.body, "&lt;b&gt;store.db"), 1u);
}

TEST_F(SiteTest, ShowsWhereEveryRunStands) {
  fill();
  const auto html = live();
  EXPECT_EQ(count(part_of(html, "now"), "1 of 4 runs done, 1 at work, 1 to do, 1 failed."), 1u)
      << part_of(html, "now");
  const auto runs = part_of(html, "runs");
  EXPECT_EQ(count(runs, "<tr>"), 5u) << runs;
  for (const char* state : {">finished<", ">failed<", ">running<", ">to do<"}) {
    EXPECT_EQ(count(runs, state), 1u) << state << "\n" << runs;
  }
  EXPECT_LT(runs.find(">running<"), runs.find(">finished<")) << "what is at work stands first";
  EXPECT_LT(runs.find(">finished<"), runs.find(">to do<"));
  EXPECT_EQ(count(runs, ">75.00<"), 1u) << runs;
  EXPECT_EQ(count(runs, "data set mnist"), 1u) << "what all share stands above\n" << runs;
  EXPECT_EQ(count(part_of(html, "verdicts"), "75.00"), 1u) << part_of(html, "verdicts");
  EXPECT_EQ(count(part_of(html, "sweeps"), "test:&lt;i&gt;one"), 1u);
}

TEST_F(SiteTest, FollowsARunAtWork) {
  fill();
  LiveStore store(path_, nullptr);
  store.open({});
  const auto shown = [&] { return live_parts(store, {}); };
  EXPECT_EQ(count(part_of(shown(), "runs"), ">25.00<"), 1u) << part_of(shown(), "runs");
  EXPECT_EQ(count(part_of(shown(), "curves"), "at work</title>"), 1u);
  EXPECT_FALSE(store.changed());
  std::ofstream(at_work_ + "/events.jsonl", std::ios::app) << R"({"event": "metric", "na)";
  EXPECT_TRUE(store.changed());
  store.renew();
  EXPECT_FALSE(store.changed());
  EXPECT_EQ(count(part_of(shown(), "runs"), ">25.00<"), 1u) << "half a line is none";
  std::ofstream(at_work_ + "/events.jsonl", std::ios::app)
      << R"(me": "accuracy", "split": "test", "epoch": 2, "train_ns": 2e9, "value": 0.625})"
      << "\n"
      << R"({"event": "metric", "name": "accuracy", "split": "test", "epoch": 3, "value": null})"
      << "\n[\"metric\"]\n\"metric\" and no JSON\n";
  store.renew();
  EXPECT_EQ(count(part_of(shown(), "runs"), ">62.50<"), 1u) << part_of(shown(), "runs");
  // Its end.
  writer_->finish(running_, accuracy_events({0.25, 0.625, 0.875}), {});
  EXPECT_TRUE(store.changed());
  store.renew();
  EXPECT_EQ(count(part_of(shown(), "runs"), ">87.50<"), 1u) << part_of(shown(), "runs");
  EXPECT_EQ(count(part_of(shown(), "curves"), "at work</title>"), 0u);
  EXPECT_FALSE(store.changed());
}

TEST_F(SiteTest, ARunWhoseProcessIsNoMoreIsGone) {
  fill();
  writer_.reset();
  EXPECT_EQ(count(part_of(live(), "runs"), ">gone<"), 1u) << part_of(live(), "runs");
}

TEST_F(SiteTest, FiltersByWhatDiffers) {
  fill();
  const auto all = part_of(live(), "filters");
  for (const char* fact : {"method", "state", "precision", "seed", "machine"}) {
    EXPECT_GE(count(all, fmt::format("name=\"{}\"", fact)), 2u) << fact << "\n" << all;
  }
  for (const char* fact : {"dataset", "network", "purpose", "experiment", "batch"}) {
    EXPECT_EQ(count(all, fmt::format("name=\"{}\"", fact)), 0u) << fact << ": all runs share it";
  }
  EXPECT_EQ(count(all, "href=\"./\""), 0u);

  const auto rows = [&](HttpFields query) {
    const auto runs = part_of(live(std::move(query)), "runs");
    return static_cast<int>(count(runs, "<tr>")) - 1;
  };
  EXPECT_EQ(rows({}), 4);
  EXPECT_EQ(rows({{"method", "dense"}}), 1);
  EXPECT_EQ(rows({{"method", "dense"}, {"method", "sdgp"}}), 2) << "either";
  EXPECT_EQ(rows({{"method", "dense"}, {"state", "failed"}}), -1) << "both: none";
  EXPECT_EQ(rows({{"precision", "bf16"}}), 1);
  EXPECT_EQ(rows({{"machine", "other"}}), 1);
  EXPECT_EQ(rows({{"unknown", "dense"}, {"x", "time"}}), 4) << "no fact, no filter";

  const auto chosen = live({{"method", "dense"}, {"seed", "17"}});
  EXPECT_EQ(count(chosen, "No run fits the filter."), 1u);
  const auto filters = part_of(chosen, "filters");
  EXPECT_EQ(count(filters, "value=\"dense\" checked"), 1u) << filters;
  EXPECT_EQ(count(filters, "value=\"17\" checked"), 1u) << "it can be taken back\n" << filters;
  EXPECT_EQ(count(filters, "href=\"./\""), 1u);
}

TEST_F(SiteTest, CurvesAreAgainstEpochsOrTime) {
  fill();
  EXPECT_EQ(count(part_of(live(), "curves"), ">epoch<"), 1u) << part_of(live(), "curves");
  const auto by_time = live({{"x", "time"}});
  EXPECT_EQ(count(part_of(by_time, "curves"), ">seconds of training<"), 1u);
  EXPECT_EQ(count(part_of(by_time, "filters"), "value=\"time\" checked"), 1u);
}

TEST_F(SiteTest, AStoreThatIsNotThereIsWaitedFor) {
  LiveStore store(path_, nullptr);
  store.open({});
  EXPECT_NE(store.problem().find("is not there yet"), std::string::npos) << store.problem();
  EXPECT_FALSE(store.changed());
  EXPECT_EQ(count(live_parts(store, {}), "No trainings yet."), 1u);
  fill();
  EXPECT_TRUE(store.changed());
  store.renew();
  EXPECT_EQ(store.problem(), "");
  EXPECT_EQ(store.runs().size(), 4u);
  std::filesystem::remove(path_);
  EXPECT_TRUE(store.changed());
  store.renew();
  EXPECT_NE(store.problem().find("is gone"), std::string::npos) << store.problem();
  EXPECT_EQ(store.runs().size(), 4u) << "what was read stays";
}

TEST_F(SiteTest, AStoreThatCannotBeReadIsAnErrorFirstAndAProblemLater) {
  std::ofstream(path_)
      << "no database at all, but more than a hundred bytes of some text, which is "
         "what SQLite looks at first: the head of a file";
  LiveStore broken(path_, nullptr);
  EXPECT_THROW(broken.open({}), Error);
  LiveStore nowhere(folder_ / "none/t.db", nullptr);
  EXPECT_THROW(nowhere.open({}), Error);
  EXPECT_THROW(LiveStore("", nullptr).open({}), Error);

  std::filesystem::remove(path_);
  fill();
  LiveStore store(path_, nullptr);
  store.open({});
  writer_.reset();
  std::ofstream(path_, std::ios::trunc) << std::string(4096, 'x');
  store.renew();
  EXPECT_NE(store.problem().find("not an SQLite database"), std::string::npos) << store.problem();
  EXPECT_EQ(store.runs().size(), 4u);
  EXPECT_EQ(count(part_of(live_parts(store, {}), "now"), "class=\"problem\""), 1u);
}

}  // namespace
}  // namespace approx
