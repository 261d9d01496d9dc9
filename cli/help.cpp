#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "cli/text.h"

namespace approx {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kIndent = 26;

// `text` in lines from the column `indent` on, which the first one has reached.
std::string wrapped(const std::string& text, size_t indent) {
  std::string out, word;
  size_t column = indent;
  std::istringstream words(text);
  while (words >> word) {
    const bool first = column == indent;
    if (!first && column + 1 + word.size() > kColumns) {
      out += "\n" + std::string(indent, ' ') + word;
      column = indent + word.size();
      continue;
    }
    out += (first ? "" : " ") + word;
    column += (first ? 0 : 1) + word.size();
  }
  return out + "\n";
}

// `head`, then `text` in the columns from kIndent on.
std::string entry(const std::string& head, const std::string& text) {
  std::string out = "  " + head;
  const bool has_room = out.size() + 2 <= kIndent;
  out += has_room ? std::string(kIndent - out.size(), ' ') : "\n" + std::string(kIndent, ' ');
  return out + wrapped(text, kIndent);
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : path_of(*parent) + " " + command.get_name();
}

std::string head_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  std::string head = fmt::format("{}", fmt::join(names, ", "));
  if (option.get_items_expected_max() > 0) head += " " + option.get_type_name();
  return head;
}

void collect_flags(const CLI::App* command, std::vector<std::string>& flags) {
  for (; command != nullptr; command = command->get_parent()) {
    for (const auto* option : command->get_options()) {
      if (option->get_group().empty()) continue;
      for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
    }
  }
}

// A line for each named option that is `listed`.
template <typename Listed>
std::string option_lines(const CLI::App& command, Listed listed) {
  std::string lines;
  for (const auto* option : command.get_options()) {
    if (option->get_positional() || !listed(*option)) continue;
    lines += entry(head_of(*option), option->get_description());
  }
  return lines;
}

// The options of the command above, which may stand behind a subcommand as well.
std::string options_above(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr || parent->get_parent() == nullptr) return "";
  if (command.get_group() == kStandsAlone) return "";
  const auto lines = option_lines(*parent, [&](const CLI::Option& option) {
    return !option.get_group().empty() && &option != parent->get_help_ptr();
  });
  return lines.empty() ? "" : fmt::format("\nOptions of {}:\n{}", path_of(*parent), lines);
}

// "--seed: At Most 1 required but received 2" and "--seed: 1 required INT missing", as one would
// say it.
std::string mismatch_text(const std::string& text) {
  constexpr std::string_view kOften = ": At Most 1 required but received ", kNone = ": 1 required ";
  if (const auto at = text.find(kOften); at != std::string::npos) {
    return fmt::format("{} is given {} times, and may be once", text.substr(0, at),
                       text.substr(at + kOften.size()));
  }
  if (const auto at = text.find(kNone); at != std::string::npos && text.ends_with(" missing")) {
    return text.substr(0, at) + ": its value is missing";
  }
  return text;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return printable(text);
}

// The command that was meant, or all that there are where none is near.
std::string hint(const std::string& word, const std::vector<std::string>& names) {
  const std::string meant = did_you_mean(word, names);
  return meant.empty() ? fmt::format("; known: {}", fmt::join(names, ", ")) : meant;
}

}  // namespace

std::string help_text(const CLI::App& command) {
  std::string out;
  if (!command.get_footer().empty()) {
    std::istringstream lines(command.get_footer());
    std::string line;
    out += "Example:\n";
    while (std::getline(lines, line)) out += "  " + line + "\n";
    out += "\n";
  }
  const std::string path = path_of(command);
  std::string words;  // that stand behind the name of a command, where there are commands
  std::string positionals;
  std::vector<std::string> groups;
  for (const auto* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      const std::string name = option->get_name(true);
      words += option->get_required() ? " " + name : " [" + name + "]";
      positionals += entry(name, option->get_description());
    } else if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end()) {
      groups.push_back(option->get_group());
    }
  }
  const auto commands = command.get_subcommands(
      [](const CLI::App* sub) { return !sub->get_name().empty() && !sub->get_group().empty(); });
  std::string usage = "Usage: " + path + " [OPTIONS]";
  if (!commands.empty()) usage += positionals.empty() ? " COMMAND" : " [COMMAND]";
  usage += words;
  out += "  " + wrapped(command.get_description(), 2) + "\n" + usage + "\n";
  if (!commands.empty()) {
    out += "\nCommands:\n";
    for (const auto* sub : commands) out += entry(sub->get_name(), sub->get_description());
  }
  if (!positionals.empty()) out += "\nArguments:\n" + positionals;
  for (const auto& group : groups) {
    out += "\n" + group + ":\n" + option_lines(command, [&](const CLI::Option& option) {
             return option.get_group() == group;
           });
  }
  out += options_above(command);
  if (command.get_parent() != nullptr) {
    out +=
        "\nOptions of every command (--db, --data-dir, ...): approxtrain "
        "--help\n";
  }
  return out;
}

void refuse_options_above(const CLI::App& command) {
  const CLI::App& above = *command.get_parent();
  for (const auto* option : above.get_options()) {
    if (option->count() == 0) continue;
    if (option->get_positional()) {
      throw usage_error("{} {}: unexpected argument \"{}\"; see {} --help", above.get_name(),
                        command.get_name(), printable(option->results().front()), path_of(command));
    }
    throw usage_error("{} {}: {} is an option of {} alone; see {} --help", above.get_name(),
                      command.get_name(), option->get_name(), above.get_name(), path_of(command));
  }
}

const CLI::App& active_command(const CLI::App& root) {
  const auto named = root.get_subcommands();
  return named.empty() ? root : active_command(*named.front());
}

std::string parse_problem(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& command = active_command(root);
  const std::string help = fmt::format("; see {} --help", path_of(command));
  const std::string path = &command == &root ? "" : command.get_name() + ": ";
  // An unknown word explains what else is missing, so it comes first.
  for (const auto& word : root.remaining(/*recurse=*/true)) {
    if (word == "--") continue;
    if (word.size() > 1 && word[0] == '-') {
      const std::string flag = word.substr(0, word.find('='));
      std::vector<std::string> flags;
      collect_flags(&command, flags);
      if (std::find(flags.begin(), flags.end(), flag) != flags.end()) {
        return fmt::format("{0}{1} stands behind \"{2}\"{3}", path, flag, command.get_name(), help);
      }
      return fmt::format("{}unknown option {}{}{}", path, printable(flag),
                         did_you_mean(flag, flags), help);
    }
    std::vector<std::string> names;
    for (const auto* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
      if (!sub->get_group().empty()) names.push_back(sub->get_name());
    }
    const auto options = command.get_options();
    const bool takes_words = std::any_of(options.begin(), options.end(), [](const auto* option) {
      return option->get_positional();
    });
    if (!names.empty() && !takes_words) {
      return fmt::format("{}unknown command \"{}\"{}{}", path, printable(word), hint(word, names),
                         help);
    }
    return fmt::format("{}unexpected argument \"{}\"{}", path, printable(word), help);
  }
  return fmt::format("{}{}{}", path, one_line(mismatch_text(error.what())), help);
}

}  // namespace approx
