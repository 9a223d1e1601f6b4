// Command line parsing of the programs. Only command_line.cpp includes CLI11,
// whose header takes four seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "outputs.h"

namespace octet {
class Error;
}  // namespace octet

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace octet::program {

/// Output files of a command. Called after parsing, when its options are set.
using OutputsOf = std::function<std::vector<Output>()>;
struct WrittenFiles;

/// File names that an output accepts besides its own extensions.
enum class OtherNames {
  refused,  ///< no other names
  unknown   ///< no extension, or one that belongs to no known format
};

/// An option or argument of a command. Its methods add properties.
class Option {
 public:
  /// Placeholder of the value in the help: "DIR".
  Option& type(const char* name);
  Option& required();
  Option& show_default();
  /// Adds a validator: `problem` returns an error text, or "" for a valid
  /// value.
  Option& check(std::function<std::string(const std::string&)> problem);
  /// Declares the value as an output file: its name must have one of
  /// `extensions`
  /// (".onnx"), and it must differ from all input files of the command.
  Option& writes(std::vector<std::string> extensions,
                 OtherNames others = OtherNames::refused);
  /// Declares output files that exist only if the option is given. `outputs` is
  /// called in that case.
  Option& also_writes(OutputsOf outputs);
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

 private:
  friend class Command;
  Option(CLI::Option* option, std::shared_ptr<WrittenFiles> written)
      : option_(option), written_(std::move(written)) {}
  CLI::Option* option_;
  std::shared_ptr<WrittenFiles> written_;
};

/// A program or one of its commands. Stores references to the values of its
/// options ("--out") and arguments ("model"). "-o,--output,output" is both.
class Command {
 public:
  Command add_command(const char* name, const char* description);

  Option add(const char* name, std::string& value, const char* help);
  Option add(const char* name, std::optional<std::string>& value,
             const char* help);
  /// Repeatable; an argument takes a list of values.
  Option add(const char* name, std::vector<std::string>& value,
             const char* help);
  /// Accepts decimal numbers in [least, most].
  Option add(const char* name, int64_t& value, int64_t least, int64_t most,
             const char* help);
  Option add(const char* name, double& value, double least, double most,
             const char* help);
  /// The value is optional: the option alone means `implicit`.
  Option add_with_implicit(const char* name, std::optional<std::string>& value,
                           const char* implicit, const char* help);
  Option add_flag(const char* name, bool& value, const char* help);

  /// Places all options added later under this heading of the help, such as
  /// "Quantization".
  void begin_group(const char* name);
  /// Sets the text below the options in the help.
  void set_footer(const char* text);
  /// Sets the body of the command, called after parsing if the command is
  /// chosen. It may throw a UsageError.
  void when_chosen(std::function<void()> body);

 protected:
  Command(CLI::App* app, std::shared_ptr<const std::string> job);
  CLI::App* app_;
  std::shared_ptr<WrittenFiles> written_;
};

/// Error for an invalid command line; the exit code is 2.
class UsageError : public std::runtime_error {
 public:
  /// `code` is a stable identifier, such as "unknown_option"; `subject` is the
  /// option or word at fault; `message` is the whole text.
  UsageError(std::string code, std::string subject, const std::string& message)
      : std::runtime_error(message),
        code_(std::move(code)),
        subject_(std::move(subject)) {}

  const std::string& code() const { return code_; }
  const std::string& subject() const { return subject_; }

 private:
  std::string code_;
  std::string subject_;
};

class CommandLine : public Command {
 public:
  /// `name` is required for a program with commands; other programs are named
  /// like their executable.
  explicit CommandLine(const char* description, const char* name = "");
  ~CommandLine();

  /// Adds `run JOB.toml`, which runs the sections of a file as commands, in
  /// order; keys are options.
  void add_job_command();
  /// Adds `completion SHELL`, which prints a completion script.
  void add_completion_command();
  /// Adds `man DIR`, which writes a manual page of the program and of each
  /// command.
  void add_man_command();

  /// Parses the command line and runs `body` or the chosen command. Returns the
  /// exit code: 0 for success, --help and --version; 1 for an error, printed on
  /// standard error; 2 for wrong usage. Errors are also written as JSON to the
  /// file that the environment variable OCTET_ERROR_FILE names.
  int run(int argc, char** argv, const std::function<void()>& body = {});

 private:
  void run_job();
  std::string text_of(const std::string& message,
                      const std::string& code = "") const;
  int fail(const Error& error) const;
  int refuse(const UsageError& error) const;

  std::unique_ptr<CLI::App> owned_;
  bool is_octet_;  ///< hints name options of `octet` instead of C++ calls
  std::shared_ptr<std::string> job_;
};

}  // namespace octet::program
