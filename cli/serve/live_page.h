// The page of a store as HTML, and its parts, which the page asks for anew.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/serve/http.h"
#include "cli/serve/live_store.h"

namespace approx {

// The reader's choice of rows, from the query of an address.
struct Choice {
  std::map<std::string, std::set<std::string>> facts;  // by Fact::key: the values that are shown
  bool by_time = false;                                // curves against seconds, else epochs

  // Whether a run has one of the values of each fact. `except`: a fact that is not asked.
  bool shows(const LiveRun& run, size_t except = kFacts.size()) const;
};

// "method=zero&method=sdgp&state=running&x=time". Names that are no facts are left out.
Choice choice_of(const HttpFields& query);

// The runs that are shown, in the order of the store's.
std::vector<const LiveRun*> chosen_runs(const LiveStore& store, const Choice& choice);

// Elements of the class "part", each with an id of its own: "now", "filters", "sweeps", "verdicts",
// "curves", "runs". All text of the store is escaped.
std::string live_parts(const LiveStore& store, const Choice& choice);

// The whole page with these parts in it. Scripts and styles have the nonce, and nothing else may
// run.
std::string live_page(const LiveStore& store, const Choice& choice, const std::string& nonce);

}  // namespace approx
