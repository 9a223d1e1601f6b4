#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <new>
#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/system.h>

#include "completion.h"
#include "error_file.h"
#include "help_format.h"
#include "hints.h"
#include "job.h"
#include "man_page.h"
#include "out_of_memory.h"
#include "program.h"
#include "synonyms.h"
#include "usage_errors.h"

namespace octet::program {

/// Output files of one command.
struct WrittenFiles {
  struct Entry {
    const CLI::Option* option;
    OutputsOf outputs;  ///< empty: the option's values are the files
  };
  std::vector<Entry> entries;
  std::shared_ptr<const std::string> job;  ///< path of the TOML job, or ""
};

namespace {

/// Checks that the output files of a command overwrite none of its inputs. All
/// other values of options and arguments count as inputs, and so does the job
/// file.
void check_written(const CLI::App& app, const WrittenFiles& written) {
  std::vector<Output> outputs;
  std::vector<std::string> read = {*written.job};
  for (const CLI::Option* option : app.get_options()) {
    bool writes = false;
    for (const auto& [writer, others] : written.entries) {
      if (writer != option || option->count() == 0) continue;
      writes = true;
      if (others) {
        std::ranges::copy(others(), std::back_inserter(outputs));
        continue;
      }
      for (const std::string& value : option->results()) {
        outputs.push_back({option->get_name(), value});
      }
    }
    if (writes || option->get_items_expected_max() == 0) continue;
    read.insert(read.end(), option->results().begin(), option->results().end());
  }
  check_outputs(outputs, read);
}

/// Returns the message with its context frames inserted before the hint.
std::string with_frames(const Error& error) {
  std::string text = error.message();
  size_t end = text.size();
  for (const char* hint : {". Hint: ", "; Hint: ", "\nHint: "}) {
    end = std::min(end, text.find(hint));
  }
  const std::string hint = text.substr(end);
  text.resize(end);
  for (const std::string& frame : error.context()) text += ", " + frame;
  return text + hint;
}

template <class Number>
CLI::Option* add_number(CLI::App& app, const char* name, Number& value,
                        Number least, Number most, const char* help) {
  const auto parse = [=, &value](const CLI::results_t& words) {
    const std::string& word = words.at(0);
    Number number = 0;
    const char* end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, number);
    // Negated to reject NaN.
    if (error != std::errc() || rest != end ||
        !(number >= least && number <= most)) {
      throw CLI::ValidationError(
          name, fmt::format("must be a number from {} to {}, got '{}'", least,
                            most, word));
    }
    value = number;
    return true;
  };
  CLI::Option* option = app.add_option(name, parse, help)->type_name("N");
  option->default_function([&value] { return fmt::format("{}", value); });
  return option;
}

}  // namespace

Option& Option::type(const char* name) {
  option_->type_name(name);
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::check(std::function<std::string(const std::string&)> problem) {
  option_->check(std::move(problem));
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::writes(std::vector<std::string> extensions, OtherNames others) {
  option_->check(
      [extensions = std::move(extensions),
       only = others == OtherNames::refused](const std::string& path) {
        return wrong_name(path, extensions, only);
      });
  written_->entries.push_back({option_, {}});
  return *this;
}

Option& Option::also_writes(OutputsOf outputs) {
  written_->entries.push_back({option_, std::move(outputs)});
  return *this;
}

Command::Command(CLI::App* app, std::shared_ptr<const std::string> job)
    : app_(app), written_(std::make_shared<WrittenFiles>()) {
  written_->job = std::move(job);
}

Command Command::add_command(const char* name, const char* description) {
  app_->require_subcommand(1);
  return Command(app_->add_subcommand(name, description)->group("Commands"),
                 written_->job);
}

Option Command::add(const char* name, std::string& value, const char* help) {
  return Option(app_->add_option(name, value, help), written_);
}

Option Command::add(const char* name, std::optional<std::string>& value,
                    const char* help) {
  return Option(app_->add_option(name, value, help), written_);
}

Option Command::add(const char* name, std::vector<std::string>& value,
                    const char* help) {
  CLI::Option* option = app_->add_option(name, value, help);
  // An argument takes a list of values, an option one value at a time.
  return Option(option->allow_extra_args(option->get_positional()), written_);
}

Option Command::add(const char* name, int64_t& value, int64_t least,
                    int64_t most, const char* help) {
  return Option(add_number(*app_, name, value, least, most, help), written_);
}

Option Command::add(const char* name, double& value, double least, double most,
                    const char* help) {
  return Option(add_number(*app_, name, value, least, most, help), written_);
}

Option Command::add_with_implicit(const char* name,
                                  std::optional<std::string>& value,
                                  const char* implicit, const char* help) {
  const auto parse =
      [&value, word = std::string(implicit)](const CLI::results_t& words) {
        value = words.empty() || words[0].empty() ? word : words[0];
        return true;
      };
  return Option(app_->add_option(name, parse, help)->expected(0, 1), written_);
}

Option Command::add_flag(const char* name, bool& value, const char* help) {
  return Option(app_->add_flag(name, value, help), written_);
}

void Command::begin_group(const char* name) {
  app_->option_defaults()->group(name);
}

void Command::set_footer(const char* text) { app_->footer(text); }

void Command::when_chosen(std::function<void()> body) {
  app_->callback([body = std::move(body), app = app_, written = written_] {
    const std::string name = full_name(*app->get_parent(), *app);
    try {
      check_written(*app, *written);
      body();
    } catch (const UsageError& error) {
      throw UsageError(error.code(), error.subject(),
                       fmt::format("{}: {}", name, error.what()));
    } catch (const std::bad_alloc&) {
      throw ValueError("memory_limit", name, out_of_memory());
    }
  });
}

CommandLine::CommandLine(const char* description, const char* name)
    : Command(nullptr, nullptr),
      owned_(std::make_unique<CLI::App>(description, name)),
      is_octet_(*name != '\0'),
      job_(std::make_shared<std::string>()) {
  app_ = owned_.get();
  app_->formatter(help_formatter());  // commands inherit it
  written_->job = job_;
}

CommandLine::~CommandLine() = default;

void CommandLine::add_job_command() {
  Command command = add_command("run", "Run the commands of a TOML file");
  command.add("job", *job_, "TOML file with one section per command")
      .required();
  command.set_footer(kJobHelp);
}

void CommandLine::add_completion_command() {
  const auto shell = std::make_shared<std::string>();
  Command command =
      add_command("completion", "Print a shell completion script");
  command.add("shell", *shell, "bash, zsh or fish").required();
  command.set_footer(kCompletionHelp);
  command.when_chosen([this, shell] { print(completion(*app_, *shell)); });
}

void CommandLine::add_man_command() {
  const auto folder = std::make_shared<std::string>();
  Command command = add_command("man", "Write manual pages");
  command
      .add("folder", *folder,
           "existing folder, such as ~/.local/share/man/man1")
      .required();
  command.set_footer(kManHelp);
  command.when_chosen([this, folder] {
    const std::vector<ManPage> pages = man_pages(*app_);
    for (const ManPage& page : pages) {
      write_file(std::filesystem::path(*folder) / page.file, page.text);
    }
    print(fmt::format("{}: {} pages, {} to {}\n", *folder, pages.size(),
                      pages.front().file, pages.back().file));
  });
}

void CommandLine::run_job() {
  const std::string path = *job_;
  for (std::vector<std::string>& words : job_commands(*app_, path)) {
    print(fmt::format("\n{}: {}\n", path, words.front()), 2);
    std::ranges::reverse(words);  // CLI11 expects the last word first
    app_->parse(std::move(words));
  }
}

std::string CommandLine::text_of(const std::string& message,
                                 const std::string& code) const {
  return is_octet_ ? on_command_line(message, code) : message;
}

/// Reports an error on standard error. Returns the exit code.
int CommandLine::fail(const Error& error) const {
  const std::string text = text_of(with_frames(error), error.code());
  std::fprintf(stderr, "error: %s\n", text.c_str());
  write_error_file({kind_name(error.kind()), error.code(),
                    text_of(error.subject()), text, 1});
  return 1;
}

/// Reports wrong usage on standard error. Returns the exit code.
int CommandLine::refuse(const UsageError& error) const {
  const std::string text = printable_lines(text_of(error.what()));
  std::fprintf(stderr, "error: %s\nRun with --help for more information.\n",
               text.c_str());
  write_error_file({"UsageError", error.code(), error.subject(), text, 2});
  return 2;
}

int CommandLine::run(int argc, char** argv, const std::function<void()>& body) {
  if (app_->get_name().empty() && argc > 0) {
    app_->name(std::filesystem::path(argv[0]).filename().string());
  }
  // A closed pipe and the file size limit then appear as errors of write().
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (is_octet_) {
    set_warning_sink([](const Warning& warning) {
      std::fprintf(stderr, "warning: %s\n",
                   on_command_line(warning.message).c_str());
    });
  }
  app_->set_version_flag("--version", std::string("octet ") + version());
  try {
    remove_error_file();
    (void)active_isa();  // reports an invalid OCTET_ISA first
    (void)diagnostics();
    if (argc <= 1 && app_->get_require_subcommand_min() > 0) {
      print(app_->help());
      return 0;
    }
    try {
      std::vector<std::string> words = canonical_words(
          *app_,
          std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
      std::ranges::reverse(words);  // CLI11 expects the last word first
      app_->parse(std::move(words));
      if (!job_->empty()) run_job();
    } catch (const CLI::ParseError& error) {
      // CLI11 throws for --help and --version, too.
      if (error.get_exit_code() != 0) return refuse(explain(*app_, error));
      std::ostringstream out, none;
      app_->exit(error, out, none);
      print(out.str());
      return 0;
    }
    if (body) body();
    return 0;
  } catch (const UsageError& error) {
    return refuse(error);
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail(ValueError("memory_limit", app_->get_name(), out_of_memory()));
  } catch (const std::exception& error) {
    return fail(InternalError("internal", "", printable_lines(error.what())));
  }
}

}  // namespace octet::program
