// The pages that are served: which requests are answered, and by what. It knows no socket.
#pragma once

#include <string>

#include "cli/serve/http.h"
#include "cli/serve/live_store.h"

namespace approx {

inline constexpr const char* kEventType = "text/event-stream";

// The address of a server, with the secrets that only those know who were told the address.
struct SiteAddress {
  int port = 0;
  std::string token;  // of the address
  std::string nonce;  // of the page's own script and style; another secret

  std::string text() const;  // "http://127.0.0.1:40123/TOKEN/"
};

// The answer to a request:
//   /TOKEN/        the page (live_page.h); the query chooses runs
//   /TOKEN/live    its parts alone, for the page to renew itself
//   /TOKEN/events  kEventType without a body: the caller sends the events
// 403 without the token. 403 also for a host other than the loopback's names: a page of another
// site may have had its name point here. 405 for all but GET and HEAD, 404 for the rest. The store
// is renewed for a page and its parts, and read otherwise.
HttpResponse answer(const HttpRequest& request, const SiteAddress& address, LiveStore& store);

// An answer of one line, with the headers that all answers have.
HttpResponse plain_answer(int status, const std::string& line);

}  // namespace approx
