// libapproxtrain_http.so: what listens for `approxtrain serve`, by cpp-httplib. It is a library of
// its own, so that no other command needs cpp-httplib and what that needs in turn.
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cli/serve/http.h"

namespace approx {
namespace {

// Each page that is open takes a thread for its events (Changes::kMostListeners of them at most).
constexpr size_t kThreads = 24;

class LoopbackServer final : public HttpServer {
 public:
  explicit LoopbackServer(HttpAnswers& answers) : answers_(answers) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    // A connection is for one request. The body of a request is never read: what is behind it is no
    // request.
    server_.set_keep_alive_max_count(1);
    // How long stop() waits for a connection that was opened and says nothing.
    server_.set_keep_alive_timeout(1);
    server_.set_tcp_nodelay(true);
    // The library would add SO_REUSEPORT, by which two programs of a user have one port.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    // Comes before the library looks for files, bodies and routes: it sees every request.
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          respond(request, response);
          return httplib::Server::HandlerResponse::Handled;
        });
  }

  bool bind(int port) {
    constexpr const char* kHost = "127.0.0.1";
    errno = 0;
    if (port == 0) {
      port_ = server_.bind_to_any_port(kHost);
    } else if (server_.bind_to_port(kHost, port)) {
      port_ = port;
    }
    return port_ > 0;
  }

  int port() const override { return port_; }

  void listen() override {
    server_.listen_after_bind();
    ended_ = true;
  }

  void stop() override {
    // The library ignores a stop that comes before it has begun.
    while (!server_.is_running() && !ended_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    server_.stop();
  }

 private:
  void respond(const httplib::Request& from, httplib::Response& to) {
    HttpRequest request{.method = from.method, .path = from.path, .query = {}, .hosts = {}};
    for (const auto& [name, value] : from.params) request.query.emplace_back(name, value);
    for (size_t i = 0; i < from.get_header_value_count("Host"); ++i) {
      request.hosts.push_back(from.get_header_value("Host", i));
    }
    HttpResponse answer = answers_.answer(request);
    to.status = answer.status;
    for (const auto& [name, value] : answer.headers) to.set_header(name, value);
    if (answer.events) {
      to.set_chunked_content_provider(
          answer.type, [events = answer.events](size_t, httplib::DataSink& sink) {
            if (!sink.is_writable()) return false;
            const auto text = events->next();
            if (!text) {
              sink.done();
              return true;
            }
            return text->empty() || sink.write(text->data(), text->size());
          });
      return;
    }
    // By a provider: a body that is set at once is compressed, which costs more than it saves here.
    const auto body = std::make_shared<const std::string>(std::move(answer.body));
    if (body->empty()) return;
    to.set_content_provider(body->size(), answer.type,
                            [body](size_t offset, size_t length, httplib::DataSink& sink) {
                              return sink.write(body->data() + offset, length);
                            });
  }

  HttpAnswers& answers_;
  httplib::Server server_;
  int port_ = -1;
  std::atomic<bool> ended_ = false;
};

}  // namespace
}  // namespace approx

extern "C" __attribute__((visibility("default"))) approx::HttpServer* approxtrain_http_1(
    approx::HttpAnswers& answers, int port) {
  auto server = std::make_unique<approx::LoopbackServer>(answers);
  if (!server->bind(port)) return nullptr;
  return server.release();
}
