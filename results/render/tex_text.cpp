#include "results/render/tex_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "results/render/table.h"

namespace approx {
namespace {

struct TexName {
  char32_t character;
  const char* command;
};

// What pdflatex sets without a package, in its oldest font encoding too.
constexpr TexName kTexNames[] = {
    {U'"', "\\textquotedblright{}"},
    {U'#', "\\#"},
    {U'$', "\\$"},
    {U'%', "\\%"},
    {U'&', "\\&"},
    {U'<', "\\textless{}"},
    {U'>', "\\textgreater{}"},
    {U'\\', "\\textbackslash{}"},
    {U'^', "\\textasciicircum{}"},
    {U'_', "\\_"},
    {U'`', "\\textquoteleft{}"},
    {U'{', "\\{"},
    {U'|', "\\textbar{}"},
    {U'}', "\\}"},
    {U'~', "\\textasciitilde{}"},
    {U'\u00A0', "~"},
    {U'§', "\\S{}"},
    {U'°', "$^{\\circ}$"},
    {U'±', "$\\pm$"},
    {U'²', "$^{2}$"},
    {U'³', "$^{3}$"},
    {U'µ', "$\\mu$"},
    {U'·', "$\\cdot$"},
    {U'¹', "$^{1}$"},
    {U'½', "$\\frac{1}{2}$"},
    {U'×', "$\\times$"},
    {U'÷', "$\\div$"},
    {U'Δ', "$\\Delta$"},
    {U'Σ', "$\\Sigma$"},
    {U'Ω', "$\\Omega$"},
    {U'α', "$\\alpha$"},
    {U'β', "$\\beta$"},
    {U'γ', "$\\gamma$"},
    {U'δ', "$\\delta$"},
    {U'ε', "$\\varepsilon$"},
    {U'η', "$\\eta$"},
    {U'θ', "$\\theta$"},
    {U'λ', "$\\lambda$"},
    {U'μ', "$\\mu$"},
    {U'π', "$\\pi$"},
    {U'ρ', "$\\rho$"},
    {U'σ', "$\\sigma$"},
    {U'τ', "$\\tau$"},
    {U'φ', "$\\varphi$"},
    {U'χ', "$\\chi$"},
    {U'ω', "$\\omega$"},
    {U'\u2009', "\\,"},
    {U'\u2010', "-"},
    {U'\u2011', "-"},
    {U'–', "\\textendash{}"},
    {U'—', "\\textemdash{}"},
    {U'‘', "\\textquoteleft{}"},
    {U'’', "\\textquoteright{}"},
    {U'“', "\\textquotedblleft{}"},
    {U'”', "\\textquotedblright{}"},
    {U'†', "\\dag{}"},
    {U'‡', "\\ddag{}"},
    {U'•', "\\textbullet{}"},
    {U'…', "\\ldots{}"},
    {U'\u202F', "\\,"},
    {U'⁻', "$^{-}$"},
    {U'ᵀ', "$^{T}$"},
    {U'←', "$\\leftarrow$"},
    {U'↑', "$\\uparrow$"},
    {U'→', "$\\rightarrow$"},
    {U'↓', "$\\downarrow$"},
    {U'↔', "$\\leftrightarrow$"},
    {U'⇒', "$\\Rightarrow$"},
    {U'∂', "$\\partial$"},
    {U'∇', "$\\nabla$"},
    {U'∈', "$\\in$"},
    {U'∑', "$\\sum$"},
    {U'−', "$-$"},
    {U'√', "$\\surd$"},
    {U'∞', "$\\infty$"},
    {U'≈', "$\\approx$"},
    {U'≠', "$\\neq$"},
    {U'≡', "$\\equiv$"},
    {U'≤', "$\\leq$"},
    {U'≥', "$\\geq$"},
    {U'≪', "$\\ll$"},
    {U'≫', "$\\gg$"},
    {U'⋅', "$\\cdot$"},
    {U'✓', "$\\surd$"},
    {U'✔', "$\\surd$"},
    {U'✗', "$\\times$"},
    {U'✘', "$\\times$"},
};

// U+00C0 to U+00FF, where names of people and places come from.
constexpr const char* kTexLatin[] = {
    "\\`{A}",   "\\'{A}", "\\^{A}", "\\~{A}",  "\\\"{A}",  "\\r{A}",   "\\AE{}",   "\\c{C}",
    "\\`{E}",   "\\'{E}", "\\^{E}", "\\\"{E}", "\\`{I}",   "\\'{I}",   "\\^{I}",   "\\\"{I}",
    "(U+00D0)", "\\~{N}", "\\`{O}", "\\'{O}",  "\\^{O}",   "\\~{O}",   "\\\"{O}",  "$\\times$",
    "\\O{}",    "\\`{U}", "\\'{U}", "\\^{U}",  "\\\"{U}",  "\\'{Y}",   "(U+00DE)", "\\ss{}",
    "\\`{a}",   "\\'{a}", "\\^{a}", "\\~{a}",  "\\\"{a}",  "\\r{a}",   "\\ae{}",   "\\c{c}",
    "\\`{e}",   "\\'{e}", "\\^{e}", "\\\"{e}", "\\`{\\i}", "\\'{\\i}", "\\^{\\i}", "\\\"{\\i}",
    "(U+00F0)", "\\~{n}", "\\`{o}", "\\'{o}",  "\\^{o}",   "\\~{o}",   "\\\"{o}",  "$\\div$",
    "\\o{}",    "\\`{u}", "\\'{u}", "\\^{u}",  "\\\"{u}",  "\\'{y}",   "(U+00FE)", "\\\"{y}",
};

static_assert(std::size(kTexLatin) == 0x100 - 0xC0);

std::string tex_character(char32_t c) {
  for (const auto& [character, command] : kTexNames) {
    if (character == c) return command;
  }
  if (c >= 0x20 && c < 0x7F) return std::string(1, static_cast<char>(c));
  if (c >= 0xC0 && c < 0x100) return kTexLatin[c - 0xC0];
  if (c >= U'⁴' && c <= U'⁹') return fmt::format("$^{{{}}}$", c - U'⁰');
  if (c == U'⁰') return "$^{0}$";
  if (c >= U'₀' && c <= U'₉') return fmt::format("$_{{{}}}$", c - U'₀');
  return fmt::format("(U+{:04X})", static_cast<uint32_t>(c));
}

bool is_digit_sign(char32_t c) { return c >= '0' && c <= '9'; }

// --- how wide texts are in LaTeX's usual fonts, Computer Modern ---

// Of the characters from ' ' to '~', in tenths of a point at 10 points. A hyphen counts as the sign
// of a number.
constexpr int kTexTenths[] = {
    34, 28, 50, 84, 50, 84, 78, 28,  39, 39, 50, 78, 28, 78, 28, 50,  //  !"#$%&'()*+,-./
    50, 50, 50, 50, 50, 50, 50, 50,  50, 50, 28, 28, 78, 78, 78, 48,  // 0-9:;<=>?
    78, 75, 71, 73, 77, 69, 66, 79,  75, 37, 52, 78, 63, 92, 75, 78,  // @A-O
    69, 78, 74, 56, 73, 75, 75, 103, 75, 75, 62, 28, 50, 28, 50, 40,  // P-Z[\]^_
    28, 50, 56, 45, 56, 45, 31, 50,  56, 28, 31, 53, 28, 84, 56, 50,  // `a-o
    56, 53, 40, 40, 39, 56, 53, 73,  53, 53, 45, 50, 28, 50, 50};     // p-z{|}~

static_assert(std::size(kTexTenths) == 0x7F - 0x20);

int tex_tenths(char32_t c) {
  constexpr int kLatin = 104, kSign = 134, kFallback = 8 * 52 + 79;  // "(U+1F600)"
  if (c < 0x20) return kTexTenths[0];
  if (c < 0x7F) return kTexTenths[c - 0x20];
  const auto known =
      std::ranges::any_of(kTexNames, [c](const TexName& named) { return named.character == c; });
  if (known) return c == U'–' || c == U'·' ? 50 : c == U'±' || c == U'×' ? 78 : kSign;
  if (c >= 0xC0 && c < 0x100) return kLatin;
  if ((c >= U'⁰' && c <= U'⁹') || (c >= U'₀' && c <= U'₉')) return 50;
  return kFallback;
}

}  // namespace

std::string tex_text(std::string_view text) {
  std::string out;
  char32_t before = ' ';
  while (!text.empty()) {
    const char32_t c = take_character(text);
    const char32_t next = text.empty() ? 0 : static_cast<unsigned char>(text.front());
    if (c == '\n' || c == '\t' || c == '\r') {
      out += ' ';
    } else if ((c == '[' || c == '*') && out.find_first_not_of(' ') == std::string::npos) {
      out += c == '[' ? "{[}" : "{*}";
    } else if (c == '-' && is_digit_sign(next) &&
               (before == ' ' || before == '[' || before == '(')) {
      out += "$-$";
    } else if ((c == '-' || c == '\'') && c == next) {
      out += static_cast<char>(c);
      out += "{}";
    } else {
      out += tex_character(c);
    }
    before = c;
  }
  return out;
}

size_t tex_points(std::string_view text) {
  constexpr int kOfTenths = 85;  // such letters are 0.85 as wide as those of 10 points
  int tenths = 0;
  while (!text.empty()) tenths += tex_tenths(take_character(text));
  return static_cast<size_t>((tenths * kOfTenths + 999) / 1000);
}

}  // namespace approx
