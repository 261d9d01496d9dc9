#include "results/render/html.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "results/render/html_text.h"
#include "results/render/svg.h"

namespace approx {
namespace {

constexpr const char* kSvg =
    R"(<?xml version="1.0"?><svg width="800" height="500" xmlns="http://www.w3.org/2000/svg">)"
    R"(<title>Plotter</title><rect width="800" height="500" fill="white"/><defs>)"
    R"(<path id='p' d='M0,0 h2'/></defs><use xlink:href='#p' fill='url(#g)'/>)"
    R"(<text x="1"> a &lt; b</text></svg>)";

size_t count(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Every tag closed in the order it was opened, every id once, every link to an id there.
void expect_sound(const std::string& html) {
  static const std::set<std::string> empty = {"meta", "link", "input", "!DOCTYPE"};
  std::vector<std::string> open;
  std::set<std::string> ids, links;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    size_t end = at;
    for (char quote = 0; end < html.size() && (quote != 0 || html[end] != '>'); ++end) {
      if (html[end] == '"') quote = quote != 0 ? '\0' : '"';
    }
    const std::string tag = html.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n"));
    for (const auto& [mark, set] : {std::pair{" id=\"", &ids}, std::pair{" href=\"#", &links}}) {
      const size_t found = tag.find(mark);
      if (found == std::string::npos) continue;
      const size_t begin = found + std::string_view(mark).size();
      const bool added = set->insert(tag.substr(begin, tag.find('"', begin) - begin)).second;
      EXPECT_TRUE(added || set == &links) << "twice: " << tag;
    }
    if (name.starts_with("/")) {
      ASSERT_FALSE(open.empty()) << name;
      ASSERT_EQ("/" + open.back(), name);
      open.pop_back();
    } else if (!empty.contains(name)) {
      open.push_back(name);
    }
    if (name == "style") at = html.find("</style>", at) - 1;
  }
  EXPECT_TRUE(open.empty());
  for (const auto& link : links) EXPECT_TRUE(ids.contains(link)) << link;
}

Table small_table() {
  Table table;
  table.name = "table";
  table.title = "Accuracy";
  table.columns = {"method", "accuracy"};
  table.rows = {{"dense", 0.5}, {"zero", 0.25}};
  table.text_columns = {"method", "accuracy %"};
  table.text_rows = {{"dense [a,b]", "50.00"}, {"zero [a,c]", "25.00"}};
  table.notes = {"a: fewer than 5 seeds", "b: lossy data", "±: intervals"};
  return table;
}

HtmlPage small_page() {
  HtmlPage page;
  page.title = "Report";
  page.summary = "One paragraph.\n\nAnother.";
  page.sections = {
      {.id = "wang2019:table5",
       .title = "Table 5",
       .text = "DIFFERS, and why.",
       .tables = {small_table(), small_table()},
       .figures = {{"Curve", "A caption", kSvg, "x,y\n1,\"a b\"\n"}, {"Again", "", kSvg, ""}},
       .attributes = {{"paper", "wang2019"}, {"state", "DIFFERS"}, {"network", "resnet20"}}},
      {.id = "ye2020",
       .title = "Table 1",
       .tables = {small_table()},
       .attributes = {{"paper", "ye2020"},
                      {"state", "NOT RUN"},
                      {"network", "resnet20"},
                      {"network", "vgg19"}}},
      {.id = "kernels", .title = "Kernels"}};
  page.provenance = {{"version", "0.1.0"}, {"commit", "abc"}};
  return page;
}

TEST(HtmlTest, APageIsSound) {
  const std::string html = render_html(small_page());
  expect_sound(html);
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>\n<html lang=\"en-GB\">"));
  EXPECT_TRUE(has(html, "<meta name=\"viewport\" content=\"width=device-width"));
  EXPECT_TRUE(has(html,
                  "<h1>Report</h1>\n<p class=\"summary\">One paragraph.</p>\n"
                  "<p class=\"summary\">Another.</p>"));
  EXPECT_EQ(count(html, "<section "), 4u);
  EXPECT_EQ(count(html, "<table>"), 3u);
  EXPECT_EQ(count(html, "<svg "), 2u);
  EXPECT_TRUE(has(html, "<div><dt>commit</dt><dd>abc</dd></div>"));
  EXPECT_TRUE(has(html, "<div><dt>network</dt><dd>resnet20, vgg19</dd></div>"));
  EXPECT_TRUE(has(html, "prefers-color-scheme: dark"));
  EXPECT_TRUE(has(html, "@media print"));
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "http:")) << "nothing to fetch, and no namespace needed";
  EXPECT_FALSE(has(html, "https:"));
  EXPECT_EQ(html, render_html(small_page()));
}

TEST(HtmlTest, AnEmptyPageSaysSo) {
  const std::string html = render_html({});
  expect_sound(html);
  EXPECT_TRUE(has(html, "There is nothing to report yet."));
  EXPECT_FALSE(has(html, "<aside>"));
  EXPECT_FALSE(has(html, "<section"));
  HtmlPage bare;
  bare.sections.resize(2);
  bare.sections[0].tables.resize(1);
  bare.sections[0].figures.resize(1);
  const std::string sections = render_html(bare);
  expect_sound(sections);
  EXPECT_TRUE(has(sections, "No rows."));
  EXPECT_TRUE(has(sections, "Not drawn."));
  EXPECT_FALSE(has(sections, "Filter"));
}

TEST(HtmlTest, TextIsOnlyText) {
  const std::string evil = "<script>alert(1)</script>\"&'\x01\xff";
  const std::string shown =
      "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;&#39;\xEF\xBF\xBD\xEF\xBF\xBD";
  HtmlPage page;
  page.title = page.summary = evil;
  page.provenance = {{evil, evil}};
  Table table;
  table.name = table.title = evil;
  table.text_columns = {evil, evil};
  table.text_rows = {{evil, evil}};
  table.columns = {evil};
  table.rows = {{evil}};
  table.notes = {evil, "a: " + evil};
  page.sections = {{.id = evil,
                    .title = evil,
                    .text = evil,
                    .tables = {table},
                    .figures = {{evil, evil, kSvg, evil}, {evil, evil, evil, evil}},
                    .attributes = {{evil, evil}}},
                   {.id = evil, .attributes = {{evil, "another"}}}};
  const std::string html = render_html(page);
  expect_sound(html);
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "\xff"));
  EXPECT_FALSE(has(html, "\x01"));
  EXPECT_TRUE(has(html, "<title>" + shown + "</title>"));
  EXPECT_TRUE(has(html, "<td>" + shown + "</td>"));
  EXPECT_TRUE(has(html, "<legend>" + shown + "</legend>"));
  EXPECT_TRUE(has(html, "section id=\"script-alert-1-script-\""));
  EXPECT_TRUE(has(html, "section id=\"script-alert-1-script--2\""));
}

TEST(HtmlTest, IdentifiersAreFitForLinksAndUnique) {
  HtmlPage page;
  for (const char* id : {"a:b.c", "a:b.c", "_top", "", "é é", "a:b.c-2"}) {
    page.sections.push_back({.id = id});
  }
  const std::string html = render_html(page);
  expect_sound(html);
  for (const char* id : {"a:b.c", "a:b.c-2", "top", "section", "section-2", "a:b.c-2-2"}) {
    EXPECT_TRUE(has(html, "<section id=\"" + std::string(id) + "\"")) << id;
  }
}

TEST(HtmlTest, ReferencesToNotesMayStandInsideACell) {
  HtmlPage page;
  page.sections = {{.id = "a", .tables = {small_table()}}};
  page.sections[0].tables[0].text_rows = {{"zero", "ours 2 [1, 3] [a]; NOT RUN [a,b]"}};
  EXPECT_TRUE(has(render_html(page),
                  "ours 2 [1,\u00a03]<sup><a href=\"#_s1-t1-a\">a</a></sup>; "
                  "<span class=\"verdict not-run\">NOT RUN</span><sup><a href=\"#_s1-t1-a\">a</a>,"
                  "<a href=\"#_s1-t1-b\">b</a></sup>"));
}

// "p: a test" is no footnote of a table that refers to none of it.
TEST(HtmlTest, ANoteWhoseLetterNoCellHasBeginsSo) {
  HtmlPage page;
  page.sections = {{.id = "a", .tables = {small_table()}}};
  page.sections[0].tables[0].notes.push_back("p: exact test");
  EXPECT_TRUE(has(render_html(page), "<li>p: exact test</li>"));
}

TEST(HtmlTest, StarsEmphasiseInTheColumnsThatHaveThem) {
  HtmlPage page;
  page.sections = {{.id = "a", .tables = {small_table()}}};
  auto& table = page.sections[0].tables[0];
  table.text_rows = {{"*dense*", "*1.45*"}, {"zero", "*1.5"}};
  table.starred = {1};
  const std::string html = render_html(page);
  EXPECT_TRUE(has(html, "><em>1.45</em></td>")) << html;
  EXPECT_TRUE(has(html, ">*1.5</td>"));
  EXPECT_TRUE(has(html, "*dense*<"));
  EXPECT_TRUE(has(render(table, "tex"), "{*}dense* & \\emph{1.45}")) << render(table, "tex");
  EXPECT_TRUE(has(render(table, "md"), "| \\*dense\\* | *1.45* ")) << render(table, "md");
}

TEST(HtmlTest, TablesHaveHeadersNumbersAndNotes) {
  HtmlPage page;
  page.sections = {{.id = "a", .tables = {small_table()}}};
  const std::string html = render_html(page);
  EXPECT_TRUE(
      has(html, "<th scope=\"col\">method</th><th scope=\"col\" class=\"n\">accuracy %</th>"));
  EXPECT_TRUE(has(html,
                  "<th scope=\"row\" class=\"s\">dense<sup><a href=\"#_s1-t1-a\">a</a>,"
                  "<a href=\"#_s1-t1-b\">b</a></sup></th><td class=\"n\">50.00</td>"));
  EXPECT_TRUE(has(html, "<th scope=\"row\" class=\"s\">zero [a,c]</th>")) << "there is no note c";
  EXPECT_TRUE(has(html, "<li id=\"_s1-t1-b\"><sup>b</sup> lossy data</li>\n<li>±: intervals</li>"));
  EXPECT_TRUE(has(html,
                  "<a download=\"a-table-1.csv\" href=\"data:text/csv;charset=utf-8,"
                  "method,accuracy%0Adense,0.5%0Azero,0.25%0A\">"));
}

TEST(HtmlTest, LongTextsMayBreakTheirLines) {
  Table table;
  table.columns = {"speedup (not isolated)", "n", "verdict"};
  table.rows = {{1.5, int64_t{1}, "a text that is too long to stand in one line of a table"}};
  HtmlPage page;
  page.sections = {{.tables = {table}}};
  const std::string html = render_html(page);
  EXPECT_TRUE(has(html, "<th scope=\"col\" class=\"n b\">speedup"));
  EXPECT_TRUE(has(html, "<th scope=\"col\" class=\"n\">n</th><th scope=\"col\">verdict</th>"));
  EXPECT_TRUE(has(html, "<td class=\"w\">a text"));
}

// Two networks in two settings, a method in each.
Table two_settings() {
  Table table{.columns = {"network", "setting", "method", "n", "verdict"}};
  for (const char* network : {"a", "b", "a"}) {
    table.rows.push_back({network, std::string("batch_size=128 learning_rate=0.1 of_") + network,
                          fmt::format("m{}", table.rows.size()), int64_t{6},
                          table.rows.empty() ? "✔ yes" : "? undecided"});
  }
  return table;
}

TEST(HtmlTest, WhatRowsHaveAlikeStandsAboveThem) {
  HtmlPage page;
  page.sections = {{.id = "x", .tables = {two_settings()}}};
  const std::string html = render_html(page);
  expect_sound(html);
  EXPECT_TRUE(has(html,
                  "<p class=\"shared\"><span>n <b>6</b></span> · <span>setting "
                  "<b>batch_size=128 learning_rate=0.1</b></span></p>"));
  EXPECT_TRUE(has(html, "<tr><th scope=\"col\">method</th><th scope=\"col\">verdict</th></tr>"));
  // The third row belongs to the first network.
  const auto above = [&](const std::string& network) {
    return html.find(
        "<tr class=\"above\"><th scope=\"rowgroup\" colspan=\"2\"><div><span>network <b>" +
        network + "</b></span> · <span>setting <b>of_" + network + "</b></span></div></th></tr>");
  };
  const auto at = [&](const char* method) { return html.find(fmt::format(">{}</th>", method)); };
  EXPECT_LT(above("a"), at("m0"));
  EXPECT_LT(at("m0"), at("m2"));
  EXPECT_LT(at("m2"), above("b"));
  EXPECT_LT(above("b"), at("m1"));
  EXPECT_NE(at("m1"), std::string::npos);
  EXPECT_TRUE(has(html, "<td class=\"s yes\">✔\u00a0yes</td>"));
  EXPECT_TRUE(has(html, "<td class=\"s open\">?\u00a0undecided</td>"));
  EXPECT_TRUE(has(html, "network,setting,method,n,verdict%0Aa,")) << "the file has all columns";
}

TEST(HtmlTest, AWideTableIsOnePerQuantity) {
  Table table;
  table.title = "Table 1";
  table.text_columns = {"network"};
  table.text_rows = {{"ResNet-18"}, {"ResNet-34"}};
  table.notes = {"a: fewer than 5 seeds", "b: lossy data"};
  for (int i = 0; i < 6; ++i) {
    for (const char* quantity : {"accuracy, %", "density <"}) {
      table.text_columns.push_back(fmt::format("p = {}%: {}", i, quantity));
      table.text_rows[0].push_back(fmt::format("{} of {} [a]", quantity, i));
      table.text_rows[1].push_back("NOT RUN [b]");
    }
  }
  const std::string html = html_table(table, "t", "");
  expect_sound(html);
  EXPECT_EQ(count(html, "<table>"), 2U);
  EXPECT_FALSE(has(html, "crowded"));
  EXPECT_EQ(count(html, "<h3>Table 1</h3>"), 1U);
  EXPECT_EQ(count(html, "<p class=\"part\">accuracy, %</p>"), 1U);
  EXPECT_EQ(count(html, "<p class=\"part\">density &lt;</p>"), 1U);
  EXPECT_TRUE(has(html, "aria-label=\"Table 1: density &lt;\""));
  EXPECT_EQ(count(html, ">p = 3%</th>"), 2U);
  EXPECT_EQ(count(html, ">ResNet-18</th>"), 2U);
  EXPECT_LT(html.find("accuracy, % of 5"), html.find("density &lt; of 0"));
  EXPECT_EQ(count(html, "<ul class=\"notes\">"), 1U);
  EXPECT_EQ(count(html, "<li id=\"t-a\">"), 1U);
  EXPECT_EQ(count(html, "href=\"#t-b\""), 12U);
}

TEST(HtmlTest, RowsThatAllDifferHaveNoHeadings) {
  HtmlPage page;
  page.sections = {{.id = "x", .tables = {two_settings()}}};
  page.sections[0].tables[0].rows.pop_back();
  const std::string html = render_html(page);
  EXPECT_FALSE(has(html, "class=\"above\""));
  EXPECT_TRUE(has(html, "<th scope=\"col\">network</th>"));
}

// A browser may break a long word behind a sign in it, and no other.
TEST(HtmlTest, WordsBreakAtSignsWhereTheyAreLong) {
  Table table{.columns = {"n", "text"}};
  table.rows = {{int64_t{1}, "learning_rate=0.05 label_smoothing=0.1,crop=padded &<x-y>"}};
  HtmlPage page;
  page.sections = {{.tables = {table}}};
  const std::string html = render_html(page);
  EXPECT_TRUE(has(html,
                  "learning_rate=0.05 label_<wbr>smoothing=<wbr>0.1,<wbr>crop=<wbr>padded "
                  "&amp;&lt;x-y&gt;</td>"))
      << html;
}

TEST(HtmlTest, FilesOfTablesHaveShortNumbers) {
  Table table{.columns = {"x", "n"}};
  table.rows = {{1.0 / 3, int64_t{12345678901}}};
  HtmlPage page;
  page.sections = {{.tables = {table}}};
  EXPECT_TRUE(has(render_html(page), "x,n%0A0.3333333,12345678901%0A"));
}

TEST(HtmlTest, ASectionMayListWhatItIsOf) {
  HtmlPage page;
  page.sections = {{.id = "x", .listed = {{"networks", "2: a, b"}}}};
  EXPECT_TRUE(has(render_html(page), "<div><dt>networks</dt><dd>2: a, b</dd></div>"));
}

TEST(HtmlTest, CommandsStandAsTheyAreTyped) {
  HtmlPage page{.next = "Next: x sweep --seeds 0-5 & more"};
  Table table{.text_columns = {"what", "command"}, .text_rows = {{"a", "x sweep @y --db z-1.db"}}};
  page.sections = {{.tables = {table}}};
  const std::string html = render_html(page);
  expect_sound(html);
  EXPECT_TRUE(has(html,
                  "<p class=\"next\">Next: x sweep <span class=\"flag\">--seeds</span> 0-5 "
                  "&amp; more</p>"));
  EXPECT_TRUE(
      has(html, "<td class=\"w c\">x sweep @y <span class=\"flag\">--db</span> z-1.db</td>"));
}

TEST(HtmlTest, RowsOfOneKindStayTogether) {
  Table table;
  table.columns = {"network"};
  table.rows = {{"a"}, {"a"}, {"b"}};
  HtmlPage page;
  page.sections = {{.tables = {table}}};
  EXPECT_EQ(count(render_html(page), "<tr class=\"g\">"), 1u);
  page.sections[0].tables[0].rows = {{"a"}, {"b"}, {"c"}};
  EXPECT_EQ(count(render_html(page), "<tr class=\"g\">"), 0u) << "no two are alike";
}

TEST(HtmlTest, VerdictsAreLabels) {
  Table table;
  table.columns = {"n", "verdict"};
  for (const char* text : {"REPRODUCED", "DIFFERS: by 2 pp", "NOT COMPARABLE", "NOT RUN",
                           "DIFFERSX", "XNOT RUN", "differs"}) {
    table.rows.push_back({static_cast<int64_t>(table.rows.size()), text});
  }
  HtmlPage page;
  page.sections = {{.tables = {table}, .attributes = {{"state", "REPRODUCED"}}}};
  const std::string html = render_html(page);
  const std::string label = "<span class=\"verdict ";
  EXPECT_TRUE(has(html, "<td>" + label + "reproduced\">REPRODUCED</span></td>"));
  EXPECT_TRUE(has(html, "<td>" + label + "differs\">DIFFERS</span>: by 2 pp</td>"));
  EXPECT_TRUE(has(html, "<td>" + label + "not-comparable\">NOT COMPARABLE</span></td>"));
  EXPECT_TRUE(has(html, "<td>" + label + "not-run\">NOT RUN</span></td>"));
  EXPECT_TRUE(has(html, "<td>DIFFERSX</td>"));
  EXPECT_TRUE(has(html, "<td>XNOT RUN</td>"));
  EXPECT_EQ(count(html, label), 6u) << "four cells, the facts of the section, the contents";
}

TEST(HtmlTest, FiltersHideWhatHasNoneOfTheTickedValues) {
  const std::string html = render_html(small_page());
  EXPECT_TRUE(has(html, "<fieldset id=\"_f1\">\n<legend>paper</legend>"));
  EXPECT_TRUE(has(html, "<fieldset id=\"_f2\">\n<legend>state</legend>"));
  EXPECT_TRUE(has(html, "<fieldset id=\"_f3\">\n<legend>network</legend>"));
  EXPECT_TRUE(has(html,
                  "<input type=\"checkbox\" id=\"_f3-1\"> <span>resnet20</span> "
                  "<span class=\"count\">2</span>"));
  EXPECT_TRUE(has(html, "<section id=\"ye2020\" class=\"entry f1-2 f2-2 f3-2\""));
  EXPECT_TRUE(has(html, "<section id=\"kernels\" class=\"entry\"")) << "never hidden";
  EXPECT_TRUE(has(html, "<li class=\"entry f1-2 f2-2 f3-2\"><a href=\"#ye2020\">"));
  EXPECT_TRUE(has(html,
                  "body:has(#_f3 :checked):not(:has(:is(#_f3-1):checked)) .f3-1"
                  "{display:none}\n"));
  EXPECT_TRUE(has(html,
                  "body:has(#_f3 :checked):not(:has(:is(#_f3-1,#_f3-2):checked)) .f3-2"
                  "{display:none}\n"));
}

TEST(HtmlTest, FiltersNeedAChoice) {
  HtmlPage page;
  page.sections = {{.id = "a", .attributes = {{"device", "cpu"}}},
                   {.id = "b", .attributes = {{"device", "cpu"}}},
                   {.id = "c"}};
  EXPECT_FALSE(has(render_html(page), "<form"));
  page.sections[1].attributes = {{"paper", "x"}};
  const std::string html = render_html(page);
  EXPECT_TRUE(has(html, "<section id=\"b\" class=\"entry f1-2 f2-2\""));
  EXPECT_TRUE(has(html, "body:has(#_f1 :checked) .f1-2{display:none}\n")) << "b has no device";
}

TEST(HtmlTest, FiguresAreDrawnAndTheirDataIsAFile) {
  const std::string html = render_html(small_page());
  EXPECT_TRUE(has(html, "aria-label=\"Curve: A caption\""));
  EXPECT_TRUE(has(html,
                  "<a download=\"wang2019-table5-figure-1.csv\" "
                  "href=\"data:text/csv;charset=utf-8,x,y%0A1,%22a b%22%0A\">"));
  EXPECT_EQ(count(html, "-figure-2.csv"), 0u) << "no data, no file";
}

TEST(SvgTest, ADrawingIsKept) {
  EXPECT_EQ(clean_svg(kSvg, "f1-", "a \"label\""),
            "<svg role=\"img\" aria-label=\"a &quot;label&quot;\" width=\"800\" height=\"500\" "
            "viewBox=\"0 0 800 500\" style=\"min-width:560px;max-width:800px\">"
            "<rect width=\"800\" height=\"500\" fill=\"white\"></rect><defs>"
            "<path id=\"f1-p\" d=\"M0,0 h2\"></path></defs>"
            "<use xlink:href=\"#f1-p\" fill=\"url(#f1-g)\"></use>"
            "<text x=\"1\"> a &lt; b</text></svg>");
}

// What makes a drawing of gnuplot long and changes nothing of it.
TEST(SvgTest, WhatChangesNothingIsLeftOut) {
  const auto inside = [](const std::string& drawn) {
    const std::string svg = clean_svg("<svg>" + drawn + "</svg>", "p-", "");
    const std::string start = "<svg role=\"img\" aria-label=\"\">";
    EXPECT_TRUE(svg.starts_with(start) && svg.ends_with("</svg>")) << svg;
    return svg.substr(start.size(), svg.size() - start.size() - 6);
  };
  EXPECT_EQ(inside("<desc>by X</desc>\n<g id='plot_1'><title>plot_1</title>\n\t<path "
                   "d='M1.00,2.50 L30.0,0.5  '/>\n</g>\n"),
            "<path d=\"M1,2.5 L30,0.5\"></path>");
  EXPECT_EQ(inside("<g stroke='rgb( 68,  68,  68)' fill='rgb(1,2,255)'><path d='M1'/></g>"),
            "<g stroke=\"#444\" fill=\"#0102ff\"><path d=\"M1\"></path></g>");
  EXPECT_EQ(inside("<path stroke='rgb(300,0,0)' fill='rgb(1,2)' color='rgb(1,2,x)'/>"),
            "<path stroke=\"rgb(300,0,0)\" fill=\"rgb(1,2)\" color=\"rgb(1,2,x)\"></path>");
  // Neighbours that are alike are one group, and those with nothing in them none.
  const std::string tick = "<g fill='none' color='black'><path d='M1'/></g>\n";
  EXPECT_EQ(inside(tick + "<g color='red'>\n</g>" + tick),
            "<g fill=\"none\" color=\"black\"><path d=\"M1\"></path><path d=\"M1\"></path></g>");
  EXPECT_EQ(inside("<g opacity='0.5'><path/></g><g opacity='0.5'><path/></g>"),
            "<g opacity=\"0.5\"><path></path></g><g opacity=\"0.5\"><path></path></g>")
      << "each is seen through by itself";
  EXPECT_EQ(
      inside("<g transform='scale(2.0)'><path/></g><g transform='scale(2.0)'><path/></g>"),
      "<g transform=\"scale(2)\"><path></path></g><g transform=\"scale(2)\"><path></path></g>");
  // Defaults, but where something around them says otherwise.
  EXPECT_EQ(inside("<g stroke-width='1.00' stroke-linecap='butt' color='red'><path "
                   "stroke-linejoin='miter'/></g>"),
            "<g color=\"red\"><path></path></g>");
  EXPECT_EQ(inside("<g stroke-width='2.00'><path stroke-width='1.00'/></g>"),
            "<g stroke-width=\"2\"><path stroke-width=\"1\"></path></g>");
  EXPECT_EQ(inside("<g style='stroke-width:2'><path stroke-width='1'/></g>"),
            "<g style=\"stroke-width:2\"><path stroke-width=\"1\"></path></g>");
  // Definitions that something uses stay as they are, for they are drawn elsewhere.
  EXPECT_EQ(inside("<defs><path id='a' stroke-width='1'/><path id='b'/></defs>"
                   "<g stroke-width='3'><use xlink:href='#a'/></g>"),
            "<defs><path id=\"p-a\" stroke-width=\"1\"></path></defs>"
            "<g stroke-width=\"3\"><use xlink:href=\"#p-a\"></use></g>");
  EXPECT_EQ(inside("<text> a  b </text>"), "<text> a  b </text>");
  EXPECT_EQ(inside("<path d='M.50,-1.230e-05 L5.00e2,7'/>"),
            "<path d=\"M.50,-1.23e-05 L5e2,7\"></path>");
}

TEST(SvgTest, SizesAreReadAsPixels) {
  EXPECT_TRUE(has(clean_svg("<svg width='300px' height='30'/>", "", ""), "min-width:300px"));
  EXPECT_TRUE(has(clean_svg("<svg width='300pt' height='30pt'/>", "", ""), "width=\"400\""));
  EXPECT_EQ(clean_svg("<svg width='100%' height='9' viewBox='0 0 9 9'/>", "", ""),
            "<svg role=\"img\" aria-label=\"\" viewBox=\"0 0 9 9\"></svg>");
}

// Pixels that lie in the drawing itself are drawn, and no others are fetched.
TEST(SvgTest, PicturesOfItsOwnAreKept) {
  const auto image = [](const std::string& link) {
    return clean_svg("<svg><image width='2' xlink:href='" + link + "'/></svg>", "", "");
  };
  const std::string start = "<svg role=\"img\" aria-label=\"\"><image width=\"2\"";
  const std::string png = "data:image/png;base64,iVBORw0KGgo+/A==";
  EXPECT_EQ(image(png), start + " xlink:href=\"" + png + "\"></image></svg>");
  for (const char* link : {"http://x/y.png", "data:image/svg+xml;base64,AA", "data:text/html,x",
                           "data:image/png;base64,A&quot;B", "data:image/png;base64,A_B",
                           "DATA:image/png;base64,AA", "data:image/png,AA"}) {
    EXPECT_EQ(image(link), start + "></image></svg>") << link;
  }
}

// Whatever stands in the root, all that runs or reaches out is gone, and what follows is kept.
TEST(SvgTest, WhatRunsOrReachesOutIsLeftOut) {
  const std::string start = "<svg role=\"img\" aria-label=\"\">",
                    end = "<path d=\"M1\"></path></svg>";
  for (const char* bad : {
           "<script>alert(1)</script>", "<script><![CDATA[ if (a < b) </g> ]]></script>",
           "<SCRIPT/>", "<style>@import url(http://x)</style>",
           "<foreignObject><div><b>x</b></div></foreignObject>", "<iframe src='x'></iframe>",
           "<animate attributeName='href' to='javascript:x'/>",
           "<set attributeName='onload' to='x'></set>", "<!-- <script> -->",
           "<?xml-stylesheet href='x'?>", "<!DOCTYPE svg [<!ENTITY x \"<script>\">]>", "</g></p>",
           "<p>",  // would end the drawing for a browser; takes the rest along
       }) {
    const std::string svg = clean_svg(std::string("<svg>") + bad + "<path d='M1'/></svg>", "", "");
    if (std::string(bad) != "<p>") {
      EXPECT_EQ(svg, start + end) << bad;
    }
    EXPECT_TRUE(svg.starts_with(start) && svg.ends_with("</svg>")) << bad;
    EXPECT_FALSE(has(svg, "<p>"));
  }
  for (const char* bad : {"onload='x'",
                          "ONCLICK=x",
                          "onload",
                          "href='http://x'",
                          "xlink:href='javascript:x'",
                          "href=' #a'",
                          "fill='url(http://x)'",
                          "fill='url( &quot;x&quot;)'",
                          "fill='URL(x)'",
                          "style='fill:url(//x)'",
                          "style='background:image-set(&quot;x&quot; 1x)'",
                          "style='fill:u\\72l(x)'",
                          "fill='url&#40;x)'",
                          "xml:base='http://x'",
                          "class='verdict'",
                          "xmlns:x='http://x'",
                          "style='@import x'",
                          "a\"b='1'",
                          "1x='2'",
                          "<x='1'"}) {
    const std::string svg = clean_svg(std::string("<svg><path ") + bad + " d='M1'/></svg>", "", "");
    EXPECT_EQ(svg, start + end) << bad;
  }
}

TEST(SvgTest, BrokenDrawingsStaySound) {
  EXPECT_EQ(clean_svg("", "", ""), "");
  EXPECT_EQ(clean_svg("no drawing <b>at all</b>", "", ""), "");
  EXPECT_EQ(clean_svg("<svg><g><text>a", "", ""),
            "<svg role=\"img\" aria-label=\"\"><text>a</text></svg>");
  EXPECT_EQ(clean_svg("<svg><g></svg><p>after", "", ""),
            "<svg role=\"img\" aria-label=\"\"></svg>");
  EXPECT_EQ(clean_svg("<svg><a href='x'><text>&bad; &#0; &#x41; < 1</text></a></svg>", "", ""),
            "<svg role=\"img\" aria-label=\"\"><text>&amp;bad; &amp;#0; A &lt; 1</text></svg>");
  const std::string whole = kSvg;
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string svg = clean_svg(whole.substr(0, length), "p-", "x");
    if (svg.empty()) continue;
    EXPECT_TRUE(svg.ends_with("</svg>")) << length;
    EXPECT_EQ(count(svg, "<"), 2 * count(svg, "</")) << length;
  }
}

}  // namespace
}  // namespace approx
