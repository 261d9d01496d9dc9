#include "cli/slurm/script.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "base/error.h"

namespace approx {
namespace {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

JobArray some_array() {
  return {.name = "fake:table", .first = 0, .last = 9, .runs = 40, .cpus = 4, .gpus = 0};
}

bool has_line(const std::string& script, const std::string& line) {
  return ("\n" + script).find("\n" + line + "\n") != std::string::npos;
}

// What a shell makes of a word.
std::string read_back(const std::string& word) {
  const std::string path = testing::TempDir() + "script_test_word";
  std::ofstream(path + ".sh") << "printf %s " << word << " >" << path << "\n";
  EXPECT_EQ(std::system(("bash " + path + ".sh").c_str()), 0);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ShellWord, IsReadBackAsItWas) {
  for (const std::string text :
       {"", "plain", "two words", "it's", "''", "$HOME `id` $(id)", "a\nb", "\\", "*?[x]", "#!",
        "a;b|c&d", "\"", "~", "-n", "caf\xc3\xa9", "\xff"}) {
    EXPECT_EQ(read_back(shell_word(text)), text);
  }
}

TEST(ArrayScript, ATaskOfRanksHasAProcessForEach) {
  JobArray array = some_array();
  array.processes = 3;
  array.cpus = 2;
  std::string script = array_script(array, {}, {"program"});
  EXPECT_TRUE(has_line(script, "#SBATCH --ntasks=3"));
  EXPECT_TRUE(has_line(script, "#SBATCH --cpus-per-task=2"));
  EXPECT_FALSE(has_line(script, "#SBATCH --nodes=1"));
  // Its coordinator leaves them to the ranks.
  EXPECT_NE(script.find("\nsrun --overlap --nodes=1 --ntasks=1 --cpus-per-task=2 program "),
            std::string::npos);
  array.one_node = true;
  script = array_script(array, {}, {"program"});
  EXPECT_TRUE(has_line(script, "#SBATCH --nodes=1"));
  EXPECT_NE(script.find("\nsrun --overlap --nodes=1 --ntasks=1 --cpus-per-task=6 program "),
            std::string::npos);
}

TEST(ArrayScript, RanksHaveAGpuEach) {
  JobArray array = some_array();
  array.processes = 3;
  array.gpus = 3;
  std::string script = array_script(array, {}, {"program"});
  EXPECT_TRUE(has_line(script, "#SBATCH --gres=gpu:3"));
  EXPECT_EQ(script.find("--gpus-per-task"), std::string::npos);
  // On several nodes, each of which has some of them.
  array.gpus = 0;
  array.gpu_each = true;
  script = array_script(array, {}, {"program"});
  EXPECT_TRUE(has_line(script, "#SBATCH --gpus-per-task=1"));
  EXPECT_EQ(script.find("--gres"), std::string::npos);
}

TEST(WarningAhead, LeavesTimeToSave) {
  EXPECT_EQ(warning_ahead(Nanoseconds(0)), seconds(120));
  EXPECT_EQ(warning_ahead(hours(4)), seconds(120));
  EXPECT_EQ(warning_ahead(minutes(4)), seconds(60));
  EXPECT_EQ(warning_ahead(minutes(1)), seconds(15));
}

TEST(ArrayScript, AsksForWhatTheUserSaid) {
  SlurmRequest request;
  for (const auto& [key, text] : std::map<std::string, std::string>{{"at_once", "3"},
                                                                    {"time", "26.5h"},
                                                                    {"memory", "4G"},
                                                                    {"partition", "long"},
                                                                    {"option", "--qos=low"}}) {
    request.set(key, text, key);
  }
  auto array = some_array();
  array.gpus = 2;
  const std::string script = array_script(array, request, {"/opt/approx train", "sweep", "task"});
  EXPECT_TRUE(script.starts_with("#!/bin/bash\n"));
  for (const std::string line :
       {"--job-name=fake:table", "--array=0-9%3", "--requeue", "--signal=USR1@120", "--ntasks=1",
        "--cpus-per-task=4", "--mem=4194304K", "--time=1-02:30:00", "--gres=gpu:2",
        "--partition=long", "--qos=low"}) {
    EXPECT_TRUE(has_line(script, "#SBATCH " + line)) << line << "\n" << script;
  }
  EXPECT_TRUE(has_line(script,
                       "srun --ntasks=1 --cpus-per-task=4 '/opt/approx train' sweep task "
                       "\"$SLURM_ARRAY_TASK_ID\" || code=$?"))
      << script;
  // The user's own come last, for the last of two prevails.
  EXPECT_GT(script.find("--qos=low"), script.find("--gres"));
  EXPECT_EQ(script.find("--exclusive"), std::string::npos);
}

TEST(ArrayScript, AsksForNothingElse) {
  const std::string script = array_script(some_array(), {}, {"approxtrain"});
  for (const std::string option : {"--mem", "--time", "--gres", "--partition", "%"}) {
    EXPECT_EQ(script.find("#SBATCH " + option), std::string::npos) << option;
  }
  EXPECT_TRUE(has_line(script, "#SBATCH --array=0-9"));
}

TEST(ArrayScript, GivesATimingANodeOfItsOwn) {
  auto array = some_array();
  array.purpose = Purpose::kTiming;
  const std::string script = array_script(array, {}, {"approxtrain"});
  EXPECT_TRUE(has_line(script, "#SBATCH --exclusive"));
  EXPECT_TRUE(has_line(script, "#SBATCH --hint=nomultithread"));
}

TEST(MergeScript, QuotesPaths) {
  EXPECT_EQ(merge_command("/a b/approxtrain", "/x's", "/$y.db"),
            "'/a b/approxtrain' db merge '/x'\\''s' --db '/$y.db'");
  const std::string script = merge_script("t:merge", {}, "/p", "/x's", "/y.db");
  EXPECT_TRUE(has_line(script, "exec /p db merge '/x'\\''s' --db /y.db")) << script;
  EXPECT_TRUE(has_line(script, "#SBATCH --job-name=t:merge"));
}

// Exit 0 without a word where no task came to begin; what it calls otherwise is asked for by
// `echo`.
std::string said_by_script(const std::string& folder) {
  const std::string path = testing::TempDir() + "script_test_merge";
  std::ofstream(path + ".sh") << merge_script("t:merge", {}, "/bin/echo", folder, "/y.db");
  EXPECT_EQ(std::system(("bash " + path + ".sh >" + path).c_str()), 0);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(MergeScript, TakesAFolderAsItIsCalled) {
  for (const std::string name : {"plain", "[a-z]", "a*b", "what?", "back\\slash", "{a,b}"}) {
    const std::string folder = testing::TempDir() + "script_test/" + name;
    std::filesystem::create_directories(folder);
    EXPECT_EQ(said_by_script(folder), "") << name;
    std::ofstream(folder + "/task-3.db") << "x";
    EXPECT_EQ(said_by_script(folder), "db merge " + folder + " --db /y.db\n") << name;
  }
  std::filesystem::remove_all(testing::TempDir() + "script_test");
}

std::string refusal(const std::string& key, const std::string& text) {
  try {
    SlurmRequest().set(key, text, "here");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SlurmRequest, RefusesWhatSbatchWouldReadOtherwise) {
  for (const auto& [key, text] :
       std::multimap<std::string, std::string>{{"tasks", "0"},
                                               {"tasks", "many"},
                                               {"at_once", "-1"},
                                               {"cpus", "1.5"},
                                               {"gpus", "x"},
                                               {"memory", "4"},
                                               {"time", "soon"},
                                               {"time", "30s"},
                                               {"partition", ""},
                                               {"partition", "a b"},
                                               {"partition", "a\nb"},
                                               {"partition", "a%j"},
                                               {"option", "account=x"},
                                               {"option", "--"},
                                               {"option", "--comment=a b"},
                                               {"option", "--comment='a'"},
                                               {"option", "--comment=a#b"},
                                               {"option", "--x=\n#SBATCH"}}) {
    EXPECT_TRUE(refusal(key, text).starts_with("here: ")) << key << " " << text;
  }
}

TEST(SlurmRequest, TakesFromTheTableWhatNoFlagSaid) {
  SlurmRequest request;
  request.set("cpus", "2", "--slurm-cpus");
  request.given.insert("cpus");
  take_table(request,
             {{"cpus", "8", "t.toml:1:1"}, {"option", "--a=1", ""}, {"option", "--b", ""}});
  EXPECT_EQ(request.cpus, 2);
  EXPECT_EQ(request.options, std::vector<std::string>({"--a=1", "--b"}));
}

// Every key of the table is one that a request knows.
TEST(SlurmRequest, KnowsEveryKey) {
  const std::map<std::string, std::string> bad = {{"partition", "a b"}, {"option", "x"}};
  for (const auto& key : slurm_keys()) {
    EXPECT_NE(refusal(key, bad.contains(key) ? bad.at(key) : "nonsense"), "") << key;
  }
}

}  // namespace
}  // namespace approx
