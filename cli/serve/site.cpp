#include "cli/serve/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/serve/live_page.h"
#include "cli/serve/secrets.h"

namespace approx {
namespace {

// A browser runs and loads nothing but what this page has itself, shows it in no frame of another
// page, keeps no copy, and tells no other site its address. `nonce` "": nothing runs at all.
HttpFields headers(const std::string& nonce) {
  const std::string own = nonce.empty() ? "'none'" : fmt::format("'nonce-{}'", nonce);
  return {{"Content-Security-Policy",
           fmt::format("default-src 'none'; script-src {0}; style-src {0}; connect-src 'self'; "
                       "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
                       own)},
          {"Cache-Control", "no-store"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"}};
}

HttpResponse page_answer(std::string html, const std::string& nonce) {
  return {.status = 200,
          .type = "text/html; charset=utf-8",
          .body = std::move(html),
          .headers = headers(nonce),
          .events = nullptr};
}

// Exactly one, and one that is this machine's whatever a name server says.
bool is_own_host(const std::vector<std::string>& hosts, int port) {
  if (hosts.size() != 1) return false;
  for (const std::string_view name : {"127.0.0.1", "localhost"}) {
    if (hosts.front() == fmt::format("{}:{}", name, port)) return true;
    if (port == 80 && hosts.front() == name) return true;  // what a browser leaves out
  }
  return false;
}

}  // namespace

std::string SiteAddress::text() const {
  return fmt::format("http://127.0.0.1:{}/{}/", port, token);
}

HttpResponse plain_answer(int status, const std::string& line) {
  return {.status = status,
          .type = "text/plain; charset=utf-8",
          .body = line + "\n",
          .headers = headers(""),
          .events = nullptr};
}

HttpResponse answer(const HttpRequest& request, const SiteAddress& address, LiveStore& store) {
  const std::string_view path = request.path;
  const size_t slash = std::min(path.find('/', 1), path.size());
  const std::string_view token = path.substr(std::min<size_t>(1, path.size()), slash - 1);
  const bool known = path.starts_with('/') && same_secret(token, address.token);
  if (!is_own_host(request.hosts, address.port) || !known) {
    return plain_answer(403, "Not allowed: open the address that approxtrain serve printed.");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refused = plain_answer(405, "Nothing can be changed here: GET and HEAD only.");
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return refused;
  }
  const std::string_view name = path.substr(slash);
  if (name.empty()) {
    HttpResponse moved = plain_answer(302, "Found.");
    moved.headers.emplace_back("Location", fmt::format("/{}/", address.token));
    return moved;
  }
  if (name == "/events") {
    return {
        .status = 200, .type = kEventType, .body = "", .headers = headers(""), .events = nullptr};
  }
  if (name != "/" && name != "/live") return plain_answer(404, "There is no such page.");
  store.renew();
  const Choice choice = choice_of(request.query);
  if (name == "/live") return page_answer(live_parts(store, choice), "");
  return page_answer(live_page(store, choice, address.nonce), address.nonce);
}

}  // namespace approx
