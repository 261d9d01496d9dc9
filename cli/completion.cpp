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
#include "core/experiment/files.h"
#include "core/experiment/item.h"
#include "core/experiment/overrides.h"
#include "results/store/run_state.h"

namespace approx {
namespace {

// What may stand at a place of a command line.
struct Choices {
  std::vector<std::string> words;  // one that ends in "=" is the beginning of a word
  bool files = false;
};

struct Flag {
  std::string name, help;
  bool takes_value = false;
  Choices value;
};

struct Command {
  std::string path;  // "approxtrain db check"
  std::string help;
  std::vector<Flag> flags;
  std::vector<std::string> subcommands;
  Choices arguments;  // of all positionals
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

std::vector<std::string> wrapped(const char* before, std::vector<std::string> names,
                                 const char* behind) {
  for (auto& name : names) name = before + name + behind;
  return names;
}

std::vector<std::string> names_of_experiments() {
  std::vector<std::string> names;
  for (const auto& [name, path] : known_experiments()) names.push_back(name);
  return names;
}

std::vector<std::string> states_to_rerun() {
  std::vector<std::string> names = {"tainted", "older"};
  for (const RunState state : kEndStates) names.emplace_back(name(state));
  return names;
}

// By the name of a flag or of a positional, for those that are more than the words of their type.
const std::map<std::string, Choices>& named_choices() {
  static const std::map<std::string, Choices> named = [] {
    const auto& catalogue = Catalogue::embedded();
    auto methods = names_of(catalogue.methods);
    methods.emplace_back(kDense);
    auto selections = names_of(catalogue.selections);
    selections.emplace_back(kNoSelection);
    const std::vector<std::string> times = {"1m", "10m", "1h"};
    const Choices experiments{names_of_experiments()}, datasets{registered<DatasetEntry>()},
        schedules{registered<ScheduleEntry>()}, scales{names_of_enum<Scale>()}, files{{}, true};
    return std::map<std::string, Choices>{
        {"--method", {methods}},
        {"--selection", {selections}},
        {"--network", {names_of(catalogue.networks)}},
        {"--schedule", schedules},
        {"--dataset", datasets},
        {"--recipe", {known_recipes()}},
        {"--precision", {names_of_enum<Precision>()}},
        {"--device", {names_of_enum<DeviceKind>()}},
        {"--graphs", {names_of_enum<GraphUse>()}},
        {"--split", {names_of_enum<SplitKind>()}},
        {"--purpose", {names_of_enum<Purpose>()}},
        {"--scale", scales},
        {"--set", {wrapped("", settable_keys(), "=")}},
        {"--rerun", {states_to_rerun()}},
        {"--only", {{"method=", "schedule=", "network=", "dataset=", "purpose=", "seed="}}},
        {"--skip", {{"method=", "schedule=", "network=", "dataset=", "purpose=", "seed="}}},
        {"--controls", {{"iso-time", "random", "smaller-net="}}},
        {"--checkpoint-every", {{"1m", "10m", "1ep", "10ep", "0"}}},
        {"--record-every", {{"1ep", "10ep", "100ba"}}},
        {"--timeout", {times}},
        {"--budget", {times}},
        {"--fail-on", {{"slower", "inferior", "differs"}}},
        {"--margin", {{"0.5pp", "10%"}}},
        {"--out", files},
        {"--shapes", files},
        {"--recorded", files},
        {"--from", files},
        {"SPEC", {wrapped("@", experiments.words, ""), true}},
        {"ITEM", {known_papers()}},
        {"EXPERIMENT", experiments},
        {"ID", experiments},
        {"METHOD", {methods}},
        {"SCHEDULE", schedules},
        {"name", datasets},
        {"names", datasets},
    };
  }();
  return named;
}

// What may stand for an option: names of the catalogue and of files, or the words of its type
// ("md|csv"). A number, a time and a pattern have none.
Choices choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "N") return {};  // `show run ID` is none of `sweep status ID`
  const auto found = named_choices().find(option.get_name(option.get_positional()));
  if (found != named_choices().end()) return found->second;
  if (type.find('|') != std::string::npos) {
    const auto words = split(type, "|");
    return {{words.begin(), words.end()}, false};
  }
  // A positional that is not named above is a path.
  for (const char* path : {"FILE", "DIR"}) {
    if (type.find(path) != std::string::npos) return {{}, true};
  }
  return {{}, option.get_positional()};
}

void collect(const CLI::App& app, const std::string& path, std::vector<Command>& commands) {
  Command command;
  command.path = path;
  command.help = app.get_description();
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const auto* option : level->get_options()) {
      if (option->get_group().empty()) continue;
      if (option->get_positional() && level == &app) {
        const Choices choices = choices_of(*option);
        command.arguments.files |= choices.files;
        command.arguments.words.insert(command.arguments.words.end(), choices.words.begin(),
                                       choices.words.end());
      }
      if (option->get_lnames().empty()) continue;
      command.flags.push_back({"--" + option->get_lnames()[0], option->get_description(),
                               option->get_items_expected_max() > 0, choices_of(*option)});
    }
  }
  const auto visible = [](const CLI::App* sub) {
    return !sub->get_name().empty() && !sub->get_group().empty();
  };
  const auto subs = app.get_subcommands(visible);
  for (const auto* sub : subs) command.subcommands.push_back(sub->get_name());
  commands.push_back(command);
  for (const auto* sub : subs) collect(*sub, path + " " + sub->get_name(), commands);
}

// Inside single quotes of any of the three shells.
std::string shell_quoted(const std::string& text, const char* quote = "'\\''") {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out + "'";
}

std::string known_paths(const std::vector<Command>& commands) {
  std::string known = "|";
  for (const auto& command : commands) known += command.path + "|";
  return known;
}

std::string spaced(const std::vector<std::string>& words) {
  return shell_quoted(fmt::format("{}", fmt::join(words, " ")));
}

// The words of the line, split at blanks alone: bash splits at @, : and = as well, and replaces
// what stands behind the last of them. Of NAME,NAME the last name is completed, of --flag=VALUE the
// value. The commands typed so far are found by walking the words; they pick the case below.
constexpr const char* kBashBefore = R"(  local -a typed
  if [[ -n ${COMP_LINE-} ]]; then
    local line=${COMP_LINE:0:COMP_POINT}
    read -ra typed <<< "$line"
    [[ $line == *[[:space:]] ]] && typed+=('')
  else
    typed=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
  fi
  local last=$((${#typed[@]} - 1))
  local path=approxtrain word next
  for word in "${typed[@]:1:last-1}"; do
    next="$path $word"
    case "$known" in *"|$next|"*) path=$next ;; esac
  done
  local current=${typed[last]} previous=${typed[last-1]} before=''
  if [[ $current == --*=* ]]; then
    previous=${current%%=*} before=${current%%=*}= current=${current#*=}
  fi
  local words='' files='' flags=''
  case "$path|$previous" in
)";

constexpr const char* kBashBehind = R"(  esac
  if [[ -z $flags && $current == *,* ]]; then
    before+=${current%,*}, current=${current##*,}
  fi
  local whole=${typed[last]} reply
  local strip=${whole%"${whole##*[$COMP_WORDBREAKS]}"}
  strip=${strip%@}
  COMPREPLY=()
  for reply in $(compgen -W "$words$flags" -- "$current"); do
    reply=$before$reply
    [[ $reply == *= ]] && compopt -o nospace 2> /dev/null
    COMPREPLY+=("${reply#"$strip"}")
  done
  if [[ -n $files && $current != @* && ${#COMPREPLY[@]} == 0 ]]; then
    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  fi
)";

std::string bash_script(const std::vector<Command>& commands) {
  std::string out =
      "# bash completion of approxtrain: source this file, or put it into\n"
      "# ~/.local/share/bash-completion/completions/approxtrain\n"
      "_approxtrain() {\n"
      "  local known=" +
      shell_quoted(known_paths(commands)) + "\n" + kBashBefore;
  for (const auto& command : commands) {
    for (const auto& flag : command.flags) {
      if (!flag.takes_value) continue;
      out += fmt::format("    {}) words={}{} ;;\n", shell_quoted(command.path + "|" + flag.name),
                         spaced(flag.value.words), flag.value.files ? " files=1" : "");
    }
  }
  out += "    *) case \"$path\" in\n";
  for (const auto& command : commands) {
    auto words = command.subcommands;
    words.insert(words.end(), command.arguments.words.begin(), command.arguments.words.end());
    std::vector<std::string> flags = {""};
    for (const auto& flag : command.flags) flags.push_back(flag.name);
    out += fmt::format("      {}) words={} flags={}{} ;;\n", shell_quoted(command.path),
                       spaced(words), spaced(flags), command.arguments.files ? " files=1" : "");
  }
  return out + "    esac ;;\n" + kBashBehind + "}\ncomplete -F _approxtrain approxtrain\n";
}

// Adds words; no blank goes behind one that ends in "=".
std::string zsh_words(const std::vector<std::string>& words) {
  std::string whole, begun;
  for (const auto& word : words) {
    (word.ends_with('=') ? begun : whole) += " " + shell_quoted(word);
  }
  std::string out;
  if (!whole.empty()) out += "compadd --" + whole + "\n";
  if (!begun.empty()) out += "compadd -S '' --" + begun + "\n";
  return out;
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
      if (!flag.value.words.empty()) out += "compset -P '*,'\n" + zsh_words(flag.value.words);
      out += flag.value.files ? "_files; return ;;\n" : "return ;;\n";
    }
  }
  out += "  esac\n  local -a choices\n  case \"$path_typed\" in\n";
  for (const auto& command : commands) {
    out += fmt::format("    {}) choices=(", shell_quoted(command.path));
    for (const auto& word : command.subcommands) out += shell_quoted(word) + " ";
    for (const auto& flag : command.flags) out += shell_quoted(flag.name + ":" + flag.help) + " ";
    out += ")\n" + zsh_words(command.arguments.words);
    out += command.arguments.files ? "_files ;;\n" : ";;\n";
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
    for (const auto& words : {command.subcommands, command.arguments.words}) {
      for (const auto& word : words) out += condition + " -f -a " + fish(word) + "\n";
    }
    for (const auto& flag : command.flags) {
      out += condition + " -l " + flag.name.substr(2);
      if (flag.takes_value) out += " -r";
      if (flag.takes_value && !flag.value.files) out += " -f";
      if (!flag.value.words.empty()) {
        out += " -a " + fish(fmt::format("{}", fmt::join(flag.value.words, " ")));
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
