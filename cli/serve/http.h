// HTTP as `approxtrain serve` speaks it: between what answers (site.h, in the program) and what
// listens (http_server.cpp, a library that the program opens). Both sides see the standard library
// alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace approx {

// Names with values, decoded; a name may come several times.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;              // "GET"
  std::string path;                // decoded, without the query: "/TOKEN/live"
  HttpFields query;                // decoded
  std::vector<std::string> hosts;  // values of its Host headers
};

// Server-sent events, asked for one after the other by one thread.
class EventStream {
 public:
  virtual ~EventStream() = default;

  // Text to send. Waits half a second at most: "" where there is nothing yet; nothing at the end.
  virtual std::optional<std::string> next() = 0;
};

struct HttpResponse {
  int status = 200;
  std::string type;  // of the body: "text/html; charset=utf-8"
  std::string body;
  HttpFields headers;
  std::shared_ptr<EventStream> events;  // where it is set, it is sent in place of `body`
};

// The side that knows the answers. Asked by several threads at once; throws nothing.
class HttpAnswers {
 public:
  virtual ~HttpAnswers() = default;
  virtual HttpResponse answer(const HttpRequest& request) = 0;
};

// A server that is bound to a port of 127.0.0.1.
class HttpServer {
 public:
  virtual ~HttpServer() = default;

  virtual int port() const = 0;

  // Serves until stop() is called, by any thread.
  virtual void listen() = 0;

  // Accepts no more. listen() returns when all requests are answered and all streams have ended.
  virtual void stop() = 0;
};

// The function that libapproxtrain_http.so exports as kOpenHttp. `port` 0: any that is free.
// Returns nullptr with errno where the port cannot be had. `answers` must outlive the server.
using OpenHttp = HttpServer* (*)(HttpAnswers& answers, int port);
inline constexpr const char* kOpenHttp = "approxtrain_http_1";

}  // namespace approx
