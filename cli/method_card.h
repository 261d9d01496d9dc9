// Everything about one method: its declaration, its page, and its results in a store.
#pragma once

#include <string>

#include "base/params.h"
#include "core/config/catalogue.h"
#include "results/records/snapshot.h"

namespace approx {

// The page of docs/methods/ on a method, which is compiled into the program: without its first
// heading and its list of parameters, and without links. "" for a method without a page.
std::string method_page(std::string_view method);

// The card of a method:
// - "method": its entry in the catalogue;
// - "page": method_page();
// - "results": its row of `report cards`; null where the store has none.
Json method_card(const MethodInfo& info, const Snapshot& snapshot);

// A card as Markdown.
std::string card_text(const Json& card);

}  // namespace approx
