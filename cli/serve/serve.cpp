// `approxtrain serve`: a store as a page of this machine that renews itself.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/process/signals.h"
#include "cli/serve/changes.h"
#include "cli/serve/http.h"
#include "cli/serve/live_store.h"
#include "cli/serve/secrets.h"
#include "cli/serve/site.h"
#include "cli/text.h"
#include "core/config/catalogue.h"

namespace approx {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kHttpLibrary = "libapproxtrain_http.so";
constexpr milliseconds kLookEvery{500};  // so often the files are looked at while a page is open
// A renewal is followed by so many times its own duration in which there is none: a page takes a
// twentieth of a core at most.
constexpr int kRest = 20;
constexpr milliseconds kLeastRest{1000};

// Opens the library that lies beside the program or in ../lib of it.
OpenHttp open_http_library() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = program.parent_path();
  std::string why = "not found";
  for (const auto& path : {folder / kHttpLibrary, folder.parent_path() / "lib" / kHttpLibrary}) {
    if (!std::filesystem::exists(path, error)) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* door = library == nullptr ? nullptr : dlsym(library, kOpenHttp);
    if (door != nullptr) return reinterpret_cast<OpenHttp>(door);
    const char* reason = dlerror();
    if (reason != nullptr) why = reason;
    break;
  }
  throw usage_error(
      "serve: {} does not open ({}): install libcpp-httplib-dev (scripts/setup does) and build "
      "again",
      kHttpLibrary, why);
}

// The site of one store, asked by several threads, one at a time.
class LiveSite final : public HttpAnswers {
 public:
  LiveSite(LiveStore& store, Changes& changes) : store_(store), changes_(changes) {}

  void set_address(SiteAddress address) { address_ = std::move(address); }

  HttpResponse answer(const HttpRequest& request) override {
    try {
      const std::lock_guard lock(mutex_);
      const auto start = steady_clock::now();
      HttpResponse response = approx::answer(request, address_, store_);
      if (response.status == 200 && response.type == kEventType) {
        response.events = changes_.open();
        if (!response.events) return plain_answer(503, "Too many pages are open: close some.");
      } else {
        // A quick answer after a slow one says little of the next change.
        took_ = std::max(steady_clock::now() - start, took_ / 2);
      }
      return response;
    } catch (const std::exception& error) {
      return plain_answer(500, printable(error.what()));
    }
  }

  bool changed() const {
    const std::lock_guard lock(mutex_);
    return store_.changed();
  }

  // How long pages rest after a renewal.
  milliseconds rest() const {
    const std::lock_guard lock(mutex_);
    return std::max(kLeastRest, std::chrono::duration_cast<milliseconds>(kRest * took_));
  }

 private:
  mutable std::mutex mutex_;
  LiveStore& store_;
  Changes& changes_;
  SiteAddress address_;
  steady_clock::duration took_{};
};

std::unique_ptr<HttpServer> bind_server(OpenHttp open, HttpAnswers& answers, int64_t port) {
  std::unique_ptr<HttpServer> server(open(answers, static_cast<int>(port)));
  if (server) return server;
  const int why = errno;
  if (port == 0) throw usage_error("serve: no port of 127.0.0.1 is free ({})", std::strerror(why));
  if (why == EADDRINUSE) {
    throw usage_error("--port {}: another program has it; take another one, or leave --port out",
                      port);
  }
  throw usage_error("--port {}: cannot be had ({}); take another one, or leave --port out", port,
                    std::strerror(why == 0 ? EADDRNOTAVAIL : why));
}

// Tells open pages of changes until a signal comes. Without a page it does not even look.
void watch_store(const SignalScope& signals, LiveSite& site, Changes& changes,
                 const std::atomic<bool>& ended) {
  auto told = steady_clock::now() - kLeastRest;
  while (signals.stop_count() == 0 && !ended) {
    signals.wait(kLookEvery);
    if (changes.listeners() == 0 || steady_clock::now() - told < site.rest()) continue;
    if (!site.changed()) continue;
    changes.tell();
    told = steady_clock::now();
  }
}

void serve_store(const GlobalOptions& options, int64_t port) {
  const OpenHttp open = open_http_library();
  const SignalScope signals;
  const auto check_signals = [&] {
    if (signals.stop_count() > 0) throw Exit{128 + signals.stop_signal()};
  };
  StoreOptions reading;
  reading.notice = [](const std::string& message) {
    std::fputs(("approxtrain: " + message + "\n").c_str(), stderr);
  };
  reading.pause = [&](milliseconds pause) {
    signals.wait(pause);
    check_signals();
  };
  LiveStore store(options.db, &Catalogue::embedded());
  store.open(reading);
  Changes changes;
  LiveSite site(store, changes);
  const auto server = bind_server(open, site, port);
  const SiteAddress address{
      .port = server->port(), .token = random_secret(), .nonce = random_secret()};
  site.set_address(address);
  if (!store.problem().empty()) {
    std::fputs(("approxtrain: " + printable(store.problem()) + "\n").c_str(), stderr);
  }
  std::fputs((address.text() + "\n").c_str(), stdout);
  std::fflush(stdout);
  std::atomic<bool> ended = false;
  std::thread listener([&] {
    server->listen();
    ended = true;
  });
  watch_store(signals, site, changes, ended);
  const bool asked = signals.stop_count() > 0;
  changes.end();
  // A stream has no time for its end once the server stops.
  for (int i = 0; i < 100 && changes.listeners() > 0; ++i) signals.wait(milliseconds(10));
  server->stop();
  while (!ended) {
    signals.wait(milliseconds(20));
    // Who asks twice does not wait for browsers.
    if (signals.stop_count() > 1) std::_Exit(128 + signals.stop_signal());
  }
  listener.join();
  check_signals();
  if (!asked) throw Error(ErrorKind::kInternal, "serve: the server has ended by itself");
}

}  // namespace

void add_serve(CLI::App& app, GlobalOptions& options) {
  auto* command = app.add_subcommand(
      "serve", "A page of what the store holds that renews itself while sweeps run");
  command->footer("approxtrain serve --db results.db");
  const auto port = std::make_shared<int64_t>(0);
  add_integer(*command, "--port", *port, 0, 65535, "port of 127.0.0.1; default 0: a free one");
  command->callback([port, &options] { serve_store(options, *port); });
}

}  // namespace approx
