// completion: a script for a shell, generated from the option tree and the
// catalogue, so that it knows exactly what this program knows.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "core/config/catalogue.h"
#include "core/config/named_schedule.h"
#include "core/config/run_config.h"
#include "core/data/dataset.h"

namespace approx {
namespace {

struct Flag {
  std::string name, help;
  bool takes_value = false;
  std::vector<std::string> values;  // empty with takes_value: a file
};

struct Command {
  std::string path;  // "approxtrain db check"
  std::string help;
  std::vector<Flag> flags;
  std::vector<std::string> words;  // subcommands, or what a positional may be
};

template <typename Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

template <typename Entry>
std::vector<std::string> registered() {
  std::vector<std::string> names;
  for (const auto* entry : Registry<Entry>::instance().all()) names.push_back(entry->name);
  return names;
}

// What may stand after a flag: names of the catalogue, or the words of its type
// ("md|csv").
std::vector<std::string> values_of(const CLI::Option& option) {
  const auto& catalogue = Catalogue::embedded();
  std::map<std::string, std::vector<std::string>> named = {
      {"--method", names_of(catalogue.methods)},   {"--network", names_of(catalogue.networks)},
      {"--schedule", registered<ScheduleEntry>()}, {"--dataset", registered<DatasetEntry>()},
      {"--precision", names_of_enum<Precision>()}, {"--device", names_of_enum<DeviceKind>()},
      {"--graphs", names_of_enum<GraphUse>()},     {"--split", names_of_enum<SplitKind>()},
      {"--purpose", names_of_enum<Purpose>()}};
  named["--method"].emplace_back(kDense);
  const auto found = named.find(option.get_name());
  if (found != named.end()) return found->second;
  const std::string type = option.get_type_name();
  if (type.find('|') == std::string::npos) return {};
  const auto words = split(type, "|");
  return {words.begin(), words.end()};
}

void collect(const CLI::App& app, const std::string& path, std::vector<Command>& commands) {
  Command command;
  command.path = path;
  command.help = app.get_description();
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const auto* option : level->get_options()) {
      if (option->get_group().empty() || option->get_lnames().empty()) continue;
      command.flags.push_back({"--" + option->get_lnames()[0], option->get_description(),
                               option->get_items_expected_max() > 0, values_of(*option)});
    }
  }
  const auto visible = [](const CLI::App* sub) {
    return !sub->get_name().empty() && !sub->get_group().empty();
  };
  const auto subs = app.get_subcommands(visible);
  for (const auto* sub : subs) command.words.push_back(sub->get_name());
  commands.push_back(command);
  for (const auto* sub : subs) collect(*sub, path + " " + sub->get_name(), commands);
}

// Inside single quotes of any of the three shells.
std::string shell_quoted(const std::string& text, const char* quote = "'\\''") {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out + "'";
}

// The path of commands typed so far is found by walking the words; it picks the
// case below.
constexpr const char* kWalk = R"(  local path=approxtrain word next
  for word in "${words_before[@]:1}"; do
    next="$path $word"
    case "$known" in *"|$next|"*) path=$next ;; esac
  done
)";

std::string known_paths(const std::vector<Command>& commands) {
  std::string known = "|";
  for (const auto& command : commands) known += command.path + "|";
  return known;
}

std::string bash_script(const std::vector<Command>& commands) {
  std::string out =
      "# bash completion of approxtrain: source this file, or put it into\n"
      "# ~/.local/share/bash-completion/completions/approxtrain\n"
      "_approxtrain() {\n"
      "  local known=" +
      shell_quoted(known_paths(commands)) +
      "\n"
      "  local words_before=(\"${COMP_WORDS[@]:0:COMP_CWORD}\")\n" +
      kWalk +
      "  local current=${COMP_WORDS[COMP_CWORD]} "
      "previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  case \"$path|$previous\" in\n";
  for (const auto& command : commands) {
    for (const auto& flag : command.flags) {
      if (!flag.takes_value) continue;
      out += fmt::format("    {}) ", shell_quoted(command.path + "|" + flag.name));
      out += flag.values.empty()
                 ? std::string("COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n")
                 : fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n",
                               shell_quoted(fmt::format("{}", fmt::join(flag.values, " "))));
    }
  }
  out += "  esac\n  case \"$path\" in\n";
  for (const auto& command : commands) {
    std::vector<std::string> words = command.words;
    for (const auto& flag : command.flags) words.push_back(flag.name);
    out += fmt::format(
        "    {}) COMPREPLY=($(compgen -W {}{} -- \"$current\")) ;;\n", shell_quoted(command.path),
        shell_quoted(fmt::format("{}", fmt::join(words, " "))), command.words.empty() ? " -f" : "");
  }
  return out + "  esac\n}\ncomplete -o filenames -F _approxtrain approxtrain\n";
}

std::string zsh_script(const std::vector<Command>& commands) {
  std::string out =
      "#compdef approxtrain\n"
      "# zsh completion of approxtrain: put it as _approxtrain into a folder "
      "of $fpath\n"
      "_approxtrain() {\n"
      "  local known=" +
      shell_quoted(known_paths(commands)) +
      "\n"
      "  local -a words_before\n"
      "  words_before=(\"${(@)words[1,CURRENT-1]}\")\n"
      "  local path_typed=approxtrain word next\n"
      "  for word in \"${(@)words_before[2,-1]}\"; do\n"
      "    next=\"$path_typed $word\"\n"
      "    [[ \"$known\" == *\"|$next|\"* ]] && path_typed=$next\n"
      "  done\n"
      "  case \"$path_typed|${words[CURRENT-1]}\" in\n";
  for (const auto& command : commands) {
    for (const auto& flag : command.flags) {
      if (!flag.takes_value) continue;
      out += fmt::format("    {}) ", shell_quoted(command.path + "|" + flag.name));
      out += flag.values.empty()
                 ? std::string("_files; return ;;\n")
                 : fmt::format("compadd -- {}; return ;;\n", fmt::join(flag.values, " "));
    }
  }
  out += "  esac\n  local -a choices\n  case \"$path_typed\" in\n";
  for (const auto& command : commands) {
    out += fmt::format("    {}) choices=(", shell_quoted(command.path));
    for (const auto& word : command.words) out += shell_quoted(word) + " ";
    for (const auto& flag : command.flags) out += shell_quoted(flag.name + ":" + flag.help) + " ";
    out += command.words.empty() ? "); _files ;;\n" : ") ;;\n";
  }
  return out +
         "  esac\n  _describe 'command or option' choices\n}\n"
         "if [[ \"${funcstack[1]}\" == _approxtrain ]]; then "
         "_approxtrain \"$@\"; "
         "else compdef _approxtrain approxtrain; fi\n";
}

std::string fish_script(const std::vector<Command>& commands) {
  const auto fish = [](const std::string& text) { return shell_quoted(text, "\\'"); };
  std::string out =
      "# fish completion of approxtrain: put it into\n"
      "# ~/.config/fish/completions/approxtrain.fish\n"
      "function __approxtrain_at\n"
      "  set -l known " +
      fish(known_paths(commands)) +
      "\n"
      "  set -l path approxtrain\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    if string match -q -- \"*|$path $word|*\" $known\n"
      "      set path \"$path $word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$path\" = \"$argv[1]\"\n"
      "end\n";
  for (const auto& command : commands) {
    // fish reads the condition as a command, so the path is shell_quoted inside it.
    const std::string condition =
        fmt::format("complete -c approxtrain -n \"__approxtrain_at '{}'\"", command.path);
    for (const auto& word : command.words) out += condition + " -f -a " + fish(word) + "\n";
    for (const auto& flag : command.flags) {
      out += condition + " -l " + flag.name.substr(2);
      if (flag.takes_value) out += " -r";
      if (!flag.values.empty()) {
        out += " -f -a " + fish(fmt::format("{}", fmt::join(flag.values, " ")));
      }
      out += " -d " + fish(flag.help) + "\n";
    }
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& app, GlobalOptions& /*options*/) {
  auto* command = app.add_subcommand("completion", "Print completions for a shell");
  command->footer("source <(approxtrain completion bash)");
  auto shell = std::make_shared<std::string>();
  add_choice(*command, "SHELL", *shell, {"bash", "zsh", "fish"}, "bash, zsh or fish")->required();
  command->callback([&app, shell] {
    std::vector<Command> commands;
    collect(app, "approxtrain", commands);
    const std::string text = *shell == "bash"  ? bash_script(commands)
                             : *shell == "zsh" ? zsh_script(commands)
                                               : fish_script(commands);
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace approx
