#include "synonyms.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <octet/runtime/detail/near_names.h>

namespace octet::program {
namespace {

constexpr std::pair<std::string_view, std::string_view> kCommands[] = {
    {"export", "convert"},  {"val", "evaluate"},
    {"test", "evaluate"},   {"eval", "evaluate"},
    {"infer", "predict"},   {"inference", "predict"},
    {"benchmark", "bench"}, {"info", "inspect"},
    {"summary", "inspect"}, {"show", "inspect"},
    {"draw", "graph"},      {"plot", "graph"},
    {"ptq", "quantize"},    {"calibrate", "quantize"},
    {"diff", "compare"},    {"completions", "completion"},
    {"search", "optimize"}, {"autoquant", "optimize"},
    {"tune", "autotune"},
};

/// Folded synonyms. A command has an option for one of the names in a list, or
/// several distinct options.
constexpr std::string_view kData[] = {
    "data",  "input",     "dataset",         "calibrationdata",
    "calib", "calibdata", "calibrationinput"};
constexpr std::string_view kOutput[] = {"output", "out", "outputfile",
                                        "outfile", "save"};
constexpr std::string_view kRate[] = {"rate", "lr", "learningrate"};
constexpr std::string_view kBatch[] = {"batch", "batchsize", "bs"};
constexpr std::string_view kEpochs[] = {"epochs", "epoch", "numepochs"};
constexpr std::string_view kThreads[] = {"threads", "numthreads", "workers",
                                         "numworkers", "jobs"};
constexpr std::string_view kSamples[] = {"samples", "numsamples",
                                         "calibrationsamples", "calibsamples"};
constexpr std::string_view kValidation[] = {"validation",      "val",
                                            "valdata",         "validationdata",
                                            "validationsplit", "valsplit"};
constexpr std::string_view kMethod[] = {"method", "calibrationmethod",
                                        "calibmethod"};
constexpr std::string_view kOptimizer[] = {"optimizer", "optim", "opt"};
constexpr std::string_view kDrop[] = {"accuracydrop", "maxdrop",
                                      "maxaccuracydrop", "drop"};
constexpr std::string_view kBudget[] = {"timebudget", "budget"};
constexpr std::string_view kReference[] = {"reference", "ref"};
constexpr std::string_view kInputShape[] = {"inputshape", "inputsize", "imgsz"};
// Former names. --requantize was the name of three options.
constexpr std::string_view kArithmetic[] = {"arithmetic", "requantize"};
constexpr std::string_view kDropQuantizers[] = {"dropquantizers", "requantize"};
constexpr std::string_view kSymmetric[] = {"symmetricactivations",
                                           "requantize"};
constexpr std::string_view kLastEpoch[] = {"lastepoch", "force"};
constexpr std::string_view kUnfused[] = {"unfused", "separate"};
constexpr std::string_view kPipeline[] = {"pipeline", "ladder"};
constexpr std::span<const std::string_view> kOptions[] = {
    kData,       kOutput,     kRate,       kBatch,          kEpochs,
    kThreads,    kSamples,    kMethod,     kOptimizer,      kReference,
    kInputShape, kValidation, kArithmetic, kDropQuantizers, kSymmetric,
    kPipeline,   kLastEpoch,  kUnfused,    kDrop,           kBudget};

const CLI::Option* option_folded(const CLI::App& command,
                                 std::string_view folded) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (fold_name(name) == folded) return option;
    }
  }
  return nullptr;
}

/// Returns the option that the word "--lr=0.1" or "-o" names.
const CLI::Option* option_of(const CLI::App& command, const std::string& word) {
  if (word.starts_with("--")) {
    return find_option(command,
                       std::string_view(word).substr(2, word.find('=') - 2));
  }
  if (word.size() < 2 || !word.starts_with('-')) return nullptr;
  for (const CLI::Option* option : command.get_options()) {
    if (option->check_sname(word.substr(1, 1))) return option;
  }
  return nullptr;
}

/// Returns whether a word is a file or a zoo network, but not a number.
bool names_model(const std::string& word) {
  double number = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && rest == end) return false;
  return word.find_first_of("./:") != word.npos ||
         std::filesystem::exists(word);
}

/// Adds the word of an option with its canonical name. Returns whether the next
/// word is its value.
bool add_option(const CLI::Option& option, const std::string& word,
                std::vector<std::string>& words) {
  const bool takes_value = option.get_items_expected_max() > 0;
  if (!word.starts_with("--")) {
    words.push_back(word);
    return takes_value && word.size() == 2;
  }
  const size_t end = word.find('=');
  const std::string given = word.substr(2, end - 2);
  const std::string name =
      option.check_lname(given) || option.get_lnames().empty()
          ? given
          : option.get_lnames().front();
  const std::string value = end == word.npos ? "" : word.substr(end + 1);
  if (end == word.npos || !takes_value) {
    words.push_back("--" + name + (end == word.npos ? "" : "=" + value));
    return end == word.npos && takes_value;
  }
  // After "--name=" the parser would consume the next word.
  words.push_back(value.empty() ? "--" + name : "--" + name + "=" + value);
  if (value.empty()) words.emplace_back();
  return false;
}

}  // namespace

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  const auto named = [&](std::string_view wanted) -> const CLI::App* {
    for (const CLI::App* command : app.get_subcommands({})) {
      if (command->get_name() == wanted) return command;
    }
    return nullptr;
  };
  if (const CLI::App* found = named(name)) return found;
  const std::string folded = fold_name(name);
  if (const CLI::App* found = named(folded)) return found;
  for (const auto& [synonym, command] : kCommands) {
    if (synonym == folded) return named(command);
  }
  return nullptr;
}

const CLI::Option* find_option(const CLI::App& command, std::string_view name) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->check_lname(std::string(name))) return option;
  }
  const std::string folded = fold_name(name);
  if (const CLI::Option* found = option_folded(command, folded)) return found;
  for (const std::span<const std::string_view> group : kOptions) {
    if (std::ranges::find(group, folded) == group.end()) continue;
    for (const std::string_view each : group) {
      if (const CLI::Option* found = option_folded(command, each)) return found;
    }
  }
  return nullptr;
}

std::vector<std::string> canonical_words(
    const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> result;
  const CLI::App* command = &app;
  size_t at = 0;
  if (!app.get_subcommands({}).empty()) {
    if (words.empty() || words[0].starts_with('-')) return words;
    const bool help =
        words[0] == "help" && find_command(app, "help") == nullptr;
    if (help && words.size() == 1) return {"--help"};
    command = find_command(app, words[help ? 1 : 0]);
    if (command == nullptr) {
      // The parser rejects the word.
      return help ? std::vector<std::string>{words[1]} : words;
    }
    if (help) return {command->get_name(), "--help"};
    result.push_back(command->get_name());
    at = 1;
  }
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") break;
    const CLI::Option* option = option_of(*command, word);
    if (option == nullptr) {
      result.push_back(word);
    } else if (add_option(*option, word, result) && at + 1 < words.size()) {
      // The parser would consume an argument as the optional value of "--pad".
      const bool optional = option->get_items_expected_min() == 0;
      if (optional && names_model(words[at + 1])) {
        result.emplace_back();
      } else {
        result.push_back(words[++at]);
      }
    }
  }
  result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                words.end());
  return result;
}

}  // namespace octet::program
